"""Loops in C against numpy, with any number of threads, and under the sanitizers of the
compiler."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ldpopt as lo
from builders import cases, load_script, refused, thorough_or
from ldpopt import native
from ldpopt.estimation.reports import tally
from ldpopt.foundation.labels import codes
from ldpopt.foundation.threads import max_product
from ldpopt.mechanism import sampling
from ldpopt.mechanism.exact_draws import uniform_below

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 70, 5), (65, 130, 515)])
def test_max_products(shape):
    n, terms, m = shape
    rng = np.random.default_rng(0)
    left = rng.normal(size=(n, terms))
    right = rng.normal(size=(terms, m))
    left[0, 0], right[0, 0] = 0.0, np.inf  # their product, nan, does not count
    with np.errstate(invalid="ignore"):
        plain = [np.nanmax(row[:, None] * right, axis=0, initial=0.0) for row in left]
    assert np.array_equal(max_product(left, right), plain)


@cases(30)
@given(st.integers(1, 5), st.integers(2, 9), st.integers(1, 30), st.integers(0, 10**6))
def test_loops_over_ties(m, n, pairs, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(n, size=pairs)
    second = (first + rng.integers(1, n, pairs)) % n
    edge = rng.integers(4, size=pairs)
    ratio = rng.random(pairs)
    at, p, start = rng.random((3, m, n))
    t, ties, aim = rng.random((3, m, pairs)) + 0.1
    slacks = np.zeros((pairs, n))  # of entries p: slacks @ p
    slacks[range(pairs), second] = 1.0
    slacks[range(pairs), first] = -ratio
    found = start.copy()
    native.add_adjoint(first, second, ratio, ties, found)
    assert found == pytest.approx(start + ties @ slacks, rel=1e-12, abs=1e-12)
    step = (p + at) @ slacks.T - t
    change = (aim - ties * step) / t
    written = np.empty((2, m, pairs))
    native.write_steps(first, second, ratio, at, t, ties, aim, p, *written)
    assert written == pytest.approx(np.array([step, change]), rel=1e-10, abs=1e-12)
    found = start.copy()
    native.add_multiplier_steps(first, second, ratio, at, t, ties, aim, p, found)
    assert found == pytest.approx(start + change @ slacks, rel=1e-10, abs=1e-10)
    off = np.zeros((m, 4))
    native.add_weights(ratio, edge, t, ties, off)
    assert off == pytest.approx((ratio * ties / t) @ np.eye(4)[edge], rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(
    "limits", [lo.Limits(rays_entries=1), lo.Limits(graph_entries=1)], ids=["rays", "interior"]
)
def test_the_answer_is_the_same_bit_for_bit_with_any_number_of_threads(monkeypatch, limits):
    # many parts, also of a small problem
    monkeypatch.setattr("ldpopt.solving.methods.rays.trees.CHUNK", 64)
    monkeypatch.setattr("ldpopt.foundation.threads.PART_OPERATIONS", 100)
    rng = np.random.default_rng(0)
    privacy = lo.MetricDP.of_points(1.0, rng.normal(0, 2, (16, 2)))
    problem = lo.Problem(
        rng.dirichlet(np.ones(16)), lo.utility.table(rng.random((16, 16)), sense="loss"), privacy
    )
    channels = []
    for count in (1, 2, 5):
        monkeypatch.setattr("ldpopt.foundation.threads.cores", lambda count=count: count)
        channels.append(lo.solve(problem, limits=limits).mechanism.channel)
    assert np.array_equal(channels[0], channels[1])
    assert np.array_equal(channels[0], channels[2])


@cases(30)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_matrices_are_inverted(rows, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, rows)) * (rng.random((rows, rows)) < 0.7) + 3 * np.eye(rows)
    matrix = matrix[rng.permutation(rows)]  # the largest pivots are not on the diagonal
    inverse = np.empty_like(matrix)
    assert native.invert_matrix(matrix.copy(), inverse) == 0
    assert inverse @ matrix == pytest.approx(np.eye(rows), abs=1e-9 * np.linalg.cond(matrix))
    matrix[rows // 2] = 0.0
    assert native.invert_matrix(matrix, inverse) == 1


SANITIZED = """
import sys
from pathlib import Path
from ldpopt import native
native.LIBRARY = Path(sys.argv[1])
import pytest
options = ["-q", "-n0", "-p", "no:cacheprovider", "-k", "not sanitizers"]
sys.exit(pytest.main([*options, *sys.argv[2:]]))
"""


@pytest.mark.skipif(not thorough_or(False, True), reason="only in the thorough set: a minute")
def test_sanitizers_find_nothing(tmp_path, monkeypatch):
    script = load_script(ROOT / "hatch_build.py")
    folder = ROOT / "tests"
    compiler = script.compiler()
    shown = subprocess.run(
        [*compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    )
    runtime = Path(shown.stdout.strip())
    if shown.returncode or not runtime.is_absolute():
        pytest.skip("the compiler has no sanitizers")
    flags = "-g", "-O1", "-DPLAIN", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"
    library = script.build(tmp_path / "loops.bin", *flags)
    monkeypatch.setenv("LD_PRELOAD", str(runtime))
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")  # Python's own
    monkeypatch.setenv("LDPOPT_TESTS", "ldpopt")
    names = ("native", "pivots", "views", "pair_loops", "columns")
    files = [folder / f"agreement/test_{name}.py" for name in names]
    command = [
        sys.executable,
        "-c",
        SANITIZED,
        library,
        *files,
        folder / "unit/solving/test_levels.py",
        folder / "unit/tables/test_plain_csv.py",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@cases(40)
@given(st.integers(1, 9), st.integers(1, 70), st.integers(8, 62), st.integers(0, 10**6))
def test_reports_from_alias_tables(n, m, bits, seed):
    rng = np.random.default_rng(seed)
    table = sampling.AliasTable(sampling.round_rows(rng.dirichlet(np.ones(m) / 2, n), bits), bits)
    rows = rng.integers(n, size=50)
    words = rng.integers(1 << bits, size=50, dtype=np.uint64)
    low_bits = bits - max(1, (m - 1).bit_length())
    plain = []
    for row, word in zip(rows.tolist(), words.tolist(), strict=True):
        cell, low = divmod(word, 1 << low_bits)
        stays = low < int(table.threshold[row, cell])
        plain.append(cell if stays else int(table.alias[row, cell]))
    assert table.choose(rows, words).tolist() == plain
    # words of the system are used without a shift of their own: the lowest bits are dropped
    raw = (words << np.uint64(64 - bits)).view(np.int64)
    drawn = np.empty(50, dtype=np.int32)
    tables = table.threshold, table.alias
    native.choose_reports(rows, raw, *tables, 64 - bits, low_bits, drawn)
    assert drawn.tolist() == plain


class Given:
    """Random bytes of the system in the place of `os.urandom`: those that are given, in turn."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = list(parts)

    def __call__(self, size: int) -> bytes:
        part = self.parts.pop(0)
        assert len(part) == size
        return part


@cases(40)
@given(st.integers(1, 9), st.integers(2, 70), st.integers(17, 62), st.integers(0, 10**6))
def test_the_first_bits_decide_as_the_whole_word(n, m, bits, seed):
    """The law is that of the masses, since each word has the output that it has if it is read at
    once."""
    rng = np.random.default_rng(seed)
    masses = sampling.round_rows(rng.dirichlet(np.ones(m) / 2, n), bits)
    table = sampling.AliasTable(masses, bits)
    rows = rng.integers(n, size=500)
    low = bits - max(1, (m - 1).bit_length())
    cells = rng.integers(1 << (bits - low), size=500)
    near = table.threshold[rows, cells] + rng.integers(-2, 3, 500)  # many of them are undecided
    words = (cells << low) + np.clip(near, 0, (1 << low) - 1)
    words[::2] = rng.integers(1 << bits, size=250)
    firsts = (words >> (bits - 16)).astype(np.uint16)
    undecided = np.empty(500, np.int64)
    drawn = np.empty(500, np.int32)
    count = native.choose_early(rows, firsts, table.early, 16 - bits + low, drawn, undecided)
    later = words[undecided[:count]] & ((1 << (bits - 16)) - 1)
    source = Given(firsts.tobytes(), (later.astype(np.uint64) << np.uint64(80 - bits)).tobytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling.os, "urandom", source)
        assert table.draw(rows).tolist() == table.choose(rows, words).tolist()


@cases(40)
@given(st.integers(1, 9), st.integers(2, 70), st.integers(17, 62), st.integers(0, 10**6))
def test_the_words_of_a_generator_decide_as_the_whole_word(n, m, bits, seed):
    rng = np.random.default_rng(seed)
    table = sampling.AliasTable(sampling.round_rows(rng.dirichlet(np.ones(m) / 2, n), bits), bits)
    rows = rng.integers(n, size=500)
    low = bits - max(1, (m - 1).bit_length())
    cells = rng.integers(1 << (bits - low), size=500)
    near = table.threshold[rows, cells] + rng.integers(-2, 3, 500)  # many need all of their bits
    words = (cells << low) + np.clip(near, 0, (1 << low) - 1)
    words[::2] = rng.integers(1 << bits, size=250)
    given_words = iter([word << (64 - bits) | 1 for word in words.tolist()])
    draw = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(lambda _: next(given_words))
    address = ctypes.cast(draw, ctypes.c_void_p).value
    tables = table.threshold, table.early
    drawn = np.empty(500, np.int32)
    native.draw_reports(rows, *tables, 64 - bits, low, 16 - bits + low, address, None, drawn)
    assert drawn.tolist() == table.choose(rows, words).tolist()


@pytest.mark.parametrize("bits", [1, 20, 31, 32, 33, 40, 53, 62])
@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "SFC64", "Philox"])
def test_a_generator_draws_the_same_words_in_every_way(bits, kind):
    """Its integers below 2^bits, the words of a source, and those that a table reads."""
    one, two, three, four = (np.random.Generator(getattr(np.random, kind)(5)) for _ in range(4))
    one.random(3, np.float32)  # half of a word is left over, and stays so
    two.random(3, np.float32)
    words = one.integers(0, (1 << bits) - 1, 99, np.uint64, endpoint=True)
    assert sampling.whole_words(two, bits)(99).tolist() == words.tolist()
    assert one.random(3, np.float32).tolist() == two.random(3, np.float32).tolist()
    masses = sampling.round_rows(np.array([[0.5, 0.2, 0.3], [0.1, 0.2, 0.7]]), max(bits, 2))
    table = sampling.AliasTable(masses, max(bits, 2))
    rows = np.arange(99) % 2
    wanted = table.choose(rows, sampling.whole_words(three, table.bits)(99))
    assert table.draw(rows, rng=four).tolist() == wanted.tolist()
    assert three.random() == four.random()


@cases(40)
@given(
    st.sampled_from([1, 2, 3, 7, 1500, 2047, 2048, 2049, 10**6]),
    st.integers(1, 9),
    st.integers(0, 10**6),
)
def test_words_that_are_refused_are_drawn_again_in_turn(k, piece, seed):
    """As `uniform_below` does; many of the words are near the limits."""
    rng = np.random.default_rng(seed)
    total = 1 << 53
    bounds = [bound for bound in (k, k - 1) if bound > 1]
    near = [
        0,
        1,
        total - 1,
        *(total - total % bound + step for bound in bounds for step in (-1, 0)),
    ]
    near += [
        -(-total * j // bound) for bound in bounds for j in rng.integers(bound, size=4).tolist()
    ]
    words = [near[at] % total for at in rng.integers(len(near), size=2000)]
    words += rng.integers(total, size=2000).tolist()
    index = rng.integers(-1, k, size=5)
    members = rng.permutation(k)
    answers = rng.integers(5, size=20)
    truth = total // 2 + 3
    left = iter(words)

    def source(size):
        return np.array([next(left) for _ in range(size)], np.uint64)

    wanted = []
    for start in range(0, 20, piece):
        own = index[answers[start : start + piece]]
        position = uniform_below(k, len(own), source)
        if k > 1:
            other = uniform_below(k - 1, len(own), source)
            other += other >= own
            kept = source(len(own)) < truth
            position = np.where(own >= 0, np.where(kept, own, other), position)
        wanted += members[position].tolist()
    again = iter(words)
    draw = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(lambda _: next(again) << 11 | 7)
    found = np.empty(20, np.int64)
    address = ctypes.cast(draw, ctypes.c_void_p).value
    room = np.empty(piece, np.int64)
    native.draw_responses(answers, index, members, truth, 0, 0, address, None, room, found)
    assert found.tolist() == wanted
    assert list(again) == list(left)


@pytest.mark.parametrize("bits", [17, 18])
def test_all_words_of_few_bits_have_the_masses(bits):
    masses = np.array([[5, (1 << bits) - 12, 7], [0, 1 << bits, 0]])
    table = sampling.AliasTable(masses, bits)
    for row, wanted in enumerate(masses.tolist()):
        rows = np.full(1 << 16, row)
        firsts = np.arange(1 << 16, dtype=np.uint16)
        drawn = np.empty(1 << 16, np.int32)
        undecided = np.empty(1 << 16, np.int64)
        count = native.choose_early(rows, firsts, table.early, 14, drawn, undecided)
        late = undecided[:count]
        seen = np.bincount(np.delete(drawn, late), minlength=3) << (bits - 16)
        for last in range(1 << (bits - 16)):
            words = (late << (bits - 16)) | last
            seen += np.bincount(table.choose(rows[late], words), minlength=3)
        assert seen.tolist() == wanted
        assert count < 4


@cases(30)
@given(
    st.lists(st.text("ab\u00e4\U0001f600", max_size=5), min_size=1, max_size=40, unique=True),
    st.integers(0, 10**6),
)
def test_texts_are_found_by_hashes(labels, seed):
    rng = np.random.default_rng(seed)
    places = rng.integers(len(labels), size=60)
    texts = np.array(labels)[places]
    assert codes(texts, labels, "answer").tolist() == places.tolist()
    narrow = texts.astype("U2")  # some labels are longer than any entry
    known = {label: place for place, label in enumerate(labels)}
    if all(text in known for text in narrow.tolist()):
        assert codes(narrow, labels, "answer").tolist() == [known[t] for t in narrow.tolist()]
    with refused("unknown-label"):
        codes(np.append(texts, "c"), labels, "answer")


@pytest.mark.parametrize("size", [1, 2, 16, 1 << 12, (1 << 12) + 1])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 1000])
def test_positions_are_counted(size, count):
    positions = np.random.default_rng(count).integers(size, size=2 * count)
    for each in (positions[:count], positions[::2], positions.astype(np.int32)[::-1]):
        wanted = np.bincount(each, minlength=size)
        assert tally(each, size).tolist() == wanted.tolist()
    for wrong in (-1, size, 1 << 62):
        with pytest.raises(ValueError, match="position"):
            tally(np.append(positions, wrong), min(size, 1 << 12))


@cases(30)
@given(
    st.lists(st.text(max_size=40), min_size=1, max_size=9), st.integers(1, 4), st.integers(0, 99)
)
def test_fields_are_written_one_after_the_other(texts, columns, rows):
    rng = np.random.default_rng(rows)
    fields = [text.encode("utf-8", "replace") for text in texts]
    places = rng.integers(len(fields), size=(columns, rows), dtype=np.int32)
    ends = np.cumsum([0, *map(len, fields)])
    wanted = b"".join(fields[place] for place in places.T.ravel().tolist())
    out = np.empty(len(wanted) + 16, np.uint8)
    text = np.frombuffer(b"".join([*fields, bytes(16)]), np.uint8)
    size = native.write_fields(places, ends, text, out)
    assert out[:size].tobytes() == wanted
