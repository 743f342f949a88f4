"""Our own predictions: JSON Lines, one object for each item and pass.

`id` is the row's id, `pass` is "main" if absent, and there are `text`, `logits` ({word: value}) or `score`. `options`
are the options as they were shown; a letter without `options` means the release's order.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.evaluators.backends.predictions.cells import finite_of, is_unicode, shortened
from eyechart.evaluators.backends.predictions.prediction import MAIN, Prediction

ANSWERS = ("text", "logits", "score")


def parse(row: Mapping[str, Any]) -> Prediction:
    """Read one object.

    Raises:
        ValueError: It is malformed.
    """
    if not (_is_text(row.get("id")) or _is_whole(row.get("id"))) or row["id"] == "":
        raise ValueError(f"'id' is {shortened(row.get('id'))}; expected a non-empty string or a whole number")
    if not (_is_text(row.get("pass", MAIN)) and row.get("pass", MAIN)):
        raise ValueError(f"'pass' is {shortened(row['pass'])}; expected a non-empty string such as 'rotation:1'")
    if row.get("text") is not None and not _is_text(row["text"]):
        raise ValueError(f"'text' is {shortened(row['text'])}; expected a string")
    options = row.get("options")
    if options is not None and not (isinstance(options, list) and all(_is_text(option) for option in options)):
        raise ValueError(f"'options' is {shortened(options)}; expected a list of strings")
    if all(row.get(name) is None for name in ANSWERS):
        raise ValueError("neither 'text' nor 'logits' nor 'score' is there")
    return Prediction(
        names=(str(row["id"]),),
        pass_name=row.get("pass", MAIN),
        text=row.get("text"),
        logits=_logits(row.get("logits")),
        score=_score(row.get("score")),
        options=None if options is None else tuple(options),
    )


def _logits(logits: Any) -> dict[str, float] | None:
    if logits is None:
        return None
    if not isinstance(logits, dict):
        raise ValueError(f"'logits' is {shortened(logits)}; expected an object of word to number")
    numbers = {}
    for word, value in logits.items():
        number = finite_of(value)
        if number is None:
            raise ValueError(f"the logit of '{word}' is {shortened(value)}; expected a finite number")
        numbers[word] = number
    return numbers


def _score(score: Any) -> float | None:
    number = finite_of(score)
    if score is not None and number is None:
        raise ValueError(f"'score' is {shortened(score)}; expected a finite number")
    return number


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
