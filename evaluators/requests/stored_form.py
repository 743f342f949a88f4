"""The form of stored rows. Checked on writing and reading, because a store may be edited and a disk may fail."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from eyechart.evaluators.requests.values import brief, decode

Text = Annotated[str, Field(strict=True)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Count = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
_LossTokens = Annotated[int, Field(strict=True, gt=0, lt=2**63)]
# Seconds since 1970, within the range of Python's dates.
Time = Annotated[float, Field(strict=True, ge=0, lt=2.5e11)]


@with_config(ConfigDict(extra="forbid"))
class Answer(TypedDict, total=False):
    """An answer of a model, with fields of `Response`, or of a judge, with those of `Reply`."""

    text: Text | None
    reasoning: Text
    finish_reason: Text
    rendered_prompt: Text
    upper_bound_words: list[Text]
    options: list[Text]
    logits: dict[str, _Number]
    losses: list[tuple[_Number, _LossTokens]]
    score: _Number
    image_scores: list[_Number]
    usage: dict[str, _Count]
    images_downscaled: _Count
    response_metadata: dict[str, Text]


def _decoded(stored: object) -> object:
    """A stored value: JSON as bytes, or as text if the database was edited by hand."""
    data = stored.encode("utf-8", "surrogatepass") if isinstance(stored, str) else stored
    try:
        return decode(data) if isinstance(data, bytes) else data
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from error


_Value = Annotated[Answer, BeforeValidator(_decoded)]


class Row(TypedDict):
    """A row of the store."""

    key: Annotated[bytes, Field(strict=True)]
    model: Text
    stored_at: Time
    value: _Value


_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
VALUE: TypeAdapter[Answer] = TypeAdapter(_Value)
ROW: TypeAdapter[Row] = TypeAdapter(Row)


def problem(error: ValidationError) -> str:
    """What is wrong with a row or an answer."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "value"
    return f"an answer has the invalid field {name!r}: {brief(first['input'])} ({first['msg']})"


def is_answer(value: Any) -> bool:
    """Whether a value has the form of an answer."""
    try:
        _ANSWER.validate_python(value)
    except ValidationError:
        return False
    return True
