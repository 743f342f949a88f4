"""Makes results that stand on a board, so that tests change one thing and see what becomes of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.evaluators.evaluation.averages import AVERAGE, AVERAGED_SCORES
from eyechart.evaluators.results.sources import OFFICIAL
from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.columns import Path as Keys
from eyechart.metrics.scoring.statistics.intervals import wilson_interval

_NO_SHARES = ("mean", "sum", "score", "srcc", "plcc", "plcc_fitted", "krcc")
_COUNTS = {
    "n": {"n": 1, "n_refused": 0},
    "n_questions": {"n_questions": 1, "n_vanilla": 1},
    "n_pairs": {"n_pairs": 1, "equal_quality": 0},
}
"""By the count of a board, which of its scores count all items (1) and which none of them (0)."""
STARTED = "2026-05-01T12:00:00+00:00"


def board_named(name: str) -> Board:
    return next(board for board in BOARDS if board.name == name)


def result_on(board: Board, model: str, score: float = 0.5, width: float = 0.02) -> dict[str, Any]:
    """A task of a results file: every column of the board has the score, in its own unit, with an interval.

    Shares are the nearest ones of so many items, with Wilson's interval, and those of parts make up the whole.
    """
    items = board.items or 500
    scores: dict[str, Any] = _counts(board, items)
    for column in board.columns:
        *parents, name = column.path
        if name in _NO_SHARES:
            value, interval = round(score, 6), [max(0.0, score - width), min(1.0, score + width)]
        else:
            own, hits = items, round(score * items)
            if parents:
                group = [other.path[1] for other in board.columns if other.path[0] == parents[0]]
                own, hits = (_portion(whole, len(group), group.index(parents[1])) for whole in (items, hits))
                for count, of_part in _counts(board, own).items():
                    put(scores, (*parents, count), of_part)
            unit = 100 if name.startswith("score_") else 1
            value, interval = unit * hits / own, [unit * end for end in wilson_interval(hits, own)]
        put(scores, column.path, value)
        if column.interval:
            put(scores, column.interval, interval)
    if "yes_no" in scores:
        scores["yes_no"] |= {"n_yes": 300, "n_no": 250}
    for name, allowed in board.score_settings.items():
        put(scores, tuple(name.split(".")), allowed[0])
    if board.subset == AVERAGE:
        for database in board.settings["databases"][0]:
            for name in AVERAGED_SCORES:
                put(scores, ("by_database", database, name), round(score, 6))
    settings: dict[str, Any] = {"seed": 0, "data": {"source": OFFICIAL, "rows": board.items}}
    for name, allowed in board.settings.items():
        put(settings, tuple(name.split(".")), allowed[0])
    if board.judged:
        settings["judge"] = {"name": "some-judge"}
        scores["judge"] = "some-judge"
    return {
        "task": board.task,
        "subset": board.subset,
        "split": board.split,
        "model": model,
        "scores": scores,
        "settings": settings,
        "left_out": [],
        "timings": {},
    }


def _counts(board: Board, items: int) -> dict[str, Any]:
    return {name: items * share for name, share in _COUNTS[board.count].items()}


def _portion(whole: int, parts: int, place: int) -> int:
    """What one of several parts gets of a number; they get all of it."""
    return whole // parts + (place < whole % parts)


def results_file(tasks: Sequence[dict[str, Any]], started: str = STARTED) -> dict[str, Any]:
    environment = {"started": started, "packages": {"eyechart": "0.1.0"}}
    return {"schema": 1, "environment": environment, "tasks": list(tasks)}


def submit(
    folder: Path, name: str, tasks: Sequence[dict[str, Any]], started: str = "2026-05-01T12:00:00+00:00"
) -> Path:
    """Write a results file into the folder of submissions."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(results_file(tasks, started)), encoding="utf-8")
    return path


def put(target: dict[str, Any], keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    target[keys[-1]] = value
