"""Product: which of two distributions the answers of a population have, with the fewest people.

`best` takes the two distributions and a budget, and returns a `BinaryTest`: the private mechanism
whose reports tell most, with a proof; how many people a level and a power need; the test itself,
exact for any number of reports; and `SequentialTest`, which looks at reports as they come.
"""

from ldpopt.hypotheses.binary_test import BinaryTest, best
from ldpopt.hypotheses.result import TwoHypothesesResult
from ldpopt.hypotheses.sequential import SequentialResult, SequentialTest

__all__ = ["BinaryTest", "SequentialResult", "SequentialTest", "TwoHypothesesResult", "best"]
