"""Extreme rays of notions that are lists of comparisons: what they have, and refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from builders import refused
from ldpopt import PML, ApproximateLDP, OneSided, PureLDP, UtilityOptimizedLDP
from ldpopt.errors import NotRepresentableError
from ldpopt.foundation.deadline import Deadline
from ldpopt.privacy.cones.exact_rays import column_rays, raised
from ldpopt.privacy.cones.rays import rays_of, whole_rays_of

ALIKE = PML("log(6/5)", {"a": 1, "b": 1, "c": 1})


def test_three_alike_answers_have_three_rays():
    rays = rays_of(ALIKE, "abc")
    assert rays.whole.tolist() == [[2, 2, 1], [2, 1, 2], [1, 2, 2]]
    assert rays.columns.base == 0.5
    assert abs(rays.depth - np.log(2)) < 1e-15
    assert rays.is_symmetric(np.array([1, 2, 0]))
    assert not rays_of(PML(0.5, {"a": 1, "b": 2, "c": 3}), "abc").is_symmetric(np.array([1, 2, 0]))


def test_reports_of_one_answer_alone_are_rays():
    """Protected columns of two values, and one unit for each answer that is not sensitive."""
    privacy = UtilityOptimizedLDP("log(3)", ["a"])
    whole = {tuple(ray) for ray in whole_rays_of(privacy, "abc").whole.tolist()}
    units = {(0, 1, 0), (0, 0, 1)}
    pure = {tuple(ray) for ray in whole_rays_of(PureLDP("log(3)"), "abc").whole.tolist()}
    assert whole == pure | units
    both = privacy & PML(3.0, {"a": 1, "b": 1, "c": 8})
    allowed = {tuple(ray) for ray in whole_rays_of(both, "abc").whole.tolist()}
    assert (0, 0, 1) in allowed
    assert (0, 1, 0) in allowed
    strict = privacy & PML(1.0, {"a": 1, "b": 1, "c": 8})
    allowed = {tuple(ray) for ray in whole_rays_of(strict, "abc").whole.tolist()}
    assert (0, 0, 1) in allowed
    assert (0, 1, 0) not in allowed


def test_one_sided_rays_are_those_of_its_comparisons():
    privacy = OneSided("log(3)", ["a", "b"])
    lists = (whole_rays_of(privacy, "abcd"), column_rays(privacy.comparisons("abcd")))
    assert len({frozenset(map(tuple, rays.whole.tolist())) for rays in lists}) == 1


def test_the_smallest_entry_is_split_off_in_rationals():
    """At 1e-12 nats the entries of floats agree in all but four digits."""
    columns = rays_of(PML("1/1000000000000", {"a": 1, "b": 1}), "ab").columns
    assert columns.shapes.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert 3.9e-12 < 2 * columns.spread < 4.1e-12


def test_ratios_are_rounded_up_by_little():
    for ratio in (1 + Fraction(1, 3**40), Fraction(10, 3), Fraction(10**30, 7)):
        excess = ratio - 1
        assert excess <= raised(ratio) - 1 < excess * (1 + Fraction(1, 2**58))


class TestRefusals:
    def test_a_condition_on_several_reports_has_no_cone(self):
        with refused("no-cone", NotRepresentableError):
            rays_of(ApproximateLDP(1.0, 0.1), "abc")

    def test_more_rays_than_are_listed(self):
        with refused("ray-number", NotRepresentableError):
            rays_of(PML(0.5, dict.fromkeys("abcdefgh", 1)), "abcdefgh", most=20)

    def test_more_answers_than_are_listed(self):
        with refused("ray-answers", NotRepresentableError):
            rays_of(PML(0.5, dict.fromkeys(range(17), 1)), range(17))

    def test_a_deadline_that_is_over(self):
        with refused("ray-time", NotRepresentableError):
            rays_of(PML(0.5, dict.fromkeys(range(12), 1)), range(12), deadline=Deadline.after(0.0))
