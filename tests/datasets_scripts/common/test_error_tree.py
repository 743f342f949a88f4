import pickle

import pytest

from eyechart.datasets_scripts.common.errors import (
    BadAnnotationError,
    DataError,
    EyechartError,
    UsageError,
    unknown_name,
)


def test_unknown_name_says_what_was_given_what_exists_and_the_nearest() -> None:
    error = unknown_name("dataset", "KADIS700", ["llvisionqa", "kadis700k"])
    assert str(error) == "unknown dataset 'KADIS700'; did you mean 'kadis700k'? Available: llvisionqa, kadis700k"


def test_unknown_name_without_a_near_match() -> None:
    assert str(unknown_name("split", "zzz", ["dev"])) == "unknown split 'zzz'; available: dev"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DataError("is bad", path="a.csv", row=3), "a.csv, row 3: is bad"),
        (DataError("is bad", path="a.csv"), "a.csv: is bad"),
        (DataError("is bad"), "is bad"),
    ],
)
def test_data_errors_name_file_and_row(error: DataError, text: str) -> None:
    assert str(error) == text


def test_data_errors_survive_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(BadAnnotationError("is bad", path="a.csv", row=3)))
    assert (str(error), error.path, error.row, error.reason) == ("a.csv, row 3: is bad", "a.csv", 3, "is bad")


def test_usage_errors_are_value_errors() -> None:
    assert issubclass(UsageError, ValueError) and issubclass(UsageError, EyechartError)
