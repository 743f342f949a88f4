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

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.evaluators.requests.types import Row

COLUMNS = (*("index", "question", "hint", "A", "B", "C", "D"), *("prediction", "category", "l2-category", "split"))
CELL_LIMIT = 32_767
"""Maximum number of characters in an XLSX cell."""
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
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.append(COLUMNS)
    for row, reply in sorted(zip(passes, replies, strict=True), key=lambda answered: answered[0]["index"]):
        texts = {
            "question": row["question"],
            "hint": row["hint"],
            **dict(zip("ABCD", row["options"], strict=False)),
            "prediction": reply,
            "category": _RELEASED.get(row["category"]) or row["category"],
            "l2-category": RELEASED_L2.get(row["l2_category"]) or row["l2_category"],
            "split": split,
        }
        sheet.append([row["index"], *(_cell_text(texts.get(name, "")) or None for name in COLUMNS[1:])])
    for cell in (cell for row in sheet.rows for cell in row if isinstance(cell.value, str)):
        # Otherwise "=1" becomes a formula and "#N/A" an error.
        cell.data_type = "s"
    content = io.BytesIO()
    book.save(content)
    return {f"mmbench_{config}_{split}.xlsx": content.getvalue()}


def _cell_text(text: str) -> str:
    """The text as an XLSX cell can contain it."""
    text = _ILLEGAL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text[-CELL_LIMIT:]
