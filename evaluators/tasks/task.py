"""What a task is made of: a name, its data, and a protocol."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from eyechart.datasets_scripts.common.errors import UsageError, unknown_name
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.requests.values import brief, is_unicode
from eyechart.metrics.scoring.judging.replies import Judge

P = TypeVar("P", bound=Protocol)


@dataclass(frozen=True)
class TaskData:
    """The data of a task: one of our data sets or several, or data of one's own."""

    datasets: tuple[str, ...] = ()
    """Names of our data sets it can run on; the name of the task for own data, whatever is given."""
    splits: tuple[str, ...] = ()
    """Splits it runs on; the first is the default. Own data have those of `known_splits`, or that are found in them."""
    config: str | None = None
    """Configuration of the data set."""
    run_on: tuple[str, ...] = ()
    """The data sets it runs on where none is named; the first of `datasets` if empty."""
    path: str | None = None
    """Own data: a Hub id, folder, .parquet, .jsonl, .tsv or .csv; None for our data sets."""
    split: str | None = None
    """Own data: split that is read; None is the only one, or "test"."""
    columns: Mapping[str, str | list[str]] = field(default_factory=dict)
    """Own data: documented column to the file's column or columns."""

    @property
    def default_datasets(self) -> tuple[str, ...]:
        """What it runs on where no data set is named."""
        return self.run_on or self.datasets[:1]

    @property
    def default_split(self) -> str | None:
        """What it runs on where no split is named; None for own data whose splits are not known yet."""
        return self.split or next(iter(self.splits), None)

    @property
    def known_splits(self) -> tuple[str, ...] | None:
        """All splits; one file of own data has one. None for other own data, whose splits show once they are open."""
        from eyechart.datasets_scripts.own_data.sources import is_file

        if self.path is None:
            return self.splits
        return (self.split or "test",) if is_file(self.path) else None


@dataclass(frozen=True)
class Published:
    """A setting with which a paper's numbers were made, where the task's default is another one."""

    name: str
    """A setting of the protocol, or of the data set."""
    value: Any
    """The paper's."""
    source: str
    """Where the paper or its code says so."""
    of_data: bool = False
    """Whether it is a setting of the data set."""


LONGEST_TEXT = 1000
"""Characters of a task's name and descriptions; tables show them on a line."""


@dataclass(frozen=True)
class Task(Generic[P]):
    """One row of `eyechart tasks`."""

    name: str
    """`<paper>/<part>`, or any name for a task of one's own."""
    data: TaskData
    protocol: P
    """How its questions are asked and scored, with the task's prompts and settings."""
    groups: tuple[str, ...] = ()
    """Columns to break the scores down by."""
    cluster: str = ""
    """Column of what rows share, such as a scene, so that answers depend on each other; "" is their image."""
    description: str = ""
    """One line, for the table of tasks."""
    paper: str = ""
    """Title and section."""
    note: str = ""
    """What the reader of its scores has to know."""
    headline: str = ""
    """Key of the score that stands for the task, where it is not the metric's."""
    published: tuple[Published, ...] = ()
    """What the paper did otherwise than the task does by default; in force with `--as-published`."""
    published_judge: bool = False
    """Whether the paper's numbers are a judge's, or of a judge where exact matching finds no option."""
    check: Callable[[Row], None] | None = None
    """Raises `DataError` for a row that must not be asked."""
    after: tuple[str, ...] = ()
    """Tasks that a model must have answered first, where a run holds them."""
    answer_file: Callable[..., Mapping[str, bytes]] | None = None
    """Writes the benchmark's answer file from rows with private answers and the replies; None where it takes none."""

    def __post_init__(self) -> None:
        """Refuse texts that no table can show.

        Raises:
            UsageError: A text is too long, or holds half of a character.
        """
        for name in ("name", "description", "paper", "note"):
            text = getattr(self, name)
            # What else it may be is refused where task files are read.
            if isinstance(text, str) and len(text) > LONGEST_TEXT:
                raise UsageError(
                    f"{name} of the task has {len(text):,} characters; at most {LONGEST_TEXT:,} are allowed"
                )
            if isinstance(text, str) and not is_unicode(text):
                raise UsageError(f"{name} of the task holds half of a character: {brief(text)}")

    @property
    def metric(self) -> str:
        """The evaluate module that gives its scores."""
        return self.protocol.metric

    def bound(self, *, seed: int = 0, judge: Judge | None = None) -> P:
        """The protocol with what a run fixes."""
        return replace(self.protocol, groups=self.groups, seed=seed, judge=judge)

    def choose_data(
        self, dataset: str | None = None, split: str | None = None, *, in_folder: bool = False
    ) -> tuple[str, str | None]:
        """The data set and split to run on, by default the first ones.

        Args:
            dataset: One of the task's data sets.
            split: One of its splits.
            in_folder: Whether the data are in a folder or file that a run names, which of own data is any split.

        Raises:
            UsageError: The task does not run on that data set or split.
        """
        dataset, split = dataset or self.data.default_datasets[0], split or self.data.default_split
        if dataset not in self.data.datasets:
            raise unknown_name(f"data set of {self.name}", dataset, self.data.datasets)
        splits = None if in_folder and self.data.path is not None else self.data.known_splits
        if split is not None and splits is not None and split not in splits:
            raise unknown_name(f"split of {self.name}", split, splits)
        return dataset, split
