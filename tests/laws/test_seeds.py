"""One place turns a seed into random numbers: no stream of anybody else's generator repeats in it,
every public function goes through it, and simulations with the seed of their data are right."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpopt
from builders import refused, thorough_or
from ldpopt import (
    Mechanism,
    PureLDP,
    Survey,
    Workload,
    audit_sampler,
    closed_forms,
    compare_means,
    estimate_frequencies,
    frequencies,
    layers,
    mean,
    noise,
    simulate,
)
from ldpopt.certificate.frequency_certificate import FrequencyCertificate
from ldpopt.designing.frequency_design import FrequencyDesign
from ldpopt.foundation import seeds
from ldpopt.foundation.seeds import PROJECT, Purpose, child_seed, generator_of, seed_of
from ldpopt.mechanism import sampling
from ldpopt.mechanism.privatizing import privatize_file
from ldpopt.noise import IntegerLevelNoise, LevelNoise, NeighborPartition
from ldpopt.studies.experiment import compare_means_grid
from ldpopt.studies.simulate import simulate_grid
from ldpopt.studies.survey_simulation import simulate_survey

HOME = Path(ldpopt.__file__).parent
FIXED = ("designing", "polytope", "privacy", "solving", "testing")
"""Rooms whose searches and tests have fixed seeds; nobody's data are drawn there."""

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["low", "high"])
SURVEY = Survey({"a": COIN, "b": COIN})
ANSWERS = ["low", "high"] * 20
TABLE = pd.DataFrame({"a": ANSWERS, "b": ANSWERS})
MODEL = {"a": COIN, "b": COIN}


def coin(x: Any, size: int, rng: np.random.Generator) -> Any:
    return rng.random(size) < (0.9 if x else 0.1)


def people(users: int, rng: np.random.Generator) -> Any:
    return rng.random((users, 2))


def studies(**options: Any) -> dict[str, Any]:
    algorithms = {"duchi": lambda epsilon: mean.sampled(mean.Duchi(epsilon), attributes=2)}
    return {"algorithms": algorithms, "data": people, "epsilons": (1.0,), "sets": 2} | options


def written(write: Callable[..., Any], rng: Any) -> list[str]:
    """The reports that are written for a file or a folder of answers."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        TABLE.to_parquet(folder / "in" / "one.parquet")
        TABLE.assign(place=2).to_parquet(folder / "in" / "two.parquet")
        write(folder, rng)
        reports = [pd.read_parquet(path) for path in sorted(folder.glob("out*/*.parquet"))]
        return [report.to_csv() for report in reports]


def file_of(folder: Path) -> tuple[Path, Path]:
    (folder / "out").mkdir()
    return folder / "in" / "one.parquet", folder / "out" / "one.parquet"


def streams(rng: Any, purpose: Purpose = Purpose.REPORTS) -> list[int]:
    return generator_of(rng, purpose).integers(0, 2**64, 4, dtype=np.uint64).tolist()


def foreign(rng: Any) -> list[int]:
    return np.random.default_rng(rng).integers(0, 2**64, 4, dtype=np.uint64).tolist()


def test_no_stream_of_a_seed_repeats():
    numbers = [*range(thorough_or(300, 20_000)), 2**33, 2**64 + 5, 2**128 - 1, PROJECT]
    found = [streams(seed, purpose) for seed in numbers for purpose in Purpose]
    found += [foreign(seed) for seed in numbers]
    found += [foreign([seed, 1]) for seed in numbers]
    found += [foreign(np.random.SeedSequence(seed).spawn(1)[0]) for seed in numbers]
    found += [streams(np.random.SeedSequence(seed).spawn(1)[0]) for seed in numbers]
    found += [streams(child_seed(seed_of(seed), 0)) for seed in numbers]
    words = np.array(found).ravel()
    assert len(np.unique(words)) == len(words)


def test_a_seed_is_the_same_in_every_form_and_a_generator_is_used_as_it_is():
    for seed in (0, 5, 2**70):
        assert streams(seed) == streams(np.random.SeedSequence(seed))
        words = np.random.SeedSequence(seed).generate_state(4).tolist()
        assert streams(np.random.SeedSequence(words)) != streams(seed)
    assert streams(np.int64(5)) == streams(5)
    own = np.random.default_rng(5)
    assert generator_of(own) is own
    assert streams(own) == foreign(5)
    assert streams(None) != streams(None)
    for bad in (-1, 1.5, "5", True):
        with refused("rng"):
            generator_of(bad)  # type: ignore[arg-type]


FORM = closed_forms.top_k([0.4, 0.3, 0.2, 0.1], 1.2, 0.1).sampler
FREQUENCIES = FrequencyDesign(FrequencyCertificate.of(Workload.frequencies(7), PureLDP(1.0)))
QUESTIONS = ldpopt.design(Workload.marginals([2] * 12, 2), PureLDP(1.0))
SIZES = ldpopt.design(Workload.frequencies(25), PureLDP(1.0), influence=2.6)
LAYERS = LevelNoise(NeighborPartition([(0.0, 3.0), (7.0, 9.0)], 1.0), 1.0)
INTEGERS = IntegerLevelNoise(NeighborPartition({1, 3}, 2), 1.0)
CODES = np.arange(40) % 2
NUMBERS = np.linspace(-1, 1, 40)
CASES: dict[str, Callable[[Any], Any]] = {
    "audit_sampler": lambda rng: audit_sampler(coin, 0, 1, draws=1000, rng=rng),
    "Sampler.sample": lambda rng: FORM.sample(CODES, rng=rng),
    "Sampler.draw": lambda rng: FORM.draw(CODES, rng=rng),
    "FrequencyDesign.privatize": lambda rng: FREQUENCIES.privatize(CODES, rng=rng),
    "SizesSampler.privatize": lambda rng: SIZES.privatize(CODES, rng=rng),
    "SetsRandomizer.privatize": lambda rng: QUESTIONS.randomizer.privatize(
        QUESTIONS.inputs[:40], rng=rng
    ),
    "FrequencyProtocol.privatize": lambda rng: [
        str(np.asarray(protocol.privatize(ANSWERS, rng=rng)).tolist())
        for protocol in (
            frequencies.RandomizedResponse(["low", "high", "none"], 1.0),
            frequencies.SubsetSelection(["low", "high", "none", "other"], 1.0),
            frequencies.UnaryEncoding(["low", "high", "none"], 1.0),
            frequencies.LocalHashing(["low", "high", "none"], 1.0),
        )
    ],
    "MeanProtocol.privatize": lambda rng: mean.Laplace(1.0).privatize(NUMBERS, rng=rng),
    "NumberProtocol.privatize": lambda rng: mean.Piecewise(1.0).privatize(NUMBERS, rng=rng),
    "VectorProtocol.privatize": lambda rng: mean.sampled(mean.Duchi(1.0), attributes=2).privatize(
        NUMBERS.reshape(-1, 2), rng=rng
    ),
    "Mechanism.sample": lambda rng: COIN.sample(ANSWERS, rng=rng),
    "Mechanism.privatize": lambda rng: COIN.privatize(ANSWERS, rng=rng),
    "privatize_frame": lambda rng: SURVEY.privatize(TABLE, rng=rng).to_csv(),
    "privatize_table": lambda rng: SURVEY.privatize(TABLE, rng=rng).to_csv(),
    "randomize_frame": lambda rng: SURVEY.privatize(TABLE, rng=rng).to_csv(),
    "Survey.privatize": lambda rng: SURVEY.privatize(TABLE, rng=rng).to_csv(),
    "privatize_file": lambda rng: written(
        lambda folder, own: privatize_file(*file_of(folder), SURVEY.questions, rng=own), rng
    ),
    "Survey.privatize_file": lambda rng: written(
        lambda folder, own: SURVEY.privatize_file(*file_of(folder), rng=own), rng
    ),
    "privatize_folder": lambda rng: written(
        lambda folder, own: ldpopt.privatize_folder(folder / "in", folder / "out", MODEL, rng=own),
        rng,
    ),
    "AliasTable.draw": lambda rng: sampling.AliasTable(COIN.counts).draw(CODES, rng=rng),
    "AliasTable.draw_places": lambda rng: sampling.AliasTable(COIN.counts).draw_places(CODES, rng),
    "bit_source": lambda rng: sampling.bit_source(rng)(9),
    "whole_words": lambda rng: sampling.whole_words(rng)(9),
    "Geometric.sample": lambda rng: noise.Geometric(1, 1.0).sample(40, rng=rng),
    "Laplace.sample": lambda rng: noise.Laplace(1, 1.0).sample(9, rng=rng),
    "LatticeNoise.sample": lambda rng: layers.LatticeNoise([1], 1.0).sample(40, rng=rng),
    "LevelNoise.sample": lambda rng: LAYERS.sample(40, rng=rng),
    "IntegerLevelNoise.sample": lambda rng: INTEGERS.sample(40, rng=rng),
    "Noise.sample": lambda rng: noise.Staircase(1, 1.0).sample(9, rng=rng),
    "uniforms": lambda rng: noise.noise.uniforms(9, rng),
    "compare_means": lambda rng: compare_means(**studies(users=50, seed=rng)).rmse,
    "compare_means_grid": lambda rng: compare_means_grid(**studies(users=[50], seed=rng))[50].rmse,
    "simulate": lambda rng: (
        simulate(COIN, [0.5, 0.5], population=50, repeats=2, rng=rng).frequencies
    ),
    "simulate_grid": lambda rng: simulate_grid(
        {"a": (COIN, [0.5, 0.5], None)}, [50], repeats=2, rng=rng
    ).to_csv(),
    "simulate_survey": lambda rng: simulate_survey(SURVEY, 50, repeats=2, rng=rng).to_csv(),
}
"""A call of every function with a seed. Whoever adds a function gives its row here."""
SIMULATIONS = {
    *("audit_sampler", "compare_means", "compare_means_grid"),
    *("simulate", "simulate_grid", "simulate_survey"),
}
"""Those that draw nobody's reports: without a seed they have a generator of numpy."""


def has_a_seed(value: Any) -> bool:
    return inspect.isfunction(value) and bool(
        {"rng", "seed"} & set(inspect.signature(value).parameters)
    )


@cache
def seeded() -> dict[str, Any]:
    """Every function of the library with a seed, by its name."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(ldpopt.__path__, "ldpopt."):
        if module.name.endswith("__main__") or module.name.startswith("ldpopt.cli"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if name.startswith("_") or getattr(value, "__module__", "") != module.name:
                continue
            functions = {name: value}
            if inspect.isclass(value):
                functions = {f"{name}.{key}": own for key, own in vars(value).items()}
            # "_" is called by a public one
            found |= {
                key: own for key, own in functions.items() if "._" not in key and has_a_seed(own)
            }
    return found


@pytest.mark.parametrize("name", sorted(seeded()))
def test_every_seed_goes_through_the_one_place(name, monkeypatch):
    if Path(inspect.getfile(inspect.unwrap(seeded()[name]))) == Path(seeds.__file__):
        return
    assert name in CASES, f"{name} draws from a seed: give a call of it in CASES"
    first = np.asarray(CASES[name](5)).tolist()
    used = []
    make = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: used.append(seed) or make(seed))
    assert np.asarray(CASES[name](5)).tolist() == first
    assert used, "no generator was made"
    assert all(PROJECT in seed.entropy for seed in used)


@pytest.mark.parametrize("name", sorted(CASES.keys() - SIMULATIONS))
def test_without_a_seed_the_bytes_of_the_system_decide_every_draw(name, monkeypatch):
    def drawn(seed: int) -> Any:
        monkeypatch.setattr(os, "urandom", np.random.default_rng(seed).bytes)
        return np.asarray(CASES[name](None)).tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def calls(tree: ast.AST) -> list[str]:
    """Names of the functions that are called."""
    found = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [getattr(name, "attr", getattr(name, "id", "")) for name in found]


def test_no_other_file_makes_a_generator():
    makers = {"default_rng", "RandomState", "SeedSequence", "Random", "PCG64", "MT19937"}
    texts = {path: path.read_text(encoding="utf-8") for path in HOME.rglob("*.py")}
    found = {
        path.relative_to(HOME).parts[0]
        for path, text in texts.items()
        if path != Path(seeds.__file__)
        and any(name in text for name in makers)
        and makers & set(calls(ast.parse(text)))
    }
    assert found <= set(FIXED), "make a generator by ldpopt.foundation.seeds.generator_of"


@pytest.mark.parametrize("draw", ["random", "choice"])
def test_a_simulation_with_the_seed_of_its_data_is_right(draw):
    """Surveys, data and reports with one seed: reports are independent of the data given the
    answers, and 95 % intervals have their coverage."""
    kept = total = covered = 0
    surveys = thorough_or(100, 2000)
    for seed in range(surveys):
        rng = np.random.default_rng(seed)
        if draw == "random":
            truth = np.where(rng.random(1500) < 0.3, "high", "low")
        else:
            truth = rng.choice(["low", "high"], 1500, p=[0.7, 0.3])
        report = np.asarray(COIN.privatize(truth.tolist(), rng=seed))
        kept += int((report == "high")[truth == "high"].sum())
        total += int((truth == "high").sum())
        found = estimate_frequencies(COIN, report.tolist())
        low, high = found.interval[1]
        covered += int(low <= 0.3 <= high)
    assert abs(kept / total - 0.75) < 5 * (0.75 * 0.25 / total) ** 0.5
    assert abs(covered / surveys - 0.95) < 4 * (0.95 * 0.05 / surveys) ** 0.5
