"""The form of stored values. Checked on writing and reading, because a store may be edited and a disk may fail."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from eyechart.evaluators.requests.values import brief, decode

_Text = Annotated[str, Field(strict=True)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Count = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_LossTokens = Annotated[int, Field(strict=True, gt=0, lt=2**63)]


@with_config(ConfigDict(extra="forbid"))
class Answer(TypedDict, total=False):
    """An answer of a model, with fields of `Response`, or of a judge, with those of `Reply`."""

    text: _Text | None
    reasoning: _Text
    finish_reason: _Text
    rendered_prompt: _Text
    upper_bound_words: list[_Text]
    options: list[_Text]
    logits: dict[str, _Number]
    losses: list[tuple[_Number, _LossTokens]]
    score: _Number
    image_scores: list[_Number]
    usage: dict[str, _Count]
    images_downscaled: _Count
    response_metadata: dict[str, _Text]


_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)


def read_value(stored: object) -> dict[str, Any]:
    """The value in a row of the store: JSON as bytes, or as text if the database was edited by hand.

    Raises:
        ValueError: It is not JSON or does not have the form of an answer; the message says why.
    """
    if not isinstance(stored, bytes | str):
        raise ValueError(f"an answer is {brief(stored)}; expected JSON")
    try:
        value = decode(stored.encode("utf-8", "surrogatepass") if isinstance(stored, str) else stored)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"an answer is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"an answer is {brief(value)}; expected a JSON object")
    if (reason := misfit(value)) is not None:
        raise ValueError(reason)
    return value


def misfit(value: Mapping[str, Any]) -> str | None:
    """Which field of a value does not have the form of an answer; None if all have it."""
    try:
        _ANSWER.validate_python(value)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        return f"an answer has the invalid field {brief(name)}: {brief(value[name])}"
    return None


def why_unreadable(key: object, model: object, stored_at: object, value: object) -> str | None:
    """Why a row of the store cannot be read; None if it can."""
    if not (isinstance(key, bytes) and isinstance(model, str) and is_time(stored_at)):
        return f"a row has an invalid key {brief(key)}, model {brief(model)} or time {brief(stored_at)}"
    try:
        read_value(value)
    except ValueError as error:
        return str(error)
    return None


def is_time(value: object) -> bool:
    """Whether a value is a valid storage time: seconds since 1970, within the range of Python's dates."""
    return isinstance(value, float) and 0 <= value < 2.5e11
