"""The base class of protocols: how one kind of question is asked, read and scored.

A protocol is a frozen dataclass. Its fields are its settings, which pydantic checks. Fields marked `Definition` are not
settings: the task fixes them (prompts, groups) or the run does (seed, judge). `settings.py` lists and changes settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from eyechart.datasets_scripts.common.errors import unknown_name
from eyechart.evaluators.requests.types import OutputType, Prompt, Request, Response, Row, RowResponses

T = TypeVar("T")
DEFINITION = "definition"
Definition = Annotated[T, DEFINITION]
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


@dataclass(frozen=True)
class Scored:
    """The result of scoring the replies to all rows."""

    items: list[dict[str, Any]]
    """Columns of predictions.parquet for each response, in the order of the rows and of their responses."""
    scores: dict[str, Any] | None = None
    """Exactly what the metric returns for the rows that can be scored; None if no row can."""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Alternative scorings of the same replies, by name, each as a metric returns it."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """Further findings about the replies, such as the prompt-failure rate."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files to write to the run's folder, by name, such as the answer file for a private split."""
    caveats: tuple[str, ...] = ()
    """Sentences that a reader needs to interpret the scores correctly."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Rows with a public label that are left out of the scores: row id to the reason."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings that are known only from the replies; they replace settings of the same name."""
    complete: bool = True
    """False if requests are missing, so that the scores cover less than the task; a caveat explains it."""


@checked_dataclass(frozen=True, config=CONFIG)
class Protocol(ABC):
    """How one kind of question is asked and scored; subclasses implement the abstract members, `read`, `follow_ups`."""

    name: ClassVar[str]
    """Its name in task files and results."""
    metric: ClassVar[str]
    """The evaluate module that computes its scores."""
    kind: ClassVar[str]
    """Kind of data: "multiple choice", "quality", "pairs" or "description"."""
    columns: ClassVar[tuple[str, ...]]
    """Columns that the data must have: the id, the image or images, the label, then others."""

    usual_length: ClassVar[int] = 32
    """Maximum reply length, in tokens, of a model that does not reason first, unless the run sets another."""
    needs_whole_texts: ClassVar[bool] = False
    """Whether a single truncated reply makes the scores incomplete, because a judge grades the text as it is."""
    has_groups: ClassVar[bool] = True
    """Whether its scores are broken down by groups."""
    shares_images: ClassVar[bool] = True
    """Whether several rows may be about the same image; confidence intervals then account for that."""
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Settings other than `prompt` that select a different prompt, in tasks that define one for them."""

    prompts: Definition[Mapping[str, PromptFunction]]
    """Prompts by name; `DEFAULT` is the task's own."""
    prompt_id: Definition[str]
    """Identifies the prompts in results; a change of wording needs a new id."""
    groups: Definition[tuple[str, ...]] = ()
    """Columns by which the scores are broken down."""
    seed: Definition[int] = 0
    """Seed of everything random: the bootstrap and random choices."""
    judge: Definition[Any] = None
    """`judge(messages, n)`, which returns n replies; None scores without a judge, as the metric defines it."""
    scorer: Definition[Any] = None
    """The task's own scoring function, a `Scorer`, which replaces the metric; None for the metric."""
    answer_file: Definition[Any] = None
    """Writes the benchmark's answer file for a split with private labels; None if the benchmark has no such file."""
    skip_bad: Definition[bool] = False
    """Whether to leave out rows that are malformed or have no reply, instead of stopping."""
    prompt: str = DEFAULT
    """Which of the task's prompts to use."""
    max_new_tokens: Count | None = None
    """Maximum reply length in tokens; if not set, 4,096 for a model that reasons first."""

    def __post_init__(self) -> None:
        """Refuse a prompt that the task does not have.

        Raises:
            UsageError: The task has no prompt of this name.
        """
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
        """Whether its scores can depend on a judge."""
        return False

    @property
    def shows_images(self) -> bool:
        """Whether its prompts show the images, so that each row must have at least one."""
        return True

    @abstractmethod
    def check(self, row: Row) -> None:
        """Raise `DataError` for a row that cannot be asked or scored."""

    @abstractmethod
    def requests(self, row: Row) -> list[Request]:
        """The requests to send for one row, whatever the model replies."""

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """Read new responses, given with their rows, into columns of predictions.parquet; called once per response."""
        return [{} for _ in responses]

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """Further requests for one row after all its responses so far; those already sent are not sent again."""
        return []

    @abstractmethod
    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Score all answered rows, including those with private labels."""

    @abstractmethod
    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the evaluate module for rows with public labels, including the settings."""

    def settings(self) -> dict[str, Any]:
        """Every setting that can change a score."""
        unused = ("prompt", *self.unused_settings())
        values = {name: getattr(self, name) for name in setting_fields(type(self))} | {
            "max_new_tokens": self.reply_length
        }
        own = {name: value for name, value in values.items() if name not in unused}
        own |= {} if self.scorer is None else self.scorer.settings()
        return {"protocol": self.name, "prompt_id": self.full_prompt_id, **own, "seed": self.seed}

    def unused_settings(self) -> tuple[str, ...]:
        """Names of settings without effect, given the values of the other settings."""
        return ()

    def is_private(self, row: Row) -> bool:
        """Whether the row has no public label, so that it cannot be scored."""
        return row[self.columns[2]] in (None, "")

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
        if DEFINITION not in info.metadata
    }


def columns_of(items: Sequence[Mapping[str, Any]], *names: str) -> dict[str, list[Any]]:
    """Turn items into columns, the form that the functions of `metrics/scoring` take."""
    return {name: [item.get(name) for item in items] for name in names}


def flat_items(answered: Sequence[RowResponses]) -> list[dict[str, Any]]:
    """The items read from the responses, in the order of the rows and of their responses."""
    return [dict(response.item) for one in answered for response in one.responses]


CLUSTER = "_cluster"
"""Key under which a run stores a row's cluster: its image, or the column that a task file names."""


def clusters_of(rows: Iterable[Row]) -> list[str | None]:
    """The cluster of each row; None if unknown."""
    return [row.get(CLUSTER) for row in rows]
