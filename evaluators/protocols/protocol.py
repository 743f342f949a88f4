"""The base class of protocols: how one kind of question is asked, read and scored.

A row becomes requests, a response an item, and the items alone give the scores: comparisons have nothing else. Fields
are settings, checked by pydantic; those marked `Fixed` are set by the task (prompts, groups) or the run (seed, judge).
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from eyechart.datasets_scripts.common.errors import DataError, unknown_name
from eyechart.evaluators.requests.types import IMAGE, OutputType, Prompt, Request, Response, Row
from eyechart.evaluators.requests.values import brief, is_number
from eyechart.evaluators.results.items import MAIN, UNKNOWN, Item, PackedItems, columns_of
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.judging.lexical import lexical
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.statistics.shares import own_scores

T = TypeVar("T")
FIXED = "fixed"
Fixed = Annotated[T, FIXED]
"""A field that the task or the run fixes; it is not a setting."""
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
PromptFunction = Callable[[Row], Prompt]
"""Takes a row and returns its prompt; options are shown in the row's order."""
CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid", use_attribute_docstrings=True)
REASONING_LENGTH = 4096
"""Maximum reply length, in tokens, of a model that reasons before it answers, unless the run sets another."""
DEFAULT = "default"
"""Name of the prompt that a task uses unless the run names another."""
CLUSTER = "_cluster"
"""Key under which a run stores a row's cluster: its image, or the column that a task file names."""
ScoringFunction = Callable[[str, Row], float]
"""Takes a reply and its row, and returns a number; True counts as 1."""


@dataclass(frozen=True)
class Scorer:
    """A scoring function of the user's own and its range; it scores replies in place of the protocol's metric."""

    function: ScoringFunction
    low: float
    high: float

    def settings(self) -> dict[str, Any]:
        """Its name, a digest of its source ("" if unknown) and its range."""
        source = ""
        with contextlib.suppress(OSError, TypeError):
            source = hashlib.sha256(inspect.getsource(self.function).encode()).hexdigest()[:8]
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return {"score": f"{name}/{source}", "score_range": [self.low, self.high]}

    def value(self, reply: str, row: Row) -> float:
        """The number for a reply; raises DataError if the function fails or returns no number in its range."""
        expected = f"score must return a number from {self.low:g} to {self.high:g} (score_range)"
        try:
            score = self.function(reply, row)
        # The function may raise anything; the user needs to know for which item it did.
        except Exception as error:
            reason = f"score fails for the reply {brief(reply)} with {type(error).__name__}: {error}; {expected}"
            raise DataError(reason) from error
        if not isinstance(score, Real | np.bool_) or not self.low <= score <= self.high:
            raise DataError(f"score returns {brief(score)} for the reply {brief(reply)}; {expected}")
        return float(score)


@checked_dataclass(frozen=True, config=CONFIG)
class Protocol(ABC):
    """How one kind of question is asked, read and scored.

    A subclass implements `check` and `requests`, and `item` and `score` unless its items have an `own_score`.
    """

    name: ClassVar[str]
    """Its name in task files and results."""
    metric: ClassVar[str]
    """The evaluate module that computes its scores."""
    kind: ClassVar[str]
    """Kind of data: "multiple choice", "quality", "pairs" or "description"."""
    item_type: ClassVar[type[Item]] = Item
    """The type of its items."""
    columns: ClassVar[tuple[str, ...]]
    """Columns that the data must have: the id, the image or images, the label, then others."""

    usual_length: ClassVar[int] = 32
    """Maximum reply length, in tokens, of a model that does not reason first, unless the run sets another."""
    can_be_judged: ClassVar[bool] = False
    """Whether a judge may read its replies."""
    needs_whole_texts: ClassVar[bool] = False
    """Whether a single truncated reply makes the scores incomplete, because a judge grades the text as it is."""
    shares_images: ClassVar[bool] = True
    """Whether several rows may be about the same image; confidence intervals then account for that."""

    prompts: Fixed[Mapping[str, PromptFunction]]
    """Prompts by name; `DEFAULT` is the task's own."""
    prompt_id: Fixed[str]
    """Identifies the prompts in results; a change of wording needs a new id."""
    groups: Fixed[tuple[str, ...]] = ()
    """Columns by which the scores are broken down."""
    seed: Fixed[int] = 0
    """Seed of everything random: the bootstrap and random choices."""
    judge: Fixed[Any] = None
    """`judge(messages, n)`, which returns n replies; None scores without a judge, as the metric defines it."""
    scorer: Fixed[Scorer | None] = None
    """The task's own scoring function, which replaces the metric; None for the metric."""
    skip_bad: Fixed[bool] = False
    """Whether to leave out rows that are malformed or have no reply, instead of stopping."""
    prompt: str = DEFAULT
    """Which of the task's prompts to use."""
    max_new_tokens: Count | None = None
    """Maximum reply length in tokens; if not set, 4,096 for a model that reasons first."""

    def __post_init__(self) -> None:
        """Refuse a prompt that the task does not have."""
        if self.prompt not in self.prompts:
            raise unknown_name("value", self.prompt, self.prompts, "of prompt")

    @property
    def output_type(self) -> OutputType:
        """What its requests ask a model for."""
        return OutputType.TEXT

    @property
    def reply_length(self) -> int:
        """Maximum reply length to ask for, in tokens."""
        return self.usual_length if self.max_new_tokens is None else self.max_new_tokens

    @property
    def is_judged(self) -> bool:
        """Whether its scores can depend on a judge; losses have no replies, and a scoring function needs no judge."""
        return self.can_be_judged and self.scorer is None and self.output_type is OutputType.TEXT

    @property
    def grader(self) -> Judge:
        """What grades texts: the judge, or the baseline `lexical`."""
        grader: Judge = lexical if self.judge is None else self.judge
        return grader

    @abstractmethod
    def check(self, row: Row) -> None:
        """Raise `DataError` for a row that cannot be asked or scored."""

    @abstractmethod
    def requests(self, row: Row) -> list[Request]:
        """The requests to send for one row, whatever the model replies."""

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item of a response before its reply is parsed; raises DataError if the scoring function fails."""
        request = response.request
        if self.scorer is not None and not self.is_private(row):
            fields["own_score"] = self.scorer.value(response.text or "", row)
        values = {
            "id": row["id"],
            "pass_name": request.pass_name,
            "repeat": request.repeat,
            "question": row.get("question"),
            "prompt": response.rendered_prompt or request.rendered(),
            "text": response.text,
            "reasoning": response.reasoning,
            "finish_reason": response.finish_reason,
            "error": None if response.error is None else str(response.error),
            "groups": _shared(
                tuple((name, "" if row[name] is None else str(row[name])) for name in self.groups if name in row)
            ),
            "cluster": response.cluster or row.get(CLUSTER),
        }
        return self.item_type(**values | fields)

    def parse(self, items: Sequence[Any]) -> list[Any]:
        """Parse the replies of items, asking the judge if there is one; called once for the items of a wave."""
        return list(items)

    def follow_ups(self, row: Row, items: Sequence[Any]) -> list[Request]:
        """Further requests for one row after all its parsed items so far; those already sent are not sent again."""
        return []

    def score(self, items: Sequence[Any]) -> TaskResult:
        """All that follows from the parsed items of one repeat, private ones too; by default, the mean `own_score`."""
        public = PackedItems(item for item in items if item.pass_name == MAIN and item.own_score is not None)
        scores = None
        if public:
            limits = (0.0, 1.0) if self.scorer is None else (self.scorer.low, self.scorer.high)
            values, clusters = columns_of(public, "own_score", "cluster").values()
            scores = own_scores(values, limits, self.groups_of(public), clusters)
        return TaskResult(scores=scores, items=items)

    def groups_of(self, items: Sequence[Item]) -> dict[str, list[str]]:
        """The values of each group, `UNKNOWN` for an empty one; without groups that are empty or that an item lacks."""
        groups = columns_of(items, "groups")["groups"]
        names = [name for name in self.groups if all(name in of_item for of_item in groups)]
        values = {name: [of_item[name] or UNKNOWN for of_item in groups] for name in names}
        return {name: column for name, column in values.items() if set(column) != {UNKNOWN}}

    def for_data(self, task: str, dataset: str, split: str, *, is_billed: bool = False) -> Any:
        """The protocol for a task on its data, asked of a backend that bills each request or does not."""
        return self

    def released(self, rows: Sequence[Row], items: Sequence[Any]) -> list[tuple[Row, str]]:
        """The rows and replies of an answer file; letters refer to the release's order of options."""
        return [(row, item.text or "") for row, item in zip(rows, items, strict=True)]

    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        """Every setting that can change a score; a file or run that one names is described by its contents."""
        unused = ("prompt", *self.unused_settings())
        settings: dict[str, Any] = {"protocol": self.name, "prompt_id": self.full_prompt_id}
        for name in setting_fields(type(self)):
            value = self.reply_length if name == "max_new_tokens" else getattr(self, name)
            if name not in unused:
                settings[name] = value.settings() if hasattr(value, "settings") else value
        return settings | ({} if self.scorer is None else self.scorer.settings()) | {"seed": self.seed}

    def unused_settings(self) -> tuple[str, ...]:
        """Names of settings without effect, given the values of the other settings."""
        return ()

    def is_private(self, row: Row) -> bool:
        """Whether the row has no public label, so that it cannot be scored."""
        label = row[self.columns[2]]
        return label is None or not str(label).strip()

    def prompt_of(self, row: Row) -> Prompt:
        """The prompt for a row."""
        return self.prompts[self.prompt](row)

    @property
    def full_prompt_id(self) -> str:
        """Id of the prompt in use."""
        return self.prompt_id if self.prompt == DEFAULT else f"{self.prompt_id}/{self.prompt}"


def setting_fields(protocol: type[Protocol]) -> dict[str, Any]:
    """The settings of a protocol: name to pydantic's description of the field."""
    return {
        name: info
        for name, info in protocol.__pydantic_fields__.items()  # type: ignore[attr-defined]
        if FIXED not in info.metadata
    }


@lru_cache(4096)
def _shared(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The items as a dict, one for all rows with the same ones."""
    return dict(items)


def check_texts(row: Row, *columns: str, private: bool = False) -> None:
    """Refuse a value that is not a string; `private` allows None, which means that the answer is private."""
    for column in columns:
        is_text = isinstance(row.get(column), str) or (private and row.get(column) is None)
        _check(is_text, row, column, "a string ('' if private)" if private else "a string")


def check_number(row: Row, column: str, *, private: bool = False) -> None:
    """Refuse a value that is not a finite number; `private` allows None, which means that the number is private."""
    allowed = is_number(row[column]) or (private and row[column] is None)
    _check(allowed, row, column, f"a finite number{' (None if private)' if private else ''}")


def check_images(protocol: Protocol, row: Row) -> None:
    """Refuse `images` without an image, and a number of images that differs from the image places in a prompt."""
    images = row.get("images", [None])
    _check(isinstance(images, list | tuple), row, "images", "a list of images")
    for request in protocol.requests(row):
        places, count = request.prompt.count(IMAGE), len(request.images)
        if count != places:
            raise DataError(f"{count} image{'' if count == 1 else 's'} found; expected {places}, as in the prompt")
    # A task's own prompt may have a place for each image, however many there are.
    if not images and not getattr(protocol, "blind", False):
        raise DataError("0 images found; expected at least 1")


def _check(allowed: bool, row: Row, column: str, expected: str) -> None:
    if not allowed:
        raise DataError(f"column '{column}' is {brief(row.get(column))}; expected {expected}")
