"""Makes leaderboard entries, so that tests change one thing and see what becomes of it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.evaluators.evaluation.averages import AVERAGE, AVERAGED_SCORES
from eyechart.evaluators.results.sources import OFFICIAL
from eyechart.hub_cards.leaderboard.board import Board
from eyechart.hub_cards.leaderboard.boards import BOARDS
from eyechart.hub_cards.leaderboard.columns import Path as Keys

STARTED = "2026-05-01T12:00:00+00:00"


def board_named(name: str) -> Board:
    return next(board for board in BOARDS if board.name == name)


def result_on(board: Board, model: str, score: float = 0.5, width: float = 0.02) -> dict[str, Any]:
    """A task of a results file: every column of the board has the score, in its own unit, with an interval."""
    scores: dict[str, Any] = {board.count: board.items or 500}
    for column in board.columns:
        unit = 100 if column.path[-1].startswith("score_") else 1
        put(scores, column.path, round(unit * score, 6))
        if column.interval:
            put(scores, column.interval, [unit * max(0.0, score - width), unit * min(1.0, score + width)])
    if "yes_no" in scores:
        scores["yes_no"] |= {"n_yes": 300, "n_no": 250}
    for name, allowed in board.score_settings.items():
        put(scores, tuple(name.split(".")), allowed[0])
    if board.dataset == AVERAGE:
        for database in board.settings["databases"][0]:
            own = result_on(board_named(f"{board.task}/{database}"), model, score)["scores"]
            scores["by_database"][database] = {name: own[name] for name in (*AVERAGED_SCORES, "n")}
        scores["krcc"] = round(score, 6)
    settings: dict[str, Any] = {"seed": 0, "data": {"source": OFFICIAL, "rows": board.items}}
    for name, allowed in board.settings.items():
        put(settings, tuple(name.split(".")), allowed[0])
    if board.judged:
        settings["judge"] = {"name": "some-judge"}
        scores["judge"] = "some-judge"
    return {
        "task": board.task,
        "subset": board.dataset,
        "split": board.split,
        "model": model,
        "scores": scores,
        "settings": settings,
        "left_out": [],
        "timings": {},
    }


def results_file(tasks: Sequence[dict[str, Any]], started: str = STARTED) -> dict[str, Any]:
    environment = {"started": started, "packages": {"eyechart": "0.1.0"}}
    return {"schema": 1, "environment": environment, "tasks": list(tasks)}


def hand_in(folder: Path, name: str, tasks: Sequence[dict[str, Any]], started: str = STARTED) -> Path:
    """Write a run without predictions into the folder of entries; gives its results file."""
    path = folder / name / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results_file(tasks, started)), encoding="utf-8")
    return path


def put(target: dict[str, Any], keys: Keys, value: Any) -> None:
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    target[keys[-1]] = value
