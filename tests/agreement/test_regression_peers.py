"""Regressions beside statsmodels: of clear channels its models, of reports its generic likelihood;
scores and information beside differences of the likelihood itself."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from builders import thorough_or
from ldpopt import Mechanism, Sample, regress
from ldpopt.estimation.regression.families import Mixture, Ordered, Softmax
from ldpopt.estimation.regression.fit import observed

statsmodels = pytest.importorskip("statsmodels.api")


def people(n: int, size: int = 800, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 12, size).round(),
            "rich": rng.integers(0, 2, size),
            "town": rng.integers(0, 40, size),
        }
    )
    score = (table["age"] - 40) / 20 + 0.6 * table["rich"] + rng.logistic(size=size)
    edges = np.quantile(score, np.arange(1, n) / n)
    return table.assign(y=np.searchsorted(edges, score))


def clear(n: int) -> dict[str, Mechanism]:
    return {"y": Mechanism(np.eye(n))}


def design(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"Intercept": 1.0, "age": table["age"], "rich": table["rich"]})


def test_clear_answers_are_its_logit() -> None:
    table = people(2)
    right = statsmodels.Logit(table["y"], design(table)).fit(disp=0, tol=1e-12)
    found = regress("y ~ age + rich", table, clear(2))
    assert found.params.to_numpy() == pytest.approx(right.params.to_numpy(), rel=1e-7)
    assert found.bse.to_numpy() == pytest.approx(right.bse.to_numpy(), rel=1e-7)
    assert found.pvalues.to_numpy() == pytest.approx(right.pvalues.to_numpy(), rel=1e-6)
    assert found.conf_int().to_numpy() == pytest.approx(right.conf_int().to_numpy(), rel=1e-6)
    assert found.llf == pytest.approx(right.llf, rel=1e-10)
    assert found.predict(table).to_numpy() == pytest.approx(right.predict(design(table)), rel=1e-7)
    assert found.params.index.tolist() == right.params.index.tolist()


def test_several_clear_answers_are_its_multinomial_logit() -> None:
    table = people(4)
    right = statsmodels.MNLogit(table["y"], design(table)).fit(disp=0, tol=1e-12, maxiter=100)
    found = regress("y ~ age + rich", table, clear(4))
    assert found.params.shape == right.params.shape
    assert found.params.to_numpy() == pytest.approx(right.params.to_numpy(), rel=1e-6)
    assert found.bse.to_numpy() == pytest.approx(right.bse.to_numpy(), rel=1e-6)
    assert found.cov_params().to_numpy() == pytest.approx(right.cov_params().to_numpy(), rel=1e-5)
    assert found.predict(table).to_numpy() == pytest.approx(
        np.asarray(right.predict(design(table))), rel=1e-6
    )


@pytest.mark.long
def test_ordered_clear_answers_are_its_ordered_model() -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    table = people(4)
    model = OrderedModel(table["y"], design(table)[["age", "rich"]], distr="logit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = model.fit(method="newton", disp=0, tol=1e-12, maxiter=100)
    found = regress("y ~ age + rich", table, clear(4), kind="ordered")
    assert found.params.to_numpy()[:2] == pytest.approx(right.params.to_numpy()[:2], rel=1e-6)
    assert found.bse.to_numpy()[:2] == pytest.approx(right.bse.to_numpy()[:2], rel=1e-4)
    cuts = model.transform_threshold_params(right.params.to_numpy())[1:-1]
    assert found.params.to_numpy()[2:] == pytest.approx(cuts, rel=1e-6)
    assert found.llf == pytest.approx(right.llf, rel=1e-10)


@pytest.mark.parametrize("clusters", [None, "town"])
def test_linear_model_of_clear_answers_is_least_squares_with_robust_errors(
    clusters: str | None,
) -> None:
    table = people(2)
    model = statsmodels.OLS(table["y"], design(table))
    size = len(table)
    if clusters is None:
        right, factor = model.fit(cov_type="HC0"), size / (size - 1)
    else:
        options = {"groups": table["town"], "use_correction": False}
        right, factor = model.fit(cov_type="cluster", cov_kwds=options), 40 / 39
    found = regress(
        "y ~ age + rich", table, clear(2), kind="mean", sample=Sample(clusters=clusters)
    )
    assert found.params.to_numpy() == pytest.approx(right.params.to_numpy(), rel=1e-9)
    assert found.bse.to_numpy() == pytest.approx(right.bse.to_numpy() * factor**0.5, rel=1e-8)


def test_clusters_of_a_logit_are_its_sandwich() -> None:
    table = people(2)
    options = {"groups": table["town"], "use_correction": False}
    model = statsmodels.Logit(table["y"], design(table))
    right = model.fit(disp=0, tol=1e-12, cov_type="cluster", cov_kwds=options)
    found = regress("y ~ age + rich", table, clear(2), sample=Sample(clusters="town"))
    assert found.bse.to_numpy() == pytest.approx(right.bse * (40 / 39) ** 0.5, rel=1e-6)


@pytest.mark.parametrize("epsilon", thorough_or([2.0], [1.0, 2.0, 4.0]))
def test_reports_are_its_generic_likelihood(epsilon: float) -> None:
    from statsmodels.base.model import GenericLikelihoodModel

    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    table = people(2, 2000)
    coin = Mechanism([[truth, 1 - truth], [1 - truth, truth]])
    table["y"] = coin.privatize(table["y"].tolist(), rng=3)
    table["age"] = (table["age"] - 40) / 12

    class Coin(GenericLikelihoodModel):  # type: ignore[misc]
        def loglikeobs(self, params: Any) -> Any:
            q = 1 - truth + (2 * truth - 1) / (1 + np.exp(-self.exog @ params))
            return np.where(self.endog == 1, np.log(q), np.log(1 - q))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right = Coin(table["y"].to_numpy(), design(table).to_numpy()).fit(
            start_params=np.zeros(3), method="bfgs", disp=0, gtol=1e-8
        )
    found = regress("y ~ age + rich", table, {"y": coin})
    assert found.params.to_numpy() == pytest.approx(right.params, abs=1e-4)
    assert found.bse.to_numpy() == pytest.approx(right.bse, rel=1e-3)
    assert found.llf == pytest.approx(right.llf, abs=1e-6)


def mixtures() -> dict[str, Mixture]:
    """Likelihoods of each kind of forty people, of random channels."""
    rng = np.random.default_rng(4)
    size = 40
    matrices = [rng.normal(size=(size, 2)) for _ in range(3)]
    clear = np.column_stack([np.ones(size), rng.normal(size=size)])
    seen, cells, away = (rng.dirichlet(np.ones(k), size).T for k in (4, 3, 2))
    weights = rng.choice([1.0, 2.0], size)
    one = np.ones((1, size))
    none = np.zeros((size, 0))
    return {
        "softmax": Mixture(Softmax(4, 2), matrices[:1], none, seen, one, None, weights),
        "ordered": Mixture(Ordered(4, 2), matrices[:1], none, seen, one, None, weights),
        "behaviors": Mixture(Softmax(4, 2), matrices[:1], none, seen, one, away, weights),
        "covariate": Mixture(Softmax(4, 2), matrices, clear, seen, cells, None, weights),
        "all": Mixture(Ordered(4, 2), matrices, clear, seen, cells, away, weights),
    }


@pytest.mark.parametrize("name", mixtures())
def test_scores_are_derivatives_of_the_likelihood(name: str) -> None:
    model = mixtures()[name]
    rng = np.random.default_rng(6)
    theta = model.start + 0.3 * rng.normal(size=len(model.start))
    value, gradient = model.value_and_gradient(theta)
    differences = [
        (model.value_and_gradient(theta + s)[0] - model.value_and_gradient(theta - s)[0]) / 2e-6
        for s in 1e-6 * np.eye(len(theta))
    ]
    assert gradient == pytest.approx(differences, abs=1e-6)
    again, scores = model.scores(theta)
    assert again == value
    assert model.weights @ scores == pytest.approx(gradient, rel=1e-10, abs=1e-12)
    curvature = [
        (model.value_and_gradient(theta - s)[1] - model.value_and_gradient(theta + s)[1]) / 2e-6
        for s in 1e-6 * np.eye(len(theta))
    ]
    assert observed(model, theta) == pytest.approx(np.array(curvature), abs=1e-6)
