"""Mechanisms: what is a channel, its masses, files, post-processing."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from builders import refused
from ldpopt import Mechanism, PureLDP, audit, utility
from ldpopt.errors import MechanismError, ModelFileError, StatementError

COIN = [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize(
    "channel, code, value",
    [
        ([[0.5, 0.5], [0.5, 0.4]], "row-sum", "row 1 of the channel sums to 0.9,"),
        ([[0.5, 0.5 + 2e-9]], "row-sum", "row 0"),
        ([[1.25, -0.25]], "probability", "P[0, 1] = -0.25"),
        ([[1.0, 0.0], [math.nan, 1.0]], "nan", "P[1, 0] is nan"),
        ([[math.inf, 0.0]], "probability", "P[0, 0] = inf"),
        ([0.5, 0.5], "shape", "(2,)"),
        ([], "shape", "(0,)"),
        (np.zeros((2, 0)), "shape", "(2, 0)"),
        (np.zeros((0, 2)), "shape", "(0, 2)"),
    ],
    ids=str,
)
def test_other_arrays_are_refused(channel, code, value):
    with refused(code, MechanismError) as caught:
        Mechanism(channel)
    assert value in str(caught.value)
    assert "\n" not in caught.value.one_line


@pytest.mark.parametrize("n, m", [(2, 2), (3, 2), (2, 5), (4, 4)])
@pytest.mark.parametrize("read", [Mechanism, audit])
def test_what_a_matrix_was_meant_to_be_is_named(read, n, m):
    channel = np.random.default_rng(n + m).dirichlet(np.arange(1, m + 1), n)
    for matrix, code in ((channel.T, "transposed"), (100 * channel.T, "transposed")):
        with refused(code, MechanismError):
            read(matrix)
        with refused(code, MechanismError):
            Mechanism.private(matrix, PureLDP(1.0))
    for percent in (100 * channel, (100 * channel).round(1)):
        with refused("percent", MechanismError):
            read(percent)
        assert Mechanism.private(percent, PureLDP(9.0)).channel.shape == (n, m)
    with refused("row-sum", MechanismError):
        read(channel * 0.995)
    with refused("row-sum", MechanismError):
        read(channel * np.linspace(0.5, 1.5, n)[:, None])
    channel[-1, -1] = np.nan
    for call in (read, lambda channel: Mechanism.private(channel, PureLDP(1.0))):
        with refused("nan", MechanismError):
            call(channel)


@pytest.mark.parametrize("channel", [[[0.5, 0.5], [1.0]], [["a", "b"]], [[1j]], None], ids=str)
def test_what_is_no_rectangle_of_numbers_is_refused(channel):
    with pytest.raises(MechanismError, match="rectangular") as caught:
        Mechanism(channel)
    assert "\n" not in caught.value.one_line


@pytest.mark.parametrize(
    "inputs, outputs, words",
    [
        (["a"], None, "1 input .* for 2"),
        (["a", "a"], None, "input label 'a'"),
        (None, ["a"], "1 output .* for 2"),
        (["a", "b"], ["c", "c"], "output label 'c'"),
        ([1, 1.0], None, "duplicate"),
    ],
)
def test_labels_that_do_not_fit(inputs, outputs, words):
    with pytest.raises(MechanismError, match=words):
        Mechanism(COIN, inputs, outputs)


def test_labels_default_to_positions_and_outputs_to_inputs():
    assert Mechanism(COIN).outputs == (0, 1)
    assert Mechanism(COIN, ["no", "yes"]).outputs == ("no", "yes")
    assert Mechanism([[0.5, 0.25, 0.25]] * 2, ["no", "yes"]).outputs == (0, 1, 2)
    label = Mechanism(COIN, np.array([3, 4])).inputs[0]
    assert (label, type(label)) == (3, int)


def test_masses_are_integers_and_rows_are_whole():
    mechanism = Mechanism([[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3], [1e-30, 0.0, 1.0]])
    assert mechanism.denominator == 2**53
    assert {type(v) for v in mechanism.masses.flat} == {int}
    assert mechanism.masses.sum(axis=1).tolist() == [2**53] * 3
    assert np.abs(mechanism.masses / 2**53 - mechanism.channel).max() < 2**-52
    assert mechanism.masses[2].tolist() == [0, 0, 2**53]


def test_a_channel_on_the_grid_is_its_masses():
    mechanism = Mechanism([[0.1, 0.9], [0.3, 0.7]])
    twin = Mechanism(mechanism.counts / 2**53)
    assert (twin.channel * 2**53 == twin.counts).all()
    assert (twin.counts == mechanism.counts).all()


def test_the_audit_is_of_the_masses():
    # As floats the ratio is below 3; what is sampled is rounded, and that is what counts.
    mechanism = Mechanism([[0.1, 0.9], [0.3 - 1e-17, 0.7]])
    ratio = Fraction(int(mechanism.masses[1, 0]), int(mechanism.masses[0, 0]))
    verdict = mechanism.audit(PureLDP("log(3)")).verdict
    assert verdict == ("certified" if ratio <= 3 else "violated")
    assert mechanism.audit().epsilon == audit(mechanism).epsilon


def test_arrays_are_read_only_copies():
    source = np.array(COIN)
    mechanism = Mechanism(source)
    source[0] = 1
    assert mechanism.channel.tolist() == COIN
    for array in (mechanism.channel, mechanism.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0


def test_expected_value_and_posterior():
    coin = Mechanism(COIN, ["no", "yes"])
    assert coin.expected([0.2, 0.8]) == pytest.approx(0.75)
    assert coin.expected({"yes": 4, "no": 1}, [[1, 0], [0, 0]]) == pytest.approx(0.15)
    assert coin.expected([0.5, 0.5], utility.absolute_error([0, 2])) == pytest.approx(0.5)
    assert coin.posterior([0.2, 0.8])[0].tolist() == pytest.approx([0.15 / 0.35, 0.2 / 0.35])
    never = Mechanism([[1.0, 0.0], [1.0, 0.0]]).posterior([0.5, 0.5])
    assert never[0].tolist() == [0.5, 0.5]
    assert np.isnan(never[1]).all()
    with pytest.raises(StatementError, match="'maybe'"):
        coin.expected({"no": 1, "maybe": 1})
    with refused("entries"):
        coin.expected([0.2, 0.3, 0.5])


def test_post_processing_meets_by_label():
    coin = Mechanism(COIN, ["no", "yes"])
    swap = Mechanism([[0.0, 1.0], [1.0, 0.0]], ["yes", "no"], ["YES", "NO"])
    both = coin.then(swap)
    assert (both.inputs, both.outputs) == (("no", "yes"), ("YES", "NO"))
    assert both.channel.tolist() == COIN
    with refused("next-input", MechanismError) as caught:
        coin.then(Mechanism(COIN, ["yes", "maybe"]))
    assert "'no'" in str(caught.value)


def test_post_processing_leaves_no_zero_beside_a_positive_entry():
    unit = 2.0**-53
    first = Mechanism([[1 - unit, unit], [0.5, 0.5]])
    second = Mechanism([[0.0, 1.0], [0.25, 0.75]])
    assert math.isfinite(first.audit().epsilon)
    assert math.isfinite(first.then(second).audit().epsilon)


def test_sampling_is_of_labels():
    certain = Mechanism([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], [10, 20])
    assert certain.sample(["no", "yes", "no"]).tolist() == [20, 10, 20]
    assert Mechanism(COIN).sample([]).tolist() == []
    with pytest.raises(StatementError, match="entry 1"):
        certain.sample(["no", "maybe"])
    with pytest.raises(StatementError, match="vector of labels"):
        certain.sample("no")


@pytest.mark.parametrize(
    "inputs",
    [
        ["no", "ja"],
        [1, 2],
        [0.5, 2.5],
        [True, False],
        ['ü\n"', "b"],
        [(0, 1), ("a", 0.5)],
        [("a", ("b", 1)), 2],
        None,
    ],
    ids=str,
)
def test_json_reads_back_the_same(tmp_path, inputs):
    mechanism = Mechanism([[0.1, 0.9], [1 / 3, 2 / 3]], inputs)
    mechanism.save(tmp_path / "m.json")
    twin = Mechanism.load(tmp_path / "m.json")
    assert (twin.inputs, twin.outputs) == (mechanism.inputs, mechanism.outputs)
    assert (twin.channel == mechanism.channel).all()
    assert (twin.masses == mechanism.masses).all()
    assert os.listdir(tmp_path) == ["m.json"]


def test_labels_without_a_json_form_are_refused_and_the_old_file_stays(tmp_path):
    path = tmp_path / "m.json"
    Mechanism(COIN).save(path)
    before = path.read_text()
    for label in (None, frozenset({1}), ("a", None)):
        with pytest.raises(StatementError, match="JSON"):
            Mechanism(COIN, ["b", label]).save(path)
        assert path.read_text() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        "null",
        "{}",
        '{"channel": [[1]], "inputs": ["a"]}',
        '{"channel": [[NaN]], "inputs": ["a"], "outputs": ["a"]}',
        '{"channel": [[0.5]], "inputs": ["a"], "outputs": ["a"]}',
        '{"channel": [[1]], "inputs": [{"a": 1}], "outputs": ["a"]}',
        '{"channel": [[1]], "inputs": [null], "outputs": ["a"]}',
        '{"channel": [[1]], "inputs": 3, "outputs": ["a"]}',
        '{"channel": [[1], 1], "inputs": ["a", "b"], "outputs": ["a"]}',
        '{"mechanism": 3}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:60],
)
def test_files_without_a_mechanism_are_refused(tmp_path, text):
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=r"m\.json") as caught:
        Mechanism.load(path)
    assert len(caught.value.one_line) < 600


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ModelFileError, match="mechanism"):
        Mechanism.load(tmp_path / "none.json")


def test_a_mechanism_inside_a_larger_object_is_found(tmp_path):
    path = tmp_path / "solution.json"
    path.write_text(
        json.dumps({"status": "optimal", "mechanism": Mechanism(COIN, ["a", "b"]).to_dict()})
    )
    assert Mechanism.load(path).inputs == ("a", "b")


def test_tables_carry_the_labels():
    mechanism = Mechanism(
        [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], ["no", "yes"], [("a", 1), "b", "c"]
    )
    frame = mechanism.to_frame()
    assert frame.loc["yes", "b"] == 0.5
    assert list(frame.columns) == [("a", 1), "b", "c"]
    assert "0.25" in mechanism._repr_html_()
    assert repr(mechanism).startswith("Mechanism(2 inputs, 3 outputs, inputs=['no', 'yes']")


def test_a_mechanism_is_frozen():
    coin = Mechanism(COIN, ["no", "yes"])
    for act in (
        lambda: setattr(coin, "channel", np.eye(2)),
        lambda: setattr(coin, "extra", 1),
        lambda: delattr(coin, "inputs"),
    ):
        with pytest.raises(AttributeError, match="frozen"):
            act()
    for array in (coin.channel, coin.counts, coin.masses, coin.sampler.threshold):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_equal_mechanisms(tmp_path):
    coin = Mechanism(COIN, ["no", "yes"])
    coin.save(tmp_path / "coin.json")
    copies = [
        Mechanism.load(tmp_path / "coin.json"),
        pickle.loads(pickle.dumps(coin)),
        copy.deepcopy(coin),
    ]
    copies += [
        copy.copy(coin),
        Mechanism(coin.to_frame()),
        Mechanism(np.asfortranarray(COIN), ["no", "yes"]),
    ]
    for other in copies:
        assert other == coin
        assert hash(other) == hash(coin)
        assert not other.channel.flags.writeable
        assert other.sample(["no"] * 9, rng=1).tolist() == coin.sample(["no"] * 9, rng=1).tolist()
    for other in (
        Mechanism(COIN),
        Mechanism(COIN[::-1], ["no", "yes"]),
        Mechanism(COIN, ["no", "yes"], [0, 1]),
        COIN,
    ):
        assert other != coin
    assert hash(Mechanism([[1.0, -0.0]])) == hash(Mechanism([[1.0, 0.0]]))


def test_a_labelled_channel_gives_the_alphabets():
    frame = pd.DataFrame([[0.5, 0.5, 0], [0.25, 0.5, 0.25]], ["no", "yes"], ["a", "b", "c"])
    assert (Mechanism(frame).inputs, Mechanism(frame).outputs) == (("no", "yes"), ("a", "b", "c"))
    assert Mechanism(frame, inputs=["yes", "no"]).channel[0].tolist() == [0.25, 0.5, 0.25]
    with pytest.raises(MechanismError, match="'a'"):
        Mechanism(frame, outputs=["A", "b", "c"])
    with pytest.raises(MechanismError, match="output label 'a'"):
        Mechanism(frame.set_axis(["a", "a", "c"], axis=1))
