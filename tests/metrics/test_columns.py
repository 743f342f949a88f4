"""Columns that `evaluate` would cast without a word, or refuse without naming a row; and other arguments."""

from collections.abc import Mapping
from typing import Any

import datasets
import numpy as np
import pytest

from eyechart.metrics import load
from eyechart.metrics.columns import check_columns
from eyechart.metrics.scoring.errors import InputError, SmallSampleWarning
from eyechart.metrics.scoring.inputs import check_groups, check_lengths, check_numbers

pytestmark = pytest.mark.datasets36

_TEXT, _NUMBER = datasets.Value("string"), datasets.Value("float64")
_FEATURES = {
    "texts": _TEXT,
    "options": datasets.Sequence(_TEXT),
    "ids": datasets.Value("large_string"),
    "places": datasets.Value("int64"),
    "scores": _NUMBER,
    "logits": datasets.Sequence(_NUMBER),
}
_SOUND: dict[str, Any] = {
    "texts": ["a", ""],
    "options": [["x", "y"], ("z",)],
    "ids": ["p", None],
    "places": [0, np.int64(1)],
    "scores": [1, np.float32(2.5)],
    "logits": [[1.0, 2], np.array([1.0, float("nan")])],
}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ids": [1, 2]},
        {"places": [0.0, 1.0]},
        {"places": np.array([0, 1])},
        {"scores": np.array([1.0, 2.0], dtype=np.float16)},
        {"logits": np.ones((2, 2))},
        {"options": [[], ["x"]]},
        {"places": ["0", "1 "], "scores": ["2.82 ", "nan"], "logits": [["1.5", 2], [1, 2]]},
        {name: [] for name in _SOUND},
    ],
)
def test_sound(given: Mapping[str, Any]) -> None:
    assert list(check_columns(_SOUND | given, _FEATURES)) == list(_SOUND)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": "ab"}, "texts must be a list with one value per row; it is 'ab'"),
        ({"texts": None}, "texts must be a list with one value per row; it is None"),
        ({"places": [0]}, "places has 1 rows and texts has 2; row 1 is the first without a partner"),
        ({"texts": [None, "a"]}, r'texts\[0\] is None; it must be a string \(use "" for an empty text\)'),
        ({"texts": ["a", {"error": "no reply"}]}, r"texts\[1\] is {'error': 'no reply'}; it must be a string"),
        ({"options": [["x"], "xy"]}, r"options\[1\] is 'xy'; it must be a list of strings"),
        ({"options": [["x"], ["x", 1]]}, r"options\[1\] is \['x', 1\]; it must be a list of strings"),
        ({"ids": ["p", 1.5]}, r"ids\[1\] is 1.5; it must be a string or a whole number"),
        ({"places": [0, 1.5]}, r"places\[1\] is 1.5; it must be a whole number"),
        ({"places": [0, "1.5"]}, r"places\[1\] is '1.5'; it must be a whole number"),
        ({"places": np.array([0, 0.5])}, r"places\[1\] is 0.5; it must be a whole number"),
        ({"scores": [1, "good"]}, r"scores\[1\] is 'good'; it must be a number"),
        ({"scores": [None, 1]}, r"scores\[0\] is None; it must be a number"),
        ({"logits": [[1, 2], [1, "a"]]}, r"logits\[1\] is \[1, 'a'\]; it must be a list of numbers"),
        ({"logits": [[1, 2], {"good": 1, "poor": 2}]}, r"logits\[1\] is {.*}; it must be a list of numbers"),
    ],
)
def test_malformed(given: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_columns(_SOUND | given, _FEATURES)


def test_nothing_is_kept_of_a_refused_batch() -> None:
    metric = load("softmax_iqa", "scores")
    metric.add_batch(predictions=[1.0, 2.0], references=[1.0, 2.0])
    for wrong in ([3.0], ["low", 4.0]):
        with pytest.raises(InputError, match="references"):
            metric.add_batch(predictions=[3.0, 4.0], references=wrong)
    metric.add(prediction=3.0, reference=3.0)
    with pytest.raises(InputError, match=r"references\[0\] is 'high'"):
        metric.add(prediction=3.0, reference="high")
    metric.add_batch(predictions=[4.0, 7.0], references=[4.0, 5.0])
    with pytest.warns(SmallSampleWarning):
        assert metric.compute()["n"] == 5


def test_numbers_of_scores() -> None:
    assert check_numbers("x", ["1.5 ", 2]).tolist() == [1.5, 2.0]
    assert check_numbers("x", [[1, 2]], columns=2).shape == (1, 2)
    assert check_numbers("x", [], columns=2).shape == (0, 2)


@pytest.mark.parametrize("values", [5, "12", [[1], [2]], [1, [2]], [1, "two"], [1, None, float("nan")]])
def test_no_numbers(values: object) -> None:
    with pytest.raises(InputError, match="x"):
        check_numbers("x", values)  # type: ignore[arg-type]


def test_first_offending_row() -> None:
    with pytest.raises(InputError, match=r"x\[2\] is 'three'"):
        check_numbers("x", [1, 2, "three"])
    with pytest.raises(InputError, match=r"x\[1\] is None"):
        check_numbers("x", [[1, 2], None], columns=2)
    with pytest.raises(InputError, match=r"x\[1\] is \[1.0, nan\]"):
        check_numbers("x", [[1, 2], [1, np.nan]], columns=2)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"], "groups must map"),
        ({"kind": "ab"}, r"groups\['kind'\] must be a list"),
        ({"kind": 3}, r"groups\['kind'\] must be a list"),
        ({"kind": ["a"]}, r"groups\['kind'\] has 1 rows and predictions has 2; row 1"),
    ],
)
def test_bad_groups(groups: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_groups(groups, 2)  # type: ignore[arg-type]


def test_lengths() -> None:
    with pytest.raises(InputError, match="b has 1 rows and a has 2; row 1 is the first without a partner"):
        check_lengths(a=[1, 2], b=[1])
