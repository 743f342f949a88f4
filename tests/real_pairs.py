"""The 1,000 released dev rows of Q-Bench2's pairs, from the reference data."""

import json
from pathlib import Path
from typing import Any


def released_dev_rows(reference: Path) -> list[dict[str, Any]]:
    """Images, questions, options and answers in their order, in the form of `q-bench2-a1-dev.jsonl`.

    The codes of type and concern are not known. Row 129 has a single option, rows 873 and 965 one that stands twice.
    """
    known = json.loads((reference / "qbench2-outputs" / "gpt.json").read_text(encoding="utf-8"))
    return [
        {
            "type": 0,
            "concern": 0,
            "question": item["question"].partition(" Options: ")[0],
            "img_path": item["image"].removeprefix("q-bench2/").replace("/", "\\"),
            "candidates": item["option"],
            "correct_ans": item["answer"],
            # The last place of the right text: in row 873 the second of two.
            "correct_choice": "DCBA"[4 - len(item["option"]) :][item["option"][::-1].index(item["answer"])],
        }
        for item in known
    ]
