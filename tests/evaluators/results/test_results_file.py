"""`results.json` and `predictions.parquet`: what they hold, and which of them are refused."""

import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

import pytest

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.finished_runs import load_runs
from eyechart.evaluators.results.items import Item, write_predictions
from eyechart.evaluators.results.results_file import FailedTask, collect, read_results, with_nan
from eyechart.evaluators.runs.run import write_run
from tests.evaluators.finished_runs import evaluated, evaluation, item, write
from tests.growth import LARGE, SMALL, growth


def test_the_file_has_the_documented_keys_in_standard_json_and_reads_back(tmp_path):
    failed = [FailedTask(task="q_bench/perception", dataset="llvisionqa", error="no data")]
    write_run(tmp_path, collect([evaluation()], failed, "2026-01-01"))
    text = (tmp_path / "results.json").read_text()
    raw = json.loads(text)
    assert raw["schema"] == 1
    assert set(raw) == {"schema", "environment", "request", "tasks", "failed", "predictions_sha256", "sha256"}
    documented = {"task", "dataset", "split", "model", "scores", "settings", "left_out", "timings", "notes"}
    assert documented <= set(raw["tasks"][0]) and not {"items", "contents"} & set(raw["tasks"][0])
    assert raw["environment"]["packages"]["eyechart"]
    # Undefined scores become null.
    assert "NaN" not in text and "Infinity" not in text
    assert raw["tasks"][0]["scores"] == {"srcc": 0.5, "plcc": None, "srcc_ci95": [0.4, None]}
    results = read_results(tmp_path)
    assert results.tasks[0].left_out[0].reason == "the image is empty"
    assert results.failed[0].error == "no data"
    scored = [evaluation(headline=key, scores={"srcc": 0.5, "plcc": 0.4, "n": 9}) for key in ("", "plcc")]
    assert [result.headline_spec().key for result in scored] == ["srcc", "plcc"]
    assert results.tasks[0].notes == evaluation().notes and results.tasks[0].caveats


def test_the_versions_of_all_dependencies_are_kept():
    packages = collect([], [], "2026-01-01").environment["packages"]
    for requirement in metadata.requires("eyechart"):
        if "extra ==" not in requirement:
            assert packages[re.match(r"[\w-]+", requirement).group()], requirement


@pytest.fixture
def edited(tmp_path):
    """Writes a run whose results file was then changed."""

    def edit(change):
        path = write(tmp_path, [evaluation()]) / "results.json"
        raw = json.loads(path.read_text())
        path.write_text(change(raw) or json.dumps(raw))
        return path

    return edit


def of_task(**changes):
    """Sets values within the first task: `scores__srcc=1` is `scores["srcc"] = 1`."""

    def change(raw):
        for keys, value in changes.items():
            *way, last = keys.split("__")
            place = raw["tasks"][0]
            for key in way:
                place = place[key]
            place[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda raw: [raw["tasks"][0].pop(key) for key in ("timings", "settings")] and None, r"\[0\]\.settings: "),
        (of_task(model=3), r"key tasks\[0\]\.model: .*string; it is 3"),
        (of_task(left_out=[{"id": "a", "reason": "b", "why": "c"}]), r"\.why: extra inputs are .*; it is 'c'"),
        (of_task(left_out=[{"id": "a"}]), r"key tasks\[0\]\.left_out\[0\]\.reason: field required\n"),
        (of_task(notes=[{"code": "unparsed", "values": {"of": 3}}]), r"\.notes\[0\]: .*no note 'unparsed'"),
        (of_task(rank=1), r"key tasks\[0\]\.rank: extra inputs are not permitted"),
        (of_task(scores__srcc=10**400), r"\.scores\.srcc is 1000.*; expected a number"),
        (of_task(scores__srcc=1.5), r"\.scores\.srcc is 1\.5; expected a number from -1 to 1"),
        (of_task(scores__srcc_ci95=[1]), r"\.scores\.srcc_ci95 is \[1\]; expected \[low, high\]"),
        (of_task(scores__by_type={"x": 2.0}), r"\.scores\.by_type is .*; expected an object of objects"),
        (of_task(variants={"x": {"n": []}}), r"\.variants\.x\.n is \[\]; expected a whole number"),
        (of_task(diagnostics__table={"x": {"srcc": 2}}), r"\.diagnostics\.table\.x\.srcc is 2; expected a number"),
        (of_task(diagnostics__extractor_agreement={"all": {"n": "x"}}), r"\.all\.agreement: .*\(and 2 more"),
        (
            of_task(diagnostics__convergence={"curve": [], "upper_bound": [{"srcc": "x"}]}),
            r"upper_bound\[0\]\.srcc is 'x'",
        ),
        (of_task(diagnostics__convergence={"curve": [1]}), r"\.convergence\.curve\[0\]: .*dictionary; it is 1"),
        (lambda raw: raw.update(environment="x"), r"environment: .*dictionary; it is 'x'"),
        (lambda raw: raw["tasks"].extend(raw["tasks"]), r"tasks\[1\] repeats the task, dataset and split"),
        (of_task(diagnostics__repeats={"count": 1}), r"\.repeats\.count: .* 2; it is 1"),
        (of_task(diagnostics__unread=-1), r"\.unread: .* 0; it is -1"),
        (of_task(diagnostics__replies=-1), r"\.replies: .* 0; it is -1"),
        *((lambda raw, n=n: raw.update(schema=n), f"its schema is {n}, .* only schema 1") for n in (0, 1.0)),
        (lambda raw: raw.update(schema=2), r"results\.json: its schema is 2, .*\(.*\) reads only schema 1"),
        (lambda raw: raw.pop("schema") and None, 'expected an object with the key "schema"'),
        (lambda raw: '{"schema": 1,', "cannot be read as results: EOF"),
        (lambda raw: "[" * 100_000, "recursion limit"),
    ],
)
def test_an_edited_file_is_refused_with_its_key(edited, change, reason):
    path = edited(change)
    with pytest.raises(BadResultsError, match=reason) as raised:
        read_results(path)
    assert raised.value.path == str(path)
    assert "schema is" in reason or "repeat the run" in raised.value.explain()


@pytest.mark.parametrize("number", ["NaN", "-Infinity"])
def test_numbers_that_are_not_finite_are_read_as_undefined(edited, number):
    path = edited(lambda raw: json.dumps(raw).replace('"srcc": 0.5', f'"srcc": {number}'))
    assert math.isnan(read_results(path).tasks[0].scores["srcc"])
    read = with_nan({"all": None, "x": {"plcc": None, "plcc_ci95": None, "srcc_ci95": [0.5, None]}})
    assert repr(read) == "{'all': None, 'x': {'plcc': nan, 'srcc_ci95': [0.5, nan]}}"
    path.unlink()
    with pytest.raises(MissingFileError, match=r"results\.json: does not exist"):
        read_results(path.parent)


def test_a_result_has_the_answers_of_its_first_repeat(tmp_path):
    results = [evaluated(items=[item("q1"), item("q1", repeat=2)]), evaluated(split="test", items=[item("q2")] * 2)]
    (run,) = load_runs([write(tmp_path, results)])
    dev, test = (run.answers(key) for key in run.tasks)
    assert (dev.column("id"), test.column("id"), test.column("other")) == (["q1"], ["q2"] * 2, [None] * 2)


def test_time_to_read_grows_with_the_file_and_not_with_its_square(edited, tmp_path):
    def write(n):
        scores = ",".join(f'"{image:0160}.png": {image % 100}' for image in range(n))
        path = edited(lambda raw: json.dumps(raw).replace('"scores": {', f'"scores": {{"scores": {{{scores}}},', 1))
        return path.rename(tmp_path / f"{n}.json")

    files = {n: write(n) for n in (SMALL, LARGE)}

    def read(n):
        assert len(read_results(files[n]).tasks[0].scores["scores"]) == n

    assert growth(read) < 8


# Forks share the imports. With Arrow's threads, 25 of 60 aborted with "terminate called without an active exception".
SCRIPT = """
import os, sys
import pyarrow.parquet
from eyechart.evaluators.results.finished_runs import load_runs
for _ in range(6):
    child = os.fork()
    if not child:
        (run,) = load_runs(sys.argv[1:])
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@dataclass(frozen=True)
class OtherItem(Item):
    """An item whose column `choice` is of another type than that of multiple choice."""

    choice: float | None = None


def test_columns_of_one_name_and_two_types_are_refused(tmp_path):
    items = [item("q1", choice="A"), OtherItem("q2", choice=0.5)]
    with pytest.raises(UsageError, match=r"column 'choice' .* is double in OtherItem and string in another"):
        write_predictions(tmp_path / "predictions.parquet", [evaluated(items=items)])


@pytest.mark.slow
def test_reading_predictions_leaves_no_thread_that_aborts_the_exit(tmp_path):
    run = write(tmp_path / "run", [evaluated(items=[item("q1")])])
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(run)], capture_output=True, text=True)
    assert done.stdout.split() == ["7"] * 6, done.stderr
