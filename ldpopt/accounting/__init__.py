"""What several reports of a person reveal together.

In: channels, and how often each is used. Out: a `PrivacyCurve`, a proved bound of delta at every epsilon.
"""

from ldpopt.accounting.curve import PrivacyCurve, compose

__all__ = ["PrivacyCurve", "compose"]
