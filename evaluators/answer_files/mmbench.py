"""The answer file for MMBench's evaluation server, which scored the test split until it closed on 31 March 2026.

The file is still useful to anybody who has the test answers of version 1.0, and `eyechart score` reads it. The test
answers of version 1.1 are public, so runs on them have scores.

The format is documented (https://github.com/open-compass/MMBench, and the server's own script, `mmb_eval_gradio` in
https://github.com/open-compass/VLMEvalKit): XLSX with `index`, `question`, `A` to `D` and `prediction`, one row for
each pass of a question. The server distinguishes MMBench and CCBench by `l2-category`, groups by `category` and
`split`, and compares the choice in `prediction` with the answer of the row with the same `index`. So each row has the
options in the order of the release's row, and a reply to another order is translated to the letters of that row.

Cells contain only text: a reply that begins with "=" is not a formula. Replies that a cell cannot contain are changed,
and counted: control characters and unpaired surrogates become spaces, line ends become line feeds, and a reply of more
than 32,767 characters is cut to its end, where reasoning models state their choice.
"""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.evaluators.requests.types import Row

COLUMNS = (
    *("index", "question", "hint", "A", "B", "C", "D"),
    *("prediction", "category", "l2-category", "split"),
)
CELL_LIMIT = 32_767
"""Maximum number of characters in an XLSX cell."""
_LETTERS = "ABCD"
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RELEASED = {ability.category: name for name, ability in ABILITIES.items()}


def mmbench_answer_file(passes: Sequence[Row], replies: Sequence[str], config: str, split: str) -> Mapping[str, bytes]:
    """The file for one configuration of MMBench.

    Args:
        passes: The passes in any order: the columns of a row of `mmbench`, with `index`, `question`, `hint` and
            `options` (in the release's order) of the pass.
        replies: The reply to each pass; letters refer to that order.
        config: The configuration, which names the file.
        split: The split of the questions.

    Returns:
        Name and contents of the file.
    """
    rows = [_cells(row, reply, split) for row, reply in zip(passes, replies, strict=True)]
    return {f"mmbench_{config}_{split}.xlsx": _workbook(sorted(rows, key=lambda cells: cells[0]))}


def cell_text(text: str) -> str:
    r"""The text as an XLSX cell can contain it.

    Examples:
        >>> cell_text("A\x00\r\nbecause"), cell_text("=B"), len(cell_text("B" * 40_000))
        ('A \nbecause', '=B', 32767)
    """
    text = _ILLEGAL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text[-CELL_LIMIT:]


def _cells(row: Row, reply: str, split: str) -> list[Any]:
    texts = {
        "question": row["question"],
        "hint": row["hint"],
        **dict(zip(_LETTERS, row["options"], strict=False)),
        "prediction": reply,
        "category": _RELEASED.get(row["category"]) or row["category"],
        "l2-category": RELEASED_L2.get(row["l2_category"]) or row["l2_category"],
        "split": split,
    }
    return [row["index"], *(cell_text(texts.get(name, "")) for name in COLUMNS[1:])]


def _workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet()

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, value)
        # Otherwise "=1" becomes a formula and "#N/A" an error.
        made.data_type = "s"
        return made

    sheet.append(COLUMNS)
    for row in rows:
        sheet.append([None if value == "" else cell(value) for value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
