"""Integer masses, alias tables and bit sources."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from builders import refused
from ldpopt.errors import MechanismError, StatementError
from ldpopt.foundation import seeds
from ldpopt.foundation.seeds import generators
from ldpopt.mechanism import sampling
from ldpopt.mechanism.sampling import BITS, AliasTable, bit_source, round_rows

TOTAL = 1 << BITS


def exhaust(table: AliasTable, row: int) -> np.ndarray:
    """How many of all words lead to each output."""
    words = np.arange(1 << table.bits, dtype=np.uint64)
    return np.bincount(table.choose(np.full(len(words), row), words), minlength=table.outputs)


def adversarial() -> list[np.ndarray]:
    """Tables that go wrong first: points, ties at the cell weight, one unit beside everything, odd
    widths."""
    one = [[TOTAL]]
    hot = np.eye(5, dtype=np.int64) * TOTAL
    flat = np.full((3, 8), TOTAL // 8)
    crumbs = np.ones((2, 7), dtype=np.int64)
    crumbs[:, 3] = TOTAL - 6
    crumbs[1] = crumbs[1, ::-1]
    near = np.array(
        [[TOTAL // 4 + 1, TOTAL // 4 - 1, TOTAL // 4, TOTAL // 4], [0, TOTAL // 2, 0, TOTAL // 2]]
    )
    split = np.array([[TOTAL - 1, 1], [0, TOTAL], [TOTAL // 2, TOTAL // 2]])
    return [np.array(one), hot, flat, crumbs, near, split]


class TestRoundRows:
    """Largest remainder, exact row sums."""

    def test_a_row_on_the_grid_is_unchanged(self):
        rng = np.random.default_rng(0)
        masses = round_rows(rng.dirichlet(np.full(37, 0.2), size=50))
        assert np.array_equal(round_rows(masses / TOTAL), masses)

    def test_largest_remainder_by_hand(self):
        # 16 * (0.1, 0.2, 0.7) = (1.6, 3.2, 11.2): the one unit left goes to 1.6.
        assert round_rows(np.array([[0.1, 0.2, 0.7]]), bits=4).tolist() == [[2, 3, 11]]

    def test_ties_go_to_the_lowest_column(self):
        assert round_rows(np.full((1, 3), 1 / 3), bits=2).tolist() == [[2, 1, 1]]
        assert round_rows(np.array([[0.0, 1 / 3, 1 / 3, 1 / 3]]), bits=2).tolist() == [[0, 2, 1, 1]]
        assert round_rows(np.full((1, 48), 1 / 48), bits=5).tolist() == [[1] * 32 + [0] * 16]

    def test_many_tiny_entries(self):
        row = np.full((1, 4000), 1e-17)
        row[0, 7] = 1 - 4e-14
        masses = round_rows(row)
        assert masses.sum() == TOTAL
        assert masses.min() >= 0
        assert set(np.delete(masses[0], 7)) == {0, 1}
        assert masses[0, 7] == pytest.approx(TOTAL * (1 - 4e-14), abs=3)

    @pytest.mark.parametrize("row", [[0.5, 0.4], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0]])
    def test_other_arrays_are_refused(self, row):
        with pytest.raises(MechanismError):
            round_rows(np.array([row]))

    @pytest.mark.parametrize("shape", [(0, 2), (2, 0), (4,), (1, 2, 2)])
    def test_other_shapes_are_refused(self, shape):
        with refused("shape", MechanismError):
            round_rows(np.full(shape, 0.25))

    def test_the_position_of_an_invalid_probability_is_named(self):
        with refused("probability", MechanismError) as caught:
            round_rows(np.array([[0.5, 0.5], [-0.5, 1.5]]))
        assert "P[1, 0] = -0.5 " in str(caught.value)

    @pytest.mark.parametrize("bits", [0, 63, 5.0, True])
    def test_odd_word_lengths_are_refused(self, bits):
        with refused("word-length"):
            round_rows(np.eye(2), bits)


class TestAliasTable:
    """The finished table has exactly the masses that it was given."""

    def test_one_cell_for_each_word(self):
        masses = np.array([[0, 3, 1, 0, 0, 2, 0, 2]])
        assert exhaust(AliasTable(masses, bits=3), 0).tolist() == masses[0].tolist()

    @pytest.mark.parametrize(
        "masses", adversarial(), ids=["one", "hot", "flat", "crumbs", "near", "split"]
    )
    def test_realized_masses_of_adversarial_tables(self, masses):
        table = AliasTable(masses)
        assert np.array_equal(table.realized(), masses)
        assert table.threshold.min() >= 0

    def test_a_flat_row_before_others_and_tables_that_cannot_be_changed(self):
        masses = np.array([[4, 4, 4, 4], [13, 1, 1, 1], [4, 4, 4, 4], [0, 0, 9, 7]])
        table = AliasTable(masses, bits=4)
        assert np.array_equal(table.realized(), masses)
        assert not table.threshold.flags.writeable
        assert not table.alias.flags.writeable

    def test_realized_reads_the_table_and_not_the_counts(self):
        table = AliasTable(round_rows(np.full((1, 3), 1 / 3)))
        table.threshold.setflags(write=True)
        table.threshold[0, 0] -= 1
        assert not np.array_equal(table.realized(), round_rows(np.full((1, 3), 1 / 3)))

    def test_impossible_outputs_are_never_drawn(self):
        masses = np.zeros((2, 50), dtype=np.int64)
        masses[0, 49] = masses[1, 0] = TOTAL
        drawn = AliasTable(masses).draw(np.array([0, 1] * 20_000))
        assert drawn[0::2].tolist() == [49] * 20_000
        assert not drawn[1::2].any()

    @pytest.mark.parametrize("rng", [7, None])
    def test_frequencies_of_draws(self, rng):
        # Pearson's statistic with 4 x 9 degrees of freedom exceeds 36 + 2 sqrt(36 x) + 2 x with
        # probability < e^-x
        # (Laurent and Massart 2000); x = 14 gives 8.4e-7.
        channel = np.random.default_rng(3).dirichlet(np.full(10, 4.0), size=4)
        size = 400_000
        codes = np.repeat(np.arange(4), size // 4)
        drawn = AliasTable(round_rows(channel)).draw(codes, rng=rng)
        seen = np.zeros((4, 10))
        np.add.at(seen, (codes, drawn), 1)
        expected = channel * (size // 4)
        assert ((seen - expected) ** 2 / expected).sum() < 36 + 2 * np.sqrt(36 * 14) + 2 * 14

    def test_neighboring_draws_are_independent(self):
        # Number of equal neighbors among fair bits: binomial; 5 standard deviations fail with
        # probability 6e-7.
        drawn = AliasTable(np.array([[TOTAL // 2, TOTAL // 2]])).draw(
            np.zeros(100_001, dtype=int), rng=11
        )
        assert abs(int((drawn[1:] == drawn[:-1]).sum()) - 50_000) < 5 * np.sqrt(25_000)

    @pytest.mark.parametrize(
        ("masses", "code", "value"),
        [
            (np.array([[-1, 17]]), "mass", "mass -1"),
            (np.array([[8, 7]]), "mass-sum", "15"),
            (np.array([[0.5, 0.5]]), "mass-array", "float64"),
            (np.array([8, 8]), "mass-array", "(2,)"),
            (np.array([[2**63, 2**63, 16]], dtype=np.uint64), "mass", "0 .. 2**4"),
            (np.eye(1, 20, dtype=np.int64) * 16, "cell-bits", "20 outputs"),
        ],
    )
    def test_invalid_masses_are_refused(self, masses, code, value):
        with refused(code, MechanismError) as caught:
            AliasTable(masses, bits=4)
        assert value in str(caught.value)


class TestRandomness:
    """Where the bits come from."""

    table = AliasTable(round_rows(np.random.default_rng(4).dirichlet(np.ones(20), size=20)))
    codes = np.arange(20).repeat(500)

    def test_a_seed_repeats(self):
        first = self.table.draw(self.codes, rng=5)
        assert np.array_equal(first, self.table.draw(self.codes, rng=seeds.generator_of(5)))
        assert np.array_equal(first, self.table.draw(self.codes, rng=np.int64(5)))
        assert not np.array_equal(first, self.table.draw(self.codes, rng=6))

    def test_a_generator_advances(self):
        rng = np.random.default_rng(5)
        assert not np.array_equal(
            self.table.draw(self.codes, rng=rng), self.table.draw(self.codes, rng=rng)
        )

    def test_the_system_source_never_repeats(self):
        assert not np.array_equal(self.table.draw(self.codes), self.table.draw(self.codes))

    def test_chunks_change_nothing(self, monkeypatch):
        whole = self.table.draw(self.codes, rng=5)
        monkeypatch.setattr(sampling, "CHUNK", 37)
        assert np.array_equal(whole, self.table.draw(self.codes, rng=5))

    @pytest.mark.parametrize("rng", [None, 0, np.random.Generator(np.random.MT19937(1))])
    @pytest.mark.parametrize("bits", [1, 5, 53, 62])
    def test_words_fill_their_range_and_no_more(self, rng, bits):
        words = bit_source(rng, bits)(2000)
        assert words.dtype == np.uint64
        assert int(np.bitwise_or.reduce(words)) == (1 << bits) - 1

    @pytest.mark.parametrize("rng", [True, -1, 1.0, "7", np.random.RandomState(1), np.random])
    def test_invalid_sources_are_refused(self, rng):
        with refused("rng"):
            self.table.draw(self.codes, rng=rng)

    @pytest.mark.parametrize("codes", [[0, 20], [-1], [0.0], [[0]], ["a"], [True]])
    def test_invalid_codes_are_refused(self, codes):
        with pytest.raises(StatementError):
            self.table.draw(np.array(codes), rng=1)

    def test_the_place_of_a_bad_code_is_named(self):
        with pytest.raises(StatementError, match="entry 2"):
            self.table.draw(np.array([0, 1, 20, 3, 21]), rng=1)

    def test_no_codes_no_draws(self):
        assert self.table.draw(np.array([], dtype=int)).tolist() == []


def test_one_column_draws_from_the_generator_itself_and_several_from_spawned_ones():
    source = np.random.default_rng(1)
    assert generators(source, 1) == [source]
    several = generators(source, 3)
    assert len(several) == 3
    assert source not in several
    assert generators(None, 2) == [None, None]


def test_rows_are_rounded_some_at_a_time(monkeypatch):
    channel = np.random.default_rng(1).dirichlet(np.ones(7), 5)
    at_once = round_rows(channel)
    monkeypatch.setattr(sampling, "BLOCK", 14)
    assert np.array_equal(round_rows(channel), at_once)


BATCHES = """
import resource
import numpy as np
from ldpopt.mechanism.sampling import AliasTable, round_rows
table = AliasTable(round_rows(np.full((4, 4), 0.25)))
codes = np.zeros(1 << 17, dtype=np.int64)
for _ in range(3):
    table.draw_places(codes)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    table.draw_places(codes)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux", reason="the threshold is one of the C library of Linux"
)
def test_batches_need_no_fresh_memory_but_for_their_reports():
    """A worker of Dask has this threshold; each batch has 128 pages of reports, and no other
    array may need fresh ones: it were 256 or more."""
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    run = [sys.executable, "-c", BATCHES]
    said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert int(said) < 20 * 256
