"""Surveys in the field: the report is drawn on the respondent's own device, and only the report leaves it.

In: a `Survey`. Out: a database of the reports that devices send (`Store`), and the server that receives them.
"""

from ldpopt.fieldwork.store import Store

__all__ = ["Store"]
