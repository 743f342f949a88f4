"""`eyechart check`: thresholds, an earlier run as baseline, and the files that CI systems read."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import FailedTask, read_results
from eyechart.evaluators.runs.run import write_run
from eyechart.metrics.scores import SCORES
from tests.evaluators.command_line import invoke
from tests.evaluators.comparison.test_compare import choices
from tests.evaluators.finished_runs import evaluated, evaluation, write

RIGHT = "1" * 90 + "0" * 30


def accuracy(right: str = RIGHT, **fields: Any) -> Any:
    """Questions with their accuracy and a plausible interval, 0.67 to 0.82 of the default."""
    share = right.count("1") / len(right)
    scores = {"accuracy": share, "accuracy_ci95": [share - 0.08, share + 0.07], "n": len(right), "fallback": "wrong"}
    return choices(right, **{"scores": scores, **fields})


def circular(flip_rate: float) -> Any:
    scores = {
        "circular_accuracy": 0.5,
        "circular_accuracy_ci95": [0.4, 0.6],
        "n_questions": 100,
        "flip_rate": flip_rate,
    }
    scores["flip_rate_ci95"] = [flip_rate - 0.05, flip_rate + 0.05]
    return evaluated("mmbench/en", "mmbench", scores=scores, settings={"protocol": "circular_eval"})


def aware() -> Any:
    scores = {"score_sa": 60.0, "score_sa_ci95": [50.0, 70.0], "n": 100}
    return evaluated("ql_bench/yes_no", "llsavisionqa", scores=scores, settings={"protocol": "self_awareness"})


@pytest.fixture
def checked(tmp_path: Path, any_scores: None) -> Any:
    """Checks a run of these results; returns the lines without the last, which counts them."""

    def call(results: Any, *arguments: Any, code: int = 0) -> list[str]:
        folder = write(tmp_path / "run", results)
        return invoke("check", folder, *arguments, code=code).output.splitlines()[:-1]

    return call


@pytest.mark.parametrize(
    ("results", "limit", "outcome"),
    [
        ([accuracy()], "--min=q_bench/perception=0.6", "passed"),
        # Below the score's value, but not significantly.
        ([accuracy()], "--min=q_bench/perception=0.8", "passed"),
        ([accuracy()], "--min=Q-Bench@llvisionqa:accuracy=0.83", "failed"),
        ([circular(0.3)], "--max=mmbench/en:flip_rate=0.2", "failed"),
        ([circular(0.3)], "--max=mmbench/en:flip_rate=0.26", "passed"),
        ([aware()], "--min=ql_bench=0.69", "passed"),
        ([aware()], "--min=ql_bench=0.71", "failed"),
        ([evaluation()], "--min=q_bench=0.3", "error"),
        ([accuracy(complete=False)], "--min=q_bench=0.1", "error"),
        ([accuracy(notes=[note("unusable", unusable=1, of=3, id="x", reason="empty")])], "--min=q_bench=0.1", "error"),
        ([accuracy(scores=None)], "--min=q_bench=0.1", "error"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0].task,
)
def test_a_score_fails_only_if_its_whole_interval_is_beyond_the_threshold(
    checked: Any, results: Any, limit: str, outcome: str
) -> None:
    (line,) = checked(results, limit, code=int(outcome != "passed"))
    assert line.startswith(f"{outcome}: {results[0].task} on {results[0].dataset} (")


def test_a_baseline_fails_only_if_the_test_finds_that_the_run_is_worse(checked: Any, tmp_path: Path) -> None:
    much_better, no_other = "1" * 110 + "0" * 10, "1" * 91 + "0" * 29
    for right, outcome in ((much_better, "failed"), (no_other, "passed"), ("1" * 50 + "0" * 70, "passed")):
        baseline = write(tmp_path / "baseline", [accuracy(right, model="base")])
        (line,) = checked([accuracy()], "--not-worse-than", baseline, code=int(outcome == "failed"))
        assert line.startswith(
            f"{outcome}: q_bench/perception on llvisionqa (dev): accuracy not worse than in {baseline}"
        )
    # What the reader has to know of both runs.
    model = {"model": {"system_prompt": "Be brief."}}
    baseline = write(tmp_path / "baseline", [accuracy(model="base", settings=model)])
    left_out = [{"id": "x", "path": None, "reason": "no reply", "split": "dev"}]
    lines = checked([accuracy(left_out=left_out)], "--min", "q_bench=0.1", "--not-worse-than", baseline)
    assert lines[0].endswith("n = 120, 1 left out")
    assert "n = 120, 1 left out; the runs also differ in model.system_prompt" in lines[1]
    # On the items that both have.
    baseline = write(tmp_path / "baseline", [accuracy(much_better, first=30)])
    (line,) = checked([accuracy()], "--not-worse-than", baseline, code=1)
    assert "66.67 % against 100.00 % (-33.33 points, p < 0.0001), n = 90 of the other run's 120" in line


def test_what_cannot_be_compared_is_an_error_that_says_why(checked: Any, tmp_path: Path) -> None:
    others = {"prompt": {"settings": {"prompt_id": "other/1"}}, "items": {"first": 500}, "model": {"model": "base"}}
    baselines = {name: write(tmp_path / name, [accuracy(**fields)]) for name, fields in others.items()}
    (line,) = checked([accuracy()], "--not-worse-than", baselines["prompt"], code=1)
    assert line.startswith("error: ") and "prompt_id is 'q_bench_a1/2' in A and 'other/1' in B" in line
    checked([accuracy()], "--not-worse-than", baselines["prompt"], "--allow", "prompt_id")
    (line,) = checked([accuracy()], "--not-worse-than", baselines["items"], code=1)
    assert line.startswith("error: ") and "the runs have no items in common" in line
    # A task that only one run has: the run must have all of the baseline's, but may have more.
    two = [accuracy(), circular(0.3)]
    assert [line.partition(":")[0] for line in checked(two, "--not-worse-than", baselines["model"])] == [
        "passed",
        "skipped",
    ]
    both = write(tmp_path / "both", [accuracy(model="base"), circular(0.3)])
    lines = checked([accuracy()], "--not-worse-than", both, code=1)
    assert lines[1].startswith("error: mmbench/en on mmbench (dev): ") and lines[1].endswith(
        f"missing in {tmp_path / 'run'}"
    )
    checked([accuracy()], "--not-worse-than", both, "--task", "q_bench")


def test_a_damaged_run_is_not_checked(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", [accuracy(items=[])])
    (folder / "results.json").write_text((folder / "results.json").read_text().replace("0.75", "0.95"))
    for broken, reason in ((folder, "accuracy"), (tmp_path, "does not exist")):
        done = invoke("check", broken, "--min", "q_bench=0.6", "--junit", tmp_path / "junit.xml", code=1)
        assert reason in done.output and not (tmp_path / "junit.xml").exists()


def test_a_higher_value_is_better_of_every_headline() -> None:
    assert all(score.higher_is_better for score in SCORES if score.headline)


def test_files_for_ci_systems(checked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes that https://github.com/windyroad/JUnit-Schema requires; GitLab needs unique names of cases."""
    baseline = write(tmp_path / "baseline", [accuracy("1" * 110 + "0" * 10, model="base")])
    results = [accuracy(), circular(0.3), evaluated("own|<&\x1b\ufffe", "own", scores=None)]
    junit, summary = tmp_path / "new" / "junit.xml", tmp_path / "summary.md"
    summary.write_text("Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    limits = ("--min", "mmbench=0.3", "--min", "*own*=0", "--not-worse-than", baseline)
    checked(results, *limits, "--junit", junit, "--summary", summary, code=1)
    (suite,) = ElementTree.parse(junit).getroot()
    counts = {"tests": "5", "failures": "1", "errors": "1", "skipped": "2"}
    assert suite.keys() == ["name", "package", "id", "timestamp", "hostname", "time", *counts]
    assert counts.items() <= suite.attrib.items()
    assert [part.tag for part in suite] == ["properties", *["testcase"] * 5, "system-out", "system-err"]
    cases = suite.findall("testcase")
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == 5
    assert [[part.tag for part in case] for case in cases] == [[], ["error"], ["failure"], ["skipped"], ["skipped"]]
    assert all(problem.get("type") and problem.text for case in cases for problem in case if problem.tag != "skipped")
    text = summary.read_text()
    assert text.startswith("Before\n### eyechart check: 1 of 3 passed\n") and r"own\|\<\&" in text
    # Any other file is written anew.
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    checked([accuracy()], "--min", "q_bench=0.6", "--summary", summary)
    assert summary.read_text().startswith("### eyechart check: 1 of 1 passed\n")


def test_a_task_that_failed_does_not_pass(tmp_path: Path, any_scores: None) -> None:
    folder = write(tmp_path, [accuracy()])
    values = read_results(folder).model_copy(
        update={"failed": [FailedTask(task="mmbench/en", dataset="mmbench", error="no such folder")]}
    )
    write_run(folder, values)
    done = invoke("check", folder, "--min", "mmbench/en=0.1", code=1)
    assert done.output.startswith("error: mmbench/en on mmbench: --min mmbench/en=0.1: no such folder")
