from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from eyechart.datasets_scripts.common.files.matlab import read_mat_numbers, read_mat_texts


def cells(*values: Any) -> np.ndarray:
    array = np.empty((len(values), 1), object)
    array[:, 0] = values
    return array


@pytest.fixture
def mat(tmp_path: Path) -> str:
    """A MAT file of version 5 with a cell array, numbers and text."""
    path = tmp_path / "scores.mat"
    values = {
        "names": cells("a.bmp", "b.bmp"),
        "mos": np.array([[1.5, 2.0]]),
        "title": "scores",
        "mixed": cells("a", 2),
        "sparse": csc_array([[0.0, 1.0]]),
    }
    savemat(path, values | {"complex": np.array([1j]), "counts": np.array([[1, 2]], np.uint8)})
    return str(path)


def test_texts_and_numbers(mat: str) -> None:
    assert read_mat_texts(mat, "names") == ["a.bmp", "b.bmp"]
    assert read_mat_numbers(mat, "mos") == [1.5, 2.0]
    assert read_mat_numbers(mat, "counts") == [1.0, 2.0]


def test_version_4_is_read_as_well(tmp_path: Path) -> None:
    savemat(tmp_path / "old.mat", {"mos": np.array([[1.5, 2.0]])}, format="4")
    assert read_mat_numbers(str(tmp_path / "old.mat"), "mos") == [1.5, 2.0]
