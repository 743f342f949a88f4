"""Results files and predictions: what they hold, which of them are refused, and the notes that follow from them."""

import json
import math
import re
import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest

from eyechart.datasets_scripts.common.errors import MissingFileError
from eyechart.evaluators.evaluation.findings import score_notes
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results import finished_runs, score_rows
from eyechart.evaluators.results.finished_runs import (
    TaskKey,
    is_served_name,
    load_runs,
    served_notes,
    unconfirmed_names,
)
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import FailedTask, TaskResult, collect, read_results, with_nan
from eyechart.evaluators.results.score_rows import interval_notes, is_above_chance, unparsed_note
from eyechart.evaluators.runs.run import write_run
from eyechart.metrics.reply_counts import unparsed_replies
from eyechart.metrics.scoring.statistics.intervals import KINDS
from tests.evaluators.finished_runs import ACCURACY, evaluated, evaluation, item, write


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
        if ";" not in requirement:
            assert packages[re.match(r"[\w.-]+", requirement).group()], requirement


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
        (of_task(left_out=[{"id": "a", "reason": "b", "why": "c"}]), r"\.why: extra inputs are .*; it is 'c'"),
        (of_task(notes=[{"code": "unparsed", "values": {"of": 3}}]), r"\.notes\[0\]: .*no note 'unparsed'"),
        (of_task(scores__srcc=1.5), r"\.scores\.srcc is 1\.5; expected a number from -1 to 1"),
        (of_task(diagnostics__convergence={"curve": [], "upper_bound": [{"srcc": "x"}]}), r"bound\[0\]\.srcc is 'x'"),
        (lambda raw: raw["tasks"].extend(raw["tasks"]), r"tasks\[1\] repeats the task, dataset and split"),
        (lambda raw: raw.update(schema=2), r"results\.json: its schema is 2, .*\(.*\) reads only schema 1"),
        (lambda raw: raw.pop("schema") and None, 'expected an object with the key "schema"'),
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


# Forks share the imports. With Arrow's threads, 25 of 60 aborted with "terminate called without an active exception".
SCRIPT = """
import os, sys
import pyarrow.parquet
from eyechart.evaluators.results.finished_runs import load_runs
for _ in range(4):
    child = os.fork()
    if not child:
        (run,) = load_runs(sys.argv[1:])
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.mark.slow
def test_reading_predictions_leaves_no_thread_that_aborts_the_exit(tmp_path):
    run = write(tmp_path / "run", [evaluated(items=[item("q1")])])
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(run)], capture_output=True, text=True)
    assert done.stdout.split() == ["7"] * 4, done.stderr


CLUSTERED = f"95 % {KINDS['wilson-clustered']}"
NONE = KINDS["none"].capitalize()


def kind(name: str, units: int = 51) -> dict[str, Any]:
    return {"kind": name, "units": units}


def choices(**about: Any) -> dict[str, Any]:
    return {"circular_accuracy": 0.5, "vanilla_accuracy": 0.75, "n_questions": 60, "n_vanilla": 60, "intervals": about}


def quality(name: str, units: int = 12, srcc: float = 0.5) -> dict[str, Any]:
    about = {"srcc": kind(name, units), "plcc": kind("bootstrap", units)}
    return {"srcc": srcc, "plcc": 0.5, "n": units, "intervals": about}


BOTH = choices(circular_accuracy=kind("wilson-clustered"), vanilla_accuracy=kind("wilson-clustered"))
OTHER = choices(circular_accuracy=kind("wilson-clustered", 1180), vanilla_accuracy=kind("wilson"))
PAIRS = {"consistency": 0.5, "n_pairs": 348, "intervals": {"consistency": kind("wilson-clustered", 60)}}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        *(([("a", choices(circular_accuracy=kind(plain)))], []) for plain in ("wilson", "mean", "bootstrap")),
        # Scores of one kind and size share a place, and tasks a line.
        (
            [("mmbench/en", BOTH), ("own", OTHER)],
            [f"{CLUSTERED}: mmbench/en: CircularEval / VanillaEval (51 clusters); own: CircularEval (1,180 clusters)."],
        ),
        ([("", PAIRS)], [f"{CLUSTERED}: consistency (60 images)."]),
        ([("", quality("none"))], [f"{NONE}: SRCC (12 units)."]),
        ([("", quality("none", srcc=math.nan))], []),
    ],
)
def test_intervals_that_are_not_plain_have_a_line(results: Any, expected: list[str]) -> None:
    assert [each.text for each in interval_notes(results) if each.code != "plain_intervals"] == expected


@pytest.mark.parametrize(
    ("n", "codes"), [(4, ["unparsed", "mostly_unparsed"]), (5, ["unparsed"]), (10, ["unparsed"]), (11, [])]
)
def test_from_a_tenth_of_the_replies_on_the_unparsed_ones_are_noted(n: int, codes: list[str]) -> None:
    result = TaskResult.model_construct(scores={"accuracy": 0.5, "n": n, "extraction": {"unmatched": 1 / n}})
    found = [each for each in (*score_notes(result.scores), unparsed_note(result)) if each]
    assert [(each.code, each.values["unparsed"], each.values["of"]) for each in found] == [
        (code, 1, n) for code in codes
    ]
    assert not any(each.values.get("cut") for each in found)
    texts = TaskResult.model_construct(scores={"mean": 1.0, "n": n, "outcomes": {"cut_off": 1 / n}})
    assert list(score_notes(texts.scores)) == [] and (unparsed_note(texts) is None) == (n > 4)


def test_headlines_are_averages_and_scores_that_have_none() -> None:
    keys = [TaskKey(*key, "test") for key in (("a", "aesbench"), ("a", "spaq"), ("a", "average"), ("b", "spaq"))]
    assert score_rows.headlines(keys) == keys[2:]


@pytest.mark.parametrize(
    ("interval", "is_above"),
    [([0.51, 0.7], True), ([0.5, 0.6], False), ([0.1, 0.3], False), ([math.nan] * 2, None), (None, None)],
)
def test_a_score_is_above_chance_if_its_interval_is(interval: list[float] | None, is_above: bool | None) -> None:
    scores = {"accuracy": 0.5, "accuracy_ci95": interval, "random_guess": 0.5, "n": 40}
    assert is_above_chance(TaskResult(scores=scores)) is is_above


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"n": 40, "extraction": {"unmatched": 0.25}}, (10, 40)),
        ({"n_pairs": 40, "n": 9, "extraction": {"unmatched": 0.25}}, (20, 80)),
        ({"n_vanilla": 40, "n_passes": 160, "extraction": {"unmatched": 0.25}}, (10, 40)),
        ({"n": 30, "unread": {"cut_off": 0.125, "refused": 0.125}}, (10, 40)),
        ({"n": 40, "outcomes": {"cut_off": 0.5, "refused": 0.25}}, (20, 40)),
    ],
)
def test_unparsed_replies_are_counted_in_every_kind_of_task(scores: dict, expected: tuple[int, int]) -> None:
    assert unparsed_replies(scores) == expected


@pytest.mark.parametrize(
    ("asked", "served", "is_same"),
    [
        ("gpt-4o", "gpt-4o", True),
        ("gpt-4o", "gpt-4o-2024-11-20", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen/qwen2.5-vl-7b-instruct", True),
        ("org/model", "org/model@main", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o-2024-11-20", "gpt-4o-2024-08-06", False),
        ("qwen2-vl", "qwen2-vl-72", False),
        ("model", "", False),
    ],
)
def test_the_same_name_a_dated_one_and_a_revision_are_what_was_asked_for(asked, served, is_same):
    assert is_served_name(asked, served) is is_same


MODEL = {"name": "no/such-model", "served": ["tiny-f32.gguf"]}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"model": MODEL}, [("served", ["tiny-f32.gguf"])]),
        ({"model": MODEL | {"served_name": "tiny-f32.gguf"}}, []),
        # A name that is confirmed and not served confirms nothing.
        ({"model": MODEL | {"served_name": "large.gguf"}}, [("served", ["tiny-f32.gguf"])]),
        ({"judge": {"name": "gpt-4o", "served": ["gpt-4o", "tiny.gguf"]}}, [("judge_served", ["tiny.gguf"])]),
    ],
    ids=str,
)
def test_names_that_were_neither_requested_nor_confirmed_are_noted(settings, expected):
    assert [(each.code, each.values["served"]) for each in served_notes(settings)] == expected
    assert unconfirmed_names(settings) == [name for code, names in expected if code == "served" for name in names]


BLIND, PART = note("blind"), note("average_incomplete")
TWO_LEFT_OUT = [{"id": "b", "reason": "x"}, {"id": "a", "reason": "y"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"scores": None}, {"no_score": {}}),
        ({"complete": False, "notes": [BLIND, PART]}, {"blind": {}, "average_incomplete": {}}),
        ({"data": {"source": finished_runs.MINI}}, {"synthetic": {"tasks": []}}),
        ({"variants": {"x": {"judge": "a"}, "y": {"judge": "z"}}}, {}),
        ({"variants": {"x": {"judge": "a"}, "y": {"judge": "lexical"}}}, {"by_words": {}}),
        ({"left_out": TWO_LEFT_OUT}, {"left_out": {"n": 2, "id": "b", "reason": "x"}}),
    ],
)
def test_what_a_result_records_is_noted(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {each.code: each.values for each in finished_runs.all_notes(evaluated(**fields))} == expected


def own(n: int, rows: int | None = 30, **settings: Any) -> TaskResult:
    return evaluated("own", "own", scores=ACCURACY | {"n": n}, data={"rows": rows}, settings=settings)


ENGLISH = {"scores": {"circular_accuracy": 0.5, "n_questions": 1000}, "data": {"config": "en"}}


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([evaluated(), evaluated("mmbench/en", "mmbench", **ENGLISH)], "2,495 of 2,659 official items"),
        # More photographs of one's own, in a release's layout.
        ([evaluated(scores=ACCURACY | {"n": 9_000}, data={"rows": 9_000})], ""),
        ([own(4, limit=4), own(6, None)], "10 of 30 items"),
        ([own(5, 40), own(4, sample={"n": 4, "of": 30, "seed": 0})], "9 of 70 items (random sample)"),
        ([own(4, limit=4), evaluated()], "1,499 of 1,525 items"),
    ],
)
def test_results_say_which_part_of_their_data_they_cover(results: list[TaskResult], expected: str) -> None:
    assert finished_runs.extent(results) == expected
