"""Best channels for convex utilities under notions that are lists of comparisons."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from builders import refused, thorough_or
from ldpopt import (
    PML,
    ApproximateLDP,
    GraphDP,
    InformationPrivacy,
    MetricDP,
    OneSided,
    PairwiseLDP,
    PureLDP,
    Secrets,
    UtilityOptimizedLDP,
)
from ldpopt.errors import NotRepresentableError
from ldpopt.polytope.convex import (
    ConvexUtility,
    best_channel,
    f_divergence,
    mutual_information,
)
from ldpopt.polytope.exact_utilities import ExactUtility
from ldpopt.polytope.ray_certificate import RayCertificate

FALLING = mutual_information([0.4, 0.3, 0.2, 0.1])
EVEN = mutual_information({"a": 1, "b": 1, "c": 1, "d": 1})
SECRETS = {"ill": [0.6, 0.2, 0.1, 0.1], "well": [0.1, 0.2, 0.3, 0.4]}
BUDGETS = {"a": 0.5, "b": 1, "c": 2, "d": 3}
KINDS = ("kl", "total_variation", "chi_square", "squared_hellinger")

VALUES = {
    "PML .2": (FALLING, PML(0.2), 0.081411489),
    "LIP .5": (FALLING, InformationPrivacy(0.5), 0.104432071),
    "two notions": (FALLING, PureLDP(1.5) & GraphDP(0.7, nx.path_graph(4)), 0.140404479),
    "PML 1": (FALLING, PML(1.0), 0.850511624),
    "secrets": (FALLING, Secrets(0.5, SECRETS), 0.921216726),
    "own": (EVEN, PairwiseLDP.of_answers(BUDGETS, "own"), 0.208722471),
    "min": (EVEN, PairwiseLDP.of_answers(BUDGETS, "min"), 0.088163600),
    "mean": (EVEN, PairwiseLDP.of_answers(BUDGETS, "mean"), 0.350426010),
}


@pytest.mark.parametrize("case", VALUES)
def test_values_of_another_program(case):
    """Maxima over rays that were found and solved apart from the library."""
    utility, privacy, value = VALUES[case]
    best = best_channel(utility, privacy)
    assert abs(best.value - value) < 1e-9
    assert 0 <= best.gap < 1e-12
    assert best.certificate.audit.verdict == "certified"
    assert best.patterns is best.regime is best.binary is None
    assert np.allclose(best.weights @ best.columns, 1.0, rtol=0, atol=1e-9)


def test_three_alike_answers():
    """``1 - a (1 - pi)`` on the diagonal and ``a pi`` elsewhere, for every convex utility."""
    prior = [1 / 3] * 3
    privacy = PML("log(6/5)", {0: 1, 1: 1, 2: 1})
    best = best_channel(mutual_information(prior), privacy)
    assert abs(best.value - 0.043692120682) < 1e-12
    expected = np.full((3, 3), 0.4) - 0.2 * np.eye(3)
    channel = best.mechanism.channel
    assert np.allclose(channel[:, np.argsort(channel.argmin(axis=0))], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("n", "value"), [(5, 0.228204375), (6, 0.290879021), (7, 0.353090460), (8, 0.414118657)]
)
def test_paths(n, value):
    weights = dict(enumerate(range(n, 0, -1)))
    best = best_channel(mutual_information(weights), GraphDP("log(2)", nx.path_graph(n)))
    assert abs(best.value - value) < 1e-9
    assert best.gap < 1e-12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, "log(5)"])
def test_pure_privacy_as_a_cone_is_pure_privacy(kind, epsilon):
    """The pairs of a table of equal budgets, and a path of length 1 within them."""
    rng = np.random.default_rng(3)
    utility = f_divergence(*rng.dirichlet(np.ones(4), 2), kind)
    plain = best_channel(utility, epsilon)
    pairs = {(x, z): epsilon for x in range(4) for z in range(4) if x != z}
    listed = best_channel(utility, PairwiseLDP(pairs))
    assert listed.value == pytest.approx(plain.value, rel=1e-10, abs=1e-15)
    assert listed.gap <= 1e-11 * listed.value
    assert len(listed.columns) == len(listed.mechanism.outputs) <= 4


def test_an_own_utility_has_a_bound_in_floats():
    """The same numbers without a known name have no proof in rationals."""
    own = ConvexUtility("mine", 4, FALLING.columns)
    privacy = InformationPrivacy(0.5, {0: 4, 1: 3, 2: 2, 3: 1})
    best = best_channel(own, privacy)
    known = best_channel(FALLING, privacy)
    assert best.certificate is None
    assert isinstance(best.bound, float)
    assert best.value == pytest.approx(known.value, rel=1e-12)
    assert best.gap < 1e-12


def test_distances_that_are_no_few_powers():
    """Metrics of many distances are listed by their comparisons."""
    places = np.array([0.0, 0.311, 1.07, 1.5])
    metric = MetricDP(0.9, np.abs(places[:, None] - places))
    best = best_channel(FALLING, metric)
    assert best.gap < 1e-12
    assert best.certificate.audit.verdict == "certified"


def test_reports_of_one_answer_alone():
    privacy = UtilityOptimizedLDP("log(3)", ["b"])
    best = best_channel(mutual_information({"a": 1, "b": 2, "c": 1}), privacy)
    assert {"a", "c"} <= set(best.mechanism.outputs)
    assert best.certificate.audit.verdict == "certified"
    assert best.gap < 1e-12
    one_sided = best_channel(
        mutual_information({"a": 1, "b": 2, "c": 1}), OneSided("log(3)", ["b"])
    )
    assert one_sided.value > 0
    with refused("named-reports"):
        best_channel(EVEN, UtilityOptimizedLDP("log(3)", ["b"], ["x", "b"]))


def test_labels_are_those_of_utility_and_notion():
    """Rows in the order of the utility, else of the argument; the notion is aligned by label."""
    prior = {"b": 0.3, "a": 0.7}
    utility = mutual_information(prior)
    notion = PML(0.3, {"a": 7, "b": 3})
    assert best_channel(utility, notion).mechanism.inputs == ("b", "a")
    moved = best_channel(utility, notion, inputs=["a", "b"])
    assert moved.mechanism.inputs == ("a", "b")
    assert moved.value == pytest.approx(best_channel(utility, PML(0.3)).value, rel=1e-12)
    assert best_channel(mutual_information([0.7, 0.3]), notion).mechanism.inputs == ("a", "b")
    pair = f_divergence({"x": 0.2, "y": 0.8}, {"x": 0.7, "y": 0.3})
    table = PairwiseLDP({("x", "y"): 1.0, ("y", "x"): 0.2})
    values = [best_channel(pair, table, inputs=order).value for order in ("xy", "yx")]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


class TestCertificates:
    best = best_channel(FALLING, PML(0.2))

    def test_it_is_computed_again_from_the_statement(self):
        again = self.best.certificate.recheck()
        assert again.bound == self.best.bound
        assert again.achieved == self.best.certificate.achieved

    def test_any_prices_give_a_bound(self):
        proof = self.best.certificate
        rng = np.random.default_rng(0)
        for _ in range(5):
            prices = [Fraction(price) for price in rng.normal(size=4).tolist()]
            other = RayCertificate.of(
                proof.utility, proof.privacy, proof.inputs, proof.mechanism, prices
            )
            assert other.bound >= proof.bound - Fraction(1, 10**14)

    def test_channels_at_random_have_less(self):
        rng = np.random.default_rng(1)
        rays = self.best.certificate
        for _ in range(thorough_or(5, 20)):
            channel = rng.dirichlet(np.ones(6), 4)
            from ldpopt.mechanism.repair import repair

            private = repair(channel, rays.privacy, inputs=range(4)).mechanism
            assert FALLING.value(private) <= float(self.best.bound)


@pytest.mark.parametrize("kind", [*KINDS, "mutual_information", "fisher"])
def test_enclosures_contain_the_formulas(kind):
    """Each within 1e-12 of floats, also for columns with zeros."""
    rng = np.random.default_rng(5)
    p, q = rng.dirichlet(np.ones(3), 2)
    scores = p - q
    exact = {
        "mutual_information": lambda: ExactUtility.of(kind, p),
        "fisher": lambda: ExactUtility.of(kind, scores, q),
    }.get(kind, lambda: ExactUtility.of(kind, p, q))()
    for column in ([3, 5, 8], [0, 1, 7], [2, 2, 2], [1, 0, 0]):
        c = np.array(column, float)
        a = p @ c
        b = q @ c
        logs = np.where(c > 0, c * np.log(np.where(c > 0, c, 1) / a), 0)
        plain = {
            "kl": a * np.log(a / b) - a + b,
            "total_variation": abs(a - b) / 2,
            "chi_square": (a - b) ** 2 / b,
            "squared_hellinger": (np.sqrt(a) - np.sqrt(b)) ** 2,
            "mutual_information": p @ logs,
            "fisher": (scores @ c) ** 2 / b,
        }[kind]
        low, high = exact.value(column)
        assert low <= high < low + Fraction(1, 2**150)
        assert float(low) == pytest.approx(plain, rel=1e-12, abs=1e-14)


def test_columns_that_the_second_distribution_excludes():
    p = np.array([0.5, 0.5])
    q = np.array([1.0, 0.0])
    values = {kind: ExactUtility.of(kind, p, q).value([0, 2]) for kind in KINDS}
    assert values == {
        "kl": None,
        "chi_square": None,
        "total_variation": (Fraction(1, 2),) * 2,
        "squared_hellinger": (Fraction(1),) * 2,
    }


class TestRefusals:
    def test_an_infinite_utility(self):
        """Columns of PML may be 0 where the second distribution is all that is left."""
        with refused("infinite-value"):
            best_channel(f_divergence([0.5, 0.5], [1.0, 0.0]), PML(2.0, {0: 1, 1: 1}))

    def test_a_notion_without_a_prior(self):
        with refused("notion-prior"):
            best_channel(f_divergence([0.5, 0.5], [0.9, 0.1]), PML(2.0))

    def test_a_notion_that_is_no_cone(self):
        with refused("no-cone", NotRepresentableError):
            best_channel(FALLING, ApproximateLDP(1.0, 0.1))

    def test_a_time_limit(self):
        prior = dict.fromkeys(range(12), 1)
        with refused("ray-time", NotRepresentableError):
            best_channel(mutual_information(prior), PML(0.5), time_limit=0.001)
