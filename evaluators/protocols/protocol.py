"""What a protocol is: how a kind of question is asked, read and scored.

A protocol is a frozen dataclass. Its fields are its settings, checked by pydantic, except those marked `Definition`,
which a task fixes (prompts, groups) or a run (seed, judge). `settings.py` lists and changes the settings.
"""

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
"""A field that a task or a run fixes, and no setting."""
Flag = Annotated[bool, Field(strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
PromptFunction = Callable[[Row], Prompt]
"""From a row to what the model sees; options are shown in the row's order."""
CONFIG = ConfigDict(arbitrary_types_allowed=True, extra="forbid", use_attribute_docstrings=True)
REASONING_LENGTH = 4096
"""The longest reply of a model that reasons before it answers, in tokens, where a run sets none."""
DEFAULT = "default"
"""The prompt that a task uses where none is named."""


@dataclass(frozen=True)
class Scored:
    """What a protocol makes of the answers to all rows."""

    items: list[dict[str, Any]]
    """Columns of predictions.parquet for each response, in the order of the rows and of their responses."""
    scores: dict[str, Any] | None = None
    """Exactly what the metric returns for the rows that can be scored; None where there are none."""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Alternative scorings of the same answers, each as a metric returns it, by name."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """What else the answers show, such as the prompt-failure rate."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files for the run's folder by name, such as the answer file for a private split."""
    caveats: tuple[str, ...] = ()
    """What a reader has to know to read the scores rightly."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Why an answer with a public label has no part in the scores, by the row's id."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings that only the answers show; they replace those of the same name."""
    complete: bool = True
    """False where scores had to be made of less than was to be asked, which a caveat explains."""


@checked_dataclass(frozen=True, config=CONFIG)
class Protocol(ABC):
    """How a kind of question is asked and scored; to write one, write its abstract members, `read` and `follow_ups`."""

    name: ClassVar[str]
    """What task files and results call it."""
    metric: ClassVar[str]
    """The evaluate module that gives its scores."""
    kind: ClassVar[str]
    """Kind of data: "multiple choice", "quality", "pairs" or "description"."""
    columns: ClassVar[tuple[str, ...]]
    """Columns that the data must have: the id, the image or images, the label, then others."""

    usual_length: ClassVar[int] = 32
    """The longest reply of a model that does not reason first, in tokens, where a run sets none."""
    needs_whole_texts: ClassVar[bool] = False
    """Whether one text that was cut off makes the scores incomplete, as a judge sees it as it is."""
    has_groups: ClassVar[bool] = True
    """Whether its scores are broken down by groups."""
    shares_images: ClassVar[bool] = True
    """Whether several of its rows may be about the same image, for which intervals allow."""
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Settings other than `prompt` under which something else is asked, for tasks that have prompts for them."""

    prompts: Definition[Mapping[str, PromptFunction]]
    """Prompts by name; `DEFAULT` is the task's own."""
    prompt_id: Definition[str]
    """Names the prompts in results; a change of words is a new id."""
    groups: Definition[tuple[str, ...]] = ()
    """Columns by which the scores are broken down."""
    seed: Definition[int] = 0
    """Of everything random: the bootstrap and random choices."""
    judge: Definition[Any] = None
    """`judge(messages, n)` returning n replies; None is the metric's own way without one."""
    answer_file: Definition[Any] = None
    """Writes the benchmark's own file of answers where they are private; None where it takes none."""
    skip_bad: Definition[bool] = False
    """Whether rows are left out that cannot be asked or lack an answer."""
    prompt: str = DEFAULT
    """Wording of the prompt: one of the task's."""
    max_new_tokens: Count | None = None
    """The longest reply, in tokens; where a run sets none, 4,096 if the model reasons first."""

    def __post_init__(self) -> None:
        """Refuse a prompt that the task does not have.

        Raises:
            UsageError: There is no such prompt.
        """
        if self.prompt not in self.prompts:
            raise unknown_name("value of prompt", self.prompt, self.prompts)

    @property
    def output_type(self) -> OutputType:
        """What its requests want of a model."""
        return OutputType.TEXT

    @property
    def reply_length(self) -> int:
        """The longest reply to ask for, in tokens."""
        return self.usual_length if self.max_new_tokens is None else self.max_new_tokens

    @property
    def is_judged(self) -> bool:
        """Whether a judge has a part in its scores."""
        return False

    @property
    def shows_images(self) -> bool:
        """Whether its prompts show the images, so that each row must have some."""
        return True

    @abstractmethod
    def check(self, row: Row) -> None:
        """Raise `DataError` for a row that cannot be asked or scored."""

    @abstractmethod
    def requests(self, row: Row) -> list[Request]:
        """What to ask the model about one row, whatever it answers."""

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """What each new response says, each with its row: columns of predictions.parquet. Called once for each."""
        return [{} for _ in responses]

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """What to ask about one row next, given all responses so far; requests asked before are passed over."""
        return []

    @abstractmethod
    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """The scores of all rows that were answered, private ones among them."""

    @abstractmethod
    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """What an evaluate module of the same kind takes for rows with public labels, the settings among it."""

    def settings(self) -> dict[str, Any]:
        """Every setting that can change a score."""
        unused = ("prompt", *self.unused_settings())
        values = {name: getattr(self, name) for name in setting_fields(type(self))} | {
            "max_new_tokens": self.reply_length
        }
        own = {name: value for name, value in values.items() if name not in unused}
        return {"protocol": self.name, "prompt_id": self.full_prompt_id, **own, "seed": self.seed}

    def unused_settings(self) -> tuple[str, ...]:
        """Names of settings that have no effect with the values of the others."""
        return ()

    def is_private(self, row: Row) -> bool:
        """Whether the row has no public label, so that it cannot be scored."""
        return row[self.columns[2]] in (None, "")

    def prompt_of(self, row: Row) -> Prompt:
        """What the model sees of a row."""
        return self.prompts[self.prompt](row)

    @property
    def full_prompt_id(self) -> str:
        """Names the prompt in use."""
        return self.prompt_id if self.prompt == DEFAULT else f"{self.prompt_id}/{self.prompt}"


def setting_fields(protocol: type[Protocol]) -> dict[str, Any]:
    """The settings of a protocol: name to pydantic's description of the field."""
    return {
        name: info
        for name, info in protocol.__pydantic_fields__.items()  # type: ignore[attr-defined]
        if DEFINITION not in info.metadata
    }


def columns_of(items: Sequence[Mapping[str, Any]], *names: str) -> dict[str, list[Any]]:
    """Items as columns, as the functions of `metrics/scoring` take them."""
    return {name: [item.get(name) for item in items] for name in names}


def flat_items(answered: Sequence[RowResponses]) -> list[dict[str, Any]]:
    """What was read from each response, in the order of the rows and of their responses."""
    return [dict(response.item) for one in answered for response in one.responses]


CLUSTER = "_cluster"
"""Key under which a run adds to a row what it shares with others: its image, or what a task file names."""


def clusters_of(rows: Iterable[Row]) -> list[str | None]:
    """What each row shares with others; None where that is not known."""
    return [row.get(CLUSTER) for row in rows]
