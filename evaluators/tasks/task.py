"""A task: a name, its data and a protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoice
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.protocol import CONFIG, Protocol, Scorer, ScoringFunction
from eyechart.evaluators.requests.types import Row
from eyechart.metrics.scores import OWN
from eyechart.metrics.scoring.judging.replies import Judge

P = TypeVar("P", bound=Protocol)
_DECIDED = ("rounds", "shuffle_seed", "temperature", "ties", "aggregator", "fallback", "extraction")
"""Settings that the papers fix: to the task's default, or to the value in `Task.published`."""
Line = Annotated[str, Field(max_length=1000)]
"""A text that tables show on one line."""


ON_HUB = "hf://datasets/"
"""Beginning of the address of a single file on the Hub, before `OWNER/NAME/FILE`."""


@dataclass(frozen=True, config=CONFIG)
class TaskData:
    """The data of a task: one or more of eyechart's datasets, or your own data."""

    datasets: tuple[str, ...] = ()
    """Names of the datasets that the task can run on; for your own data, always the task's name."""
    splits: tuple[str, ...] = ()
    """Splits that the task can run on; the first is the default. For your own data, see `known_splits`."""
    config: str | None = None
    """Configuration of the dataset."""
    run_on: tuple[str, ...] = ()
    """Datasets to run on by default; the first of `datasets` if empty."""
    path: str | None = None
    """Your own data: a Hub id, a folder, or a file here or on the Hub (`ON_HUB`); None for eyechart's datasets."""
    split: str | None = None
    """Your own data: the split to read; None takes the only one, or "test"."""
    images: str | None = None
    """Your own data: the folder to which paths of images are relative; None is the folder of `path`."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Your own data: each documented column, mapped to the file's column or columns, as `load_own` takes them."""
    empty: tuple[str, ...] = ()
    """Your own data: texts that stand for an empty cell, such as "N/A"."""

    @property
    def default_datasets(self) -> tuple[str, ...]:
        """The datasets to run on if none is named."""
        return self.run_on or self.datasets[:1]

    @property
    def default_split(self) -> str | None:
        """The split to run on if none is named; None for your own data if its splits are not known yet."""
        return self.split or next(iter(self.splits), None)

    @property
    def known_splits(self) -> tuple[str, ...] | None:
        """All splits. A single file has one; None for other data of your own, whose splits are unknown until opened."""
        from eyechart.datasets_scripts.own_data.sources import is_file

        if self.path is None:
            return self.splits
        return (self.split or "test",) if is_file(self.path) else None


class PaperSetting(NamedTuple):
    """A setting of the paper's runs that differs from the task's default."""

    name: str
    value: Any
    source: str
    """Where the paper or its code states it."""
    of_data: bool = False
    """Whether it is a setting of the dataset, not of the protocol."""


@dataclass(frozen=True, config=CONFIG)
class BoardRules:
    """What the leaderboard knows of a task besides its data, protocol and groups."""

    notes: Mapping[str, str] = field(default_factory=dict)
    """What readers of the board have to know, by split."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further required settings, which come from the data rather than the task."""
    without: tuple[str, ...] = ()
    """Keys of scores that its metric returns only for other tasks."""


@dataclass(frozen=True, config=CONFIG)
class Task(Generic[P]):
    """One row of `eyechart tasks`."""

    name: Line
    """`<paper>/<part>`, or any name for your own task."""
    data: TaskData
    protocol: P
    """How its questions are asked and scored, with the task's prompts and settings."""
    groups: tuple[str, ...] = ()
    """Columns to break the scores down by."""
    cluster: str = ""
    """Column whose equal values mark rows that depend on each other, such as the scene; "" clusters by image."""
    title: Line = ""
    """Its title within its paper."""
    description: Line = ""
    """One line, for the table of tasks."""
    paper: Line = ""
    """Title and section."""
    note: Line = ""
    """What readers of the scores have to know."""
    headline: str = ""
    """Key of the task's headline score, if it differs from the metric's."""
    published: tuple[PaperSetting, ...] = ()
    """Settings of the paper that differ from the task's defaults; `--as-published` applies them."""
    published_judge: bool = False
    """Whether the paper used a judge, for all replies or for those in which exact matching finds no option."""
    score: ScoringFunction | None = None
    """Scores a reply in place of the metric; takes the reply and the row, and returns a number in `score_range`."""
    score_range: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest number that `score` may return; higher is better."""
    check: Callable[[Row], None] | None = None
    """Raises `DataError` for a row that must not be asked."""
    after: tuple[str, ...] = ()
    """Tasks whose answers this one's questions state; a run that contains both asks them first."""
    board: BoardRules = BoardRules()
    """What its leaderboard requires and explains."""
    answer_file: Callable[..., Mapping[str, bytes]] | None = None
    """Writes the benchmark's answer file from rows with private answers and the replies; None if there is no format."""

    def __post_init__(self) -> None:
        """Refuse a scoring function for replies that are not single texts, and a wrong range."""
        if self.score is not None and type(self.protocol) not in (MultipleChoice, Description):
            works = "score= works with the protocols MultipleChoice and Description, which ask for one text"
            raise UsageError(f"{works}; the protocol is {type(self.protocol).__name__}")
        low, high = self.score_range
        if not low < high or math.isinf(low) or math.isinf(high):
            raise UsageError(f"score_range must be (lowest, highest), such as (0, 1); found {self.score_range}")

    @property
    def metric(self) -> str:
        """The evaluate module that computes its scores; "own_score" for a scoring function."""
        return self.protocol.metric if self.score is None else OWN

    def bound(self, *, seed: int = 0, judge: Judge | None = None) -> P:
        """The protocol with the task's groups and scoring function, and the run's seed and judge."""
        scorer = None if self.score is None else Scorer(self.score, *self.score_range)
        return replace(self.protocol, groups=self.groups, scorer=scorer, seed=seed, judge=judge)

    def choose_data(
        self, dataset: str | None = None, split: str | None = None, *, in_folder: bool = False
    ) -> tuple[str, str | None]:
        """The dataset and split to run on; by default, the first ones. Your own data in a folder may have any split.

        Raises:
            UsageError: The task does not run on that dataset or split.
        """
        dataset, split = dataset or self.data.default_datasets[0], split or self.data.default_split
        if dataset not in self.data.datasets:
            raise unknown_name("dataset", dataset, self.data.datasets, f"of {self.name}")
        splits = None if in_folder and self.data.path is not None else self.data.known_splits
        if split is not None and splits is not None and split not in splits:
            raise unknown_name("split", split, splits, f"of {self.name}")
        return dataset, split


def with_published_settings(task: Task, protocol: Protocol, given: Mapping[str, Any]) -> Protocol:
    """`protocol` with the paper's settings; raises UsageError for a user's own task, or if one `given` conflicts."""
    if task.data.path is not None:
        raise UsageError(f"as_published is only for tasks from papers; leave it out for your own task {task.name}")
    unused = protocol.unused_settings()
    published = {name: value for name, value in _published(task, of_data=False).items() if name not in unused}
    for name, value in given.items():
        if name in (*_DECIDED, *published) and value != published.get(name, getattr(task.protocol, name)):
            raise UsageError(f"as_published and {name}={value!r} are both given; leave out one of them")
    return replace(protocol, **published)


def published_data_options(task: Task, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The given options of the dataset and the paper's; raises UsageError if they conflict."""
    published = _published(task, of_data=True)
    options = options_in_force(task.data.datasets[0], task.data.config) | published
    for name, value in (given or {}).items():
        # Options that name folders say where the data is, not how it is used.
        if name in options and not name.endswith("_dir") and value != options[name]:
            raise UsageError(f"as_published and the data option {name}={value!r} are both given; leave out one")
    return published | dict(given or {})


def published_settings(
    task: Task, protocol: Protocol, dataset: str, data_options: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The paper's value, default and source of each setting, for the result of an as-published run.

    `data_options` loaded the data, none for your own; raises UsageError if they are not the paper's.
    """
    for name, value in _published(task, of_data=True).items():
        if data_options.get(name, value) != value:
            raise UsageError(
                f"as_published needs data loaded with {name}={value!r}; found {data_options[name]!r}. Load it with "
                f"options={{{name!r}: {value!r}}}"
            )
    defaults = options_in_force(dataset, task.data.config) if data_options else {}
    defaults |= {name: value for name, value in vars(task.protocol).items() if name not in protocol.unused_settings()}
    return {
        setting.name: {"published": setting.value, "default": defaults[setting.name], "source": setting.source}
        for setting in task.published
        if setting.name in defaults
    }


def _published(task: Task, *, of_data: bool) -> dict[str, Any]:
    return {setting.name: setting.value for setting in task.published if setting.of_data == of_data}


def judge_needed(task: Task) -> UsageError:
    """The error for an as-published run without the judge that it needs."""
    used = f"as_published needs a judge for {task.name}, because its paper ({task.paper}) used one to score replies"
    return UsageError(f"{used}. Give --judge (in Python, judge=), or leave out as_published")
