"""Leaderboard and model cards: entries that bring their own truth."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.results.items import PREDICTIONS_FILE
from eyechart.hub_cards.leaderboard.boards import own_boards
from eyechart.hub_cards.leaderboard.build import build
from eyechart.hub_cards.leaderboard.names import OWNERS_FILE
from eyechart.hub_cards.model_card.selection import Consent, select
from tests.evaluators.finished_runs import write
from tests.evaluators.tasks.doors import write_photos
from tests.faults.fault import fault, rows
from tests.hub_cards.leaderboard.handed_in import NOW, N, OwnBoard, change_results, change_rows
from tests.hub_cards.test_recomputing import PERCEPTION, WHOLE, changed, differences, evaluated

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "opinion_scores.yaml"
pytestmark = pytest.mark.filterwarnings("ignore")
IGNORED = "the board shows what the replies score on the release"
REFUSED = "the result is rejected with the reason"
APART = "it has no rank: its scores are stated, not checked"
UNSCORED = "a model card is refused: the predictions cannot be scored"
NAMED = "a model card is refused; the reason names the value and the recomputed one"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OwnBoard:
    """A board with a release of sixty questions, and two models."""
    own = OwnBoard.with_two_models(tmp_path_factory.mktemp("own"))
    own.build()
    own.space.rename(own.folder / "built")
    return own


@pytest.fixture
def own(made: OwnBoard) -> OwnBoard:
    """The same, as at first."""
    made.as_entered()
    return made


def changing(change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Path], None]:
    return lambda folder: change_rows(folder, change)


def column(**values: Any) -> Callable[[Path], None]:
    """A change of columns in all rows; a value may be a function of the row."""

    def change(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row.update({name: value(row) if callable(value) else value for name, value in values.items()})

    return changing(change)


def only(keep: Callable[[dict[str, Any]], bool]) -> Callable[[Path], None]:
    """Only some of the predictions."""
    return changing(lambda rows: rows.__setitem__(slice(None), filter(keep, list(rows))))


def stating(change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A change of the result, or of what surrounds it."""
    return lambda folder: change_results(folder, lambda content: change(content["tasks"]))


def setting(**values: Any) -> Callable[[Path], None]:
    return stating(lambda tasks: tasks[0]["settings"].update(values))


def score(**values: Any) -> Callable[[Path], None]:
    return stating(lambda tasks: tasks[0]["scores"].update(values))


def of_another(folder: Path) -> None:
    shutil.copy(folder.with_name("good") / PREDICTIONS_FILE, folder)


def of_one_pass(rows: list[dict[str, Any]]) -> None:
    main = {row["id"]: row for row in rows if row["pass"] == "main"}
    rows[:] = [main[row["id"]] | {"pass": row["pass"]} for row in rows]


def right_option(row: dict[str, Any]) -> str:
    """The option that the reply names."""
    return str(row["options"]["ABCD".index(row["text"])])


@pytest.mark.parametrize(
    "change",
    rows(
        IGNORED,
        ("scores are raised", score(circular_accuracy=1.0, circular_accuracy_ci95=[0.99, 1.0])),
        ("a group is removed from the scores", score(by_floor={})),
        ("distractors are removed from the options", column(options=lambda row: [right_option(row)], answer="A")),
        ("other right answers", column(answer=lambda row: row["text"], label=right_option)),
        ("all replies are marked as right", column(correct=True, circular_correct=True)),
        ("another group", column(groups={"floor": "a"})),
        ("each question has an image of its own", column(cluster=lambda row: row["id"])),
        ("a chance level of 0", score(random_guess=0.0)),
        ("a setting names a file as the human labels", setting(human_labels="/dev/zero")),
        ("a setting names a run without images", setting(blind_run="/dev/zero")),
        ("a setting names a run of solved questions", setting(exclude_blind_solved="/dev/zero")),
    ),
)
def test_ignored(own: OwnBoard, change: Callable[[Path], None]) -> None:
    shutil.copytree(own.folder / "built", own.space)
    before = own.rows()
    assert [(row["rank"], row["values"][0][0]) for row in before] == [(1, 0.9), (2, 0.4)] and own.shown()["chance"] > 0
    change(own.entries / "poor")
    assert own.build().rejected == []
    assert [row | {"run": ""} for row in own.rows()] == [row | {"run": ""} for row in before]


@fault("one pass of MMBench is copied under the names of the others", IGNORED)
def test_copied_pass(own: OwnBoard) -> None:
    change_rows(own.entries / "good", of_one_pass)
    own.build()
    assert [row["values"][0][0] for row in own.rows()] == [0.4, 0.0]


@pytest.mark.parametrize(
    ("change", "reason"),
    rows(
        REFUSED,
        ("passes are dropped and one is declared", only(lambda row: row["pass"] == "main"), "24 questions left out"),
        ("the worst items are dropped", only(lambda row: int(row["id"][1:]) < N / 2), "30 items of the release have"),
        ("an item that is not in the release", column(id=lambda row: row["id"] + "x"), "are not in the release"),
        ("a prediction stands twice", changing(lambda rows: rows.append(rows[0])), "two pred"),
        ("20 times as many predictions as requests", changing(lambda rows: rows.extend(20 * rows)), "at most 1,200"),
        ("a limited run", setting(limit=30), "run used --limit 30"),
        ("repeats of which the best counts", setting(repeats=3), "settings.repeats is 3"),
        ("another prompt", setting(prompt_id="mine/1"), "settings.prompt_id is 'mine/1'"),
        ("a second result of the task", stating(lambda tasks: tasks.append(tasks[0])), "repeats the task, dataset"),
        ("predictions that belong to other results", of_another, "does not belong to the results"),
    ),
)
def test_refused(own: OwnBoard, change: Callable[[Path], None], reason: str) -> None:
    change(own.entries / "poor")
    (rejection,) = own.build().rejected
    assert rejection.entry == "poor" and reason in rejection.reasons[0]
    assert [row["model"] for row in own.rows()] == ["org/good"]


@pytest.mark.parametrize(
    "change",
    rows(
        APART,
        ("no predictions", lambda folder: (folder / PREDICTIONS_FILE).unlink()),
        ("the column task names another one", column(task="other")),
        ("all predictions are of a second repeat", column(repeat=2)),
        ("a judge is declared", setting(judge={"name": "a-judge"})),
    ),
)
def test_apart(own: OwnBoard, change: Callable[[Path], None]) -> None:
    change(own.entries / "poor")
    score(random_guess=0.9)(own.entries / "poor")
    outcome = own.build()
    assert outcome.rejected == [] and own.shown()["chance"] < 0.1
    good, poor = own.rows()
    assert (good["rank"], poor.get("rank"), bool(poor["stated"]), poor["tags"][0]) == (1, None, True, "stated")


@fault("replies are of one kind only, so that their correlation is undefined", REFUSED)
def test_undefined(tmp_path: Path) -> None:
    photos = Path(shutil.copy(EXAMPLE, tmp_path))
    write_photos(tmp_path)
    task = evaluator(str(photos))
    result = task.run(FunctionBackend(lambda messages, words: dict.fromkeys(words, 0.0)), load_data(task.definition))
    write(tmp_path / "in" / "a", [result.model_copy(update={"model": "org/a"})])
    outcome = build(tmp_path / "in", tmp_path / "space", NOW, task_boards=own_boards([photos]))
    assert outcome.accepted == [] and "the ranking score, is missing or undefined" in outcome.rejected[0].reasons[0]


@fault("a later entry of the owner has no predictions", "the ranked row stays")
def test_stated_after_ranked(own: OwnBoard) -> None:
    for name in ("good", "poor"):
        (own.entries / name / "entry.json").write_text('{"owner": "me"}')
    change_results(own.entries / "poor", lambda content: content["tasks"][0].update(model="org/good"))
    change_results(
        own.entries / "poor", lambda content: content["environment"].update(started="2026-12-01T00:00+00:00")
    )
    (own.entries / "poor" / PREDICTIONS_FILE).unlink()
    for _ in range(2):
        own.build()
        assert [(row["model"], row["rank"], row["values"][0][0]) for row in own.rows()] == [("org/good", 1, 0.9)]
        assert json.loads((own.space / OWNERS_FILE).read_text())["org/good"]["is_ranked"]


@fault("a name is taken by an entry without predictions", "an entry with replies takes it back")
def test_stated_claim(own: OwnBoard) -> None:
    (own.entries / "poor" / "entry.json").write_text('{"owner": "another"}')
    change_results(own.entries / "poor", lambda content: content["tasks"][0].update(model="org/good"))
    (own.entries / "poor" / PREDICTIONS_FILE).unlink()
    good = (own.entries / "good").rename(own.folder / "later")
    own.build()
    assert [row.get("rank") for row in own.rows()] == [None]
    good.rename(own.entries / "good")
    assert [rejection.entry for rejection in own.build().rejected] == ["poor"]
    assert [(row["model"], row["rank"]) for row in own.rows()] == [("org/good", 1)]


@fault("the release is not at hand", APART)
def test_no_release(own: OwnBoard) -> None:
    (own.folder / "rooms.jsonl").rename(own.folder / "away.jsonl")
    try:
        own.build()
        assert [row.get("rank") for row in own.rows()] == [None, None]
    finally:
        (own.folder / "away.jsonl").rename(own.folder / "rooms.jsonl")


@pytest.mark.parametrize(
    ("data", "reason"),
    rows(
        "the build ends with the reason; nothing is written",
        ("synthetic demo data are given as a release", "mini", "are synthetic"),
        ("a release with fewer items than the official one", "fewer", "have 5 usable items; the release has 1,495"),
    ),
)
def test_other_release(tmp_path: Path, data: str, reason: str) -> None:
    folder = mini.release("llvisionqa")
    if data == "fewer":
        folder = shutil.copytree(folder, tmp_path / "data")
        (file,) = folder.glob("*dev*.json")
        file.write_text(json.dumps(json.loads(file.read_text())[:5]))
    write(tmp_path / "in" / "a", [evaluated(*WHOLE[0])])
    change_results(tmp_path / "in" / "a", lambda content: content["tasks"][0]["settings"]["data"].update(is_mini=False))
    with pytest.raises(UsageError, match=reason):
        build(tmp_path / "in", tmp_path / "space", NOW, {"llvisionqa": str(folder)})
    assert not (tmp_path / "space").exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a task of one's own release, for a model card."""
    return write(tmp_path_factory.mktemp("whole") / "run", [evaluated(*WHOLE[0])])


def scored(**scores: Any) -> Any:
    return lambda task: task["scores"].update(scores)


def without_a_group(task: dict[str, Any]) -> None:
    del task["scores"]["by_question_type"]["what"]


def with_text(task: dict[str, Any]) -> None:
    task["settings"]["max_new_tokens"] = "x"


def put(key: str, value: Any) -> Any:
    """Changes a column of the first prediction that is right."""
    return lambda rows: next(row for row in rows if row["correct"]).update({key: value})


def swap_answer(rows: list[dict[str, Any]]) -> None:
    row = next(row for row in rows if row["correct"])
    row["answer"] = "B" if row["answer"] == "A" else "A"


def mark_right(rows: list[dict[str, Any]]) -> None:
    next(row for row in rows if row["correct"] is False)["correct"] = True


@pytest.mark.parametrize(
    ("change", "reason"),
    rows(
        "a model card is refused, also with --data-name; the reason names the value and the recomputed one",
        ("a score of an own task is raised", score(circular_accuracy=0.99), "circular_accuracy is 0.99; its pred"),
        ("an interval of an own task is narrowed", score(circular_accuracy_ci95=[0.9, 0.9]), "_ci95[0] is 0.9; its"),
        ("a chance level of an own task is lowered", score(random_guess=0.0), "random_guess is 0.0; its predictions"),
        ("an own task states fewer items", score(n_questions=24), "the scores are of 24 of 60 items"),
        ("an own task has another headline", stating(lambda t: t[0].update(headline="vanilla_accuracy")), "headline"),
        ("--limit is removed from an own task", setting(data={"is_mini": False, "rows": 600}), "60 of 600 items"),
    ),
)
def test_own_task(own: OwnBoard, change: Callable[[Path], None], reason: str) -> None:
    good = own.entries / "good"
    for data_name in ("", "my own"):
        assert select([good], "org/good", consent=Consent(data_name=data_name))
    change(good)
    for data_name in ("", "my own"):
        with pytest.raises(UsageError) as caught:
            select([good], "org/good", consent=Consent(data_name=data_name))
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("results", "rows", "reason"),
    [
        *rows(
            NAMED,
            ("a score is raised", scored(accuracy=0.99), None, "scores.accuracy is 0.99; "),
            ("some items are left out of the scores", without_a_group, None, "scores.by_question_type.what is None; "),
            ("a score is added", scored(bonus=1.0), None, "scores.bonus is 1.0; its predictions give None"),
            ("a reply is changed", None, put("text", "I would rather not say."), "scores.accuracy is 0."),
            ("a right answer is changed", None, swap_answer, "scores.accuracy is 0."),
        ),
        *rows(
            UNSCORED,
            ("a setting is text instead of a number", with_text, None, "cannot be computed"),
            ("a right answer is a letter without an option", None, put("answer", "Z"), "cannot be computed"),
            ("a question has no options", None, put("options", None), "the scores of q_bench"),
        ),
        *rows(NAMED, ("a wrong reply is marked as right", None, mark_right, "item 'dev-mini")),
    ],
)
def test_changed(run: Path, tmp_path: Path, results: Any, rows: Any, reason: str) -> None:
    (found,) = differences(changed(run, tmp_path / "run", results, rows), PERCEPTION).values()
    assert any(reason in text for text in found), found
    assert all(len(text) < 400 for text in found) and len(found) <= 6
