"""Sets as rows of zeros and ones."""

import numpy as np
from numpy.typing import NDArray


def common_ones(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Count the ones that each row of ``first`` has in common with each row of ``second``.

    These are whole numbers below :math:`2^{24}`, which single precision holds exactly.
    """
    # A kernel of BLAS that computes beyond the end of a block may raise the flag of an invalid
    # number there, although no entry of the product is one.
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return first @ second.T
