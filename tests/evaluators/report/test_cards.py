"""The head of a report: one card a paper."""

import math

import pytest

from eyechart.evaluators.report import write_report
from eyechart.evaluators.report.cards import cards
from eyechart.evaluators.report.reported_task import reported_tasks
from tests.evaluators.finished_runs import evaluated
from tests.evaluators.report.conftest import PERCEPTION, replaced, scored

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
