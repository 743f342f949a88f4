"""Small runs with known scores and answers, written as `eyechart run` writes them."""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.published.rendering import Table
from eyechart.evaluators.report.charts import Chart, charts_of
from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.tables import tables_of
from eyechart.evaluators.results.finished_runs import Run, read_runs
from eyechart.evaluators.results.results_file import LeftOut, TaskResult, collect
from eyechart.evaluators.runs.run import write_run
from tests.evaluators.finished_runs import item
from tests.evaluators.protocols.choice.test_circular_eval import QUESTIONS, make_data

NONE = "\N{EN DASH}"
"""Stands where a run has no score."""
VOID = {"meta", "link", "br", "input", "img", "hr"}


@pytest.fixture(autouse=True)
def _any_scores(any_scores: None) -> None:
    """The papers' numbers, with a few answers."""


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, and the texts in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.samples: dict[str, Any] = {}
        self._in_data = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_data = dict(attrs).get("id") == "samples-data"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()
        self._in_data = False

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.samples = json.loads(data)
        elif data.strip():
            self.texts.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def holds(self, text: str) -> bool:
        """Whether a text is shown somewhere."""
        return any(text in shown for shown in self.texts)


@pytest.fixture
def read_page() -> Callable[[Path], Page]:
    return lambda path: Page(path.read_text(encoding="utf-8"))


def choice(id: str, text: str | None, answer: str = "A", choice: str | None = None, **fields: Any) -> Any:
    """An answer to a question with two options, read by exact matching."""
    read = {"step": "exact" if choice else "unparseable", "correct": choice == answer} if answer else {}
    own = {"question": f"Is {id} sharp?", "text": text, "options": ["Yes", "No"], "answer": answer, "choice": choice}
    return item(id, **own | read | fields)


def replaced(made: Any, **fields: Any) -> Any:
    """A result, a run or a chart with other fields."""
    return made.model_copy(update=fields) if isinstance(made, TaskResult) else dataclasses.replace(made, **fields)


def part(accuracy: float, guess: float = 0.5, n: int = 4) -> dict[str, Any]:
    return {"accuracy": accuracy, "accuracy_ci95": [accuracy - 0.1, accuracy + 0.1], "random_guess": guess, "n": n}


PERCEPTION = TaskResult(
    **{"task": "q_bench/perception", "dataset": "llvisionqa", "split": "dev", "model": "some/model"},
    scores={
        **part(0.75),
        "yes_no": {"yes": 1.0, "no": 0.5, "all": 0.75, "mean": 0.75, "n_yes": 2, "n_no": 2},
        "by_question_type": {"yes-or-no": part(0.9), "what": part(0.2, 0.25), "how": part(0.5, 0.3333)},
        "by_concern": {"distortion": part(0.6), "other": part(0.7), "in-context distortion": part(0.5)},
    },
    settings={
        "protocol": "multiple_choice",
        "prompt_id": "q_bench_a1/2",
        "data": {"source": "given", "is_mini": False},
    },
    items=[
        choice("right", "A", choice="A"),
        choice("wrong", "B", choice="B"),
        choice("unmatched", "Perhaps."),
        choice("judged", "The first one.", choice="A", step="judge", correct=True),
    ],
    timings={"model_seconds": 1.0},
    left_out=[LeftOut(id="gone", reason="the image is empty")],
)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run and returns its folder."""

    def write(*evaluations: TaskResult, name: str = "run") -> Path:
        folder = tmp_path / name
        write_run(folder, collect(evaluations, [], "2026-01-01T00:00:00+00:00"))
        return folder

    return write


@pytest.fixture
def read_all(make_run: Callable[..., Path]) -> Callable[..., list[Run]]:
    """A run with some results, and others of one result each."""

    def read(*evaluations: TaskResult, **others: TaskResult) -> list[Run]:
        return read_runs([make_run(*evaluations), *(make_run(one, name=name) for name, one in others.items())])

    return read


@pytest.fixture
def tables(read_all: Callable[..., list[Run]]) -> Callable[..., list[Table]]:
    """The papers' tables of such runs."""
    return lambda *evaluations, **others: [
        table for table in paper_tables(read_all(*evaluations, **others)) if not table.title.startswith("Stated")
    ]


@pytest.fixture
def charts(read_all: Callable[..., list[Run]]) -> Callable[..., list[Chart]]:
    """Their charts."""
    return lambda *evaluations, **others: task_charts(read_all(*evaluations, **others))


def task_charts(runs: Sequence[Run]) -> list[Chart]:
    """All charts of some runs, in the order of the runs' tasks."""
    return [chart for task in reported_tasks(runs) for chart in charts_of(task)]


def paper_tables(runs: Sequence[Run]) -> list[Table]:
    """All tables of some runs, in the order of the runs' tasks."""
    return [table for task in reported_tasks(runs) for table in tables_of(task)]


def shown(table: Table, *, published: bool = False) -> list[tuple[str, ...]]:
    """The rows of the runs, or of the paper, as texts."""
    rows = [row for row in table.rows if row.is_published == published]
    return [(*row.labels, *(cell.text for cell in row.cells)) for row in rows]


def scored(task: str, dataset: str, scores: dict[str, Any] | None, **changes: Any) -> TaskResult:
    """A result with given scores and nothing else."""
    values = {"split": "test", "model": "LLaVA-v1.5", "settings": {}, **changes}
    return TaskResult(task=task, dataset=dataset, scores=scores, **values)


def accuracies(names: Sequence[str], values: Sequence[float], guesses: Sequence[float]) -> dict[str, dict[str, Any]]:
    """Accuracy and chance level, given in percent, of each value of a group."""
    found = zip(names, values, guesses, strict=True)
    return {name: {"accuracy": value / 100, "random_guess": guess / 100, "n": 9} for name, value, guess in found}


L2 = {"OCR": "fine-grained perception (single-instance)", "image style": "coarse perception"}


@pytest.fixture(scope="module")
def three_questions():
    levels = [L2[category] for _, _, category in QUESTIONS.values()]
    data = make_data(hint=[""] * 3, l2_category=levels)
    return dataclasses.replace(data, name="mmbench", config="en", split="dev")


def run_mmbench(model, data, judge=None, **options):
    return evaluator("mmbench/en", settings=options, judge=judge).run(FunctionBackend(model), data)


def asked(messages):
    """Which question, and its lettered options."""
    text = messages[-1]["content"][-1]["text"]
    lines = dict(re.findall(r"(?m)\b([A-D])\. (.*?)(?: <choices end>.*)?$", text))
    return next(id for id in QUESTIONS if id in text), lines


def answers(messages):
    """q2 by letter, q3 in words that name no option, q4 always the first option."""
    id, lines = asked(messages)
    options, right, _ = QUESTIONS[id]
    if id == "q3":
        return "crimson"
    return next((letter for letter, text in lines.items() if text == options["ABCD".index(right)] or id == "q4"), "?")


def judge(messages, n):
    """Reads crimson as the letter B; grades 4 of 5."""
    return ["B" if "crimson" in messages[-1]["content"] and "Options" in messages[-1]["content"] else "Score: 4"] * n


@pytest.fixture(scope="module")
def judged(three_questions, tmp_path_factory):
    """A run with a judge, which reads one of two replies to q3 as people do."""
    letters = tmp_path_factory.mktemp("letters") / "letters.csv"
    letters.write_text("id,pass,letter\nq2,main,B\nq3,main,B\nq3,rotation:1,A\n", encoding="utf-8")
    return run_mmbench(answers, three_questions, judge, human_labels=str(letters), grade_open_answers=True)
