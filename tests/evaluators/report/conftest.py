"""Small runs with known scores and answers, written as `eyechart run` writes them."""

import json
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eyechart.evaluators.report.paper_tables import PaperTable, paper_tables
from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.folder import write_run

NONE = "\N{EN DASH}"
"""Stands where a run has no score."""
VOID = {"meta", "link", "br", "input", "img", "hr"}


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

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

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

    def by_id(self, id: str) -> dict[str, str | None]:
        """The attributes of the one element with an id."""
        (found,) = [attributes for _, attributes in self.elements if attributes.get("id") == id]
        return found

    def holds(self, text: str) -> bool:
        """Whether a text is shown somewhere."""
        return any(text in shown for shown in self.texts)


@pytest.fixture
def read_page() -> Callable[[Path], Page]:
    return lambda path: Page(path.read_text(encoding="utf-8"))


def choice(id: str, text: str | None, answer: str = "A", choice: str | None = None, **columns: Any) -> dict[str, Any]:
    """An answer to a question with two options, read by exact matching."""
    own = {"id": id, "pass": "main", "question": f"Is {id} sharp?", "text": text, "logits": None}
    read = {"step": "exact" if choice else "unparseable", "correct": choice == answer} if answer else {}
    return {**own, "options": ["Yes", "No"], "answer": answer, "choice": choice, **read, **columns}


def part(accuracy: float, guess: float = 0.5, n: int = 4) -> dict[str, Any]:
    return {"accuracy": accuracy, "accuracy_ci95": [accuracy - 0.1, accuracy + 0.1], "random_guess": guess, "n": n}


PERCEPTION = Evaluation(
    task="q_bench/perception",
    dataset="llvisionqa",
    split="dev",
    model="some/model",
    scores={
        **part(0.75),
        "yes_no": {"yes": 1.0, "no": 0.5, "all": 0.75, "mean": 0.75, "n_yes": 2, "n_no": 2},
        "by_question_type": {"yes-or-no": part(0.9), "what": part(0.2, 0.25), "how": part(0.5, 0.3333)},
        "by_concern": {"distortion": part(0.6), "other": part(0.7), "in-context distortion": part(0.5)},
    },
    settings={
        "protocol": "multiple_choice",
        "prompt_id": "q_bench_a1/2",
        "seed": 0,
        "data": {"source": "given", "is_mini": False},
    },
    predictions=[
        choice("right", "A", choice="A"),
        choice("wrong", "B", choice="B"),
        choice("unmatched", "Perhaps."),
        choice("judged", "The first one.", choice="A", step="judge", correct=True),
    ],
    timings={"model_seconds": 1.0},
    left_out=[{"id": "gone", "path": None, "reason": "the image is empty"}],
)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run and returns its folder."""

    def write(*evaluations: Evaluation, name: str = "run") -> Path:
        folder = tmp_path / name
        write_run(folder, collect(evaluations, [], "2026-01-01T00:00:00+00:00"), evaluations)
        return folder

    return write


@pytest.fixture
def tables(make_run: Callable[..., Path]) -> Callable[..., list[PaperTable]]:
    """The papers' tables of a run with some results, and of others side by side."""

    def make(*evaluations: Evaluation, **others: Evaluation) -> list[PaperTable]:
        folders = [make_run(*evaluations)] + [make_run(one, name=name) for name, one in others.items()]
        return paper_tables(read_runs(folders))

    return make


def scored(task: str, dataset: str, scores: dict[str, Any] | None, **changes: Any) -> Evaluation:
    """A result with given scores and nothing else."""
    values = {
        "task": task,
        "dataset": dataset,
        "split": "test",
        "model": "LLaVA-v1.5",
        "scores": scores,
        "settings": {},
    }
    return Evaluation(**values | changes)


def accuracies(names: Sequence[str], values: Sequence[float], guesses: Sequence[float]) -> dict[str, dict[str, Any]]:
    """Accuracy and chance level, given in percent, of each value of a group."""
    found = zip(names, values, guesses, strict=True)
    return {name: {"accuracy": value / 100, "random_guess": guess / 100, "n": 9} for name, value, guess in found}
