import json
import math

import pytest

from eyechart.datasets_scripts.common.errors import BadResultsError, MissingFileError
from eyechart.evaluators.results.results_file import FailedTask, collect, read_results
from eyechart.evaluators.runs.folder import write_run
from tests.evaluators.finished_task import evaluation
from tests.growth import LARGE, SMALL, growth


def test_the_file_has_the_documented_keys_and_reads_back(tmp_path):
    failed = [FailedTask(task="q_bench/perception", subset="llvisionqa", error="no data")]
    write_run(tmp_path, collect([evaluation()], failed, "2026-01-01"), [evaluation()])
    raw = json.loads((tmp_path / "results.json").read_text())
    assert raw["schema"] == 1
    assert set(raw) == {"schema", "environment", "suite", "tasks", "failed"}
    documented = {"task", "subset", "split", "model", "scores", "settings", "left_out", "timings"}
    assert documented <= set(raw["tasks"][0])
    assert raw["environment"]["packages"]["eyechart"]
    results = read_results(tmp_path)
    assert results.tasks[0].left_out[0].reason == "the image is empty"
    assert results.failed[0].error == "no data"


def test_undefined_scores_become_null_in_standard_json(tmp_path):
    write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
    text = (tmp_path / "results.json").read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert json.loads(text)["tasks"][0]["scores"] == {"srcc": 0.5, "plcc": None, "srcc_ci95": [0.4, None]}


@pytest.fixture
def edited(tmp_path):
    """Writes a run whose results file was then changed."""

    def write(change):
        write_run(tmp_path, collect([evaluation()], [], "2026-01-01"), [evaluation()])
        path = tmp_path / "results.json"
        raw = json.loads(path.read_text())
        path.write_text(change(raw) or json.dumps(raw))
        return path

    return write


def test_a_file_of_a_newer_schema_is_refused_and_its_version_named(edited):
    with pytest.raises(BadResultsError, match=r"results\.json: its schema is 2, .*\(.*\) reads schema 1"):
        read_results(edited(lambda raw: raw.update(schema=2)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda raw: raw["tasks"][0].pop("settings") and None, r"key tasks\[0\]\.settings: field required"),
        (lambda raw: raw["tasks"][0].update(model=3), r"key tasks\[0\]\.model: .*string; it is 3"),
        (lambda raw: raw["tasks"][0].update(rank=1), r"key tasks\[0\]\.rank: extra inputs are not permitted"),
        (lambda raw: raw["tasks"][0]["scores"].update(srcc="high"), r"scores\.srcc: expected a number or null.*'high'"),
        (lambda raw: raw["tasks"][0]["scores"].update(srcc_ci95=[1]), r"scores\.srcc_ci95: expected \[low, high\]"),
        (lambda raw: raw["tasks"][0]["scores"].update(srcc_ci95=-1.5), r"scores\.srcc_ci95: expected \[low, high\]"),
        (lambda raw: raw["tasks"][0]["scores"].update(srcc={"a": 1}), r"scores\.srcc: expected a number or null"),
        (lambda raw: raw["tasks"][0]["scores"].update(yes_no={"mean": 1}), "object with mean, n_yes, n_no"),
        (
            lambda raw: raw["tasks"][0]["scores"].update(n_pools="x"),
            r"scores\.n_pools: expected a number or null; it is",
        ),
        (
            lambda raw: raw["tasks"][0]["scores"].update(yes_no={"mean": 1, "n_yes": "x", "n_no": 2}),
            r"scores\.yes_no\.n_yes: expected a number or null; it is 'x'",
        ),
        (lambda raw: raw["tasks"][0]["scores"].update(by_type={"x": 2.0}), r"by_type\.x: expected an object; it is 2"),
        (lambda raw: raw["tasks"][0]["scores"].update(by_type=3), r"scores\.by_type: expected an object; it is 3"),
        (lambda raw: raw["tasks"][0]["variants"].update(x={"n": []}), r"variants\.x\.n: expected a number"),
        (
            lambda raw: raw["tasks"][0]["scores"].update(srcc=10**400),
            r"scores\.srcc: expected a number or null; it is",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(table={"x": []}),
            r"extras\.table\.x: expected an object; it is",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(averages=[{"over": [[1]], "weights": "equal"}]),
            r"extras\.averages\[0\]\.over: expected a list of texts; it is \[\[1\]\]",
        ),
        (
            lambda raw: raw["tasks"][0]["scores"].update(choice_distribution={"predicted": {"A": "x"}, "correct": {}}),
            r"scores\.choice_distribution\.predicted\.A: expected a number or null; it is 'x'",
        ),
        (
            lambda raw: raw["tasks"][0]["scores"].update(choice_distribution={"predicted": {}}),
            r"scores\.choice_distribution: expected an object with predicted, correct",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(
                extractor_agreement={"all": {"n": "x"}, "after_exact": None}
            ),
            r"extras\.extractor_agreement\.all\.n: expected a number or null; it is 'x'",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(extractor_agreement={"all": None}),
            r"extras\.extractor_agreement: expected an object with all, after_exact",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(without_blind="x"),
            r"extras\.without_blind: expected an object; it is 'x'",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(averages=None),
            r"extras\.averages: expected a list; it is None",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(averages=[{"over": []}]),
            r"extras\.averages\[0\]\.weights: expected a text; it is None",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(
                convergence={"curve": [], "upper_bound": [{"srcc": "x"}]}
            ),
            r"extras\.convergence\.upper_bound\[0\]\.srcc: expected a number or null; it is 'x'",
        ),
        (
            lambda raw: raw["tasks"][0]["diagnostics"].update(convergence={"curve": [1]}),
            r"extras\.convergence\.curve\[0\]: expected an object; it is 1",
        ),
        (lambda raw: raw["environment"].update(packages="x"), r"environment\.packages: expected an object; it is 'x'"),
        (lambda raw: raw.pop("schema") and None, 'expected an object with the key "schema"'),
        (lambda raw: '{"schema": 1,', "cannot be read as results: EOF"),
        (lambda raw: "[" * 100_000, "recursion limit"),
        (lambda raw: "\x00", "cannot be read as results"),
    ],
)
def test_an_edited_file_is_refused_with_its_key(edited, change, reason):
    path = edited(change)
    with pytest.raises(BadResultsError, match=reason) as raised:
        read_results(path)
    assert raised.value.path == str(path)
    assert "repeat the run" in raised.value.explain()


def test_nan_and_infinity_are_read_as_undefined(edited):
    path = edited(lambda raw: raw["tasks"][0]["scores"].update(srcc=math.nan, plcc=-math.inf))
    assert "NaN" in path.read_text()
    scores = read_results(path).tasks[0].scores
    assert (scores["srcc"], scores["plcc"]) == (None, None)


def test_a_number_beyond_all_floats_is_undefined(edited):
    path = edited(lambda raw: json.dumps(raw).replace('"srcc": 0.5', '"srcc": 1e999'))
    assert read_results(path).tasks[0].scores["srcc"] is None


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"results\.json: not there"):
        read_results(tmp_path)


def test_time_to_read_grows_with_the_file_and_not_with_its_square(edited, tmp_path):
    def write(n):
        scores = ",".join(f'"{image:0160}.png": {image / 7}' for image in range(n))
        path = edited(lambda raw: json.dumps(raw).replace('"scores": {', f'"scores": {{"scores": {{{scores}}},', 1))
        return path.rename(tmp_path / f"{n}.json")

    files = {n: write(n) for n in (SMALL, LARGE)}

    def read(n):
        assert len(read_results(files[n]).tasks[0].scores["scores"]) == n

    assert growth(read) < 8
