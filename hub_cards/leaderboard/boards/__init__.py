"""Every board of the leaderboard, made from the tasks and the papers' tables."""

from collections.abc import Iterator, Sequence

from eyechart.datasets_scripts.catalog import DATASETS
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.published import published_tables
from eyechart.evaluators.tasks import TASKS, dataset_title, headline_of
from eyechart.evaluators.tasks.task import Task
from eyechart.hub_cards.leaderboard.boards.board import Board, Breakdown
from eyechart.metrics.scores import spec


def _boards(task: Task) -> Iterator[Board]:
    """The boards of a task: one for each split with public answers, and for an average also one for each database."""
    first, *more = task.data.default_datasets
    private = DATASETS[first].private_splits(task.data.config or "")
    splits = [split for split in task.data.splits if split not in private] or task.data.splits[:1]
    for split in splits:
        is_first = split == splits[0]
        yield Board(
            task,
            title=f"{task.title}, average" if more else task.title if is_first else f"{task.title}, {split}",
            dataset=AVERAGE if more else first,
            split=split,
            name=task.name if is_first else f"{task.name}_{split}",
            breakdowns=tuple(_breakdowns(task)),
        )
        for dataset in task.data.default_datasets if more else ():
            title = f"{task.title}, {dataset_title(dataset)}"
            yield Board(task, title=title, dataset=dataset, split=split, name=f"{task.name}/{dataset}")


def _breakdowns(task: Task) -> Iterator[Breakdown]:
    """The groups in the paper's tables, with the headline score and other scores that the board's tables have."""
    headline = headline_of(task).key
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
    for (group, key), parts in groups.items():
        kind = f"by {group.rpartition('_')[2]}"
        yield Breakdown(f"{spec(key, task.metric).label} {kind}" if several else kind, group, parts, key)


BOARDS: tuple[Board, ...] = tuple(board for task in TASKS for board in _boards(task))
"""Every board, in the order of the page."""


def find_board(task: str, dataset: str, split: str, among: Sequence[Board] = BOARDS) -> Board | None:
    """The board for a task's results on a dataset; None if missing.

    Args:
        task: The task.
        dataset: The dataset.
        split: The split, if there are boards for several; if none has this split, the first board is returned.
        among: The boards.
    """
    boards = [board for board in among if (board.task.name, board.dataset) == (task, dataset)]
    return next((board for board in boards if board.split == split), boards[0] if boards else None)
