"""Answer files for the authors of Q-Bench, who score the private half of LLVisionQA and LLDescribe.

Documented (https://github.com/Q-Future/Q-Bench, "Submission Guideline for A1/A2"): results are sent to them by e-mail,
as JSON. The form of that JSON is not documented. Assumed, after what LLaVA's script for Q-Bench writes
(https://github.com/haotian-liu/LLaVA): the rows of the release's test file, in their order, each with the model's reply
under "response". The same is assumed of Q-Bench2's pairs, in JSON Lines as their test file is, and of LLDescribe, whose
rows are the images' names.

The rows are made anew from the data set's columns, for those of the release's files equal to it. In the Hub's Parquet
form images have no names but numbers, and so has `img_path` then.
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
        replies: The reply to each; a letter stands for the release's order of options.

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
    """A row in the release's form; without the codes that rows of one's own do not have."""
    from eyechart.datasets_scripts.common.choice.q_bench import QUESTION_TYPES

    names = (("type", "question_type", QUESTION_TYPES), ("concern", "concern", concerns))
    codes = {code: meanings.index(row[column]) for code, column, meanings in names if row.get(column) in meanings}
    return {**codes, "question": row["question"], "img_path": img_path, "candidates": list(row["options"])}


def _answered(rows: Sequence[dict[str, Any]], replies: Sequence[str]) -> list[dict[str, Any]]:
    return [{**row, "response": reply} for row, reply in zip(rows, replies, strict=True)]


def _json(rows: Sequence[dict[str, Any]]) -> bytes:
    return (json.dumps(rows, indent=1) + "\n").encode()


def _images(row: Row) -> str:
    """The name of the image or pair, which the loader made the row's id of; an id of another form as it is."""
    matched = _ID.fullmatch(row["id"])
    return matched["images"] if matched else row["id"]


def _split(row: Row) -> str:
    matched = _ID.fullmatch(row["id"])
    return matched["split"] if matched else "test"
