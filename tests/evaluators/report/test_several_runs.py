"""Reports of several runs: names, tests between them, and their answers side by side."""

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.report import write_report
from eyechart.evaluators.report.page import compare_runs
from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.samples import collect_samples
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.notes import note
from tests.evaluators.command_line import invoke
from tests.evaluators.report.conftest import PERCEPTION, choice, replaced


def compared(folders):
    runs = read_runs(folders)
    return compare_runs(runs, reported_tasks(runs))


def samples_of(folders, limit):
    runs = read_runs(folders)
    return collect_samples(runs, reported_tasks(runs), limit)


def answers(right, name, **changes):
    """A run that answers some of 40 questions right."""
    predictions = [choice(f"q{i}", "A" if i < right else "B", choice="A" if i < right else "B") for i in range(40)]
    scores = {**PERCEPTION.scores, "accuracy": right / 40}
    return replaced(PERCEPTION, model=name, items=predictions, scores=scores, **changes)


@pytest.fixture
def three(make_run):
    return [make_run(answers(right, name), name=name) for right, name in ((36, "good"), (35, "fair"), (10, "poor"))]


def test_tests_say_which_runs_differ(three):
    found = compared(three)
    text = "good scored higher than poor (p < 0.0001); fair scored higher than poor (p < 0.0001)"
    assert found.verdicts == {text: ["Q-Bench A1 Perception (LLVisionQA, dev)"]}
    assert found.pairs == 3
    row = found.rows[1]
    assert row[2] == "good \N{MINUS SIGN} poor"
    assert row[3:6] == ("90.00 %", "25.00 %", "+65.00 points") and row[-2:] == ("26 / 0", "40")


def test_tasks_of_which_the_tests_say_the_same_stand_together(make_run):
    def both(right, name):
        first = answers(right, name)
        others = ("q_bench/perception_pairs", "llvisionqa_pairs"), ("mine", "mine")
        return [first, *(replaced(first, task=task, dataset=dataset) for task, dataset in others)]

    good, poor = both(36, "good"), both(36, "poor")
    poor[2] = replaced(answers(10, "poor"), task="mine", dataset="mine")
    found = compared([make_run(*good), make_run(*poor, name="poor")])
    assert list(found.verdicts) == ["good scored higher than poor (p < 0.0001)", "No significant difference"]
    assert [len(tasks) for tasks in found.verdicts.values()] == [1, 2]


def test_caveats_of_all_runs_are_said_once(make_run, read_page, tmp_path):
    one = replaced(PERCEPTION, notes=[note("blind")])
    other = replaced(PERCEPTION, model="other", notes=[note("blind"), note("average_incomplete")])
    page = read_page(
        write_report([make_run(one), make_run(other, name="other")], tmp_path / "new" / "both", files=False)
    )
    assert page.texts[0].startswith("some/model and other ")
    assert page.texts.count(note("blind").text) == 1 and page.holds(f"other: {note('average_incomplete').text}")


def test_runs_under_other_settings_are_not_compared(make_run):
    def both(right, name, **changes):
        """One task with other settings, between two that have the same."""
        of_run = answers(right, name)
        return [*(replaced(of_run, task=task, dataset=task) for task in ("a", "z")), replaced(of_run, **changes)]

    other = both(10, "other", settings={**PERCEPTION.settings, "prompt_id": "mine/1"})
    folders = [make_run(*run, name=run[0].model) for run in (both(36, "good"), other, both(35, "fair"))]
    two, three = compared(folders[:2]), compared(folders)
    same, verdict = two.verdicts
    assert verdict.startswith("Not compared: good (A) and other (B): prompt_id is ") and len(two.rows) == 2
    assert same == "good scored higher than other (p < 0.0001)"
    verdict = list(three.verdicts)[-1]
    assert verdict.startswith("No significant difference between good and fair. Not compared: good (A) and other (B)")


def test_runs_without_a_task_in_common_have_a_report_without_tests(make_run, read_page, tmp_path):
    other = replaced(PERCEPTION, task="q_bench/perception_pairs", dataset="llvisionqa_pairs")
    folders = [make_run(PERCEPTION), make_run(other, name="other")]
    page = read_page(write_report(folders, tmp_path / "both", files=False))
    assert not any(attributes.get("id") == "comparison" for _, attributes in page.elements)


def test_runs_that_share_a_task_are_compared_beside_one_that_does_not(make_run):
    other = replaced(answers(36, "other"), task="q_bench/perception_pairs", dataset="llvisionqa_pairs")
    results = compared([make_run(run, name=run.model) for run in (answers(36, "good"), answers(10, "poor"), other)])
    assert list(results.verdicts) == ["good scored higher than poor (p < 0.0001)"]


def test_answers_to_a_question_stand_together_and_disagreements_come_first(three):
    assert samples_of(three[:2], 30).part.endswith("disagreements, then incorrect and unparsed replies first.")
    found = samples_of(three, 30).rows
    assert [(row["id"], row["run"]) for row in found[:4]] == [("q10", 0), ("q10", 1), ("q10", 2), ("q11", 0)]
    assert [row["id"] for row in found[::3] if row.get("disagree")] == [f"q{i}" for i in range(10, 36)]


def test_options_in_another_order_are_the_same_choice(make_run):
    same = [choice("a", "A", choice="A"), choice("b", "A", choice="A")]
    turned = [choice("a", "B", choice="B", answer="B", options=["No", "Yes"]), choice("b", "B", choice="B")]
    both = [replaced(PERCEPTION, items=rows) for rows in (same, turned)]
    runs = [make_run(one, name=name) for one, name in zip(both, ("same", "turned"), strict=True)]
    rows = samples_of(runs, 9).rows
    assert {row["id"]: bool(row.get("disagree")) for row in rows} == {"a": False, "b": True}
    assert [row["options"] for row in rows if row["id"] == "a"] == [["Yes", "No"], ["No", "Yes"]]


def test_runs_are_called_by_the_names_that_are_given(three, read_page, tmp_path):
    names = ("--name", "A <b>", "--name", "B", "--name", "C")
    invoke("report", *three, "--out", tmp_path / "out", "--no-files", *names, code=0)
    page = read_page(tmp_path / "out" / "report.html")
    assert page.samples["runs"] == ["A <b>", "B", "C"] and page.texts[0].startswith("3 runs compared")
    assert page.holds("A <b> scored higher than C (p < 0.0001)") and not page.holds("good")


@pytest.mark.parametrize("names", [["one"], ["same", "same", "other"], ["a", "b", "c", "d"]])
def test_names_that_do_not_fit_the_runs_are_refused(three, names):
    with pytest.raises(UsageError, match=r"names is .*; give 3 different names, one per run in order"):
        write_report(three, names=names)
