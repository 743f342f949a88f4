"""Which samples are shown, and how each is said to have been read."""

import dataclasses

import pytest

from eyechart.evaluators.report.runs import read_runs
from eyechart.evaluators.report.samples import collect_samples
from eyechart.evaluators.results.evaluation import Evaluation
from tests.evaluators.report.conftest import PERCEPTION, choice


@pytest.fixture
def samples(make_run):
    def make(evaluation, limit=100):
        return collect_samples(read_runs([make_run(evaluation)]), limit)

    return make


def verdicts(samples):
    return {row["id"]: (row["step"], row.get("correct")) for row in samples.rows}


def changed(*predictions, **settings):
    return dataclasses.replace(PERCEPTION, predictions=list(predictions), settings=settings)


def test_steps_that_the_run_recorded_are_told_and_others_derived(samples):
    found = verdicts(samples(PERCEPTION))
    assert found == {
        "wrong": ("exact", False),
        "unmatched": ("unmatched", False),
        "right": ("exact", True),
        "judged": ("judge", True),
    }


def test_wrong_and_unmatched_ones_come_first_each_in_the_order_of_the_data(samples):
    assert [row["id"] for row in samples(PERCEPTION).rows] == ["wrong", "unmatched", "right", "judged"]


def test_the_cap_is_for_each_task_and_told(samples):
    found = samples(PERCEPTION, limit=3)
    assert [row["id"] for row in found.rows] == ["wrong", "unmatched", "right"]
    assert found.notes[0] == (
        "q_bench/perception on llvisionqa (dev): 3 of 4 answers are shown, wrong and unmatched ones first, then the "
        "others, each in the order of the data."
    )
    assert samples(PERCEPTION, limit=0).rows == []


@pytest.mark.parametrize("settings", [{"judge": {"name": "gpt"}}, {"fallback": "random"}])
def test_what_follows_exact_matching_is_not_guessed(samples, settings):
    found = samples(changed(choice("a", "Perhaps."), choice("b", "A", extracted="A"), **settings))
    assert verdicts(found) == {"a": ("not recorded", None), "b": ("exact", True)}


def test_private_answers_are_neither_right_nor_wrong(samples):
    found = samples(changed(choice("a", "A", answer="", extracted="A"), choice("b", "?", answer="")))
    assert verdicts(found) == {"a": ("exact", None), "b": ("unmatched", None)}


def test_the_option_of_the_lowest_loss_is_said_to_be_that(samples):
    found = samples(changed(choice("a", None, extracted="B", losses=[2.0, 1.0], loss_tokens=[1, 1])))
    assert verdicts(found) == {"a": ("lowest loss", False)}


def test_descriptions_are_judged_as_texts_and_scores_are_numbers(samples):
    text = {"id": "a", "pass": "main", "text": "Sharp.", "logits": None, "reference": "Blurry."}
    assert verdicts(samples(changed(text))) == {"a": ("text", None)}
    score = {"id": "a", "pass": "main", "text": None, "logits": {"good": 1.0, "poor": 0.0}, "quality": 3.0}
    (row,) = samples(changed(score, word_pair="good/poor", temperature=1.0)).rows
    assert (row["step"], row["human"]) == ("scored", 3.0)
    assert row["predicted"] == pytest.approx(0.7310585786)


def test_a_reply_without_a_number_is_unmatched(samples):
    replies = [
        {"id": id, "pass": "main", "text": text, "logits": None, "quality": 3.0, "extracted": number}
        for id, text, number in (("a", "4", "4"), ("b", "good", None))
    ]
    assert verdicts(samples(changed(*replies))) == {"a": ("scored", None), "b": ("unmatched", None)}


def test_pairs_tell_which_image_and_equal_ones_nothing(samples):
    def pair(id, answer, extracted):
        own = {"id": id, "pass": "main", "text": "A", "logits": None, "first_id": "x", "second_id": "y"}
        return {**own, "answer": answer, "extracted": extracted}

    found = samples(changed(pair("a", "first", "first"), pair("b", "second", "first"), pair("c", "", "first")))
    assert verdicts(found) == {"a": ("exact", True), "b": ("exact", False), "c": ("exact", None)}


def test_very_long_texts_are_cut_and_say_so(samples):
    (row,) = samples(changed(choice("a", "word " * 10_000))).rows
    assert len(row["text"]) < 4_100
    assert row["text"].endswith("(50,000 characters in all)")


def test_both_images_of_a_pair_are_shown_in_the_order_of_the_pass(samples):
    from eyechart.evaluators.evaluation.data import load_data
    from eyechart.evaluators.tasks import get_task

    loaded = load_data(get_task("two_afc/coarse"), is_mini=True)
    row = loaded.dataset[0]
    ids = [row["first_id"], row["second_id"]]
    predictions = [
        {"id": row["id"], "pass": name, "text": "A", "logits": None, "first_id": first, "second_id": second}
        for name, (first, second) in (("main", ids), ("reversed", ids[::-1]))
    ]
    run = Evaluation(
        task="two_afc/coarse",
        subset="two_afc",
        split="test",
        model="m",
        scores=None,
        settings={"data": loaded.describe()},
        predictions=predictions,
    )
    found = samples(run)
    assert [sample["images"] for sample in found.rows] == [[0, 1], [1, 0]]
    assert len(found.images) == 2


def test_results_that_share_their_answers_show_none(make_run):
    run = read_runs([make_run(PERCEPTION, dataclasses.replace(PERCEPTION, scores=None))])
    assert [key.repeat for key in run[0].tasks] == [0, 1]
    assert len(collect_samples(run, 100).rows) == 0
