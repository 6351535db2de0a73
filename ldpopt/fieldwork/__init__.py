"""Product: surveys in the field: the report is drawn on the respondent's own device, and only the
report leaves it.

In: a `Survey`. Out: the page for respondents (`page`), and the reports that come back in a database
(`Store`). What draws is ``draw.js``, a module without dependencies.
"""

from ldpopt.fieldwork.form_page import page
from ldpopt.fieldwork.store import Store

__all__ = ["Store", "page"]
