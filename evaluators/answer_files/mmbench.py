"""The answer file for MMBench's evaluation server, which scored the test split until it closed on 31 March 2026.

Whoever has the test answers of version 1.0 can still score it. The server (`mmb_eval_gradio` in
https://github.com/open-compass/VLMEvalKit) compares the choice in `prediction` with the answer of the same `index`, so
each row has its options in the release's order, to which the reply's letters refer.
"""

import io
import re
from collections.abc import Mapping, Sequence

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.datasets_scripts.common.files.spreadsheets import CELL_LIMIT
from eyechart.evaluators.requests.types import Row

COLUMNS = (*("index", "question", "hint", "A", "B", "C", "D"), *("prediction", "category", "l2-category", "split"))
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RELEASED = {ability.category: name for name, ability in ABILITIES.items()}


def mmbench_answer_file(passes: Sequence[Row], replies: Sequence[str], config: str) -> Mapping[str, bytes]:
    """The XLSX file from passes in any order; their options, and the replies' letters, are in the release's order."""
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
            "split": row["split"],
        }
        sheet.append([row["index"], *(_cell_text(texts.get(name, "")) or None for name in COLUMNS[1:])])
    for cell in (cell for row in sheet.rows for cell in row if isinstance(cell.value, str)):
        # Otherwise "=1" becomes a formula and "#N/A" an error.
        cell.data_type = "s"
    content = io.BytesIO()
    book.save(content)
    return {f"mmbench_{config}_{passes[0]['split']}.xlsx": content.getvalue()}


def _cell_text(text: str) -> str:
    """The text as an XLSX cell can contain it, cut to its end, where reasoning models state their choice."""
    text = _ILLEGAL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text[-CELL_LIMIT:]
