"""Outputs priced by the workers of a cluster: the same numbers as on this machine."""

import numpy as np
import pytest

import ldpopt as lo
from builders import refused, thorough_or
from cities import synthetic_city
from ldpopt.errors import LdpoptError
from ldpopt.solving.methods.rays import cluster, coarse, progress


class HereClient:
    """A client of Dask as far as it is used, whose only worker is this process; it counts what it
    does."""

    def __init__(self):
        self.done = 0

    def scatter(self, thing, broadcast, hash):
        assert broadcast
        assert not hash  # data that were lost are not sent again under their name
        return thing

    def submit(self, function, *arguments, pure):
        assert not pure
        self.done += 1
        return function(*arguments)

    def gather(self, sent):
        return sent

    def nthreads(self):
        return {"here": 2}


@pytest.fixture
def small_is_large(monkeypatch):
    monkeypatch.setattr(progress, "VIEW_INPUTS", 20)
    monkeypatch.setattr(coarse, "LEAST_INPUTS", 60)


def test_a_cluster_gives_the_same_channel(small_is_large):
    problem = synthetic_city(90, rng=2).problem(1.0)
    client = HereClient()
    gap = thorough_or(1e-2, 1e-3)
    here = lo.solve(problem, gap=gap)
    spread = lo.solve(problem, gap=gap, executor=client)
    assert client.done > 8
    assert (here.mechanism.masses == spread.mechanism.masses).all()
    assert lo.certify(here).bound == lo.certify(spread).bound
    assert not any("executor" in note for note in spread.notes)


@pytest.mark.long
def test_a_dask_client_prices(small_is_large):
    distributed = pytest.importorskip("distributed")
    problem = synthetic_city(80, rng=1).problem(1.0)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as workers,
        distributed.Client(workers) as client,
    ):
        spread = lo.solve(problem, gap=1e-2, executor=client)
    assert (spread.mechanism.masses == lo.solve(problem, gap=1e-2).mechanism.masses).all()


def test_a_cluster_that_fails_is_told(small_is_large):
    def fails(*_, **__):
        raise RuntimeError("all workers died\nat once")

    for name in ("gather", "scatter"):
        client = HereClient()
        setattr(client, name, fails)
        with refused("cluster", LdpoptError) as told:
            lo.solve(synthetic_city(80, rng=1).problem(1.0), gap=1e-2, executor=client)
        assert "RuntimeError: all workers died" in str(told.value)
        assert "at once" not in str(told.value)


class KilledWorker(Exception):  # named as that of Dask
    """The error after the death of workers."""


def test_deaths_of_workers_change_nothing(small_is_large):
    class DyingClient(HereClient):
        deaths = 0

        def gather(self, sent):
            if self.deaths < 3:
                self.deaths += 1
                raise KilledWorker("a block")
            return sent

    problem = synthetic_city(80, rng=1).problem(1.0)
    client = DyingClient()
    spread = lo.solve(problem, gap=1e-2, executor=client)
    assert client.deaths == 3
    assert (spread.mechanism.masses == lo.solve(problem, gap=1e-2).mechanism.masses).all()
    client.deaths = -9  # more than are tried
    with refused("cluster", LdpoptError):
        lo.solve(problem, gap=1e-2, executor=client)


def test_what_is_no_client_is_refused_and_an_unused_one_is_told():
    problem = lo.Problem([0.5, 0.3, 0.2], "identity", lo.PureLDP(1.0))
    with refused("dask-client"):
        lo.solve(problem, executor="four")
    answer = lo.solve(problem, executor=HereClient())
    assert any("the executor was not used" in note for note in answer.notes)


def test_after_the_deadline_blocks_come_back_as_they_are():
    rng = np.random.default_rng(0)
    block = cluster.OutputShare(
        np.arange(2),
        np.zeros((2, 3), np.int16),
        np.zeros((2, 3), np.int8),
        np.zeros((2, 3), bool),
        np.zeros(2),
    )
    handover = cluster.Handover(np.arange(3), np.zeros(3, int), np.ones(3))
    loss = np.array([[np.inf, 1, 1], [1, np.inf, 1], [1, 1, np.inf]])
    places = cluster.SharedData(np.arange(2), rng.random((2, 3)), loss, handover)
    back = cluster.improved_block(places, block, np.zeros(3), np.zeros(2), 0.0)
    assert back.pivots == 0
    assert not back.seen.any()
    assert not back.price.any()
