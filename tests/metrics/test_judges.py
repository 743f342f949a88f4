"""Answers and descriptions that a judge scores: what it is asked, and what becomes of its scores."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyechart.metrics
from eyechart.metrics.scoring.choices.replies import UNREAD
from eyechart.metrics.scoring.errors import LeftOutWarning, UndefinedScoreWarning
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.descriptions import DIMENSIONS, description_scores, read_descriptions
from eyechart.metrics.scoring.judging.prompts import Messages, read_fields
from eyechart.metrics.scoring.judging.replies import JudgeSettings

# MMBench (arXiv:2307.06281), Table 5: question, ground truth, MiniGPT-4's answer, GPT's score.
TABLE_5 = [
    ("On which side of the picture is the leather bag?", "right", "leather bag is on right side", 5),
    ("Who is wearing a shirt?", "girl", "woman is wearing shirt", 5),
    ("What is the pen made of?", "plastic", "pen is made of plastic##", 5),
    ("What does the male person ride on?", "bike", "bicycle", 4),
    ("Is the microwave silver and rectangular?", "Yes", "microwave is silver and rectangular", 5),
    ("How does the silver lamp appear to be, on or off?", "off", "silver lamp appears to be off ##", 5),
]


def test_table_5_has_no_exact_match_and_a_mean_above_four() -> None:
    questions, references, predictions, expected = map(list, zip(*TABLE_5, strict=True))
    asked = []

    def judge(messages: Messages, n: int) -> list[str]:
        asked.append(tuple(read_fields(messages)[1].values()))
        return [f"Score: {expected[len(asked) - 1]}"] * n

    metric = eyechart.metrics.load("judge_answer")
    scores = metric.compute(predictions=predictions, references=references, questions=questions, judge=judge)
    assert asked == [row[:3] for row in TABLE_5]
    assert scores["exact_match"] == 0.0 and scores["mean_score"] == pytest.approx(29 / 6)
    assert list(scores["score_distribution"].values()) == pytest.approx([0, 0, 0, 1 / 6, 5 / 6])
    assert scores["exact_match_ci95"] == pytest.approx([0, 0.3903], abs=1e-4)
    assert all(map(math.isnan, scores["mean_score_ci95"])), "six answers are too few for an interval"
    assert scores["intervals"] == {
        "mean_score": {"kind": "none", "units": 6},
        "exact_match": {"kind": "wilson", "units": 6},
    }
    settings = {
        "judge": "judge",
        "template": "mmbench_marking",
        "template_version": 1,
        "wording": "eyechart",
        "rounds": 1,
    }
    assert {name: scores[name] for name in settings} == settings
    np.testing.assert_equal(json.loads(json.dumps(scores)), scores)


def _answered(
    predictions: list[str], references: list[str], questions: list[str], judge, rounds: int = 1, groups=None
) -> dict:
    items = read_answers(predictions, references, questions, judge, rounds)
    return answer_scores(items, groups, JudgeSettings("judge", rounds))


def _fives(messages: Messages, n: int) -> list[str]:
    return ["Score: 5"] * n


@pytest.mark.parametrize(
    ("answer", "is_equal"),
    [
        *((text, True) for text in ("right", "Right.", " **RIGHT** \n", "right##")),
        *((text, False) for text in ("on right side", "the right", "", "righ")),
    ],
)
def test_exact_match(answer: str, is_equal: bool) -> None:
    assert read_answers([answer], ["right"], ["?"], _fives)["exact_match"] == [is_equal]


def test_rounds_are_pooled_and_when_all_fail_exact_match_still_stands() -> None:
    scores = _answered(["a"], ["b"], ["?"], lambda messages, n: ["Score: 5", "4", "6", "0", "Score: 3"], 5)
    assert scores["mean_score"] == 4.0 and scores["failed_rounds"] == 2 and scores["n_scored"] == 1
    with pytest.warns(UndefinedScoreWarning, match="overall: nan for mean_score: the judge gave no score in any round"):
        scores = _answered(["b"], ["b"], ["?"], lambda messages, n: [])
    assert math.isnan(scores["mean_score"]) and all(map(math.isnan, scores["mean_score_ci95"]))
    assert scores["exact_match"] == 1.0 and scores["n"] == 1 and scores["n_scored"] == 0


def test_empty_answers_get_the_lowest_mark_unasked() -> None:
    scores = _answered(["", "b"], ["b", "b"], ["?", "?"], _fives)
    assert scores["mean_score"] == 3.0 and scores["exact_match"] == 0.5 and scores["empty_predictions"] == 1


def test_groups_and_rows_without_a_reference() -> None:
    with pytest.warns(LeftOutWarning, match="1 of 3 rows"):
        scores = _answered(["a", "b", "c"], ["a", "", "d"], ["?"] * 3, _fives, groups={"kind": ["x", "x", "y"]})
    assert scores["without_reference"] == 1 and scores["n"] == 2
    assert {kind: part["exact_match"] for kind, part in scores["by_kind"].items()} == {"x": 1.0, "y": 0.0}
    assert scores["by_kind"]["x"]["n"] == 1


ROWS = {
    "predictions": ["The image is dark and noisy.", "A sharp picture of a dog."],
    "references": ["It is dark, noisy and blurry.", "The dog is sharp, the colors are vivid."],
}


@pytest.mark.parametrize("template", DIMENSIONS)
def test_settings(template: str) -> None:
    scores = eyechart.metrics.load("judge_description").compute(**ROWS, template=template)
    wording = "published" if template == "q_bench" else "eyechart"
    expected = {"judge": "lexical", "template": template, "template_version": 1, "wording": wording, "rounds": 5}
    assert {name: scores[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"references": ["", " "]}, "all 2 references are empty"),
        ({"template": "qbench"}, "template is 'qbench'; allowed: 'q_bench', 'aesbench'. Did you mean 'q_bench'"),
    ],
)
def test_bad_input(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        eyechart.metrics.load("judge_description").compute(**(ROWS | arguments))


def _described(
    texts: list[str], references: list[str], judge, rounds=5, template="q_bench", groups=None, ends=None
) -> dict:
    items = read_descriptions(texts, references, judge, rounds, template, ends)
    return description_scores(items, groups, JudgeSettings("judge", rounds), template)


class FakeJudge:
    """Answers by dimension from a table, and notes what it was asked."""

    def __init__(self, **replies: list[str]) -> None:
        self.replies, self.conversations = replies, []

    def __call__(self, messages: Messages, n: int) -> list[str]:
        self.conversations.append(messages)
        template, _ = read_fields(messages)
        return self.replies.get(template.rpartition("_")[2], ["Score: 1"] * n)


def test_each_image_weighs_the_same_however_many_of_its_rounds_failed() -> None:
    """Q-Bench, A.2.2: the mean over five replies is an image's score. (1 + 3/4) / 2 is 0.875; all nine rounds, 8/9."""
    replies = {"a": ["1", "1", "1", "1", "1"], "b": ["1", "1", "1", "0", "two"]}
    found = _described(["a", "b"], ["r"] * 2, lambda messages, n: replies[read_fields(messages)[1]["description"]])
    for dimension in DIMENSIONS["q_bench"]:
        assert [found[dimension][name] for name in ("score", "p0", "p1", "p2")] == [0.875, 0.125, 0.875, 0.0]
    assert (found["sum"], found["mean"], found["failed_rounds"]) == (3 * 0.875, 0.875, 3)


@pytest.mark.parametrize("template", DIMENSIONS)
def test_each_dimension_has_its_prompt_and_relevance_sees_no_reference(template: str) -> None:
    judge = FakeJudge()
    scores = _described(["my text"], ["golden text"], judge, template=template)
    assert tuple(scores)[:3] == DIMENSIONS[template]
    asked = [read_fields(messages) for messages in judge.conversations]
    assert [name for name, _ in asked] == [f"{template}_{dimension}" for dimension in DIMENSIONS[template]]
    for name, fields in asked:
        expected = {"description": "my text", "reference": "golden text"}
        assert fields == ({"description": "my text"} if name.endswith("relevance") else expected)


def test_the_overall_of_aesbench_is_the_mean_of_the_three() -> None:
    # AesBench (arXiv:2401.08276), Table 5, GPT-4V: 1.385, 1.151 and 1.366 make 1.301.
    replies = {
        "relevance": ["2"] * 385 + ["1"] * 615,
        "precision": ["2"] * 151 + ["1"] * 849,
        "completeness": ["2"] * 366 + ["1"] * 634,
    }
    found = _described(["a"], ["b"], FakeJudge(**replies), 1000, "aesbench")
    assert found["mean"] == pytest.approx(1.301, abs=0.0005)


def test_an_image_without_a_usable_round_is_counted_and_not_scored() -> None:
    def judge(messages: Messages, n: int) -> list[str]:
        name, fields = read_fields(messages)
        return ["no idea"] * n if fields["description"] == "b" and name.endswith("preciseness") else ["Score: 2"] * n

    with pytest.warns(UndefinedScoreWarning, match="kind=y: nan for preciseness, sum and mean"):
        scores = _described(["a", "b"], ["c", "d"], judge, groups={"kind": ["x", "y"]})
    lost, other = scores["preciseness"], scores["completeness"]
    assert (lost["score"], lost["n"], lost["failed_rounds"], other["n"]) == (2.0, 1, 5, 2)
    assert (scores["n"], scores["failed_rounds"], scores["unscored"]) == (2, 5, 1)
    part = scores["by_kind"]["y"]
    undefined = [part["preciseness"][name] for name in ("score", "p0", "p1", "p2")] + [part["sum"], part["mean"]]
    assert all(map(math.isnan, [*undefined, *part["sum_ci95"]])) and part["completeness"]["score"] == 2.0


def test_rows_without_a_reference_are_left_out_and_empty_texts_are_not_asked_about() -> None:
    judge = FakeJudge()
    with pytest.warns(LeftOutWarning, match=r"2 of 5 rows are left out .* the first is references\[1\]"):
        scores = _described(["", "b", "c", "d", " \n"], ["r", "", "r", " ", "r"], judge, groups={"kind": list("xyzyx")})
    assert (scores["n"], scores["without_reference"], scores["empty_predictions"]) == (3, 2, 2)
    assert scores["sum"] == 1.0 and len(judge.conversations) == 3
    sums = {kind: (part["sum"], part["n"]) for kind, part in scores["by_kind"].items()}
    assert sums == {"x": (0.0, 2), "z": (3.0, 1)}


@given(st.lists(st.sampled_from(["0", "1", "2", "?"]), min_size=12, max_size=12))
def test_scores_are_consistent_whatever_the_judge_says(replies: list[str]) -> None:
    spoken = iter(["1", *replies, *replies, *replies])

    def judge(messages: Messages, n: int) -> list[str]:
        return [next(spoken) for _ in range(n)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedScoreWarning)
        scores = _described(["a", "b", "c", "d"], ["e"] * 4, judge, 3)
    for dimension in DIMENSIONS["q_bench"]:
        part = scores[dimension]
        if part["n"]:
            assert part["score"] == pytest.approx(part["p1"] + 2 * part["p2"])
            assert 0 <= part["score"] <= 2
        assert all(map(math.isnan, part["score_ci95"])), "four images are too few for an interval"
        assert scores["intervals"][f"{dimension}.score"] == {"kind": "none", "units": part["n"]}
    assert scores["failed_rounds"] == sum(scores[dimension]["failed_rounds"] for dimension in DIMENSIONS["q_bench"])
    assert scores["mean"] == pytest.approx(scores["sum"] / 3, nan_ok=True)


def test_several_descriptions_of_an_image_and_images_without_a_score() -> None:
    """25 images with two descriptions each; the judge gives the last ten images no score."""
    n = 50
    rng = np.random.default_rng(0)
    rounds = [[[int(score)] for score in rng.integers(0, 3, 3)] if row < 30 else [[None]] * 3 for row in range(n)]
    columns = {"rounds": rounds, "empty_prediction": [False] * n, "finish_reason": [None] * n}
    images = [f"{row // 2}.jpg" for row in range(n)]
    settings = JudgeSettings("judge", 1)
    found = description_scores(columns, None, settings, clusters=images)
    # Fifteen images are too few for an interval, thirty are not.
    assert found["intervals"]["sum"] == {"kind": "none", "units": 15} and all(map(math.isnan, found["sum_ci95"]))
    alone = description_scores(columns, None, settings)
    assert alone["intervals"]["sum"] == {"kind": "wilson", "units": 30}
    unread = description_scores(columns, None, settings, clusters=[None] * n)
    assert unread["intervals"]["mean"] == {"kind": "wilson-unread", "units": 30}
    assert unread["sum_ci95"] == alone["sum_ci95"]
    shared = description_scores(columns, None, settings, clusters=[*images[:9], *map(str, range(9, n))])
    assert shared["intervals"]["mean"] == {"kind": "wilson-clustered", "units": 26}
    assert alone["mean_ci95"] == pytest.approx([end / 3 for end in alone["sum_ci95"]])


# Text, how it ended, and what it counts as.
ENDED = {
    "whole": ("It is dark.", "stop", None),
    "an end that is not known": ("It is dark.", None, None),
    "cut off": ("It is dark and", "length", "cut_off"),
    "cut off in reasoning behind the text": ("It is dark. <think>So", "length", "cut_off"),
    "unfinished reasoning, named": ("", "reasoning", "unfinished_reasoning"),
    "unfinished reasoning, seen": ("<think>It is dark", "length", "unfinished_reasoning"),
    "refused": ("I cannot help with that.", "refusal", "refused"),
    "stopped by a filter": ("It is dark and", "content_filter", "refused"),
    "empty": (" \n", "stop", "unparseable"),
    "nothing behind the reasoning": ("<think>It is dark.</think> ", "stop", "unparseable"),
}


@pytest.mark.parametrize(("text", "ended", "expected"), ENDED.values(), ids=ENDED)
def test_a_text_that_ended_early_has_its_outcome(text: str, ended: str | None, expected: str | None) -> None:
    found = _described([text, "It is dark."], ["b", "c"], FakeJudge(), ends=[ended, "stop"])["outcomes"]
    assert found == dict.fromkeys(UNREAD, 0.0) | ({expected: 0.5} if expected else {})


def test_outcomes_are_shares_of_the_texts_with_a_reference() -> None:
    texts, ends = ["a", "b", "c", "d", ""], ["length", "length", "refusal", "stop", None]
    with pytest.warns(LeftOutWarning):
        found = _described(texts, ["", *"bcde"], FakeJudge(), groups={"kind": list("xxyyz")}, ends=ends)
    expected = {"cut_off": 0.25, "unfinished_reasoning": 0.0, "refused": 0.25, "unparseable": 0.25}
    assert found["outcomes"] == expected
    assert [part["outcomes"]["cut_off"] for part in found["by_kind"].values()] == [1.0, 0.0, 0.0]
    for unknown in (None, [None] * 5):
        assert "outcomes" not in _described(texts, list("abcde"), FakeJudge(), ends=unknown)
