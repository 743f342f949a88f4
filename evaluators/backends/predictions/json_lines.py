"""eyechart's own format of predictions: JSON Lines, one object for each item and pass.

`id` is the row's id, `pass` the name of the pass ("main" if absent), and the prediction is `text`, `logits` ({word:
value}) or `score`. `options` are the options as they were shown; without `options`, letters refer to the release's
order. `reasoning` is the model's reasoning before its answer, and `finish_reason` how the text ended: "length" if it
was truncated.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import number_of
from eyechart.evaluators.backends.predictions.prediction import MAIN, Prediction
from eyechart.evaluators.requests.values import brief, is_unicode

ANSWERS = ("text", "logits", "score")


def parse(row: Mapping[str, Any]) -> Prediction:
    """Parse one object; raises ValueError if it is malformed."""
    id, text, options = row.get("id"), row.get("text"), row.get("options")
    is_whole = isinstance(id, int) and not isinstance(id, bool)
    if not (_is_text(id) or is_whole) or id == "":
        raise ValueError(f"'id' is {brief(id)}; expected a non-empty string or a whole number")
    if not (_is_text(row.get("pass", MAIN)) and row.get("pass", MAIN)):
        raise ValueError(f"'pass' is {brief(row['pass'])}; expected a non-empty string such as 'rotation:1'")
    if text is not None and not _is_text(text):
        raise ValueError(f"'text' is {brief(text)}; expected a string")
    if options is not None and not (isinstance(options, list) and all(map(_is_text, options))):
        raise ValueError(f"'options' is {brief(options)}; expected a list of strings")
    for name in ("reasoning", "finish_reason"):
        if row.get(name) is not None and not _is_text(row[name]):
            raise ValueError(f"'{name}' is {brief(row[name])}; expected a string")
    if all(row.get(name) is None for name in ANSWERS):
        raise ValueError("missing 'text', 'logits' or 'score'")
    return Prediction(
        names=(str(id),),
        pass_name=row.get("pass", MAIN),
        text=text,
        logits=None if row.get("logits") is None else _logits(row["logits"]),
        score=None if row.get("score") is None else number_of(row["score"], "'score'"),
        options=None if options is None else tuple(options),
        reasoning=row.get("reasoning") or None,
        finish_reason=row.get("finish_reason") or None,
    )


def _logits(logits: Any) -> dict[str, float]:
    if not isinstance(logits, dict):
        raise ValueError(f"'logits' is {brief(logits)}; expected an object that maps words to numbers")
    return {word: number_of(value, f"the logit of '{word}'") for word, value in logits.items()}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_unicode(value)
