"""Product: what several reports of a person reveal together.

In: channels, and how often each is used, or by how many people if their reports are shuffled. Out:
a `PrivacyCurve`, a proved bound of delta at every epsilon.
"""

from ldpopt.accounting.certificate import CurveCertificate
from ldpopt.accounting.curve import PrivacyCurve, compose
from ldpopt.accounting.memoised import permanent
from ldpopt.accounting.shuffling import shuffled, target

__all__ = [
    "CurveCertificate",
    "PrivacyCurve",
    "compose",
    "permanent",
    "shuffled",
    "target",
]
