"""The boards, one explicit table: which results stand beside each other, and under which settings.

The settings are written out, not taken from the tasks: a change of a task must not change what a published board
means. A test compares them with what the tasks do today.
"""

from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.boards import aes_bench, mmbench, q_bench, ql_bench, two_afc

BOARDS: tuple[Board, ...] = (
    *q_bench.BOARDS,
    *mmbench.BOARDS,
    *ql_bench.BOARDS,
    *aes_bench.BOARDS,
    *two_afc.BOARDS,
)


def find_board(task: str, dataset: str, split: str | None = None) -> Board | None:
    """The board of a task's results on a data set; None if there is none.

    Args:
        task: The task.
        dataset: The data set.
        split: Chooses between boards of several splits; without one of this split, the first board is returned.
    """
    boards = [board for board in BOARDS if (board.task, board.dataset) == (task, dataset)]
    return next((board for board in boards if board.split == split), boards[0] if boards else None)
