"""A board whose release is at hand, and entries that answer it."""

import datetime
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.hub_cards.leaderboard.boards import Board, own_boards
from eyechart.hub_cards.leaderboard.build import Outcome, build
from tests.evaluators.finished_runs import seal, write
from tests.evaluators.tasks.doors import png, write_lines

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
