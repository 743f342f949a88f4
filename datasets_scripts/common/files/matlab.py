"""Reading MAT files of MATLAB's versions 4 and 5 with SciPy."""

from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError


def read_mat_numbers(path: str, name: str) -> list[float]:
    """Return a numeric variable of a MAT file, flattened.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: It cannot be read, has no such variable, or that is not of real numbers.
    """
    values = _read_variable(path, name)
    if values.dtype.kind not in "iuf":
        raise BadAnnotationError(f"variable {name!r} must contain real numbers, found {values.dtype}", path=path)
    return [float(value) for value in values.ravel()]


def read_mat_texts(path: str, name: str) -> list[str]:
    """As `read_mat_numbers`, for a cell array of texts."""
    texts = []
    for index, cell in enumerate(_read_variable(path, name).ravel(), 1):
        text = cell.item() if getattr(cell, "size", 0) == 1 else None
        if not isinstance(text, str):
            reason = f"cell {index} of variable {name!r} must contain one text, found {cell!r}"
            raise BadAnnotationError(reason, path=path)
        texts.append(text)
    return texts


def _read_variable(path: str, name: str) -> Any:
    import numpy as np
    from scipy.io import loadmat

    try:
        values = loadmat(path, variable_names=[name])[name]
        if not isinstance(values, np.ndarray):
            raise TypeError(f"variable {name!r} must be a plain array, found {type(values).__name__}")
        return values
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    # SciPy raises whatever the damage led it to: ValueError, TypeError, zlib.error, IndexError, ...
    except Exception as error:
        hint = "Download the file again, or save it with MATLAB's save(..., '-v7') if it is of version 7.3"
        reason = f"variable {name!r} cannot be read: {type(error).__name__}: {error}. {hint}"
        raise BadAnnotationError(reason, path=path) from error
