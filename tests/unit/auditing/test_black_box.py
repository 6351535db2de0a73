"""The statistical audit: finds faults, keeps its level, and is nearly tight."""

import math

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or, truth_or_another
from ldpopt.auditing.black_box import audit_sampler
from ldpopt.errors import StatementError


def coin(epsilon):
    truth = 1 / (1 + math.exp(-epsilon))
    return lambda x, size, rng: (rng.random(size) < truth) == bool(x)


def laplace(scale):
    return lambda x, size, rng: x + rng.laplace(scale=scale, size=size)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_bounds_are_nearly_tight(epsilon):
    bound = audit_sampler(coin(epsilon), 0, 1, draws=1_000_000, confidence=0.99, rng=1)
    assert 0.98 * epsilon <= bound <= epsilon


def test_mechanisms_are_black_boxes_too():
    mechanism = lo.Mechanism(truth_or_another(4, 1.0))
    box = lambda x, size, rng: mechanism.sample([x] * size, rng=rng)  # noqa: E731
    assert 0.9 < audit_sampler(box, 0, 1, draws=100_000, rng=3) <= 1.0


def test_noise_of_half_the_scale_is_found():
    """Sensitivity 1 at epsilon 1 asks for scale 1; a scale of 1/2 is epsilon 2."""
    assert audit_sampler(laplace(0.5), 0.0, 1.0, draws=10_000, confidence=0.99, rng=1) > 1.0
    assert audit_sampler(laplace(1.0), 0.0, 1.0, draws=10_000, confidence=0.99, rng=1) <= 1.0


def test_false_alarms_are_as_rare_as_stated():
    """Honest boxes at confidence 0.95: the alarms are at most binomial(boxes, 0.05), exceeded once
    in a million."""
    boxes, most = thorough_or((500, 51), (2000, 150))
    box = coin(1.0)
    alarms = sum(
        audit_sampler(box, 0, 1, draws=400, confidence=0.95, rng=seed) > 1.0
        for seed in range(boxes)
    )
    assert alarms <= most


def test_an_output_of_one_answer_only_is_found():
    box = lambda x, size, rng: np.where(rng.random(size) < 0.1, x, 2)  # noqa: E731
    assert audit_sampler(box, 0, 1, draws=10_000, rng=0) > 4


def test_labels_and_no_difference():
    box = lambda x, size, rng: rng.choice(["a", "b"], size)  # noqa: E731
    assert audit_sampler(box, 0, 1, draws=1000, rng=0) < 0.2


@pytest.mark.parametrize(
    "settings", [{"draws": 10}, {"draws": 1000, "confidence": 1.0}, {"draws": 1e4}]
)
def test_bad_arguments_are_refused(settings):
    with pytest.raises(StatementError):
        audit_sampler(coin(1.0), 0, 1, **settings)


def test_a_wrong_number_of_reports_is_refused():
    with refused("report-count"):
        audit_sampler(lambda x, size, rng: np.zeros(3), 0, 1, draws=100)
