"""Sums, differences and smooth functions of the numbers of one estimate."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpopt.errors import StatementError
from ldpopt.estimation.band import Band, NormalBand, no_covariance
from ldpopt.estimation.intervals import interval_quantile
from ldpopt.foundation.labelled import is_labelled, read_labelled
from ldpopt.foundation.labels import label_numbers, nearest
from ldpopt.foundation.numbers import Float, listed_items, real_array, short_repr

if TYPE_CHECKING:
    from ldpopt.estimation.estimate import Estimate

STEP = 1e-6  # of numeric derivatives, times the value if that is above 1


def contrast(estimate: Estimate, matrix: Any, labels: Sequence[Hashable] | None = None) -> Estimate:
    """Sums and differences of the numbers; see `Estimate.contrast`."""
    rows, names = _read_rows(estimate, matrix)
    band = estimate.bounds.contrast(rows)
    named = names if labels is None else tuple(listed_items(labels, "labels"))
    return _of_band(estimate, band, named, "contrast")


def function(
    estimate: Estimate,
    f: Callable[[Float], Any],
    labels: Sequence[Hashable] | None = None,
    gradient: Any = None,
) -> Estimate:
    """A smooth function of the numbers; see `Estimate.function`."""
    if not callable(f):
        raise StatementError(
            f"{short_repr(f)} is not a function",
            code="function",
            do="pass a function of an array, such as lambda t: t[1] / t[0]",
        )
    if estimate.covariance is None:
        raise no_covariance()
    at = estimate.values
    results = _results(f, at)
    slopes = _slopes(f, at, results) if gradient is None else _given(gradient, at, results)
    variances = np.maximum(_variances_of_contrasts(estimate, slopes), 0.0)
    covariance = slopes @ estimate.covariance @ slopes.T
    bounds = estimate.bounds
    band = NormalBand(
        results,
        np.sqrt(variances),
        covariance,
        freedom=bounds.freedom,
        influence_values=bounds.influence_values and bounds.influence_values.contrast(slopes),
    )
    named = None if labels is None else tuple(listed_items(labels, "labels"))
    return _of_band(estimate, band, named, "function")


def mean(estimate: Estimate, values: Any = None) -> Estimate:
    """The mean of numbers behind the answers; see `Estimate.mean`."""
    numbers = numbers_of_answers(estimate, values, "mean")
    return contrast(estimate, numbers[None], ["mean"])


def deviation(estimate: Estimate, values: Any = None) -> Estimate:
    """The standard deviation of numbers behind the answers; see `Estimate.deviation`."""
    numbers = numbers_of_answers(estimate, values, "deviation")
    # Moments about a number near the mean: squares of large numbers would cancel.
    about = numbers - float(numbers @ estimate.values)
    moments = contrast(estimate, np.stack([about, about**2]))
    bias = float(moments.std_error[0] ** 2)
    variance = float(moments.values[1] - moments.values[0] ** 2) + bias
    if not variance > 0:
        raise StatementError(
            f"the estimated variance of the answers is {variance:.3g}, which is not positive",
            code="variance",
            do="collect more reports, or use maximum likelihood or norm_sub",
        )
    root = np.sqrt(variance)
    return function(
        moments,
        lambda m: np.sqrt(m[1] - m[0] ** 2 + bias),
        ["deviation"],
        [-moments.values[0] / root, 1 / (2 * root)],
    )


def numbers_of_answers(estimate: Estimate, values: Any, wanted: str) -> Float:
    """The number of each answer, shape (n,): given by position or label, or else the labels."""
    if not estimate.is_distribution:
        raise StatementError(
            f"the {wanted} is for the frequencies of all answers, and these are other numbers",
            code="frequencies",
            do="estimate the frequencies of all answers, as estimate_frequencies does",
        )
    labels = estimate.labels or tuple(range(len(estimate.values)))
    if values is None:
        if (numbers := label_numbers(labels)) is None:
            raise StatementError(
                f"the answers are not numbers: {short_repr(labels[0])}",
                code="numbers",
                do=f"pass the number of each answer: {wanted}(values)",
            )
        return np.asarray(numbers, dtype=np.float64)
    given = read_labelled(values, "values", ("answer",)).to(labels)
    if given.shape != (len(labels),):
        raise StatementError(
            f"there are values of shape {given.shape} for {len(labels)} answers",
            code="shape",
            do="give one number for each answer",
        )
    return given


def _of_band(
    estimate: Estimate, band: Band, labels: tuple[Hashable, ...] | None, method: str
) -> Estimate:
    """An estimate of the same reports as another one, with the numbers of a band."""
    z = interval_quantile(estimate.confidence, len(band.values), estimate.simultaneous)
    return replace(
        estimate,
        values=band.values,
        std_error=band.errors,
        method=method,
        labels=labels,
        covariance=band.covariance,
        interval=band.ends(z),
        is_distribution=False,
        band=band,
        effect=band.effect,
        scale=None,
    )


def _read_rows(estimate: Estimate, matrix: Any) -> tuple[Float, tuple[Hashable, ...] | None]:
    """The factors of the numbers in each sum, shape (r, k), and the names of the sums."""
    k = len(estimate.values)
    if not is_labelled(matrix):
        rows = np.atleast_2d(real_array(matrix, "contrast"))
        if rows.ndim != 2 or rows.shape[1] != k or not len(rows):
            raise StatementError(
                f"the contrast has shape {np.shape(matrix)} for {k} numbers",
                code="shape",
                do="give one factor for each number, in rows",
            )
        return rows, None
    read = read_labelled(_completed(matrix), "contrast", ("contrast", "number"))
    is_row = read.values.ndim == 1
    labels = read.axes[0] if is_row else read.axes[1]
    if estimate.labels is None or labels is None:
        raise StatementError(
            "the numbers of a contrast with labels need labels on both sides",
            code="labels",
            do="pass an array, one factor for each number in their order",
        )
    places = {name: place for place, name in enumerate(estimate.labels)}
    for name in labels:
        if name not in places:
            raise StatementError(
                f"the contrast names {short_repr(name)}, which is not a number of the estimate",
                code="unknown-label",
                do=nearest(name, list(map(str, estimate.labels))),
            )
    values = np.atleast_2d(read.values)
    rows = np.zeros((len(values), k))
    rows[:, [places[name] for name in labels]] = values
    return rows, None if is_row else read.axes[0]


def _completed(matrix: Any) -> Any:
    """Rows by label with 0 for each number that only other rows name; another contrast as it is."""
    if not isinstance(matrix, Mapping) or not all(map(is_labelled, matrix.values())):
        return matrix
    names = dict.fromkeys(name for row in matrix.values() for name in row.keys())  # noqa: SIM118
    return {key: dict.fromkeys(names, 0.0) | dict(row.items()) for key, row in matrix.items()}


def _results(f: Callable[[Float], Any], at: Float) -> Float:
    """The values of a function, shape (r,)."""
    results = np.atleast_1d(real_array(f(at.copy()), "result of the function"))
    if results.ndim != 1 or not np.isfinite(results).all():
        raise StatementError(
            f"the function is {short_repr(results.tolist())} at the estimates",
            code="function",
            do="pass a function with finite numbers, one or a vector",
        )
    return results


def _slopes(f: Callable[[Float], Any], at: Float, results: Float) -> Float:
    """Numeric derivatives, shape (r, k), by central differences."""
    columns = []
    for place, step in enumerate(STEP * np.maximum(1.0, np.abs(at))):
        shift = np.zeros(len(at))
        shift[place] = step
        columns.append((_results(f, at + shift) - _results(f, at - shift)) / (2 * step))
    return np.reshape(np.stack(columns, axis=-1), (len(results), len(at)))


def _given(gradient: Any, at: Float, results: Float) -> Float:
    """Derivatives that a user gave, shape (r, k)."""
    slopes = np.atleast_2d(real_array(gradient(at) if callable(gradient) else gradient, "gradient"))
    if slopes.shape != (len(results), len(at)):
        raise StatementError(
            f"the gradient has shape {slopes.shape}; it needs {(len(results), len(at))}",
            code="shape",
            do="give one derivative for each result and number",
        )
    return slopes


def _variances_of_contrasts(estimate: Estimate, matrix: Float) -> Float:
    """Variances of sums of the numbers, from the covariance and what standard errors have above
    it.
    """
    plain = NormalBand(estimate.values, estimate.bounds.errors, estimate.covariance)
    return np.asarray(plain.contrast(matrix).errors ** 2)
