"""Product: surveys in the field: the report is drawn on the respondent's own device, and only the
report leaves it.

In: a `Survey`. Out: the page for respondents (`page`), and the reports that come back in a database
(`Store`), its status and copies (`StoreStatus`, `backup`). What draws is ``draw.js``, a module
without dependencies.
"""

from ldpopt.fieldwork.form_page import page
from ldpopt.fieldwork.store import Store
from ldpopt.fieldwork.upkeep import StoreStatus, backup

__all__ = ["Store", "StoreStatus", "backup", "page"]
