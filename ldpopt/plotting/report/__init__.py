"""Reports: one self-contained page about a mechanism, for people who decide about a survey and do not read code.

In: a problem, a design problem or a model, and the text of the model file. Out: HTML that needs no network: the
question, what each person risks, the mechanism, the precision by number of people, the proof, and how to repeat it.
"""

from ldpopt.plotting.report.page import report

__all__ = ["report"]
