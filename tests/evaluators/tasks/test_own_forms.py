"""The forms of one's own data, scoring functions of one's own, and columns that hold what they should not."""

import csv
import json
import math
from string import ascii_letters

import datasets
import pytest

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import score_again
from eyechart.evaluators.results.finished_runs import TaskKey, read_runs
from eyechart.evaluators.results.results_file import with_nan
from eyechart.evaluators.tasks import find_tasks
from eyechart.metrics.scores import spec
from tests.evaluators import running
from tests.evaluators.command_line import invoke
from tests.evaluators.tasks.doors import png, ran, rows_of, scored, write_lines

QUESTIONS = """name: forms
protocol: multiple_choice
data: {path: FILE, images: photos/}
columns: COLUMNS
prompt: "{images}\\n{question}\\n{options}"
"""
PAIRS = """name: pairs
protocol: paired_comparison
data: {path: FILE, images: photos}
columns: COLUMNS
prompt: "{image} or {image}: which image is better?"
"""
COLUMNS = {"images": "file", "options": ["A", "B", "C"]}
N = 6


@pytest.fixture
def folder(tmp_path):
    """A folder with an image root."""
    (tmp_path / "photos").mkdir()
    for i in range(N):
        (tmp_path / "photos" / f"{i}.png").write_bytes(png(i))
    return tmp_path


def write_rows(path, rows):
    if path.suffix == ".jsonl":
        write_lines(path, rows)
    else:
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0])
            table.writeheader()
            table.writerows(rows)


def write_task(folder, form, rows, columns, suffix):
    """The data in a file of the given type, and the task file that names it."""
    write_rows(folder / f"data{suffix}", rows)
    path = folder / "task.yaml"
    path.write_text(form.replace("FILE", f"data{suffix}").replace("COLUMNS", json.dumps(columns)))
    return path


def run(folder, task, *options):
    """The result and the predictions of a run of the bundled model."""
    ((result,), _) = ran(folder / "run", task, *options)
    return result, rows_of(folder / "run")


def questions(answers):
    options = {"A": "red", "B": "green", "C": "blue"}
    return [{"file": f"{i}.png", "question": "Which?", **options, "answer": answer} for i, answer in enumerate(answers)]


def test_answers_are_those_of_the_image_root_and_each_of_a_list_is_accepted(folder):
    answers = [["A", "C"], ["B"], "A", ["C", "B"]]
    task = write_task(folder, QUESTIONS, questions(answers), COLUMNS, ".jsonl")
    result, _ = scored(folder, task, [{"id": str(i + 1), "text": "C"} for i in range(4)])
    assert [row["answer"] for row in rows_of(folder / "scored")] == ["AC", "B", "A", "BC"]
    assert result.scores["accuracy"] == 0.5 and result.scores["random_guess"] == pytest.approx((2 + 1 + 1 + 2) / 12)
    assert result.scores["choice_distribution"]["correct"] == {"A": 0.375, "B": 0.375, "C": 0.25}
    run(folder, task)
    assert "data:image" in (folder / "run" / "report.html").read_text(encoding="utf-8"), "the image root is kept"
    task.write_text(task.read_text().replace("multiple_choice", "circular_eval"))
    error = " ".join(invoke("run", task, "--out", folder / "failed", code=1).output.split())
    assert "item '1'" in error and "'AC'" in error and "multiple_choice" in error


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.UndefinedScoreWarning")
def test_winners_of_pairs_give_accuracy_but_no_correlation(folder, no_report):
    rows = [{"one": f"{i}.png", "two": f"{(i + 1) % N}.png", "who": ("one", "two", "tie")[i % 3]} for i in range(N)]
    task = write_task(folder, PAIRS, rows, {"images": ["one", "two"], "winner": "who"}, ".csv")
    # Right in pairs 1 and 2, consistent in the tie of pair 3, and always the first image in the others.
    replies = [("A", "B"), ("B", "A"), ("A", "B"), ("A", "A"), ("A", "A"), ("A", "A")]
    lines = [
        {"id": str(i + 1), "pass": name, "text": text}
        for i, pair in enumerate(replies)
        for name, text in zip(("main", "reversed"), pair, strict=True)
    ]
    result, _ = scored(folder, task, lines)
    scores = result.scores
    assert (scores["consistency"], scores["accuracy_all"], scores["accuracy_consistent"]) == (0.5, 0.5, 1.0)
    assert (scores["equal_quality"], scores["n_pairs"], scores["n_images"]) == (2, 6, 6)
    # The model's own ranking is known, a ranking to correlate it with is not.
    assert scores["scores"]["2.png"] == 100.0 and math.isnan(scores["srcc"]) and math.isnan(scores["plcc_fitted"])
    assert sum("not the quality of each image" in warning for warning in result.warnings) == 1
    answers = [row["answer"] for row in rows_of(folder / "scored")]
    assert answers[:6] == ["first", "second", "second", "first", "", ""]
    (user_task,) = find_tasks(str(task))
    items = read_runs([folder / "scored"])[0].answers(TaskKey(result.task, result.dataset, result.split))
    again = score_again(user_task, result, items.items(user_task.protocol.item_type)).scores
    assert again["accuracy_all"] == 0.5 and again["equal_quality"] == 2


SCORED = """from eyechart.evaluators import IMAGE, PROTOCOL, Task, TaskData

def closeness(prediction, row):
    SCORE

TASK = Task(
    name="counts",
    data=TaskData(path="counts.csv", images="photos", columns=COLUMNS),
    protocol=PROTOCOL(prompts={"default": lambda row: (IMAGE, "How many?")}, prompt_id="counts/1"),
    groups=("camera",),
    score=closeness,
    score_range=(-10, 0),
)
"""


def write_scored(folder, score, protocol="Description"):
    fixed = {"question": "?", "x": "1", "y": "2", "right": "A"}
    rows = [{"file": f"{i % N}.png", "count": i % 4, "camera": "ab"[i % 2], **fixed} for i in range(44)]
    write_rows(folder / "counts.csv", rows)
    columns = {"image": "file", "description": "count"}
    if protocol == "MultipleChoice":
        columns = {"images": "file", "options": ["x", "y"], "answer": "right"}
    path = folder / "counts.py"
    path.write_text(SCORED.replace("SCORE", score).replace("COLUMNS", repr(columns)).replace("PROTOCOL", protocol))
    return path


def evaluate(path, reply, **request):
    task = evaluator(str(path))
    return task.run(FunctionBackend(lambda messages: reply), load_data(task.definition, DataRequest(**request)))


def test_a_scoring_function_gives_mean_and_interval_to_every_reader(folder):
    path = write_scored(folder, 'return -abs(float(row["description"]) - len(prediction) % 5)')
    result, rows = run(folder, path)
    scores = with_nan(result.scores)
    values = [-abs(float(row["label"]) - len(row["text"]) % 5) for row in rows]
    assert [row["own_score"] for row in rows] == values
    assert scores["own_score"] == pytest.approx(sum(values) / 44) and scores["own_score_range"] == [-10, 0]
    assert scores["by_camera"].keys() == {"a", "b"} and scores["n"] == 44
    # The rows share six images, too few clusters for an interval.
    assert scores["intervals"]["own_score"] == {"kind": "none", "units": N}
    assert result.settings["score"].startswith("closeness/") and "judge" not in result.settings and result.complete
    assert result.headline == "own_score"
    assert "own score" in (folder / "run" / "report.html").read_text(encoding="utf-8")
    _, printed = ran(folder / "again", path, "--name", "again")
    assert "reused" in printed and "own score" in printed
    assert "own score" in invoke("compare", folder / "run", folder / "again", code=0).output
    described = invoke("tasks", path).output
    assert "own_score *" in described and "-10 to 0" in described and "rounds" not in described


def test_intervals_of_a_scoring_function_are_those_of_the_statistics(folder):
    path = write_scored(folder, 'return row["id"] in tuple("1357")', protocol="MultipleChoice")
    # The range is 0 to 1 by default.
    text = path.read_text().replace("    score_range=(-10, 0),\n", "").replace('("1357")', '("1357") and 0.5')
    path.write_text(text.replace('groups=("camera",)', 'cluster="id"'))
    scores = evaluate(path, "A").scores
    assert scores["own_score"] == 2 / 44 and scores["intervals"]["own_score"]["kind"] == "wilson"
    low, high = scores["own_score_ci95"]
    assert low < 2 / 44 < high and spec("own_score").limits(scores) == (0, 1)


@pytest.mark.parametrize(
    ("score", "named"),
    [
        *(("return 1 / 0", ("ZeroDivisionError", "division by zero")), ('return "good"', ("'good'",))),
        *(("return 1", ("returns 1", "-10 to 0")), ("return None", ("None",)), ('return float("nan")', ("nan",))),
    ],
)
def test_a_scoring_function_that_fails_names_the_item(folder, score, named):
    path = write_scored(folder, f'if row["id"] == "7":\n        {score}\n    return -1')
    with pytest.raises(DataError) as raised:
        evaluate(path, "three")
    for text in ("item '7'", "'three'", "score_range", "--skip-bad", *named):
        assert text in str(raised.value)
    result = evaluate(path, "three", skip_bad=True)
    assert result.scores["n"] == 43 and result.scores["own_score"] == -1
    assert [item.id for item in result.left_out] == ["7"] and named[0] in result.left_out[0].reason


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("score=closeness", "score=0.5"), "score: "),
        *((("(-10, 0)", to), "score_range") for to in ("(0, 0)", "(0, 1e999)")),
        (("Description", "CircularEval"), "MultipleChoice and Description"),
    ],
)
def test_a_task_with_a_malformed_scoring_function_is_refused(folder, change, named):
    path = write_scored(folder, "return 0")
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(UsageError, match=named):
        find_tasks(str(path))


IMAGES = datasets.Sequence(datasets.Image())
QUESTION = {"images": 1, "question": "How is it?", "options": ["Dark", "Bright"], "answer": "A"}
ROWS = {
    "q_bench/perception": QUESTION,
    "q_bench/perception_pairs": QUESTION | {"images": 2},
    "ql_bench/single": QUESTION | {"refusal": "B"},
    "mmbench/en": QUESTION | {"question_id": "1"},
    "aes_bench/perception": QUESTION,
    "q_bench/description": {"image": 1, "description": "Dark."},
    "aes_bench/interpretation": {"image": 1, "question": "Why?", "description": "Dark."},
    "q_bench/assessment": {"image": 1, "quality": 2.0},
    "two_afc/coarse": {"images": 2, "first_id": "a", "second_id": "b", "first_quality": 1.0, "second_quality": 2.0},
}
"""A good row of each kind; numbers of images stand for images."""


@pytest.fixture
def own_data(make_picture):
    """Makes data of one row, of which a column may hold something else."""

    def make(task, **others):
        row = {"id": "r1", **ROWS[task], **others}
        if isinstance(row.get("images"), int):
            row["images"] = [make_picture(i) for i in range(row["images"])]
        if row.get("image") == 1:
            row["image"] = make_picture(0)
        known = {name: kind for name, kind in (("images", IMAGES), ("image", datasets.Image())) if name in row}
        rest = datasets.Dataset.from_list([{name: row[name] for name in row if name not in known}]).features
        return datasets.Dataset.from_list([row], features=datasets.Features({**rest, **known}))

    return make


def answer(messages, words=()):
    return dict.fromkeys(words, 1.0) if words else "A"


@pytest.mark.datasets36
@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize("task", ROWS)
def test_a_good_row_is_scored(own_data, task):
    scores = running.run(task, answer, own_data(task)).scores
    assert 1 in (scores.get("n"), scores.get("n_questions"), scores.get("n_pairs"))


LIST, TEXT_WANTED, NUMBER_WANTED = "expected a list of strings", "expected a string", "expected a finite number"
PLACES = "as in the prompt. Use skip_bad"


@pytest.mark.datasets36
@pytest.mark.parametrize(
    ("task", "column", "value", "problem"),
    [
        ("aes_bench/perception", "images", 2, f"2 images found; expected 1, {PLACES}"),
        ("q_bench/perception", "images", 0, f"0 images found; expected 1, {PLACES}"),
        ("q_bench/assessment", "image", None, "image: the image has neither bytes nor a path"),
        ("q_bench/perception", "answer", 0, rf"column 'answer' is 0; {TEXT_WANTED} \(''"),
        ("aes_bench/perception", "options", None, f"column 'options' is None; {LIST}"),
        ("q_bench/perception", "options", [], rf"column 'options' is \[\]; {LIST}"),
        ("q_bench/perception", "options", [*ascii_letters[:27]], rf"column 'options' is \[.*; {LIST}, 1 to 26"),
        ("q_bench/perception", "answer", "AA", "column 'answer' is 'AA'; expected one of A, B"),
        ("mmbench/en", "answer", "AB", "column 'answer' is 'AB'; only the protocol multiple_choice"),
        ("q_bench/description", "description", 3, rf"column 'description' is 3; {TEXT_WANTED} \(''"),
        ("q_bench/assessment", "quality", "good", rf"column 'quality' is 'good'; {NUMBER_WANTED} \(None"),
        ("q_bench/assessment", "quality", float("nan"), f"column 'quality' is nan; {NUMBER_WANTED}"),
        ("two_afc/coarse", "first_id", 7, f"column 'first_id' is 7; {TEXT_WANTED}"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(own_data, task, column, value, problem):
    with pytest.raises(DataError, match=f"item 'r1': {problem}"):
        running.run(task, answer, own_data(task, **{column: value}))


def test_the_only_question_may_have_26_options_and_accept_two(own_data):
    most = own_data("q_bench/perception", options=[*ascii_letters[:26]], answer="AZ")
    assert running.run("q_bench/perception", lambda messages: "Z", most).scores["accuracy"] == 1


def test_images_have_no_part_where_none_is_shown(own_data, tmp_path):
    assert running.run("mmbench/en", answer, own_data("mmbench/en", images=2), blind=True).scores
    file = running.predictions(tmp_path, [{"id": "r1", "text": "A"}])
    assert running.run("aes_bench/perception", file, own_data("aes_bench/perception", images=0)).scores["accuracy"] == 1


def test_columns_of_another_kind_are_named(own_data):
    data = own_data("q_bench/perception").remove_columns("images").add_column("images", ["a.png"])
    with pytest.raises(DataError, match=r"column 'images' is 'a\.png'; expected a list of images"):
        running.run("q_bench/perception", answer, data)
