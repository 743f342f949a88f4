"""Reading files of answers again, as those read them who score them."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import DataError

_RESPONSE = "_response"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Submitted:
    """One answer of a file."""

    question: Row
    """What the file says of the question: its image's name or index, and its options where they are there."""
    reply: str


def read_submission(name: str, content: bytes) -> list[Submitted]:
    """Read the answers in a file.

    Args:
        name: The file's name, whose ending tells the form: `.json` of Q-Bench (a list) and AesBench (an object),
            `.jsonl` of Q-Bench2, `.xlsx` of MMBench.
        content: Its bytes.

    Raises:
        DataError: It is in none of these forms.

    Examples:
        >>> (found,) = read_submission("test_AesP.json", b'{"1.jpg": {"AesP_response": "B"}}')
        >>> found.question, found.reply
        ({'image': '1.jpg', 'part': 'AesP'}, 'B')
    """
    ending = Path(name).suffix
    try:
        if ending == ".xlsx":
            return _workbook(content)
        text = content.decode()
        # A text in a line may hold what `splitlines` takes for the end of one, as U+2028.
        lines = [line for line in text.split("\n") if line.strip()] if ending == ".jsonl" else []
        rows = list(map(json.loads, lines)) if ending == ".jsonl" else json.loads(text)
    except DataError as error:
        # It names a copy.
        raise DataError(error.reason, path=name, row=error.row) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"cannot be read as {ending or 'a file without an ending'}: {error}", path=name) from error
    if isinstance(rows, dict):
        return [_of_image(name, image, entry) for image, entry in rows.items()]
    if isinstance(rows, list):
        return [_of_row(name, number, row) for number, row in enumerate(rows, 1)]
    raise DataError("expected a list or an object of answers", path=name)


def _of_row(name: str, number: int, row: Any) -> Submitted:
    if not isinstance(row, dict) or not isinstance(row.get("response"), str):
        raise DataError("expected an object with the text 'response'", path=name, row=number)
    return Submitted({key: value for key, value in row.items() if key != "response"}, row["response"])


def _of_image(name: str, image: str, entry: Any) -> Submitted:
    keys = [key for key in entry if key.endswith(_RESPONSE)] if isinstance(entry, dict) else []
    if len(keys) != 1 or not isinstance(entry[keys[0]], str):
        raise DataError("expected an object with one text '<part>_response'", path=name, row=image)
    return Submitted({"image": image, "part": keys[0].removesuffix(_RESPONSE)}, entry[keys[0]])


def _workbook(content: bytes) -> list[Submitted]:
    from eyechart.datasets_scripts.common.files.spreadsheets import read_xlsx_rows
    from eyechart.evaluators.answer_files.mmbench import COLUMNS

    with tempfile.NamedTemporaryFile(suffix=".xlsx") as file:
        file.write(content)
        file.flush()
        rows = [row for _, row in read_xlsx_rows(file.name, COLUMNS, formulas=True)]
    return [
        Submitted({k: v for k, v in row.items() if k != "prediction"}, str(row["prediction"] or "")) for row in rows
    ]
