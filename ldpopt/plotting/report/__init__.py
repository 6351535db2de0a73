"""Reports: one self-contained page on a mechanism, for those who decide about a survey and will not read code.

In: a problem, a design problem or a model file, perhaps the text of the file. Out: HTML that needs no network: the
question, what each person risks, the mechanism, the precision for so many people, the proof, and how to repeat it all.
"""

from ldpopt.plotting.report.page import report

__all__ = ["report"]
