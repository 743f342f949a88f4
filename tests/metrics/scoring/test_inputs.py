import numpy as np
import pytest

from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.inputs import check_groups, check_lengths, check_numbers


def test_numbers() -> None:
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
