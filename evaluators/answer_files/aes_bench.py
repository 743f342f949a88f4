"""Files of answers for the authors of AesBench, who hold the answers to its questions.

The form is what their own code writes (https://github.com/yipoh/AesBench, `eval/eval_AesP.py` and the three beside it):
one JSON file for each part, an object from each image's name to an object whose one key names the part.
"""

import json
from collections.abc import Mapping, Sequence

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.types import Row

# Half of a surrogate pair, which UTF-8 cannot hold, becomes the escape that JSON has for it.
_ESCAPED = "backslashreplace"


def perception_submission(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for AesP.

    Args:
        rows: Rows of `aesbench`, whose ids are the images' names.
        replies: The reply to each; a letter stands for the release's order of options.

    Returns:
        Name and contents of the file: UTF-8 JSON.

    Raises:
        UsageError: Two rows are about the same image, or there are more or fewer replies than rows.

    Examples:
        >>> files = perception_submission([{"id": "baid_1.jpg"}], ["B) No"])
        >>> json.loads(files["test_AesP.json"])
        {'baid_1.jpg': {'AesP_response': 'B) No'}}
    """
    return _file("AesP", rows, replies)


def empathy_submission(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for AesE, as `perception_submission`."""
    return _file("AesE", rows, replies)


def assessment_submission(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for AesA, which the release calls AesA1, as `perception_submission`."""
    return _file("AesA1", rows, replies)


def interpretation_submission(rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for AesI, whose replies are the whole texts, as `perception_submission`."""
    return _file("AesI", rows, replies)


def _file(part: str, rows: Sequence[Row], replies: Sequence[str]) -> dict[str, bytes]:
    names = [row["id"] for row in rows]
    if len(set(names)) < len(names) or len(names) != len(replies):
        raise UsageError(
            f"{len(replies)} replies to {len(names)} rows about {len(set(names))} images; needed is one reply for each "
            "row, and one row for each image"
        )
    answers = {name: {f"{part}_response": reply} for name, reply in zip(names, replies, strict=True)}
    text = json.dumps(answers, ensure_ascii=False, indent=4) + "\n"
    return {f"test_{part}.json": text.encode(errors=_ESCAPED)}
