"""Answer files for the authors of Q-Bench, who score the private half of LLVisionQA and LLDescribe.

Documented (https://github.com/Q-Future/Q-Bench, "Submission Guideline for A1/A2"): results are sent to the authors by
e-mail, as JSON. The layout of that JSON is not documented. We assume the layout that LLaVA's script for Q-Bench writes
(https://github.com/haotian-liu/LLaVA): the rows of the release's test file, in their order, each with the model's reply
under "response". We assume the same for Q-Bench2's pairs, in JSON Lines like their test file, and for LLDescribe, whose
rows are the images' names.

The rows are rebuilt from the dataset's columns, and equal those of the release's files. The Hub's Parquet version
numbers its images instead of naming them; `img_path` then contains the number.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.evaluators.requests.types import Row

_ID = re.compile(r"(?P<split>dev|test)-(?P<images>.+?\.[A-Za-z0-9]+|.+?)(?:-\d+)?")


def perception_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for LLVisionQA.

    Args:
        rows: Rows of `llvisionqa`, in the order of the release.
        replies: The reply to each row; letters refer to the options in the release's order.

    Returns:
        Name and contents of the file: JSON in ASCII, a list of objects.
    """
    from eyechart.datasets_scripts.llvisionqa.llvisionqa import CONCERNS

    questions = [_question(row, CONCERNS, _images(row)) for row in rows]
    return {"llvisionqa_responses.json": _json(_answered(questions, replies))}


def pair_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for Q-Bench2's pairs.

    Args:
        rows: Rows of `llvisionqa_pairs`, in the order of the release.
        replies: As for `perception_answer_file`.

    Returns:
        Name and contents of the file: JSON Lines in ASCII.
    """
    from eyechart.datasets_scripts.llvisionqa_pairs.llvisionqa_pairs import CONCERNS

    questions = [_question(row, CONCERNS, f"llvisionqa_compare_{_split(row)}\\{_images(row)}.jpg") for row in rows]
    lines = [json.dumps(answer) + "\n" for answer in _answered(questions, replies)]
    return {"q-bench2-a1_responses.jsonl": "".join(lines).encode()}


def description_answer_file(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for LLDescribe.

    Args:
        rows: Rows of `lldescribe`.
        replies: The description of each image.

    Returns:
        Name and contents of the file: JSON in ASCII, a list of objects.

    Examples:
        >>> files = description_answer_file([{"id": "00001.jpg"}], ["A dark image."])
        >>> json.loads(files["lldescribe_responses.json"])
        [{'img_path': '00001.jpg', 'response': 'A dark image.'}]
    """
    return {"lldescribe_responses.json": _json(_answered([{"img_path": row["id"]} for row in rows], replies))}


def _question(row: Row, concerns: Sequence[str], img_path: str) -> dict[str, Any]:
    """A row in the release's format; rows of the user's own data have no codes for type and concern."""
    from eyechart.datasets_scripts.common.choice.q_bench import QUESTION_TYPES

    names = (("type", "question_type", QUESTION_TYPES), ("concern", "concern", concerns))
    codes = {code: meanings.index(row[column]) for code, column, meanings in names if row.get(column) in meanings}
    return {**codes, "question": row["question"], "img_path": img_path, "candidates": list(row["options"])}


def _answered(rows: Sequence[dict[str, Any]], replies: Sequence[str]) -> list[dict[str, Any]]:
    return [{**row, "response": reply} for row, reply in zip(rows, replies, strict=True)]


def _json(rows: Sequence[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, indent=1) + "\n").encode()


def _images(row: Row) -> str:
    """The name of the image or pair, from which the loader made the row's id; other ids are returned unchanged."""
    matched = _ID.fullmatch(row["id"])
    return matched["images"] if matched else row["id"]


def _split(row: Row) -> str:
    matched = _ID.fullmatch(row["id"])
    return matched["split"] if matched else "test"
