"""The boards: which results each accepts, and what it shows of them.

A result is on a complete official split, with the task's default settings except for `FREE` and `LENGTHS`.
"""

import filecmp
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.loading import options_in_force
from eyechart.datasets_scripts.official import official_counts
from eyechart.evaluators.comparison.settings import WITHOUT_EFFECT
from eyechart.evaluators.evaluation.data import DataRequest, load_data, own_options, undecoded_rows
from eyechart.evaluators.published import published_tables
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.evaluators.tasks import TASKS, dataset_title, find_tasks, headline_of, more_tasks, paper_of, task_title
from eyechart.evaluators.tasks.task import Task
from eyechart.evaluators.tasks.task_file import TASK_FILES
from eyechart.hub_cards.recomputing import LOCAL_OPTIONS, plain
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import DESCRIPTION, spec, specs_of

FREE = ("judge", "blind", *WITHOUT_EFFECT)
"""Settings that no board requires: the judge is shown, blind runs are refused, and the others change no score."""
LENGTHS = (32, 4096)
"""Accepted limits on reply tokens for tasks whose default is 32: the default, and one for reasoning models."""


@dataclass(frozen=True)
class Column:
    """One column of a board."""

    score: ScoreSpec
    label: str
    part: tuple[str, ...] = ()
    """Path to a breakdown's scores, such as `("by_question_type", "what")`; empty for the scores of all items."""
    kind: str = ""
    """Its breakdown, such as "by type"."""
    about: str = ""
    """The full name, if the heading is an abbreviation."""

    @property
    def name(self) -> str:
        """Unique in its board; used in the page's address and in the papers' tables."""
        return ".".join((*self.part[1:], self.score.key))

    def of(self, scores: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """A result's score and the bounds of its interval; None for undefined ones."""
        for key in self.part:
            scores = scores.get(key) or {}
        low, high = self.score.bounds(scores) or (None, None)
        return self.score.value(scores), low, high


@dataclass(frozen=True)
class Board:
    """One table of the leaderboard."""

    task: Task
    """The task whose results it accepts."""
    title: str
    """Its heading: the task's title, and the data or the split if there are several boards of the task."""
    dataset: str
    """The dataset of these results, or "average"."""
    split: str
    name: str
    """Unique; used in the page's address."""
    items: int | None
    """The number of items of the split; None if unknown, as for data of a task file that are not here."""
    parts: tuple[Column, ...] = ()
    """The columns for groups of its items."""
    file: str = ""
    """Name of the task file that defines the task; "" for eyechart's tasks."""

    @property
    def benchmark(self) -> str:
        """The name of its benchmark."""
        return paper_of(self.task.name).name

    @property
    def about(self) -> str:
        """What the board measures."""
        text = self.task.description.rstrip(".")
        return f"{text[:1].upper()}{text[1:]}." if text else ""

    @property
    def note(self) -> str:
        """A note for readers, shown above the table."""
        meanings = dict.fromkeys(f"{column.label}: {column.about}" for column in self.columns if column.about)
        notes = [
            "A judge gives the scores, so no result is ranked." if self.judged else "",
            self.task.note if self.file else self.task.board.notes.get(self.split, ""),
            f"{'; '.join(meanings)}." if meanings else "",
        ]
        return " ".join(filter(None, notes))

    @property
    def judged(self) -> bool:
        """Whether a judge gives all scores; then no result is ranked."""
        return self.task.metric == DESCRIPTION

    @property
    def run(self) -> str:
        """The arguments of `eyechart run` that make a result for the board."""
        options = [
            f"--dataset {self.dataset}" if self.dataset != AVERAGE and self.task.data.run_on else "",
            f"--split {self.split}" if not self.file and self.split != self.task.data.splits[0] else "",
            "--judge JUDGE" if self.judged else "",
        ]
        return " ".join([self.file or self.task.name, *filter(None, options)])

    @property
    def main(self) -> Column:
        """The column of the ranking score."""
        return self.columns[0]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns; the first is the ranking score, the breakdowns are last."""
        first, without = headline_of(self.task), self.task.board.without
        others = (score for score in specs_of(self.task.metric) if score.in_table and score.key not in without)
        scores = [first, *(score for score in others if score != first)]
        return (*(Column(score, score.label[:1].upper() + score.label[1:]) for score in scores), *self.parts)

    @cached_property
    def data_options(self) -> dict[str, Any]:
        """The options of its dataset, without those that name files."""
        data = self.task.data
        options = own_options(self.task, self.split) if data.path else options_in_force(self.dataset, data.config)
        return {name: value for name, value in options.items() if name not in LOCAL_OPTIONS}

    @cached_property
    def settings(self) -> dict[str, tuple[Any, ...]]:
        """The required settings and the values that each may have; a dot separates nested names."""
        settings = {name: value for name, value in self.task.protocol.settings().items() if name not in FREE}
        settings |= {
            **dict.fromkeys(("sample", "as_published", "repeats", "model.sampling")),
            **self.task.board.settings,
        }
        if self.dataset == AVERAGE:
            settings["databases"] = list(self.task.data.run_on)
        else:
            settings["data.config"] = self.task.data.config
            settings |= {f"data.options.{name}": value for name, value in self.data_options.items()}
        allowed = {name: (value,) for name, value in json.loads(json.dumps(settings)).items()}
        return allowed | ({"max_new_tokens": LENGTHS} if settings.get("max_new_tokens") == LENGTHS[0] else {})


def _boards(task: Task) -> Iterator[Board]:
    """The boards of a task: one for each split with public answers, and for an average also one for each database."""
    first, *more = task.data.default_datasets
    private = DATASETS[first].private_splits(task.data.config or "")
    splits = [split for split in task.data.splits if split not in private] or task.data.splits[:1]
    for split in splits:
        is_first = split == splits[0]
        items = [next(iter(official_counts(name, task.data.config, split)), 0) for name in task.data.default_datasets]
        yield Board(
            task,
            title=f"{task.title}, average" if more else task.title if is_first else f"{task.title}, {split}",
            dataset=AVERAGE if more else first,
            split=split,
            name=task.name if is_first else f"{task.name}_{split}",
            items=sum(items) if all(items) else None,
            parts=tuple(_parts(task)),
        )
        for dataset, n in zip(task.data.default_datasets, items, strict=True) if more else ():
            title = f"{task.title}, {dataset_title(dataset)}"
            yield Board(task, title=title, dataset=dataset, split=split, name=f"{task.name}/{dataset}", items=n or None)


def _parts(task: Task) -> Iterator[Column]:
    """The groups in the paper's tables, with the headline score and other scores that the board's tables have."""
    headline = headline_of(task).key
    # By group and score, the heading of each value of the group.
    groups: dict[tuple[str, str], dict[str, str]] = {}
    tables = [table for table in published_tables().values() if table.rows and task.name in table.tasks]
    for table in sorted(tables, key=lambda table: bool(table.set_apart)):
        labels = [column.label for column in table.columns]
        for column in table.columns:
            group, value, key = column.path[0] if len(column.path[0]) == 3 else ("", "", "")
            if group.startswith("by_"):
                label = column.label if labels.count(column.label) == 1 else column.group
                groups.setdefault((group, headline), {})[value] = label
                if not table.set_apart and key != headline:
                    groups.setdefault((group, key), {})[value] = label
    several = len({key for _, key in groups}) > 1
    for (group, key), names in groups.items():
        score, kind = spec(key, task.metric), f"by {group.rpartition('_')[2]}"
        for value, label in names.items():
            about = "" if plain(label) == plain(value) else value
            yield Column(score, label, (group, value), f"{score.label} {kind}" if several else kind, about)


BOARDS: tuple[Board, ...] = tuple(board for task in TASKS for board in _boards(task))
"""Every board, in the order of the page."""


def find_board(task: str, dataset: str, split: str, among: Sequence[Board] = BOARDS) -> Board | None:
    """The board for a task's results on a split of a dataset; None if it has no board."""
    boards = {(board.task.name, board.dataset, board.split): board for board in among}
    return boards.get((task, dataset, split))


def own_boards(files: Sequence[Path]) -> list[Board]:
    """One board for each task of some task files; several entries may have the same file. Python files are executed."""
    first: dict[str, tuple[Path, Task]] = {}
    for file in files:
        if file.suffix not in TASK_FILES and str(file) not in more_tasks():
            raise UsageError(f"--tasks {file} is not a task file; expected a file that ends in {', '.join(TASK_FILES)}")
        for task in find_tasks(str(file)):
            first_file, known = first.setdefault(task.name, (file, task))
            pairs = [(file, first_file), (Path(task.data.path or ""), Path(known.data.path or ""))]
            if any(a.is_file() and b.is_file() and not filecmp.cmp(a, b, shallow=False) for a, b in pairs):
                raise UsageError(
                    f"--tasks {first_file} and {file} or their data differ, and both define {task.name!r}; name only "
                    "one of the files, or rename one of the tasks and repeat its runs"
                )
    return [_own_board(file, task) for file, task in first.values()]


def _own_board(file: Path, task: Task) -> Board:
    split, rows = task.data.default_split, None
    if task.data.path is not None and Path(task.data.path).exists():
        loaded = load_data(task, DataRequest(split=split, images="skip", skip_bad=True))
        split, rows = loaded.split, undecoded_rows(loaded.dataset)
    if (split := split or next(iter(task.data.known_splits or ()), None)) is None:
        raise UsageError(f"{file}: the split of {task.name} is unknown; name it with data: {{split: ...}}")
    official = official_counts(task.data.datasets[0], task.data.config, split)
    parts = []
    for group in task.groups:
        values = sorted({str(row[group]) for row in rows or () if row.get(group) not in (None, "")})
        # More columns than this nobody reads.
        parts += [Column(headline_of(task), value, (f"by_{group}", value), f"by {group}") for value in values[:20]]
    return Board(
        task,
        title=task_title(task.name),
        dataset=task.data.datasets[0],
        split=split,
        name=task.name,
        items=len(rows) if rows is not None else next(iter(official), None),
        parts=tuple(parts),
        file=file.name if file.suffix else str(file),
    )
