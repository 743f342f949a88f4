"""Predictions of VLMEvalKit (https://github.com/open-compass/VLMEvalKit): XLSX, TSV or JSON.

A row has the columns of the tool's dataset (`index`, `question`, `hint`, `A` to `D`, `answer`, ...) and `prediction`.
`thinking`, if present, is the reasoning, which is not part of the reply. The options are as they were shown. Each
further pass over a question adds one million to `index`; `g_index`, if present, is the number of the question.
"""

from collections.abc import Mapping
from itertools import takewhile
from string import ascii_uppercase
from typing import Any

from eyechart.evaluators.backends.predictions.cells import text_of, whole_number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction, base_and_pass, without_padding

# The tool's note if a server gave no reply.
_FAILED = "Failed to obtain answer"


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one row; raises ValueError if its index is not a whole number or its options are not text."""
    base, pass_name = base_and_pass(whole_number_of(row, "index"), group=group_of(row))
    image = text_of(row.get("image_path"))
    try:
        text, problem = text_of(row["prediction"]), ""
    except ValueError as error:
        text, problem = "", f"'prediction': {error}"
    return Prediction(
        names=(str(base), image) if image else (str(base),),
        pass_name=pass_name,
        text=text,
        options=lettered_options(row),
        question=text_of(row.get("question")),
        place=base,
        reasoning=text_of(row.get("thinking")) or None,
        problem=problem,
        failure=text.strip() if text.strip().startswith(_FAILED) else "",
    )


def group_of(row: Mapping[str, Any]) -> int | None:
    """The row's `g_index`; None if it has none."""
    return whole_number_of(row, "g_index") if text_of(row.get("g_index")) else None


def lettered_options(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The options in columns A, B, ...; None if missing. pandas writes an empty cell as "nan"."""
    options = [text_of(row[letter]) for letter in takewhile(row.__contains__, ascii_uppercase)]
    return without_padding(options, ["", "nan"])
