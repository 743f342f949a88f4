"""Leaderboard entries that state scores, or whose replies are scored on the release of an own board."""

import datetime
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.results.finished_runs import OFFICIAL
from eyechart.evaluators.results.results_file import AVERAGE
from eyechart.hub_cards.leaderboard.boards import BOARDS, Board, find_board, own_boards
from eyechart.hub_cards.leaderboard.build import Outcome, build
from eyechart.hub_cards.leaderboard.entries import BoardRow, find_entries, read_entry
from eyechart.metrics.database_averages import AVERAGED_SCORES, mean_scores
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import DIMENSIONS, specs_of
from eyechart.metrics.scoring.statistics.intervals import wilson_of_share
from tests.evaluators.finished_runs import seal, write
from tests.evaluators.tasks.doors import png, write_lines

STARTED = "2026-05-01T12:00:00+00:00"


def board_named(name: str) -> Board:
    return next(board for board in BOARDS if board.name == name)


def result_on(board: Board, model: str, score: float = 0.5, width: float = 0.02) -> dict[str, Any]:
    """A task of a results file: every column of the board has the score, in its own unit, with an interval."""
    n = board.items or 500
    scores: dict[str, Any] = {board.main.score.counts[0]: n}
    # A share that some number of right answers gives.
    score = round(score * n) / n
    for column in board.columns:
        unit = column.score.high if column.score.unit is Unit.PERCENT else 1
        put(scores, (*column.part, *column.score.key.split(".")), round(unit * score, 6))
        if column.score.has_interval and board.dataset != AVERAGE:
            # No interval of a share is narrower than Wilson's.
            low, high = wilson_of_share(score, n) if column.score.is_percentage else (score, score)
            interval = [unit * max(0.0, min(low, score - width)), unit * min(1.0, max(high, score + width))]
            put(scores, (*column.part, *column.score.interval_key.split(".")), interval)
    for name, _, key in (spec.key.partition(".") for spec in specs_of(board.task.metric)):
        if key and name in scores:
            # Shares add up to 1, and the accuracies of yes and no have their mean.
            value = score if key in ("yes", "no") else 1 if key in ("exact", "p0") else 0
            scores[name].setdefault(key, round(value, 6))
    if "score_rc" in scores:
        scores |= {"score_rc": 0.0, "score_rc_ci95": [0.0, 100.0]}
    if "sum" in scores:
        count = sum(name in scores for name in DIMENSIONS)
        scores["sum"] = round(count * score, 6)
        scores["sum_ci95"] = [count * end for end in scores["sum_ci95"]]
    if "first_rate" in scores:
        scores |= {"second_rate": 1 - scores["first_rate"], "draw_rate": 0}
    if board.task.metric == "softmax_iqa":
        scores |= {name: round(score, 6) for name in AVERAGED_SCORES}
    if board.dataset == AVERAGE:
        names = board.settings["databases"][0]
        databases = {name: result_on(board_named(f"{board.name}/{name}"), model, score)["scores"] for name in names}
        scores |= mean_scores(databases)
    settings: dict[str, Any] = {"seed": 0, "data": {"source": OFFICIAL, "is_mini": False, "rows": board.items}}
    for name, allowed in board.settings.items():
        put(settings, tuple(name.split(".")), allowed[0])
    if board.judged:
        settings["judge"] = {"name": "some-judge"}
        scores["judge"] = "some-judge"
    named = {"task": board.task.name, "dataset": board.dataset, "split": board.split, "model": model}
    return named | {"scores": scores, "settings": settings, "left_out": [], "timings": {}}


def results_file(tasks: Sequence[dict[str, Any]], started: str = STARTED) -> dict[str, Any]:
    environment = {"started": started, "packages": {"eyechart": "0.1.0"}}
    return {"schema": 1, "environment": environment, "tasks": list(tasks)}


def hand_in(folder: Path, name: str, tasks: Sequence[dict[str, Any]], started: str = STARTED) -> Path:
    """Write a run without predictions into the folder of entries, of one owner; gives its results file."""
    path = folder / name / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name("entry.json").write_text('{"owner": "someone"}')
    path.write_text(json.dumps(results_file(tasks, started)), encoding="utf-8")
    return path


def ranked(folder: Path) -> list[BoardRow]:
    """The results of entries as rows with a rank, as if they were the scores of replies."""
    return [
        BoardRow(board, result, entry, datetime.datetime.fromisoformat(entry.run.results.environment["started"]))
        for entry in (read_entry(path, folder) for path in find_entries(folder))
        for result in entry.run.results.tasks
        if (board := find_board(result.task, result.dataset, result.split)) is not None
    ]


def put(target: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    target[keys[-1]] = value


def enlarge(view: dict[str, Any], models: int, rng: random.Random, breakdowns: Any = None) -> None:
    """Put as many other models in place of those of a board or the overview, with all that a page can say of one."""
    row: Mapping[str, Any] = {name: value for name, value in view["rows"][0].items() if name != "stated"}
    key = "cells" if "cells" in row else "values"
    rows, parts = [], []
    for index in range(models):
        name = f"organisation-{index % 40:02}/vision-language-{index:03}-instruct"
        # Of a score in percent, as self-awareness is, the overview says where it ends.
        ends = [column.get("high", 1.0) for column in view["columns"]]
        about = {"license": "cc-by-nc-4.0", "parameters": 8_292_166_656}
        values = [(end, rng.uniform(0.1, 0.95)) for end in ends]
        scores = [[round(end * (value + shift), 4) for shift in (0, -0.021, 0.021)] for end, value in values]
        first = len(row[key])
        rows.append({**row, **about, "model": name, key: scores[:first]})
        parts.append(scores[first:])
    view["rows"] = rows
    if breakdowns is not None:
        breakdowns["rows"] = parts


NOW = datetime.datetime(2026, 12, 31, tzinfo=datetime.UTC)
TASK = """name: rooms
protocol: circular_eval
data: {path: rooms.jsonl}
columns: {images: image, options: [A, B, C, D]}
prompt: "{images}\\n{question}\\n{options}"
groups: [floor]
"""
N = 60
COLOURS = ("red", "green", "blue", "grey")


def right(number: int) -> str:
    return COLOURS[number % 4]


def replies(share: float) -> Callable[[Any], str]:
    """A model that is right in the first `share` of the questions, in every order of the options."""

    def reply(messages: Any) -> str:
        text = str(messages)
        number = int(re.findall(r"room (\d+)", text)[0])
        colour = right(number) if number < share * N else right(number + 1)
        return re.findall(rf"([A-D])\. {colour}", text)[0]

    return reply


@dataclass(repr=False)
class OwnBoard:
    """A folder with a task file, its data, entries and the Space."""

    folder: Path

    def __post_init__(self) -> None:
        """Write the release: sixty questions, of which two each share an image."""
        for number in range(N // 2):
            (self.folder / f"{number}.png").write_bytes(png(number))
        questions = [
            {"id": f"q{n}", "image": f"{n // 2}.png", "question": f"Which colour has room {n}?", "floor": "ab"[n % 2]}
            | {"answer": "ABCD"[n % 4], **dict(zip("ABCD", COLOURS, strict=True))}
            for n in range(N)
        ]
        write_lines(self.folder / "rooms.jsonl", questions)
        (self.folder / "rooms.yaml").write_text(TASK)
        (self.board,) = own_boards([self.folder / "rooms.yaml"])
        self.entries, self.space = self.folder / "entries", self.folder / "space"

    board: Board = None  # type: ignore[assignment]

    def enter(self, name: str, share: float = 0.5, model: str = "", **about: str) -> Path:
        """Write a run as an entry; gives its folder."""
        task = evaluator(str(self.folder / "rooms.yaml"))
        result = task.run(FunctionBackend(replies(share)), load_data(task.definition))
        folder = write(self.entries / name, [result.model_copy(update={"model": model or f"org/{name}"})])
        if about:
            (folder / "entry.json").write_text(json.dumps(about))
        return folder

    @classmethod
    def with_two_models(cls, folder: Path) -> "OwnBoard":
        """A board with the entries "good" and "poor", and copies of these."""
        own = cls(folder)
        own.enter("good", 0.9)
        own.enter("poor", 0.4)
        shutil.copytree(own.entries, own.folder / "copies")
        return own

    def as_entered(self) -> Path:
        """Both entries as they were entered, and no Space; gives the folder of the second one."""
        for folder in (self.entries, self.space):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "copies", self.entries)
        return self.entries / "poor"

    def stated(self, folder: Path, **scores: Any) -> None:
        """Change the scores that an entry states."""
        change_results(folder, lambda content: content["tasks"][0]["scores"].update(scores))

    def build(self, **changes: Any) -> Outcome:
        return build(self.entries, self.space, NOW, task_boards=[self.board], **changes)

    def rows(self, name: str = "rooms") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.shown(name)["rows"]
        return rows

    def shown(self, name: str = "rooms") -> Any:
        return json.loads((self.space / f"results/boards/{name}.json").read_text())


def change_rows(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """Change the predictions of an entry, each a mapping of columns."""
    table = parquet.read_table(folder / "predictions.parquet")
    rows = table.to_pylist(maps_as_pydicts="strict")
    change(rows)
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=table.schema), folder / "predictions.parquet")
    seal(folder)


def change_results(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the results of an entry."""
    content = json.loads((folder / "results.json").read_text())
    change(content)
    (folder / "results.json").write_text(json.dumps(content))
