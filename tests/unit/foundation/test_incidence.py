import warnings

import numpy as np

from ldpopt.foundation.incidence import common_ones


def test_ones_in_common_are_counted_and_no_flag_is_a_warning() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 2, (37, 101)), rng.integers(0, 2, (53, 101))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = common_ones(first.astype(np.float32), second.astype(np.float32))
    assert np.array_equal(got, first @ second.T)
    # what raises the flag of an invalid number does not end the search
    with np.errstate(invalid="raise"):
        flagged = np.array([[np.inf, 0.0]], np.float32)
        assert np.isnan(common_ones(flagged, np.array([[0.0, 1.0]], np.float32)))
