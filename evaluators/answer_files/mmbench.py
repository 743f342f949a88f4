"""The answer file for MMBench's evaluation server, which held the answers of the test split until 31 March 2026.

The server is closed since. The file remains for those who hold the answers of version 1.0's test, and is read by
`eyechart score`; version 1.1's are public, and its test runs have scores.

Documented (https://github.com/open-compass/MMBench, and the server's own script, `mmb_eval_gradio` in
https://github.com/open-compass/VLMEvalKit): XLSX with `index`, `question`, `A` to `D` and `prediction`, one row for
each pass of a question; it tells MMBench and CCBench apart by `l2-category`, and groups by `category` and `split`. The
server compares the choice in `prediction` with the answer of the row of that `index`. So each row has the options that
the release's row of its index has, and a reply to another order of them is written in its letters.

Cells hold text and nothing else: a reply that begins with "=" is no formula. What no cell can hold is changed, and
counted: control characters and halves of surrogate pairs become blanks, line ends become line feeds, and of a reply
of more than 32,767 characters the end is kept, where answers that reason come to their choice.
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
"""Most characters of an XLSX cell."""
_LETTERS = "ABCD"
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RELEASED = {ability.category: name for name, ability in ABILITIES.items()}


def mmbench_answer_file(passes: Sequence[Row], replies: Sequence[str], config: str, split: str) -> Mapping[str, bytes]:
    """The file for one configuration of MMBench.

    Args:
        passes: The passes in any order: the columns of a row of `mmbench`, with `index`, `question`, `hint` and
            `options` (in the release's order) of the pass.
        replies: The reply to each; a letter stands for that order.
        config: The configuration, which names the file.
        split: The split of the questions.

    Returns:
        Name and contents of the file.
    """
    rows = [_cells(row, reply, split) for row, reply in zip(passes, replies, strict=True)]
    return {f"mmbench_{config}_{split}.xlsx": _workbook(sorted(rows, key=lambda cells: cells[0]))}


def cell_text(text: str) -> str:
    r"""What a cell holds of a text.

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
        # Otherwise "=1" would be a formula and "#N/A" an error.
        made.data_type = "s"
        return made

    sheet.append(COLUMNS)
    for row in rows:
        sheet.append([None if value == "" else cell(value) for value in row])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()
