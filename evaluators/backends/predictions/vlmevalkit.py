"""Predictions of VLMEvalKit (https://github.com/open-compass/VLMEvalKit): XLSX, TSV or JSON.

A row has the columns of the tool's data set (`index`, `question`, `hint`, `A` to `D`, `answer`, ...) and `prediction`;
`thinking` is the reasoning where it was split off, which is no part of the answer. The options are as they were shown.
A further pass over a question counts a million more in `index`; `g_index`, where it is there, names the question.
"""

from collections.abc import Mapping
from itertools import takewhile
from string import ascii_uppercase
from typing import Any

from eyechart.evaluators.backends.predictions.cells import text_of, whole_number_of
from eyechart.evaluators.backends.predictions.prediction import Prediction, base_and_pass, without_padding

# What the tool writes where a server gave it no answer.
_FAILED = "Failed to obtain answer"


def parse(row: Mapping[str, Any]) -> Prediction:
    """Read one row; one whose index is no whole number or whose options are no text is a ValueError."""
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
    """The row's `g_index`; None where it has none."""
    return whole_number_of(row, "g_index") if text_of(row.get("g_index")) else None


def lettered_options(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The options in columns A, B, ..., where "nan" is how pandas writes an empty cell; None where there are none."""
    options = [text_of(row[letter]) for letter in takewhile(row.__contains__, ascii_uppercase)]
    return without_padding(options, ["", "nan"])
