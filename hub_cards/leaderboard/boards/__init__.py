"""Every board of the leaderboard, in one table."""

from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import L2_CODES
from eyechart.evaluators.evaluation.averages import AVERAGE
from eyechart.evaluators.tasks import get_task
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.hub_cards.leaderboard.boards.board import Board, Breakdown


def _board(task: str, title: str, *breakdowns: Breakdown, **fields: Any) -> Board:
    found = get_task(task)
    own = {"dataset": found.data.datasets[0], "split": found.data.splits[0], "name": task}
    return Board(found, title, breakdowns=breakdowns, **(own | fields))


_TYPES = {"yes-or-no": "Yes or no", "what": "What", "how": "How"}
_BY_TYPE = Breakdown("by type", "by_question_type", _TYPES)
_BY_ALL_TYPES = Breakdown("by type", "by_question_type", {**_TYPES, "why": "Why"})
_CONCERNS = ("distortion", "other", "in-context distortion", "in-context other")
_BY_CONCERN = Breakdown("by concern", "by_concern", {name: name.capitalize() for name in _CONCERNS})
_SOURCES = {"natural": "Natural", "artistic": "Artistic", "AI-generated": "AI-generated"}
_BY_SOURCE = Breakdown("by source", "by_image_source", _SOURCES)
_BY_ABILITY = Breakdown("by ability", "by_l2_category", L2_CODES, is_abbreviated=True)
_JUDGED = "Scores of different judges are not ranked together."
_ON_REQUEST = "The answers are given on request: entries come from those who hold them."


def _mmbench(config: str, title: str, public: str, split: str = "dev") -> Board:
    name = f"mmbench/{config}" if split == "dev" else f"mmbench/{config}_{split}"
    note = f"The {split} answers are public since {public}: later models may have seen them."
    meanings = "; ".join(f"{label}: {ability}" for ability, label in L2_CODES.items())
    abilities = () if config == "cc" else (_BY_ABILITY,)
    note = f"{note} Abilities: {meanings}." if abilities else note
    return _board(f"mmbench/{config}", title, *abilities, split=split, name=name, note=note)


BOARDS: tuple[Board, ...] = (
    _board("q_bench/perception", "A1 perception", _BY_TYPE, _BY_CONCERN),
    _board("q_bench/perception_pairs", "A1 perception, pairs", _BY_TYPE),
    _board(
        "q_bench/description",
        "A2 description",
        without=("mean", "precision.score"),
        note=f"{_JUDGED} The experts' texts are private: entries come from those who hold them.",
    ),
    _board(
        "q_bench/assessment",
        "A3 assessment, average",
        Breakdown("SRCC by database", "by_database", DATABASES),
        Breakdown("PLCC by database", "by_database", DATABASES, "plcc"),
        dataset=AVERAGE,
    ),
    *(
        _board("q_bench/assessment", f"A3, {title}", dataset=name, name=f"q_bench/assessment/{name}")
        for name, title in DATABASES.items()
    ),
    _mmbench("en", "English", "2023"),
    _mmbench("cn", "Chinese", "October 2023"),
    _mmbench("en_v11", "English, version 1.1", "April 2024"),
    _mmbench("cn_v11", "Chinese, version 1.1", "April 2024"),
    _mmbench("en_v11", "English, version 1.1, test", "2026", "test"),
    _mmbench("cn_v11", "Chinese, version 1.1, test", "2026", "test"),
    _mmbench("cc", "CCBench", "October 2023"),
    _board("ql_bench/single", "Single images", _BY_TYPE),
    _board("ql_bench/pair", "Pairs", _BY_TYPE),
    _board("aes_bench/perception", "AesP perception", _BY_SOURCE, _BY_ALL_TYPES, note=_ON_REQUEST),
    _board("aes_bench/empathy", "AesE empathy", _BY_SOURCE, _BY_ALL_TYPES, note=_ON_REQUEST),
    _board("aes_bench/assessment", "AesA assessment", _BY_SOURCE, without=("yes_no.mean",), note=_ON_REQUEST),
    _board(
        "aes_bench/interpretation",
        "AesI interpretation",
        without=("sum", "preciseness.score"),
        note=f"{_JUDGED} {_ON_REQUEST} The judge's instruction is not the paper's, which is not printed.",
    ),
    _board("two_afc/coarse", "Coarse", more_settings={"mm21_quality": "opinion score"}),
    _board("two_afc/fine_levels", "Fine, levels"),
    _board("two_afc/fine_types", "Fine, types"),
    _board("two_afc/fine_mos", "Fine, scores"),
)
"""Every board, in the order of the page."""


def find_board(task: str, dataset: str, split: str) -> Board | None:
    """The board of a task's results on a data set; None if there is none.

    Args:
        task: The task.
        dataset: The data set.
        split: Chooses between boards of several splits; without one of this split, the first board is returned.
    """
    boards = [board for board in BOARDS if (board.task.name, board.dataset) == (task, dataset)]
    return next((board for board in boards if board.split == split), boards[0] if boards else None)
