"""Settings of protocols, descriptions, replies that say nothing, and a protocol of one's own up to the leaderboard."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import IMAGE, Task, TaskData
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.comparison.compare import compare
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.evaluator import Evaluator
from eyechart.evaluators.evaluation.scoring import score_again
from eyechart.evaluators.protocols.protocol import CONFIG, Protocol
from eyechart.evaluators.protocols.settings import list_settings, with_settings
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.items import MAIN, Item, by_row
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.tasks import TASKS, find_task, get_task
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.conftest import picture
from tests.evaluators.finished_runs import write


def change(task, **given):
    return with_settings(get_task(task).protocol, given, task)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_setting_has_a_type_and_a_meaning(task):
    settings = list_settings(task.protocol)
    assert "max_new_tokens" in {one.name for one in settings}
    for one in settings:
        assert one.type and "<" not in one.type and one.meaning.endswith("."), one
        length = {"max_new_tokens": task.protocol.reply_length}
        assert one.default == length.get(one.name, getattr(task.protocol, one.name))
        types = {"prompt": "default | ", "max_new_tokens": "whole number", "blind": "true | false", "word_pair": "text"}
        assert one.type.startswith(types.get(one.name, ""))


@pytest.mark.parametrize(
    ("task", "name", "value"),
    [
        ("q_bench/perception", "shuffle_seed", None),
        ("q_bench/perception", "prompt", "answer-mark"),
        ("q_bench/assessment", "temperature", 2),
        ("two_afc/coarse", "aggregator", "mle_ridge"),
    ],
)
def test_an_allowed_value_changes_one_setting_and_the_result_names_it(task, name, value):
    changed = change(task, **{name: value})
    before, after = get_task(task).protocol.settings(), changed.settings()
    named = "prompt_id" if name == "prompt" else name
    assert getattr(changed, name) == value
    assert {key for key in after if after[key] != before[key]} <= {named}
    assert after[named] == (f"{before[named]}/{value}" if name == "prompt" else value)


@pytest.mark.parametrize(
    ("task", "name", "values"),
    [
        ("q_bench/perception", "max_new_tokens", (0, 1.5, True, "64")),
        ("q_bench/assessment", "temperature", (0, -1, True, "2", float("nan"), float("inf"))),
        ("mmbench/en", "blind", (1, "true", None)),
        ("mmbench/en", "fallback", ("randm",)),
    ],
)
def test_any_other_value_is_refused_by_name(task, name, values):
    for value in values:
        with pytest.raises(UsageError) as caught:
            change(task, **{name: value})
        assert str(caught.value).startswith(f"{task}: {name}: ") and repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("task", "given", "unused"),
    [
        # Even where it is the default: who writes it thinks that it matters.
        ("q_bench/perception", {"inference": "closed-set", "rounds": 5}, "rounds"),
        ("q_bench/assessment", {"prompt": "numerical", "ties": "paper-code"}, "ties"),
        ("q_bench/assessment", {"inference": "top-token", "temperature": 2.0}, "temperature"),
    ],
)
def test_a_setting_without_effect_is_refused_and_not_in_results(task, given, unused):
    with pytest.raises(UsageError, match=f"{unused}=.* has no effect on {task} with its other settings"):
        change(task, **given)
    others = {name: value for name, value in given.items() if name != unused}
    assert unused not in change(task, **others).settings()


GOLDEN = ["The image is dark and noisy.", "A sharp image with vivid colors.", "It is blurry.", ""]


@pytest.fixture
def described(make_picture):
    """Four pictures, three with a golden text."""
    rows = ({"id": f"d{i}", "image": make_picture(i), "description": text} for i, text in enumerate(GOLDEN))
    return running.dataset(rows)


def describe(dataset, **given):
    return running.run("q_bench/description", lambda messages: "It is dark.", dataset, **given)


def test_a_row_without_a_golden_text_is_asked_and_kept_but_not_scored(described):
    result = describe(described)
    assert result.scores["n"] == 3 and result.scores["without_reference"] == 0
    assert [(item.id, item.reason) for item in result.left_out] == [("d3", "its answer is private")]
    assert [line.text for line in result.items] == ["It is dark."] * 4
    assert [line.label for line in result.items] == [*GOLDEN[:3], None]


def test_judged_scores_go_to_the_rows_that_they_are_of(described):
    """The second row's rounds fail in one dimension; the first has no golden text."""

    def judge(messages, n):
        told = str(messages)
        if "vivid" in told:
            return ["nothing to say"] * n
        return ["Score: 2"] * n if "blurry" in told else ["Score: 0"] * n

    golden = ["", GOLDEN[1], GOLDEN[2], GOLDEN[0]]
    result = describe(described.remove_columns("description").add_column("description", golden), judge=judge, rounds=2)
    scores = [(item.completeness, item.preciseness, item.relevance) for item in result.items]
    # Relevance is judged without the golden text.
    assert scores == [(None, None, None), (None, None, 0.0), (2.0, 2.0, 0.0), (0.0, 0.0, 0.0)]
    assert result.scores["rounds"] == 2


N = 6
REPLIES = {
    "nothing": "",
    "10,000 tokens": "noise " * 10_000,
    "control characters": "\x00\x07\x1b[2J\u202e",
    "a letter beyond the options": "X",
}
UNREAD: dict[str, tuple[dict[str, Any], Callable[[TaskResult], Any]]] = {
    "q_bench/perception": ({}, lambda result: result.scores["extraction"]["unmatched"] * N),
    "mmbench/en": ({}, lambda result: result.scores["choice_distribution"]["predicted"]["none"] * N),
    "ql_bench/single": ({}, lambda result: result.scores["unmatched"]),
    "q_bench/assessment": ({"prompt": "numerical"}, lambda result: result.diagnostics["unread"]),
    "two_afc/coarse": ({}, lambda result: result.scores["draw_rate"] * N),
}


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize("task", UNREAD)
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_reply_that_says_nothing_is_counted_and_kept(task: str, reply: str) -> None:
    settings, unread = UNREAD[task]
    data = load_data(get_task(task), DataRequest(is_mini=True, limit=N))
    result = running.run(task, lambda messages: reply, data, **settings)
    assert unread(result) == pytest.approx(N)
    assert {(item.text, getattr(item, "choice", None)) for item in result.items} == {(reply, None)}
    if task == "q_bench/assessment":
        assert result.scores is None and not result.complete and len(result.left_out) == N
    else:
        scores = result.scores or {}
        right = [scores[key] for key in ("accuracy", "circular_accuracy", "score_cc", "accuracy_all") if key in scores]
        assert right == [0.0]


N_PICTURES = 40
NEGATED = "negated"
MODELS = {"acme/good": range(36), "acme/poor": range(0, N_PICTURES, 4)}
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
    for number in range(N_PICTURES):
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
    assert (result.scores["own_score"], result.scores["n"]) == (pytest.approx((36 + 4 / 2) / N_PICTURES), N_PICTURES)
    assert set(result.scores["by_kind"]) == {"indoors", "outdoors"}
    assert (result.settings["protocol"], result.settings["prompt_id"]) == ("both_ways", "both_ways/1")
    (run,) = read_runs([folder / "entries" / "good"])
    (answers,) = map(run.answers, run.tasks)
    assert answers is not None and score_again(TASK, result, answers.items()).scores == result.scores


def test_two_runs_are_compared_and_reported(folder: Path, tmp_path: Path) -> None:
    runs = [folder / "entries" / name for name in ("good", "poor")]
    (one,) = compare(*runs).differences
    assert (one.key, one.n, one.first, one.second) == (
        "own_score",
        N_PICTURES,
        pytest.approx(0.95),
        pytest.approx(0.625),
    )
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
    build = ("leaderboard", "build", folder / "entries", "--out", tmp_path / "space")
    unknown = call(*build, code=1)
    assert "rejected good, both_ways:" in unknown and "--tasks" in unknown
    shown = call(*build, "--tasks", folder / "both_ways.py")
    assert "2 accepted, 0 replaced, 0 rejected" in shown and "not recomputed" not in shown
    index = json.loads((tmp_path / "space" / "results" / "index.json").read_text())
    (listed,) = [one for one in index["boards"] if one["name"] == "both_ways"]
    board = json.loads((tmp_path / "space" / listed["file"]).read_text())
    assert [(row["model"], row["rank"]) for row in board["rows"]] == [("acme/good", 1), ("acme/poor", 2)]
