"""Answer files in JSON, for the authors of Q-Bench and AesBench; rows, options and letters are in the release's order.

Q-Bench (https://github.com/Q-Future/Q-Bench, "Submission Guideline for A1/A2") does not document the layout. We assume
that of LLaVA's script (https://github.com/haotian-liu/LLaVA): the rows of the test file, each with its "response"; also
for Q-Bench2's pairs, in JSON Lines like their test file, and for LLDescribe, whose rows are the images' names. The
Hub's Parquet version numbers its images instead of naming them; `img_path` then contains the number.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.types import Row

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
    answers = {row["id"]: {f"{part}_response": reply} for row, reply in zip(rows, replies, strict=False)}
    if not len(answers) == len(rows) == len(replies):
        raise UsageError(
            f"{len(replies)} replies to {len(rows)} rows about {len({row['id'] for row in rows})} images; expected one "
            "reply for each row, and one row for each image"
        )
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
