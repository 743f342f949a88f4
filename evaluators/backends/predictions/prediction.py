"""One row of a predictions file, whatever its format."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import make_dataclass
from functools import cache, lru_cache, partial
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import override

from eyechart.evaluators.requests.values import brief, is_unicode

MAIN = "main"
OWN_KEYS = (
    *("id", "pass", "text", "logits", "score", "options", "reasoning", "finish_reason", "cluster"),
    *("upper_bound_words", "rendered_prompt"),
)
"""The keys of eyechart's own format."""
Fields = Mapping[str, Any]
"""A row of a file."""


def text_of(value: Any) -> str:
    """The text of a cell: "" for an empty one, numbers as a spreadsheet shows them; raises ValueError for other values.

    Examples:
        >>> text_of(float("nan")), text_of(3.0), text_of(True), text_of(" A ")
        ('', '3', 'True', ' A ')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool | int | float) or (isinstance(value, str) and is_unicode(value)):
        return str(value)
    if hasattr(value, "isoformat"):
        raise ValueError(f"expected text, found the date or time {value.isoformat()}; store the column as text")
    raise ValueError(f"expected text, found {brief(value)}")


_Text = Annotated[str, AfterValidator(text_of)]
_Finite = Annotated[float, Field(allow_inf_nan=False)]


class Prediction:
    """One row of a predictions file; the fields up to `rendered_prompt` are `OWN_KEYS`."""

    __slots__: tuple[str, ...] = ()
    id: Annotated[_Text, Field(min_length=1), BeforeValidator(lambda id: str(id) if type(id) is int else id)]
    """The tool's id of the item, which all passes over the item share."""
    pass_name: Annotated[_Text, Field(min_length=1, validation_alias="pass")] = MAIN
    """As `Request.pass_name`."""
    text: _Text | None = None
    """The reply; "" if it is empty. None if the file has logits or scores."""
    logits: dict[str, _Finite] | None = None
    """Next-token logit of each word."""
    score: _Finite | None = None
    """A quality score, as in the file."""
    options: Annotated[tuple[_Text, ...], Field(strict=False)] | None = None
    """The options as they were shown, "" for one that is empty in the file; None: they are in the release's order."""
    reasoning: _Text | None = None
    """The model's reasoning before the answer, if the file has it separately."""
    finish_reason: _Text | None = None
    """How the reply ended, if the file has it: "length" if it was truncated."""
    cluster: _Text | None = None
    """What items share, as `Item.cluster`; None if the file does not say so."""
    upper_bound_words: Annotated[tuple[_Text, ...], Field(strict=False)] = ()
    """As in `Answer`."""
    rendered_prompt: _Text | None = None
    """What the model was asked, as `Request.rendered`; only logs of inspect-ai say so."""
    row: int = 0
    """Its number in the file."""
    image: str = ""
    """Another name of the item."""
    question: str = ""
    index: int | None = None
    """The tool's number of the item, in the order of the tool's data; None if the tool has no numbers."""
    problem: str = ""
    """Why there is no reply that can be used; "" if there is one."""


_row_type = cache(partial(make_dataclass, "Prediction", bases=(Prediction,), eq=False, slots=True))


class _Logits(Mapping[str, float]):
    """Logits in a third of a dict's memory: rows with the same words share them."""

    __slots__ = ("_values", "_words")

    def __init__(self, logits: Mapping[str, float]) -> None:
        """Pack the logits."""
        self._words, self._values = _same(tuple(logits)), array("d", logits.values())

    @override
    def __getitem__(self, word: str) -> float:
        if word not in self._words:
            raise KeyError(word)
        return self._values[self._words.index(word)]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    @override
    def __len__(self) -> int:
        return len(self._words)


@lru_cache(256)
def _same(words: tuple[str, ...]) -> tuple[str, ...]:
    return words


def prediction(fields: Fields) -> Prediction:
    """A row, which has slots for its own fields only, because a file may have millions of rows."""
    given = {name: value for name, value in fields.items() if value != getattr(Prediction, name, None)}
    if "logits" in given:
        given["logits"] = _Logits(given["logits"])
    return cast(Prediction, _row_type(tuple(given))(**given))
