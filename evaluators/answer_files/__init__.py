"""Answer files: private questions with replies, in the benchmarks' own formats, which `eyechart score` reads too.

Rows, options and letters are in the release's order.

Q-Bench (https://github.com/Q-Future/Q-Bench, "Submission Guideline for A1/A2") does not document the layout. We assume
that of LLaVA's script (https://github.com/haotian-liu/LLaVA): the rows of the test file, each with its "response"; also
for Q-Bench2's pairs, in JSON Lines like their test file, and for LLDescribe, whose rows are the images' names. The
Hub's Parquet version numbers its images instead of naming them; `img_path` then contains the number.

MMBench's evaluation server (`mmb_eval_gradio` in https://github.com/open-compass/VLMEvalKit) scored the test split
until it closed on 31 March 2026; whoever has the test answers of version 1.0 can still score its file. It compares the
choice in `prediction` with the answer of the same `index`.
"""

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, RELEASED_L2
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.files.spreadsheets import CELL_LIMIT
from eyechart.evaluators.requests.types import Row

COLUMNS = (*("index", "question", "hint", "A", "B", "C", "D"), *("prediction", "category", "l2-category", "split"))
_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RELEASED = {ability.category: name for name, ability in ABILITIES.items()}
_ID = re.compile(r"(?P<split>dev|test)-(?P<images>.+?\.[A-Za-z0-9]+|.+?)(?:-\d+)?")
"""An id from which the loader made the row's, with the name of the image or pair."""


def perception_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for LLVisionQA: JSON in ASCII, a list of objects."""
    from eyechart.datasets_scripts.llvisionqa.llvisionqa import CONCERNS

    questions = [_question(row, CONCERNS, _split_and_images(row)[1]) for row in rows]
    return {"llvisionqa_responses.json": _json(questions, replies)}


def pair_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for Q-Bench2's pairs: JSON Lines in ASCII."""
    from eyechart.datasets_scripts.llvisionqa_pairs.llvisionqa_pairs import CONCERNS

    paths = ["llvisionqa_compare_{}\\{}.jpg".format(*_split_and_images(row)) for row in rows]
    questions = [_question(row, CONCERNS, path) for row, path in zip(rows, paths, strict=True)]
    lines = [json.dumps({**row, "response": reply}) + "\n" for row, reply in zip(questions, replies, strict=True)]
    return {"q-bench2-a1_responses.jsonl": "".join(lines).encode()}


def description_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for LLDescribe: JSON in ASCII, a list of objects.

    Examples:
        >>> files = description_answer_file([{"id": "00001.jpg"}], ["A dark image."])
        >>> json.loads(files["lldescribe_responses.json"])
        [{'img_path': '00001.jpg', 'response': 'A dark image.'}]
    """
    return {"lldescribe_responses.json": _json([{"img_path": row["id"]} for row in rows], replies)}


def aes_bench_answer_file(part: str, rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for one part of AesBench: "AesP", "AesE", "AesA1" (the release's name for AesA) or "AesI"; UTF-8 JSON.

    The format is that of `eval/eval_AesP.py` and the three scripts next to it in https://github.com/yipoh/AesBench.

    Examples:
        >>> files = aes_bench_answer_file("AesP", [{"id": "baid_1.jpg"}], ["B) No"])
        >>> json.loads(files["test_AesP.json"])
        {'baid_1.jpg': {'AesP_response': 'B) No'}}
    """
    answers = {row["id"]: {f"{part}_response": reply} for row, reply in zip(rows, replies, strict=True)}
    if len(answers) < len(rows):
        raise UsageError(f"{len(rows)} rows about {len(answers)} images; expected one row for each image")
    text = json.dumps(answers, ensure_ascii=False, indent=4) + "\n"
    # UTF-8 cannot encode an unpaired surrogate, so it becomes a JSON escape.
    return {f"test_{part}.json": text.encode(errors="backslashreplace")}


def _question(row: Row, concerns: Sequence[str], img_path: str) -> dict[str, Any]:
    """A row in the release's format; rows of the user's own data have no codes for type and concern."""
    from eyechart.datasets_scripts.common.choice.q_bench import QUESTION_TYPES

    names = (("type", "question_type", QUESTION_TYPES), ("concern", "concern", concerns))
    codes = {code: meanings.index(row[column]) for code, column, meanings in names if row.get(column) in meanings}
    return {**codes, "question": row["question"], "img_path": img_path, "candidates": list(row["options"])}


def _json(rows: Sequence[dict[str, Any]], replies: Sequence[str]) -> bytes:
    answers = [{**row, "response": reply} for row, reply in zip(rows, replies, strict=True)]
    return (json.dumps(answers, indent=1) + "\n").encode()


def _split_and_images(row: Row) -> tuple[str, str]:
    """The split and the name of the image or pair in the row's id; ids of another form are returned unchanged."""
    matched = _ID.fullmatch(row["id"])
    return (matched["split"], matched["images"]) if matched else ("test", row["id"])


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
