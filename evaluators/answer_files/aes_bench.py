"""Answer files for the authors of AesBench, who keep its reference answers private.

The format is the one that their own code writes (https://github.com/yipoh/AesBench, `eval/eval_AesP.py` and the three
scripts next to it): one JSON file for each part, `{image name: {"<part>_response": reply}}`.
"""

import json
from collections.abc import Mapping, Sequence

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.types import Row

# UTF-8 cannot encode an unpaired surrogate, so it becomes a JSON escape.
_ESCAPED = "backslashreplace"


def aes_bench_answer_file(part: str, rows: Sequence[Row], replies: Sequence[str]) -> Mapping[str, bytes]:
    """The file for one part of AesBench.

    Args:
        part: "AesP", "AesE", "AesA1" (the release's name for AesA) or "AesI".
        rows: Rows of `aesbench`, whose ids are the images' names.
        replies: The reply to each row; letters refer to the options in the release's order.

    Returns:
        Name and contents of the file: UTF-8 JSON.

    Raises:
        UsageError: Two rows have the same image, or the numbers of replies and rows differ.

    Examples:
        >>> files = aes_bench_answer_file("AesP", [{"id": "baid_1.jpg"}], ["B) No"])
        >>> json.loads(files["test_AesP.json"])
        {'baid_1.jpg': {'AesP_response': 'B) No'}}
    """
    names = [row["id"] for row in rows]
    if len(set(names)) < len(names) or len(names) != len(replies):
        raise UsageError(
            f"{len(replies)} replies to {len(names)} rows about {len(set(names))} images; expected one reply for each "
            "row, and one row for each image"
        )
    answers = {name: {f"{part}_response": reply} for name, reply in zip(names, replies, strict=True)}
    text = json.dumps(answers, ensure_ascii=False, indent=4) + "\n"
    return {f"test_{part}.json": text.encode(errors=_ESCAPED)}
