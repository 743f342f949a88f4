"""A protocol of one's own, from a run over comparison, report and model card to the leaderboard."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators import IMAGE, Task, TaskData
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.evaluation.scoring import score_again
from eyechart.evaluators.protocols.protocol import CONFIG, Protocol
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.items import MAIN, Item, by_row
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.tasks import find_task
from tests.evaluators.command_line import invoke
from tests.evaluators.conftest import picture
from tests.evaluators.finished_runs import write

N = 40
NEGATED = "negated"
MODELS = {"acme/good": range(36), "acme/poor": range(0, N, 4)}
"""The pictures that each model knows; of the others it has half of the score."""


@dataclass(frozen=True, config=CONFIG)
class BothWays(Protocol):
    """Asks whether a statement is true, and whether it is false; a row's score is the share of correct replies."""

    name: ClassVar[str] = "both_ways"
    metric: ClassVar[str] = "own_score"
    kind: ClassVar[str] = "description"
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "description", "question")

    def check(self, row: Row) -> None:
        if row["description"] not in ("yes", "no", ""):
            raise DataError(f"column 'description' is {row['description']!r}; expected 'yes' or 'no'")

    def requests(self, row: Row) -> list[Request]:
        words = {MAIN: "true", NEGATED: "false"}
        return [
            Request(row["id"], (*self.prompt_of(row), f" Is this {word}?"), (row["image"],), pass_name=name)
            for name, word in words.items()
        ]

    def item(self, row: Row, response: Response, **fields: Any) -> Item:
        item: Item = super().item(row, response, label=row["description"] or None, **fields)
        return item

    def parse(self, items: Sequence[Item]) -> list[Item]:
        scores = {}
        for passes in by_row(items):
            main, negated = passes[MAIN], passes[NEGATED]
            scores[main.id] = ((main.text == main.label) + (negated.text not in ("", main.label))) / 2
        return [
            replace(item, own_score=scores[item.id]) if item.pass_name == MAIN and item.label else item
            for item in items
        ]


def state(row: Row) -> tuple[Any, ...]:
    """The statement about the image."""
    return (IMAGE, row["question"])


TASK = Task(
    name="both_ways",
    data=TaskData(path="statements.jsonl", columns={"description": "truth", "question": "statement"}),
    protocol=BothWays(prompts={"default": state}, prompt_id="both_ways/1"),
    groups=("kind",),
)


def knows(numbers: Collection[int]) -> FunctionBackend:
    """A model that knows what is true of some pictures, and agrees with every statement about the others."""

    def reply(messages: Any) -> str:
        text = "".join(part.get("text", "") for part in messages[0]["content"])
        number = int(text.split()[1])
        return "yes" if number not in numbers or (number % 2 == 0) == text.endswith("true?") else "no"

    return FunctionBackend(reply)


def call(*arguments: object, code: int = 0) -> str:
    return invoke(*arguments, columns=200, code=code).output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task file, its data and the runs of two models."""
    folder = tmp_path_factory.mktemp("own")
    rows = []
    for number in range(N):
        picture(number, 8).save(folder / f"{number}.png")
        row = {"id": f"r{number}", "image": f"{number}.png", "statement": f"Picture {number} is bright."}
        rows.append(row | {"truth": "no" if number % 2 else "yes", "kind": "outdoors" if number % 3 else "indoors"})
    (folder / "statements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "both_ways.py").write_text(f"from {__name__} import TASK\n", encoding="utf-8")
    task = find_task(str(folder / "both_ways.py"))
    for model, numbers in MODELS.items():
        result = Evaluator(task).run(knows(numbers), load_data(task, DataRequest()))
        write(folder / "entries" / model.partition("/")[2], [result.model_copy(update={"model": model})])
    return folder


def test_its_default_score_is_the_mean_over_rows(folder: Path) -> None:
    (result,) = read_results(folder / "entries" / "good").tasks
    assert result.scores is not None
    assert (result.scores["own_score"], result.scores["n"]) == (pytest.approx((36 + 4 / 2) / N), N)
    assert set(result.scores["by_kind"]) == {"indoors", "outdoors"}
    assert (result.settings["protocol"], result.settings["prompt_id"]) == ("both_ways", "both_ways/1")
    (run,) = read_runs([folder / "entries" / "good"])
    (answers,) = map(run.answers, run.tasks)
    assert answers is not None and score_again(TASK, result, answers.items()).scores == result.scores


def test_two_runs_are_compared_and_reported(folder: Path, tmp_path: Path) -> None:
    runs = [folder / "entries" / name for name in ("good", "poor")]
    (one,) = compare(*runs).differences
    assert (one.key, one.n, one.first, one.second) == ("own_score", N, pytest.approx(0.95), pytest.approx(0.625))
    assert one.p_value < 0.01 and one.difference_ci95[0] > 0
    assert "both_ways: A scored higher than B (by 0.325," in call("compare", *runs)
    call("report", *runs, "--out", tmp_path / "report", "--no-files")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "both_ways" in page and "own score" in page and "0.950" in page


def test_it_is_published_and_ranked(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("---\nlicense: mit\n---\n# A model\n", encoding="utf-8")
    options = ("--model-repo", "acme/good", "--card", tmp_path / "card.md", "--out", tmp_path / "out")
    call("publish", folder / "entries" / "good", *options, "--source", "https://example.org/report.html")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "both_ways" in card and "0.95" in card
    shown = call(
        *("leaderboard", "build", folder / "entries", "--tasks", folder / "both_ways.py", "--out", tmp_path / "space")
    )
    assert "2 accepted, 0 replaced, 0 rejected" in shown and "not recomputed" not in shown
    index = json.loads((tmp_path / "space" / "results" / "index.json").read_text())
    (listed,) = [one for one in index["boards"] if one["name"] == "both_ways"]
    board = json.loads((tmp_path / "space" / listed["file"]).read_text())
    assert [(row["model"], row["rank"]) for row in board["rows"]] == [("acme/good", 1), ("acme/poor", 2)]
