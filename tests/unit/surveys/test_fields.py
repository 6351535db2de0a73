"""Fields that come with the link: what they can be, and where a survey says them."""

import pytest

from builders import refused
from ldpopt import Mechanism, Sample, Survey
from ldpopt.surveys.fields import is_value, is_weight
from ldpopt.surveys.form import form_difference, form_digest

COIN = Mechanism([[0.75, 0.25], [0.25, 0.75]], inputs=["no", "yes"])
FIELDS = {"region": ("North", "South"), "class": (1, 2), "weight": ()}


def survey(fields=FIELDS, **options):
    return Survey({"smokes": COIN}, fields=fields, **options)


def test_the_form_and_the_file_have_the_fields_as_texts(tmp_path):
    made = survey(weights="weight")
    texts = {"region": ("North", "South"), "class": ("1", "2"), "weight": ()}
    assert made.fields == texts
    assert made.form()["fields"] == {name: list(values) for name, values in texts.items()}
    made.save(tmp_path / "survey.json")
    again = Survey.load(tmp_path / "survey.json")
    assert (again.fields, again.weights, again.form()) == (texts, "weight", made.form())
    assert "fields" not in survey(None).form()
    other = survey({"region": ("North", "East")}, title="").form()
    assert form_digest(other) != form_digest(survey(None).form())
    assert (
        form_difference(other, survey(None).form()) == "fields that come with the link are others"
    )


def test_a_sample_and_weights_have_a_form_if_they_come_with_the_link():
    with refused("weights"):
        survey({"region": ("North", "South")}, weights="weight").form()
    drawn = Sample(weights="weight", strata="region", margins={"class": {"1": 2, "2": 3}})
    assert list(survey(sample=drawn).form()["fields"]) == list(FIELDS)
    with refused("sample-column"):
        survey({"region": ("North", "South"), "weight": ()}, sample=drawn).form()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (["region"], "mapping"),
        ({"region": "North"}, "list"),
        ({"region": ["North", ""]}, "field-value"),
        ({"region": ["North", "NA"]}, "field-value"),  # a table would have no region there
        ({"region": ["North", " South"]}, "field-value"),
        ({"region": ["North", "So\nuth"]}, "field-value"),
        ({"region": ["North", 101 * "x"]}, "field-value"),
        ({"region": ["1", 1]}, "same-value"),
        ({"region": [str(k) for k in range(501)]}, "value-count"),
        ({"": []}, "field-name"),
        ({3: []}, "field-name"),
        ({"a\tb": []}, "field-name"),
        ({"i": []}, "reserved-field"),
        ({"ID": []}, "reserved-field"),
        ({"people": []}, "reserved-field"),
        ({"link": []}, "reserved-field"),
        ({"Region": [], "region": []}, "same-field"),
        ({"smokes": []}, "field-column"),
    ],
)
def test_fields_that_links_and_tables_cannot_have_are_refused(fields, code):
    with refused(code):
        survey(fields)


def test_weights_with_values_are_numbers():
    assert survey({"w": ["1", "2.5"]}, weights="w").fields == {"w": ("1", "2.5")}
    with refused("weights"):
        survey({"w": ["1", "low"]}, weights="w")


@pytest.mark.parametrize(
    ("text", "fits"),
    [("0", True), ("1.25", True), ("123456789012", True), ("1234567890123", False)]
    + [
        (text, False)
        for text in ("", ".5", "1.", "-1", "+1", "1e3", "01", "1 ", "nan", "１", "1,5")
    ],
)
def test_a_weight_is_a_decimal_number_of_at_most_twelve_characters(text, fits):
    assert is_weight(text) is fits
    assert is_value((), text) is fits


def test_a_value_is_one_of_the_texts_of_its_field():
    assert is_value(["North", "1"], "North")
    assert not is_value(["North", "1"], "north")
    assert not is_value(["North", "1"], 1)
    assert not is_value([], 1)
