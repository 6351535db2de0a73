"""A program's certificate as JSON: statement, masses, multipliers and claim, each exactly.

The file is one object with five keys. ``format`` is the version. ``statement`` is the problem as
`ldpopt.problem.plain` writes it. ``mechanism`` has the integer masses over ``2**53``, row by row.
``multipliers`` are floats as hexadecimal text, which loses no bit; each privacy row is a list of
its first input, its second input, the outputs of its event and its positive multiplier, and follows
from the statement, so that no coefficient is written; of a curve of budgets or Gaussian privacy it
has a fifth number, the ratio ``b`` of the row, whose right side follows. ``claim`` has value, bound
and gap as fractions in text. A file is read strictly: unknown keys, missing keys, repeated outputs,
negative weights and numbers of another kind are refused before anything is computed. The checker
reads the same file by code of its own.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.certificate.documents import open_document, read_masses, text_of
from ldpopt.certificate.program_bound import ComparisonRows, Multipliers, PairRows
from ldpopt.errors import CertificateError, StatementError
from ldpopt.foundation.documents import Entry
from ldpopt.foundation.files import FilePath, replacing
from ldpopt.foundation.numbers import Float
from ldpopt.mechanism.mechanism import Mechanism
from ldpopt.privacy import MetricDP
from ldpopt.problem.plain import from_plain, plain
from ldpopt.problem.problem import Problem

FORMAT = "ldpopt certificate 1"

# Largest file that is read, in bytes: about 3000 locations with all their distances and multipliers
LARGEST_FILE = 2**30
# Bytes of a mass, utility or distance, and of a multiplier with its pair (measured with 1000
# locations)
NUMBER_BYTES, MULTIPLIER_BYTES = 19, 44


def write(
    problem: Problem,
    mechanism: Mechanism,
    multipliers: Multipliers,
    claim: dict[str, str],
    residuals: dict[str, float],
    path: FilePath,
) -> None:
    """Write a certificate; see `Certificate.save`.

    ``claim`` has the text of each number of the certificate, ``residuals`` the largest violation of
    each side constraint. The file is written beside the old one, and takes its place when it is
    complete.
    """
    _require_small(problem, multipliers)
    masses = {"bits": mechanism.denominator.bit_length() - 1, "masses": mechanism.counts}
    data = {"format": FORMAT, "statement": _plain_problem(problem), "mechanism": masses}
    data["multipliers"] = _plain_multipliers(multipliers, problem)
    data["claim"] = {**claim, "residuals": {name: off.hex() for name, off in residuals.items()}}
    with replacing(path) as stream:
        stream.writelines(text_of(data))


def _require_small(problem: Problem, multipliers: Multipliers) -> None:
    """Refuse a file that would be too large to read, before minutes are spent on writing it."""
    n, m = problem.utility.shape
    numbers = 2 * n * m + (n * n if isinstance(problem.privacy, MetricDP) else 0)
    size = NUMBER_BYTES * numbers + MULTIPLIER_BYTES * len(multipliers.pairs.value)
    if size > LARGEST_FILE:
        needed = f"about {size / 2**30:.2g} GiB as a file"
        message = f"the certificate would take {needed}; at most {LARGEST_FILE >> 30} is read"
        raise CertificateError(
            message,
            code="file-size",
            do="recheck() it here, and save its mechanism with mechanism.save(path)",
        )


def _plain_problem(problem: Problem) -> dict[str, Any]:
    """The statement; its notion must have ties, comparisons or an excess for each ratio, since
    multipliers of other rows cannot be written to a file.
    """
    if _has_ratios(problem) and problem.privacy.excess(Fraction(1)) is None:
        message = (
            f"the privacy notion {type(problem.privacy).__name__} cannot be written to a "
            "certificate file"
        )
        do = "use certify() in Python; files hold notions with ties, comparisons or excess(ratio)"
        raise CertificateError(message, code="notion-rows", do=do)
    try:
        return plain(problem)
    except StatementError as error:
        raise error.restated(CertificateError) from None


def _has_ratios(problem: Problem) -> bool:
    """Whether rows of events have ratios of their own: the notion has neither ties nor
    comparisons.
    """
    return problem.ties() is None and problem.comparisons() is None


def _plain_multipliers(multipliers: Multipliers, problem: Problem) -> dict[str, Any]:
    """Multipliers as JSON data; None stands for those that a form does not have."""
    pairs = multipliers.pairs
    ends = np.searchsorted(pairs.row, np.arange(len(pairs.value) + 1))
    places = zip(pairs.first.tolist(), pairs.second.tolist(), pairs.value.tolist(), strict=True)
    ratios = [] if pairs.ratio is None else [[ratio.hex()] for ratio in pairs.ratio.tolist()]
    rows = (
        [x, k, pairs.y[ends[r] : ends[r + 1]].tolist(), value.hex(), *(ratios[r] if ratios else [])]
        for r, (x, k, value) in enumerate(places)
    )
    plain: dict[str, Any] = {"form": multipliers.form, "row_sums": _hex(multipliers.row_sums)}
    plain |= {"worst_case": _hex(multipliers.worst_case), "privacy": rows}
    if problem.ties() is None and problem.comparisons() is not None:
        plain["privacy"] = _plain_comparisons(multipliers.comparisons)
    return plain | {
        "constraints": {block.name: _hex(values) for block, values in multipliers.blocks}
    }


def _plain_comparisons(rows: ComparisonRows) -> list[list[Any]]:
    """Multipliers of comparisons: place in the notion's list, outputs, and the number."""
    places = zip(rows.comparison.tolist(), rows.y.tolist(), rows.value.tolist(), strict=True)
    return [[r, [y], value.hex()] for r, y, value in places]


def _hex(values: Float | None) -> list[str] | None:
    """Floats as hexadecimal text, without rounding; None stays None."""
    return None if values is None else [value.hex() for value in values.tolist()]


def read(path: FilePath) -> dict[str, Any]:
    """Read the fields of a certificate; see `Certificate.load`.

    Returns the arguments of `Certificate` but for the audit and ``exact``: problem, mechanism,
    multipliers, the claimed numbers and residuals. None of the numbers is checked here.
    """
    table = open_document(path, LARGEST_FILE).table(
        "format", "statement", "mechanism", "multipliers", "claim"
    )
    table["format"].text(FORMAT)
    problem = from_plain(table["statement"])
    mechanism = _mechanism(table["mechanism"], problem)
    multipliers = _multipliers(table["multipliers"], problem)
    claim = table["claim"].table("achieved", "bound", "gap", "relative_gap", "residuals")
    off = claim["residuals"].table(*(block.name for block in problem.constraints))
    parts: dict[str, Any] = {"problem": problem, "mechanism": mechanism, "multipliers": multipliers}
    parts |= {key: claim[key].rational() for key in ("achieved", "bound", "gap")}
    residuals = {block: entry.hexadecimal() for block, entry in off.items()}
    return parts | {"relative_gap": claim["relative_gap"].hexadecimal(), "residuals": residuals}


def _mechanism(entry: Entry, problem: Problem) -> Mechanism:
    """The mechanism of integer masses over ``2**53``; other denominators are not known."""
    table = entry.table("bits", "masses")
    if table["bits"].whole(64) != 53:
        raise table["bits"].error(
            f"masses over 2**{table['bits'].value} are not known", "write them over 2**53"
        )
    return read_masses(table["masses"], problem.inputs, problem.outputs)


def _multipliers(entry: Entry, problem: Problem) -> Multipliers:
    """Read what `_plain_multipliers` wrote.

    Privacy rows must have ascending outputs, each once, and a positive multiplier; row sums are
    read for the compact form only, weights of inputs for a worst case only. Whether the notion has
    these rows is for the bound to decide.
    """
    table = entry.table("form", "row_sums", "worst_case", "privacy", "constraints")
    n, m = problem.utility.shape
    form: Any = table["form"].text("compact", "pairwise")
    row_sums = _some(table["row_sums"], n, is_there=form == "compact")
    worst_case = _some(table["worst_case"], n, is_there=problem.prior is None)
    if worst_case is not None and (worst_case < 0).any():
        raise table["worst_case"].error(
            f"the worst case has the negative weight {worst_case.min():g}"
        )
    constraints = table["constraints"].table(*(block.name for block in problem.constraints))
    blocks = tuple(
        (block, constraints[block.name].hexadecimals(len(block))) for block in problem.constraints
    )
    if problem.definition() is None and not _has_ratios(problem):
        compared = _comparison_rows(table["privacy"], problem, m)
        return Multipliers(form, row_sums, worst_case, PairRows.joined([]), blocks, compared)
    pairs = _pair_rows(table["privacy"], n, m, has_ratio=_has_ratios(problem))
    return Multipliers(form, row_sums, worst_case, pairs, blocks)


def _comparison_rows(entry: Entry, problem: Problem, m: int) -> ComparisonRows:
    """Read what `_plain_comparisons` wrote; every comparison and output at most once."""
    comparisons = problem.comparisons()
    if comparisons is None:
        raise entry.error("the privacy notion has no comparisons, whose multipliers these are")
    places = []
    values = []
    for part in entry.list():
        r, outputs, number = part.list(3)
        (y,) = outputs.list(1)
        places.append((r.whole(len(comparisons)), y.whole(m)))
        values.append(number.hexadecimal())
        if values[-1] <= 0:
            raise number.error(f"the multiplier {values[-1]} is not positive")
    if len(set(places)) < len(places):
        raise entry.error("a comparison and an output have two multipliers")
    table = np.array(places, np.int64).reshape(-1, 2)
    return ComparisonRows(table[:, 0], table[:, 1], np.array(values, float))


def _pair_rows(entry: Entry, n: int, m: int, *, has_ratio: bool) -> PairRows:
    """Read multipliers of pairs: first and second input, outputs of the event, and the number."""
    first = []
    second = []
    row = []
    y = []
    value = []
    ratio = []
    for r, given_row in enumerate(entry.list()):
        x, k, event, number, *rest = given_row.list(5 if has_ratio else 4)
        outputs = [output.whole(m) for output in event.list()]
        if sorted(set(outputs)) != outputs:
            raise event.error(
                f"the outputs {outputs} of an event are not ascending, each named once"
            )
        first.append(x.whole(n))
        second.append(k.whole(n))
        row += [r] * len(outputs)
        y += outputs
        value.append(number.hexadecimal())
        if value[-1] <= 0:
            raise number.error(f"the multiplier {value[-1]} is not positive")
        ratio += [each.hexadecimal() for each in rest]
        if rest and ratio[-1] <= 0:
            raise rest[0].error(f"the ratio {ratio[-1]} is not positive")
    places: Any = [np.array(part, np.int64) for part in (first, second, row, y)]
    ratios = np.array(ratio, float) if has_ratio else None
    return PairRows(places[0], places[1], places[2], places[3], np.array(value, float), ratios)


def _some(entry: Entry, n: int, *, is_there: bool) -> Float | None:
    """Read the multipliers of a form; null where it has none."""
    if is_there:
        return entry.hexadecimals(n)
    if entry.value is not None:
        raise entry.error("these multipliers belong to another form or objective: null is written")
    return None
