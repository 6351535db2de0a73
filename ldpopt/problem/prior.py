"""Reading of priors, for every function that takes a prior."""

import warnings
from fractions import Fraction
from typing import Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.foundation.labelled import Labels, positions_of, read_labelled, take_labels
from ldpopt.foundation.labels import Names, read_alphabet
from ldpopt.foundation.numbers import Float, frozen, normalized, short_repr, summed

# largest distance from 1 of the sum of a prior given as numbers; weights are normalized
PRIOR_TOLERANCE = 1e-9
# distance from 1 of the sum of weights below 1 that may be meant as probabilities
LOOKS_WRONG = 0.02


def read_prior(
    prior: Any, inputs: Names | None = None, name: str = "prior"
) -> tuple[Float, Labels | None]:
    """Read a prior, shape (n,), read-only, and its labels; both in the order of the inputs if they
    are given.
    """
    # Numbers sum to 1 within 1e-9 and are used exactly; weights by label are divided by their sum.
    part = read_labelled(prior, name, ("input",))
    n = len(part.values) if part.values.ndim == 1 else 0
    if not n:
        wrong = f"the {name} has shape {part.values.shape}; it needs (n,) with n >= 1"
        raise StatementError(wrong, code="shape", do="give one number for each input")
    if part.has_labels:
        labels = part.axes[0] if inputs is None else tuple(inputs)
        weights = part.to(inputs)
        _require_weights(weights, labels or (), name)
        total = summed(weights)
        if LOOKS_WRONG < abs(total - 1) <= 0.5 and weights.max() < 1:
            said = (
                f"the {name} by label sums to {total:.6g}: its numbers are weights, and are "
                "divided by that"
            )
            warnings.warn(
                f"{said}. Pass numbers that sum to 1 if they are probabilities", stacklevel=3
            )
        return frozen(normalized(weights)), labels
    if inputs is not None and n != len(inputs):
        raise StatementError(
            f"the {name} has {n} entries for {len(inputs)} inputs",
            code="entries",
            do="give one entry for each input",
        )
    _require_weights(part.values, range(n) if inputs is None else inputs, name)
    total = summed(part.values)
    if not abs(total - 1) <= PRIOR_TOLERANCE:
        do = "divide the numbers by their sum, or pass weights by label: {label: weight}"
        raise StatementError(f"the {name} sums to {total:.12g}, not 1", code="sum", do=do)
    return frozen(part.values), None


def prior_and_inputs(prior: Any) -> tuple[Float, Names]:
    """Read a prior that determines the inputs too: its labels, or 0, 1, 2, ..."""
    weights, labels = read_prior(prior)
    return weights, range(len(weights)) if labels is None else labels


def read_priors(priors: Any, inputs: Names | None = None) -> tuple[Float, Labels | None]:
    """Read several priors as `read_prior` does, one in each row, shape (l, n), in the order of the
    inputs.
    """
    table = read_labelled(priors, "table of priors", ("prior", "input"))
    if table.values.ndim != 2 or not table.values.size:
        n = "inputs" if inputs is None else len(read_alphabet(inputs))
        wrong = f"the table of priors has shape {table.values.shape}; it needs (priors, {n})"
        raise StatementError(wrong, do=f"give one row of {n} probabilities for each prior")
    columns = table.axes[1]
    values = table.to(None, inputs)
    labels = columns if inputs is None or columns is None else tuple(inputs)
    rows = (
        values
        if labels is None
        else [dict(zip(labels, row, strict=True)) for row in values.tolist()]
    )
    order = inputs if labels is None else labels
    checked = []
    for k, row in enumerate(rows):
        try:
            checked.append(read_prior(row, order)[0])
        except StatementError as error:
            raise error.restated(StatementError, where=f"prior {k}") from None
    return frozen(np.stack(checked)), labels


def exact_prior(prior: Any, inputs: Names | None = None) -> list[Fraction]:
    """Read a prior as Fractions: rationals as they are, floats exactly; weights by label are
    divided by their sum.
    """
    weights, labels = read_prior(prior, inputs)
    raw, (raw_labels, _) = take_labels(prior, "prior", ("input",))
    plain = list(raw)
    if raw_labels is not None and labels is not None:
        plain = [plain[position] for position in positions_of(raw_labels, labels, "prior", "input")]
    if not all(isinstance(weight, (int, Fraction)) for weight in plain):
        return [Fraction(weight) for weight in weights.tolist()]
    total = Fraction(sum(plain)) if labels is not None else Fraction(1)
    return [Fraction(weight) / total for weight in plain]


def _require_weights(weights: Float, names: Names, name: str) -> None:
    if not (is_weight := (weights >= 0) & (weights < np.inf)).all():
        x = int(np.argmin(is_weight))
        wrong = f"{name}[{short_repr(names[x])}] = {weights[x]} is not a probability"
        raise StatementError(wrong, code="probability", do="give finite numbers >= 0")
