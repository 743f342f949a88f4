"""Results files of which one value was edited: each is refused with its key, or gives a page."""

import copy
import json
import math
import random
import warnings

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.report import write_report
from eyechart.evaluators.report.cards import cards
from eyechart.evaluators.report.charts import charts_of
from eyechart.evaluators.report.page import TaskContent, compare_runs, render
from eyechart.evaluators.report.reported_task import reported_tasks
from eyechart.evaluators.report.samples import Samples, collect_samples
from eyechart.evaluators.report.tables import tables_of
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.finished_runs import read_runs
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.tasks import get_task
from tests.evaluators.command_line import invoke
from tests.evaluators.finished_runs import evaluated
from tests.evaluators.report.conftest import PERCEPTION, choice, replaced, scored

EDITS = 400
TASKS = ("q_bench/perception", "q_bench/description", "q_bench/assessment", "two_afc/coarse", "mmbench/en")
AGREEMENT = {"all": {"agreement": 0.5, "agreement_ci95": [0.1, 0.9], "n": 2}, "after_exact": None}
BEYOND = "a number beyond all floats"
DEEP = json.loads("[" * 100 + "]" * 100)
VALUES = ("x", [], {}, None, -1, True, 0.5, 1e308, 10**400, BEYOND, DEEP, [[1]], ["x", None], {"a": {"b": []}})


def answer(messages, words=None):
    """The same to all, and a number for words."""
    return "A" if words is None else {word: float(place) for place, word in enumerate(words)}


@pytest.fixture(scope="module")
def results():
    """The contents of a real results file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            evaluator(name).run(FunctionBackend(answer), load_data(get_task(name), DataRequest(is_mini=True)))
            for name in TASKS
        ]
    found[-1].diagnostics["extractor_agreement"] = AGREEMENT
    return json.loads(collect(found, [], "2026-01-01T00:00:00+00:00").model_dump_json(by_alias=True))


def edit(results, rng):
    """One task's results with one value changed, and the way to it; near and far places are as likely."""
    edited = copy.deepcopy({**results, "tasks": [rng.choice(results["tasks"])]})
    task = edited["tasks"][0]
    value = rng.choice([edited, task, task["scores"], task["scores"], task["diagnostics"], task["settings"]])
    way = []
    while value:
        place = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        way.append(place)
        if not isinstance(value[place], dict | list) or not value[place] or rng.random() < 0.2:
            value[place] = rng.choice(VALUES)
            break
        value = value[place]
    return json.dumps(edited).replace(json.dumps(BEYOND), "1e400"), f"{task['task']}: {way}"


def report(folder):
    """All of a report that draws nothing."""
    runs, contents = read_runs([folder]), []
    for task in reported_tasks(runs):
        for chart in charts_of(task):
            assert chart.table.columns and chart.table.rows
        contents.append(TaskContent(task, [], tables_of(task)))
    return render(runs, contents, Samples([], [], []))


def test_each_is_refused_or_gives_a_page(results, tmp_path):
    rng, refused = random.Random(0), 0
    for _ in range(EDITS):
        text, way = edit(results, rng)
        (tmp_path / "results.json").write_text(text)
        try:
            read_runs([tmp_path])
        except BadResultsError:
            refused += 1
            continue
        try:
            assert "</html>" in report(tmp_path)
        except Exception as error:
            error.add_note(f"edited was {way}")
            raise
    assert 0 < refused < EDITS


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


MINI = {"data": {"source": "synthetic demo data", "is_mini": True}}


@pytest.fixture
def card_scores(read_all):
    """The scores on the cards of a run, by the titles of their tasks."""

    def make(*evaluations, **others):
        head = cards(reported_tasks(read_all(*evaluations, **others)))
        return {score.task.title: score for scores in head.values() for score in scores}

    return make


def test_a_card_has_the_headline_its_interval_chance_and_the_best_published_value(card_scores):
    score = card_scores(PERCEPTION)["A1 Perception"]
    (value,) = score.values
    assert (score.task.headline.label, score.task.data) == ("accuracy", "LLVisionQA, dev")
    assert (value.text, value.between, score.chance) == ("75.00 %", "65.00 to 85.00 %", 0.5)
    # Q-Bench, Table 7: the highest of its models, not of its people or guesses.
    assert score.best_text == "65.35 %, InternLM-XComposer-VL (InternLM), Table 7"
    assert score.scale == (0, 1) and score.ticks == [(0, "0"), (0.5, "50"), (1, "100 %")]


@pytest.mark.parametrize(
    ("task", "dataset", "split", "scores", "published"),
    [
        ("q_bench/assessment", "spaq", "test", {"srcc": 0.5, "n": 9}, "0.730, InternLM-XComposer-VL"),
        ("q_bench/assessment", "csiq", "test", {"srcc": 0.5, "n": 9}, ""),
        ("ql_bench/single", "llsavisionqa", "dev", {"score_sa": 50.0, "n": 9}, "70.94 %, InternLM-XComposer2d5"),
        ("two_afc/coarse", "two_afc", "test", {"accuracy_all": 0.5, "n_pairs": 9}, "64.60 %, GPT-4V, Table II; "),
        ("q_bench/perception_pairs", "llvisionqa_pairs", "dev", {"accuracy": 0.5, "n": 9}, ""),
    ],
)
def test_the_best_published_value_is_of_the_same_data(card_scores, task, dataset, split, scores, published):
    (score,) = card_scores(scored(task, dataset, scores, split=split)).values()
    assert score.best_text.startswith(published) and bool(score.best) == bool(published)


def test_an_average_stands_for_its_databases(card_scores):
    of_one = scored("q_bench/assessment", "spaq", {"srcc": 0.5, "n": 9})
    average = scored("q_bench/assessment", "average", {"srcc": 0.25, "n": 9, "by_database": {"spaq": {"srcc": 0.5}}})
    (score,) = card_scores(of_one, average).values()
    assert [value.text for value in score.values] == ["0.250"]


def test_the_strips_of_several_runs_have_one_scale_that_negative_scores_widen(card_scores):
    scores = ({"srcc": -0.5, "srcc_ci95": [-0.75, -0.25], "n": 9}, {"srcc": math.nan, "n": 9})
    runs = [scored("q_bench/assessment", "csiq", of_run, model=f"{of_run['srcc']}") for of_run in scores]
    score = card_scores(runs[0], other=runs[1])["A3 Assessment"]
    assert score.scale == (-0.75, 1) and score.ticks == [(0, "0"), (0.5, "0.5"), (1, "1")]
    assert [value.text for value in score.values] == ["-0.500", "undefined"]


def described(judge, **changes):
    return scored("q_bench/description", "lldescribe", {"sum": 3.0, "n": 9, "judge": judge}, headline="sum", **changes)


def test_word_overlap_is_not_compared_with_published_values(card_scores):
    score = card_scores(described("lexical"))["A2 Description"]
    assert score.best is None
    assert score.note.startswith("Scored by word overlap")
    score = card_scores(described("lexical"), other=described("gpt", model="other"))["A2 Description"]
    assert score.best_text.startswith("4.210, ") and score.note == ""
    assert [value.is_judged for value in score.values] == [False, True]


@pytest.mark.parametrize(("scores", "value"), [(None, "no score"), ({"srcc": 0.5, "n": 9}, "0.500")])
def test_ratings_that_cannot_be_parsed_stand_on_the_card(make_run, read_page, scores, value):
    run = make_run(scored("q_bench/assessment", "csiq", scores, diagnostics={"unread": 9, "replies": 10}))
    page = read_page(write_report([run], files=False))
    assert page.holds(value)
    assert page.holds("9 of 10 replies could not be parsed: the score does not describe the model.")


def test_scores_that_are_not_better_than_chance_by_their_intervals_say_so(make_run, read_page):
    scores = {"accuracy": 0.4, "accuracy_ci95": [0.3, 0.5], "random_guess": 0.3, "n": 9}
    at_chance = scored("q_bench/perception_pairs", "llvisionqa_pairs", scores, split="dev", model="m")
    page = read_page(write_report([make_run(PERCEPTION, at_chance)], files=False))
    assert page.texts.count("Not better than chance.") == 1


def test_synthetic_data_are_named_once_at_the_top(make_run, read_page):
    mini = replaced(PERCEPTION, settings=MINI)
    page = read_page(write_report([make_run(mini)], files=False))
    assert page.text.index('<p class="legend"') < page.text.index('<div class="cards">')
    # The row of the data's source, in the settings, says it too.
    (text,) = [text for text in page.texts if "synthetic" in text.lower() and text != MINI["data"]["source"]]
    assert text.startswith("Synthetic demo data: not comparable with papers.")
    both = [mini, evaluated("ql_bench/single", "llsavisionqa", scores={"score_sa": 50.0, "n": 9})]
    page = read_page(write_report([make_run(*both, name="both")], files=False))
    assert page.holds("Synthetic demo data (Q-Bench A1 Perception (LLVisionQA, dev)): not comparable")
    page = read_page(write_report([make_run(PERCEPTION, name="real")], files=False))
    assert not page.holds("Synthetic demo data")
