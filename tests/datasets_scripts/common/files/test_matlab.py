from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError
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


@pytest.mark.parametrize(
    ("read", "name", "reason"),
    [
        (read_mat_numbers, "moss", "a variable is missing: unknown variable 'moss'; did you mean 'mos'"),
        (read_mat_numbers, "names", "variable 'names' must hold real numbers, found object"),
        (read_mat_numbers, "complex", "variable 'complex' must hold real numbers, found complex128"),
        (read_mat_numbers, "sparse", "variable 'sparse' must be a plain array, found csc_"),
        (read_mat_texts, "sparse", "variable 'sparse' must be a plain array, found csc_"),
        (read_mat_texts, "mos", "cell 1 of variable 'mos' must hold one text, found"),
        (read_mat_texts, "mixed", "cell 2 of variable 'mixed' must hold one text, found"),
    ],
)
def test_bad_variables(mat: str, read: Any, name: str, reason: str) -> None:
    with pytest.raises(BadAnnotationError, match=reason) as caught:
        read(mat, name)
    assert caught.value.path == mat


def test_version_73_says_how_to_save_it(tmp_path: Path) -> None:
    path = tmp_path / "new.mat"
    # The 128 bytes of a MAT header, version 2.0, before the HDF5 signature at byte 512.
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(384) + b"\x89HDF\r\n\x1a\n" + bytes(64))
    with pytest.raises(
        BadAnnotationError, match=r"new\.mat: this is a MAT file of version 7\.3 \(HDF5\); save it.*'-v7'"
    ):
        read_mat_numbers(str(path), "mos")


@pytest.mark.parametrize("content", [b"", b"short", b"rubbish " * 100, "cut"])
def test_damaged_files(mat: str, content: bytes | str) -> None:
    if content == "cut":
        savemat(mat, {"mos": np.arange(1000.0)})
        content = Path(mat).read_bytes()[:500]
    Path(mat).write_bytes(content)
    with pytest.raises(BadAnnotationError, match=r"scores\.mat: cannot be read as a MAT file"):
        read_mat_numbers(mat, "mos")


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="not there"):
        read_mat_texts(str(tmp_path / "none.mat"), "names")
