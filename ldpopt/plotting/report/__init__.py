"""Reports: one self-contained page about a mechanism or a survey, for people who decide and do not
read code.

In: a problem, a design problem, a model or a survey, and the text of its file. Out: HTML that needs
no network and no scripts: the question, what each person risks, who draws the reports, what stays
unprotected, the precision by number of people, the proof, and how to repeat it.
"""

from ldpopt.plotting.report.page import report

__all__ = ["report"]
