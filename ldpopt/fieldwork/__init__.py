"""Surveys in the field: the report is drawn on the respondent's own device, and only the report leaves it.

In: a `Survey`. Out: the page for respondents (`page`). What draws is ``draw.js``, a module without dependencies.
"""

from ldpopt.fieldwork.form_page import page

__all__ = ["page"]
