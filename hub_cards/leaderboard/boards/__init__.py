"""Every board of the leaderboard, in one table."""

from collections.abc import Sequence
from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import L2_CODES
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.published.names import task_title
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.hub_cards.leaderboard.boards.board import Board, Breakdown


def _board(task: str, *breakdowns: Breakdown, **fields: Any) -> Board:
    found = get_task(task)
    own = {"dataset": found.data.datasets[0], "split": found.data.splits[0], "name": task, "title": task_title(task)}
    return Board(found, breakdowns=breakdowns, **(own | fields))


_TYPES = {"yes-or-no": "Yes or no", "what": "What", "how": "How"}
_BY_TYPE = Breakdown("by type", "by_question_type", _TYPES)
_BY_ALL_TYPES = Breakdown("by type", "by_question_type", {**_TYPES, "why": "Why"})
_CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")
_BY_CONCERN = Breakdown("by concern", "by_concern", {name: name.capitalize() for name in _CONCERNS})
_SOURCES = {"natural": "Natural", "artistic": "Artistic", "AI-generated": "AI-generated"}
_BY_SOURCE = Breakdown("by source", "by_image_source", _SOURCES)
_BY_ABILITY = Breakdown("by ability", "by_l2_category", L2_CODES, is_abbreviated=True)
_JUDGED = "Only results with the same judge are ranked together."
_ON_REQUEST = "The authors provide the answers on request, so only people who have them can submit entries."


def _mmbench(config: str, public: str, split: str = "dev") -> Board:
    task = f"mmbench/{config}"
    name, title = task, task_title(task)
    if split != "dev":
        name, title = f"{name}_{split}", f"{title}, {split}"
    note = f"The {split} answers have been public since {public}, so later models may have seen them."
    meanings = "; ".join(f"{label}: {ability}" for ability, label in L2_CODES.items())
    abilities = () if config == "cc" else (_BY_ABILITY,)
    note = f"{note} Abilities: {meanings}." if abilities else note
    return _board(task, *abilities, split=split, name=name, title=title, note=note)


BOARDS: tuple[Board, ...] = (
    _board("q_bench/perception", _BY_TYPE, _BY_CONCERN),
    _board("q_bench/perception_pairs", _BY_TYPE),
    _board(
        "q_bench/description",
        without=("mean", "precision.score"),
        note=f"{_JUDGED} The experts' texts are private, so only people who have them can submit entries.",
    ),
    _board(
        "q_bench/assessment",
        Breakdown("SRCC by database", "by_database", DATABASES),
        Breakdown("PLCC by database", "by_database", DATABASES, "plcc"),
        dataset=AVERAGE,
        title=f"{task_title('q_bench/assessment')}, average",
    ),
    *(
        _board("q_bench/assessment", title=f"A3, {title}", dataset=name, name=f"q_bench/assessment/{name}")
        for name, title in DATABASES.items()
    ),
    _mmbench("en", "2023"),
    _mmbench("cn", "October 2023"),
    _mmbench("en_v11", "April 2024"),
    _mmbench("cn_v11", "April 2024"),
    _mmbench("en_v11", "2026", "test"),
    _mmbench("cn_v11", "2026", "test"),
    _mmbench("cc", "October 2023"),
    _board("ql_bench/single", _BY_TYPE),
    _board("ql_bench/pair", _BY_TYPE),
    _board("aes_bench/perception", _BY_SOURCE, _BY_ALL_TYPES, note=_ON_REQUEST),
    _board("aes_bench/empathy", _BY_SOURCE, _BY_ALL_TYPES, note=_ON_REQUEST),
    _board("aes_bench/assessment", _BY_SOURCE, without=("yes_no.mean",), note=_ON_REQUEST),
    _board(
        "aes_bench/interpretation",
        without=("sum", "preciseness.score"),
        note=f"{_JUDGED} {_ON_REQUEST} The paper does not print its judge prompt, so eyechart uses its own.",
    ),
    _board("two_afc/coarse", more_settings={"mm21_quality": "opinion score"}),
    _board("two_afc/fine_levels"),
    _board("two_afc/fine_types"),
    _board("two_afc/fine_mos"),
)
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
