"""Compiled functions: they call each other from several threads, and the max-product agrees with numpy."""

from __future__ import annotations

import os

import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

from builders import load_script
from ldpopt.foundation.compiled import compiled, max_product
from ldpopt.foundation.threads import in_threads


def test_compiled_functions_call_each_other_from_several_threads(monkeypatch):
    monkeypatch.setattr("ldpopt.foundation.threads.cores", lambda: 4)

    @compiled
    def square(x):
        """Square of a number."""
        return x * x

    @compiled
    def length(values):
        total = 0.0
        for value in values:
            total += square(value)
        return np.sqrt(total)

    assert square.__doc__ == "Square of a number."
    assert in_threads(length, [np.array([3.0, 4.0])] * 8) == [5.0] * 8
    assert square(3) == 9


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 70, 5), (65, 130, 515)])
def test_max_product_agrees_with_numpy(shape):
    n, terms, m = shape
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(n, terms)), rng.normal(size=(terms, m))
    left[0, 0], right[0, 0] = 0.0, np.inf  # their product, nan, does not count
    with np.errstate(invalid="ignore"):
        plain = [np.nanmax(row[:, None] * right, axis=0, initial=0.0) for row in left]
    assert np.array_equal(max_product(left, right), plain)


def test_machine_code_of_an_older_source_is_never_used(tmp_path, monkeypatch):
    path = tmp_path / "product.py"

    def product(factor):
        source = "from ldpopt.foundation.compiled import compiled\n\n@compiled\ndef product(x):\n    return {} * x\n"
        path.write_text(source.format(factor))
        os.utime(path, (factor, factor))
        return load_script(path).product(7)

    assert product(2) == 14
    with monkeypatch.context() as patch:  # a process that is killed when it has written the index
        patch.setattr(IndexDataCacheFile, "_save_data", lambda *_: None)
        assert product(3) == 21
    assert product(3) == 21
    written = []
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", lambda *_: written.append(1))
    assert product(3) == 21
    assert not written  # the code was kept
