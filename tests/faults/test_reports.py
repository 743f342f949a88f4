"""Reports and comparisons: untrusted or edited results and predictions."""

import contextlib
import copy
import json
import os
import random
import re
import shutil

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings, strategies

from eyechart.datasets_scripts.common.errors import EyechartError
from eyechart.evaluators.comparison.compare import compare_many
from eyechart.evaluators.comparison.notes import table_notes
from eyechart.evaluators.comparison.planning import plan_runs
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.report import write_report
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.results_file import LeftOut, collect
from eyechart.evaluators.runs.run import write_run
from eyechart.evaluators.tasks.q_bench import DATABASES
from eyechart.metrics.scoring.statistics.intervals import wilson_interval
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import answer, dimension, evaluated, seal, unsealed
from tests.evaluators.finished_runs import write as write_results
from tests.evaluators.report.conftest import PERCEPTION, Page, choice, replaced
from tests.evaluators.report.test_view import get, names, serving
from tests.faults.fault import fault, rows
from tests.hub_cards.leaderboard.handed_in import put
from tests.hub_cards.test_recomputing import WHOLE, changed
from tests.hub_cards.test_recomputing import evaluated as genuine

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' & {{ 7*7 }} \u2028"


def write(folder, evaluation=PERCEPTION):
    write_run(folder, collect([evaluation], [], "2026-01-01T00:00:00+00:00"))
    unsealed(folder)
    return folder


def page_of(folder, **options):
    return Page(write_report([folder], **options).read_text(encoding="utf-8"))


@pytest.mark.usefixtures("any_scores")
@fault("the model's name, replies, settings and data contain scripts and images", "the report shows them as text")
def test_markup(tmp_path):
    evaluation = replaced(
        PERCEPTION,
        model=EVIL,
        scores={**PERCEPTION.scores, "by_concern": {EVIL: PERCEPTION.scores["by_concern"]["other"]}},
        settings={EVIL: EVIL, "data": {"source": EVIL, "is_mini": False}},
        items=[choice(EVIL, EVIL, question=EVIL, options=[EVIL, "No"])],
        left_out=[LeftOut(id=EVIL, reason=EVIL)],
        warnings=[EVIL],
        caveats=[EVIL],
    )
    page = page_of(write(tmp_path, evaluation))
    assert page.open == []
    assert [a.get("id") or a.get("type") for a in page.all("script")] == ["samples-data", None]
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.holds(EVIL.strip())
    (sample,) = page.samples["samples"]
    assert sample["text"] == sample["id"] == sample["question"] == sample["options"][0] == EVIL


@pytest.mark.usefixtures("any_scores")
@fault(
    "results were edited so that the names of the task and dataset lead out of the folder", "no file is written there"
)
def test_names_that_lead_up(tmp_path):
    file = write(tmp_path / "run") / "results.json"
    raw = json.loads(file.read_text())
    raw["tasks"][0].update(task="../../q_bench/perception", dataset="<b>/etc")
    file.write_text(json.dumps(raw))
    write_report([tmp_path / "run"])
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} == {"run"}
    assert all(re.fullmatch(r"[\w.]+", path.name) for path in (tmp_path / "run" / "report_files").iterdir())


N = 24
PAIR = "every command that reads the run refuses it: one line says how to go on; exit code 1"


def perception(right, name="acme/vlm", **fields):
    """A result on as many items; the first are answered correctly."""
    items = [
        answer(f"q{n}", choice="AB"[n >= right], answer="A", options=["x", "y"], correct=n < right, label="x")
        for n in range(N)
    ]
    low, high = wilson_interval(right, N)
    scores = {"accuracy": right / N, "accuracy_ci95": [low, high], "n": N}
    return evaluated(items=items, scores=scores, model=name, **fields)


@pytest.fixture
def two_runs(tmp_path):
    """Two runs on the same items in a folder."""
    return [
        write_results(tmp_path / "runs" / name, [perception(right, name)]) for name, right in (("a", 20), ("b", 10))
    ]


def edited(change):
    """Predictions of which the table is changed."""

    def edit(folder):
        file = folder / "predictions.parquet"
        pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(file)), file)

    return edit


def marked(marks):
    return edited(lambda table: table.drop_columns("correct").append_column("correct", pyarrow.array(marks)))


def with_other_bytes(folder):
    file, rng = folder / "predictions.parquet", random.Random(0)
    content = bytearray(file.read_bytes())
    for place in rng.sample(range(len(content)), 20):
        content[place] ^= 1 + rng.randrange(255)
    file.write_bytes(content)


def of_another_run(folder):
    shutil.copy(folder.parent / "b" / "predictions.parquet", folder)


def unnamed(folder):
    file = folder / "results.json"
    file.write_text(
        json.dumps({name: value for name, value in json.loads(file.read_text()).items() if "sha" not in name})
    )


@pytest.mark.parametrize(
    "change",
    rows(
        PAIR,
        ("predictions of another run, as after a kill between the two files", of_another_run),
        ("results that do not name the checksum of their predictions", unnamed),
        ("correct answers are marked by hand", marked([True] * N)),
        ("all marks are null", marked(pyarrow.nulls(N, pyarrow.bool_()))),
        ("the marks are missing", edited(lambda table: table.drop_columns("correct"))),
        ("all rows of predictions are doubled", edited(lambda table: pyarrow.concat_tables([table, table]))),
        ("20 bytes of the predictions are changed", with_other_bytes),
    ),
)
def test_pairs_that_do_not_belong_together(two_runs, change, tmp_path):
    change(two_runs[0])
    every = (
        *(("compare", *two_runs), ("plan", *two_runs), ("report", *two_runs), ("submit", two_runs[0])),
        ("publish", two_runs[0], "--model-repo", "acme/vlm"),
    )
    for command in every if change is of_another_run else every[:1]:
        done = invoke(*command, code=1)
        assert "does not belong to the results" in done.stderr and "repeat the run" in done.stderr
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    shown = invoke("leaderboard", "build", tmp_path / "runs", "--out", tmp_path / "space", code=1).stdout
    assert "rejected a, entire entry" in shown and "accepted" in shown


@fault("a run finds predictions of another run in its folder", "it does its tasks again from the store")
def test_a_run_over_such_a_pair(tmp_path):
    command = ("run", "q_bench/perception", "--mini", "--limit", "3", "--out", tmp_path / "run")
    invoke(*command, code=0)
    write_run(tmp_path / "other", collect([PERCEPTION], [], "2026-01-01"))
    shutil.copy(tmp_path / "other" / "predictions.parquet", tmp_path / "run")
    assert "3 of them reused" in invoke(*command, code=0).stdout
    (run,) = read_runs([tmp_path / "run"])
    assert run.predictions.num_rows == 3


DEEP = {}
for _ in range(100):
    DEEP = {"x": DEEP}


@pytest.mark.parametrize(
    ("place", "value"),
    rows(
        "compare, plan and report refuse it and name the key; exit code 1",
        ("the settings of a model are text", ("settings", "model"), "vlm"),
        ("the settings of the data are a list", ("settings", "data"), []),
        ("the settings of a judge are text", ("settings", "judge"), "gpt"),
        ("the number of rows is text", ("settings", "data", "rows"), "1495"),
        ("--limit is an object", ("settings", "limit"), {}),
        ("a count is text", ("scores", "n"), "24"),
        ("a time is text", ("timings", "model_seconds"), "1"),
        ("a score is text", ("scores", "accuracy"), "0.9"),
        ("a score is an integer of 400 digits", ("scores", "accuracy"), 10**400),
        ("a score is 100 objects in each other", ("scores", "accuracy"), DEEP),
        ("scores are a list", ("scores",), [0.9]),
        ("whether a result is complete is a number", ("complete",), 1),
    ),
)
def test_damaged_results(two_runs, place, value):
    file = two_runs[0] / "results.json"
    raw = json.loads(file.read_text())
    put(raw["tasks"][0], place, value)
    file.write_text(json.dumps(raw))
    for command in (("compare", *two_runs), ("plan", *two_runs), ("report", *two_runs)):
        done = invoke(*command, code=1)
        assert f"results.json: key tasks[0].{'.'.join(place)}" in done.stderr and "Traceback" not in done.output
        assert done.stdout == ""


def places(value, place=()):
    """The place of each value in a JSON document."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*place, key)
        yield from places(part, (*place, key))


def value_at_place(value, place):
    for key in place:
        value = value[key]
    return value


ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(max_size=9),
    lambda inner: strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(max_size=9), inner),
    max_leaves=5,
)


@pytest.mark.slow
@fault("any value in a run's results is replaced by any other", "the run is read or refused; nothing else fails")
def test_any_damage_to_results(tmp_path):
    folders = [write_results(tmp_path / name, [perception(right, name)]) for name, right in (("a", 20), ("b", 10))]
    file = folders[0] / "results.json"
    whole = json.loads(file.read_text())

    @settings(max_examples=60)
    @given(place=strategies.sampled_from(list(places(whole))), value=ANYTHING)
    def check(place, value):
        raw = copy.deepcopy(whole)
        value_at_place(raw, place[:-1])[place[-1]] = value
        file.write_text(json.dumps(raw), encoding="utf-8", errors="replace")
        with contextlib.suppress(EyechartError):
            assert list(table_notes(compare_many(read_runs(folders))))
        with contextlib.suppress(EyechartError):
            assert plan_runs(folders)
        with contextlib.suppress(EyechartError):
            write_report(folders[:1], tmp_path / "out", files=False, samples=1)

    check()


@fault("any value in the results of a finished run is edited by hand", "the run is refused; it can be repeated")
def test_any_edit_of_results(tmp_path):
    write_run(tmp_path, collect([perception(20)], [], "2026-01-01"))
    assert read_runs([tmp_path])
    file = tmp_path / "results.json"
    whole = json.loads(file.read_text())
    leaves = [place for place in places(whole) if not isinstance(value_at_place(whole, place), dict | list)]

    @settings(max_examples=100)
    @given(place=strategies.sampled_from([place for place in leaves if place != ("sha256",)]), value=ANYTHING)
    def check(place, value):
        raw = copy.deepcopy(whole)
        value_at_place(raw, place[:-1])[place[-1]] = value
        file.write_text(json.dumps(raw), encoding="utf-8", errors="replace")
        if json.loads(file.read_text()) != whole:
            with pytest.raises(BadResultsError, match=r"(results\.json|predictions\.parquet): "):
                read_runs([tmp_path])

    check()


@pytest.mark.parametrize(
    "scores",
    rows(
        "the run is refused; the error names the score",
        ("an accuracy that no number of right answers gives", {"accuracy": 0.51}),
        ("an interval that does not contain its score", {"accuracy_ci95": [0.1, 0.2]}),
        ("an interval that is narrower than the number of items allows", {"accuracy_ci95": [0.49, 0.51]}),
        ("a group with more right answers than there are", {"by_concern": {"x": {"accuracy": 1.0, "n": 13}}}),
        ("groups with more items than there are", {"by_concern": {name: {"accuracy": 0.5, "n": 24} for name in "xy"}}),
        ("parts that do not add up", {"score_sa": 50.0, "score_cc": 25.0, "score_rc": 0.0}),
        ("some dimensions of a description that do not add up", {"sum": 6.0, "relevance": dimension(1.0)}),
    ),
)
def test_stated_scores_that_contradict_each_other(tmp_path, scores):
    low, high = wilson_interval(12, 24)
    stated = {"accuracy": 0.5, "accuracy_ci95": [low, high], "n": 24}
    folder = write(tmp_path, replaced(PERCEPTION, scores=stated))
    (folder / "predictions.parquet").unlink()
    unnamed(folder)
    assert read_runs([folder])[0].predictions is None
    write(tmp_path, replaced(PERCEPTION, scores=stated | scores))
    (folder / "predictions.parquet").unlink()
    unnamed(folder)
    name = next(iter(scores)).removesuffix("_ci95")
    with pytest.raises(BadResultsError, match=rf"results\.json: key tasks\[0\]\.scores\.{name}"):
        read_runs([folder])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one task on all its data, and of one on several databases, with their average."""
    average = with_averages([genuine("q_bench/assessment", name, 6) for name in DATABASES])
    return write_results(tmp_path_factory.mktemp("genuine") / "run", [genuine(*WHOLE[0]), *average])


def scored(**scores):
    return lambda task: task["scores"].update(scores)


def renamed_group(task):
    parts = task["scores"]["by_question_type"]
    parts["whatever"] = parts.pop("what")


def with_variant(task):
    task["variants"] = {"better": {"accuracy": 0.5, "accuracy_ci95": [0.9, 1.0], "n": 180}}


def first_wrong(**columns):
    return lambda rows: next(row for row in rows if row["correct"] is False).update(columns, correct=True)


def plain(**scores):
    """Scores of the whole alone, which those of parts cannot contradict."""

    def change(task):
        task["scores"] = {name: of for name, of in task["scores"].items() if name[:3] not in ("by_", "yes")} | scores

    return change


RAISED = plain(accuracy=0.9, accuracy_ci95=list(wilson_interval(162, 180)))
FEWER = plain(accuracy=0.3, accuracy_ci95=[0.0, 1.0], n=90)
VOTE = first_wrong(choice=None, step="judge")


@pytest.mark.parametrize(
    ("results", "predictions", "number", "reason"),
    rows(
        "every command that reads the run refuses it, names both values and says how to go on",
        ("a score and its interval are raised", RAISED, None, 0, "scores.accuracy is 0.9; its predictions give 0."),
        ("a score is undefined, but not its interval", scored(accuracy=None), None, 0, "accuracy is undefined, but"),
        ("the number of items is another", FEWER, None, 0, "items of accuracy is 90; its predictions give 180"),
        ("a group has another name", renamed_group, None, 0, "by_question_type has 'whatever'; its predictions have"),
        ("the model has another name", lambda task: task.update(model="a/b"), None, 0, "no result is of q_bench/perc"),
        ("an average is raised", scored(srcc=0.99, srcc_ci95=None), None, -1, "scores.srcc is 0.99; its predictions"),
        ("a correlation is raised", scored(srcc=0.99, srcc_ci95=None), None, 1, "scores.srcc is 0.99; its predictions"),
        ("a prediction is removed", None, lambda rows: rows.pop(0), 0, "items of accuracy is 180; its predictions"),
        ("predictions stand twice", None, lambda rows: rows.extend(rows), 0, "of 180 requests there are 360"),
        ("a variant contradicts itself", with_variant, None, 0, "scores ('better').accuracy_ci95 is [0.9, 1.0]; expec"),
        ("a judge's vote in a run without a judge", None, VOTE, 0, "has correct=True, which contradicts its choice=No"),
        ("a wrong choice is marked as right, in both files", None, first_wrong(), 0, "True, which contradicts its"),
    ),
)
@pytest.mark.filterwarnings("ignore")
def test_scores_that_are_not_those_of_the_predictions(run, tmp_path, results, predictions, number, reason):
    done = invoke("report", changed(run, tmp_path / "run", results, predictions, number), code=1)
    assert reason in done.stderr and "repeat the run" in done.stderr and done.stdout == ""


@pytest.mark.usefixtures("any_scores")
@pytest.mark.parametrize(
    ("column", "values", "reason"),
    rows(
        "the report is refused; the error names the file",
        ("a run's predictions are damaged", None, b"PAR1 and nothing more", "cannot be read as predictions"),
        ("scores of items are strings", "own_score", ["high", "low"], "its column own_score has type string; expected"),
        ("options are numbers", "options", [1, 2], "its column options has type int64; expected list<"),
        ("the ids are missing", "id", None, "some or all rows have no id"),
    ),
)
def test_other_types(tmp_path, column, values, reason):
    file = write(tmp_path) / "predictions.parquet"
    if column is None:
        file.write_bytes(values)
    else:
        table = pyarrow.parquet.read_table(file).slice(0, 2).drop_columns(column)
        table = table if values is None else table.append_column(column, pyarrow.array(values))
        pyarrow.parquet.write_table(table, file)
    seal(tmp_path)
    with pytest.raises(BadResultsError, match=rf"predictions\.parquet: {reason}"):
        write_report([tmp_path])


@pytest.mark.parametrize(
    "change",
    rows(
        "one line reports it without waiting; exit code 1",
        ("predictions that the results name are missing", lambda file: None),
        ("predictions that the results name are a link to /dev/zero", lambda file: file.symlink_to("/dev/zero")),
    ),
)
def test_named_predictions(two_runs, change):
    (two_runs[0] / "predictions.parquet").unlink()
    change(two_runs[0] / "predictions.parquet")
    shown = invoke("compare", *two_runs, code=1).stderr
    assert "predictions.parquet: is missing, but results.json names it" in shown and shown.count("\n") == 1


@pytest.mark.parametrize(
    "make",
    rows(
        "one line reports it without waiting; nothing is read; exit code 1",
        ("a run's results are a named pipe", os.mkfifo),
        ("a run's results are a link to /dev/zero", lambda path: path.symlink_to("/dev/zero")),
    ),
)
def test_results_that_never_end(tmp_path, make):
    file = write(tmp_path) / "results.json"
    file.unlink()
    make(file)
    done = invoke("report", str(tmp_path))
    assert done.exit_code == 1
    assert "it is a folder, a pipe or a device; expected a regular file" in done.output


@pytest.mark.usefixtures("any_scores")
@fault("the list of a report's files was edited to name other files", "the next report removes only its own files")
def test_edited_list(tmp_path):
    files = write(tmp_path) / "report_files"
    write_report([tmp_path])
    (files / "own_notes.md").write_text("mine")
    with (files / "written_by_eyechart.txt").open("a") as names:
        names.write("../results.json\n..\n.\n\n\x00\nnever_there.svg\n")
    write(tmp_path, replaced(PERCEPTION, scores=None))
    write_report([tmp_path])
    assert [path.name for path in files.iterdir()] == ["own_notes.md"]
    (files / "own_notes.md").unlink()
    write(tmp_path)
    write_report([tmp_path])
    write_report([tmp_path], files=False)
    assert not files.exists() and (tmp_path / "results.json").exists()


@fault("--limit is removed from the results of a limited run", "the comparison says that it is on a part of the data")
def test_removed_limit(two_runs):
    write_results(two_runs[1], [perception(10, "b", data={"rows": 100, "source": "given"})])
    assert "b is on a part of the data: " in invoke("compare", *two_runs, code=0).stdout


@fault("results written by a later version of eyechart", "one line names the version that can read them; exit code 1")
def test_later_version(two_runs):
    file = two_runs[0] / "results.json"
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))
    shown = invoke("report", two_runs[0], code=1).stderr
    assert "its schema is 2" in shown and shown.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "host"),
    rows(
        "`eyechart view` refuses it and shows nothing of the run",
        ("an address that leads out of a run", "{run}../secret.txt", None),
        ("the same with encoded slashes", "{run}..%2Fsecret.txt", None),
        ("the same with an absolute path", "{run}{folder}/secret.txt", None),
        ("an address that leads out of all folders", "/../../../../../../etc/passwd", None),
        ("a file of a run that is no page", "{run}results.json", None),
        ("the folder of a run by its own name", "/run/", None),
        ("an address of invalid bytes", "{run}%ff%00", None),
        ("another site whose name leads to this machine", "{run}", "evil.example:80"),
        ("a host that begins like this machine", "{run}", "localhost.evil.example"),
        ("no host", "{run}", ""),
    ),
)
def test_addresses(path, host, tmp_path, any_scores):
    write_results(tmp_path / "run", [evaluated()])
    (tmp_path / "secret.txt").write_text("acme")
    with serving(tmp_path / "run") as server:
        status, text = get(server, path.format(run=names(server)["run"], folder=tmp_path), host)
    assert status in (403, 404) and "acme" not in text and "root:" not in text
