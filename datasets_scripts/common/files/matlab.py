"""Reading MAT files of MATLAB's version 5 (and 4) with SciPy."""

from typing import TYPE_CHECKING

from eyechart.datasets_scripts.common.errors import BadAnnotationError, MissingFileError, unknown_name

if TYPE_CHECKING:
    import numpy as np


def read_mat_numbers(path: str, name: str) -> list[float]:
    """Return a numeric variable of a MAT file, flattened.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not a MAT file of version 4 or 5, an unknown variable, or not real numbers.
    """
    values = _read_variable(path, name)
    if values.dtype.kind not in "iuf":
        raise BadAnnotationError(f"variable {name!r} must contain real numbers, found {values.dtype}", path=path)
    return [float(value) for value in values.ravel()]


def read_mat_texts(path: str, name: str) -> list[str]:
    """Return a cell array of texts of a MAT file, flattened.

    Raises:
        MissingFileError: The file is missing.
        BadAnnotationError: Not a MAT file of version 4 or 5, an unknown variable, or not a cell array of texts.
    """
    texts = []
    for index, cell in enumerate(_read_variable(path, name).ravel(), 1):
        text = cell.item() if getattr(cell, "size", 0) == 1 else None
        if not isinstance(text, str):
            reason = f"cell {index} of variable {name!r} must contain one text, found {cell!r}"
            raise BadAnnotationError(reason, path=path)
        texts.append(text)
    return texts


def _read_variable(path: str, name: str) -> "np.ndarray":
    import numpy as np
    from scipy.io import loadmat, whosmat

    try:
        names = [found for found, _, _ in whosmat(path)]
        if name not in names:
            raise BadAnnotationError(str(unknown_name("variable", name, names)), path=path)
        values = loadmat(path, variable_names=[name])[name]
    except FileNotFoundError as error:
        raise MissingFileError("the annotation file is missing", path=path) from error
    except BadAnnotationError:
        raise
    # SciPy raises it only for HDF5 files.
    except NotImplementedError as error:
        reason = "this is a MAT file of version 7.3 (HDF5); save it as version 5 with MATLAB's save(..., '-v7')"
        raise BadAnnotationError(reason, path=path) from error
    # SciPy raises whatever the damage led it to: ValueError, TypeError, zlib.error, IndexError, ...
    except Exception as error:
        reason = f"cannot be read as a MAT file: {type(error).__name__}: {error}. Download the file again"
        raise BadAnnotationError(reason, path=path) from error
    if not isinstance(values, np.ndarray):
        reason = f"variable {name!r} must be a plain array, found {type(values).__name__}"
        raise BadAnnotationError(reason, path=path)
    return values
