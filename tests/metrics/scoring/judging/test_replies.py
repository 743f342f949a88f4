"""Asking a judge, reading its replies, and the scores of its rounds."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from eyechart.metrics.scoring.errors import InputError, LostRoundsWarning, UndefinedScoreError
from eyechart.metrics.scoring.judging.replies import (
    ask_all,
    ask_scores,
    bootstrap_scores,
    judge_name,
    majority,
    mean_of_frequencies,
    mean_scores,
    parse_letter,
    parse_score,
    score_frequencies,
    score_interval,
    summed_score,
)
from eyechart.metrics.scoring.statistics.paired import PairedTest, paired_bootstrap
from eyechart.metrics.scoring.statistics.shares import Clusters, bounded_mean_interval

SCALE = (0, 1, 2)
# Q-Bench (arXiv:2309.14181), Table 3: P_0, P_1, P_2 in percent and the score, for completeness, precision and
# relevance, then the sum.
TABLE_3 = """
LLaVA-v1.5 (Vicuna-v1.5-7B)      27.48 54.74 17.78  0.90  30.51 26.04 43.45  1.13  10.85 60.34 28.81  1.18  3.21
LLaVA-v1.5 (Vicuna-v1.5-13B)     27.68 53.78 18.55  0.91  25.45 21.47 53.08  1.28   6.31 58.75 34.94  1.29  3.47
InternLM-XComposer-VL (InternLM) 19.94 51.82 28.24  1.08  22.59 28.99 48.42  1.26   1.05 10.62 88.32  1.87  4.21
IDEFICS-Instruct (LLaMA-7B)      28.91 59.16 11.93  0.83  34.68 27.86 37.46  1.03   3.90 59.66 36.44  1.33  3.18
Qwen-VL (QwenLM)                 26.34 49.13 24.53  0.98  50.62 23.44 25.94  0.75   0.73 35.56 63.72  1.63  3.36
Shikra (Vicuna-7B)               21.14 68.33 10.52  0.89  30.33 28.30 41.37  1.11   1.14 64.36 34.50  1.33  3.34
Otter-v1 (MPT-7B)                22.38 59.36 18.25  0.96  40.68 35.99 23.33  0.83   1.95 13.20 84.85  1.83  3.61
Kosmos-2                          8.76 70.91 20.33  1.12  29.45 34.75 35.81  1.06   0.16 14.77 85.06  1.85  4.03
InstructBLIP (Flan-T5-XL)        23.16 66.44 10.40  0.87  34.85 26.03 39.12  1.04  14.71 59.87 25.42  1.11  3.02
InstructBLIP (Vicuna-7B)         29.73 61.47  8.80  0.79  27.84 23.52 48.65  1.21  27.40 61.29 11.31  0.84  2.84
VisualGLM-6B (GLM-6B)            30.75 56.64 12.61  0.82  38.64 26.18 35.18  0.97   6.14 67.15 26.71  1.21  2.99
mPLUG-Owl (LLaMA-7B)             28.28 37.69 34.03  1.06  26.75 18.18 55.07  1.28   3.03 33.82 63.15  1.60  3.94
LLaMA-Adapter-V2                 30.44 53.99 15.57  0.85  29.41 25.79 44.80  1.15   1.50 52.75 45.75  1.44  3.45
LLaVA-v1 (Vicuna-13B)            34.10 40.52 25.39  0.91  30.02 15.15 54.83  1.25   1.06 38.03 60.91  1.60  3.76
MiniGPT-4 (Vicuna-13B)           34.01 32.15 33.85  1.00  29.20 15.27 55.53  1.26   6.88 45.65 47.48  1.41  3.67
"""


@pytest.mark.parametrize(
    "reply", ["Score: 1", "Result:1", "1", "**Score:** 1", " result : 1. ", "Score 1", "`1`", "SCORE=1"]
)
def test_score_forms(reply: str) -> None:
    assert parse_score(reply) == 1


@pytest.mark.parametrize("reply", ["B", " B\n", "B.", "(B)", "**B**", "Your output: B", "Answer: B"])
def test_letter_forms(reply: str) -> None:
    assert parse_letter(reply, 3) == "B" and parse_letter(reply.replace("B", "X"), 3) == "X"


@pytest.mark.parametrize(
    "reply",
    [
        *("", "one", "Score:", "Score: 3", "Score: 2", "1 or 0", "Score: 1 because", "10", "1/2", "-1", "0.5"),
        *("Mark: 1", "b", "D", "A B", "The answer is B", "Option B", "B or C", None),
    ],
)
def test_other_replies_are_failed_rounds(reply: str | None) -> None:
    assert parse_score(reply) is parse_letter(reply, 3) is None


@pytest.mark.parametrize(
    ("reply", "is_read"),
    [
        ("<think>The answer says dim, so 0 or 1.</think>{}", True),
        ("It is dim. Score: 0</think>\n**{}**", True),
        ("<think>{}", False),
        ("<think>a <think>b</think> {}", False),
        ("{}</think>", False),
        ("{}<think>or not</think>", False),
        ("<answer>{}</answer>", False),
    ],
)
def test_only_closed_reasoning_before_the_reply_is_ignored(reply: str, is_read: bool) -> None:
    assert parse_score(reply.format("Score: 1")) == (1 if is_read else None)
    assert parse_letter(reply.format("B"), 3) == ("B" if is_read else None)
    assert parse_score(reply.format("I cannot tell")) is parse_letter(reply.format("B or C"), 3) is None


@given(st.text())
def test_any_reply_is_parsed(reply: str) -> None:
    assert parse_score(reply) in (0, 1, None)
    assert parse_letter(reply, 4) in ("A", "B", "C", "D", "X", None)


@pytest.mark.parametrize(
    ("votes", "winner"),
    [([1, 1, 0], 1), ([0, None, 0, 1], 0), ([1, 0], None), ([None], None), ([], None), (["A", "B", "B", "X"], "B")],
)
def test_majority(votes: list, winner: object) -> None:
    assert majority(votes) == winner


def test_names_of_judges() -> None:
    class Client:
        name = "gpt-4/2024"

        def __call__(self, messages: object, n: int) -> list[str]:
            return ["1"] * n

    class Plain(Client):
        name = ""

    assert judge_name(Client()) == "gpt-4/2024" and judge_name(Plain()) == "Plain"
    assert judge_name(lambda messages, n: ["1"] * n) == "<lambda>"
    with pytest.raises(InputError, match="judge is 'gpt-4'; it must be a callable"):
        judge_name("gpt-4")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("replies", "expected"), [("11", [None] * 2), ([], [None] * 2), (["1"] * 3, [None] * 2), (["1", 5], ["1", None])]
)
def test_a_wrong_number_of_replies_loses_the_rounds(replies: Any, expected: list) -> None:
    assert ask_all(lambda messages, n: replies, [[]], 2) == [expected]


class Patient:
    """A judge that is asked about all conversations at once."""

    name = "patient"

    def __init__(self, outcome: Any) -> None:
        self.outcome, self.asked = outcome, []

    def __call__(self, messages, n: int) -> list[str]:
        raise AssertionError("it is asked about all at once")

    def ask_all(self, conversations, n: int):
        self.asked.append((len(conversations), n))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_a_judge_with_ask_all_is_asked_about_all_conversations_at_once() -> None:
    judge = Patient([["1", None], ["0"], ["1", 5]])
    assert ask_all(judge, [[]] * 3, 2) == [["1", None], [None, None], ["1", None]]
    assert ask_all(judge, [], 2) == []
    assert judge.asked == [(3, 2)]
    with pytest.raises(InputError, match="'patient' replied to 3 of 2 conversations"):
        ask_all(judge, [[]] * 2, 2)
    with pytest.raises(ConnectionError, match="down"):
        ask_all(Patient(ConnectionError("down")), [[]], 1)


def test_other_judges_lose_the_rounds_in_which_they_raise() -> None:
    asked = []

    def judge(messages, n):
        asked.append(messages)
        if len(asked) > 1:
            raise ConnectionError(f"no {len(asked)}\n\x1b[31m" + "x" * 10_000)
        return ["1"] * n

    same = [{"role": "user", "content": "a"}]
    with pytest.warns(LostRoundsWarning) as caught:
        assert ask_all(judge, [same, [], same], 2) == [["1"] * 2, [None] * 2, [None] * 2]
    assert asked == [same, [], same]
    (warning,) = [str(warning.message) for warning in caught]
    assert r"the judge 'judge' raised an error" in warning and r"ConnectionError: 'no 2\n\x1b[31mx" in warning
    assert len(warning) < 400
    with pytest.warns(LostRoundsWarning, match="TypeError"):
        assert ask_all(lambda messages, n: 7, [[]], 2) == [[None, None]]  # type: ignore[arg-type,return-value]


def test_an_interrupt_is_not_swallowed() -> None:
    def interrupted(messages: object, n: int) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_all(interrupted, [[]], 1)


def test_scores_of_rounds() -> None:
    replies = ["Score: 1", "Result:1", "1", "**Score:** 2", "It is 2"]
    fields = {"description": ["dark", " ", "dark"], "reference": ["dark", "dark", " "]}
    found = ask_scores("q_bench_relevance", fields, SCALE, lambda messages, n: replies, 5)
    # An empty text gets the lowest score; without a reference there is none.
    assert found == [[1, 1, 1, 2, None], [0] * 5, None]


@pytest.mark.parametrize("row", TABLE_3.strip().splitlines(), ids=lambda row: row.partition("  ")[0])
def test_frequencies_give_the_scores_of_table_3(row: str) -> None:
    *cells, total = map(float, row.split()[-13:])
    scores = []
    for place in (0, 4, 8):
        *shares, printed = cells[place : place + 4]
        scores.append(mean_of_frequencies({score: share / 100 for score, share in zip(SCALE, shares, strict=True)}))
        # Each printed share is within 0.005 % of the true one, and the score is rounded to two digits.
        assert scores[-1] == pytest.approx(printed, abs=0.005 + 0.00016)
        assert sum(shares) == pytest.approx(100, abs=0.0201)
    # The paper adds the printed scores.
    assert sum(cells[3::4]) == pytest.approx(total, abs=0.0101)
    assert sum(scores) == pytest.approx(total, abs=0.0151)


@given(st.lists(st.lists(st.sampled_from([None, *SCALE]), min_size=1, max_size=5), min_size=1, max_size=8))
def test_a_score_is_the_mean_of_the_items_means(items: list[list[int | None]]) -> None:
    scored = [np.mean(given) for rounds in items if (given := [score for score in rounds if score is not None])]
    frequencies, means = score_frequencies(items, SCALE), mean_scores([items])
    if scored:
        assert sum(frequencies.values()) == pytest.approx(1)
        assert mean_of_frequencies(frequencies) == pytest.approx(np.mean(scored)) == summed_score(means)
    else:
        assert math.isnan(mean_of_frequencies(frequencies))
        with pytest.raises(UndefinedScoreError, match="no score in any round"):
            summed_score(means)


def test_intervals_are_over_items_and_not_over_rounds() -> None:
    once = [[int(score)] for score in np.random.default_rng(0).integers(0, 3, 100)]
    alone = Clusters.of(None, 100)
    columns = (mean_scores([items]) for items in (once, [rounds * 5 for rounds in once]))
    found, again = (score_interval(means, (0, 2), alone) for means in columns)
    # Five equal rounds of an image tell no more than one.
    assert found == again == bounded_mean_interval([rounds[0] for rounds in once], (0, 2))


def test_the_interval_of_a_sum_counts_what_each_item_adds_to_every_question() -> None:
    """Of items with a score, the interval of the items' sums; failed rounds and items leave the others' weight."""
    rng = np.random.default_rng(1)
    means, alone = rng.integers(0, 5, (3, 60)) / 2, Clusters.of(None, 60)
    found = score_interval(means, (0, 2), alone)
    assert found.rounded() == bounded_mean_interval(means.sum(axis=0), (0, 6)).rounded()
    means[1, :5] = np.nan
    partly = score_interval(means, (0, 2), alone)
    added = (means - np.nanmean(means, axis=1, keepdims=True)) * 60 / np.array([[60], [55], [60]])
    expected = bounded_mean_interval(np.clip(summed_score(means) + np.nansum(added, axis=0), 0, 6), (0, 6))
    assert partly.rounded() == expected.rounded() and partly.units == 60
    assert partly.high - partly.low > found.high - found.low


def test_items_of_a_cluster_are_resampled_together() -> None:
    means = np.random.default_rng(0).integers(0, 3, (1, 40)).astype(float)
    clusters = Clusters(np.repeat(np.arange(40), 2))
    replicates, units = bootstrap_scores(means.repeat(2, axis=1), 200, np.random.default_rng(1), clusters)
    alone, _ = bootstrap_scores(means, 200, np.random.default_rng(1), Clusters.of(None, 40))
    assert replicates == pytest.approx(alone) and units == [40]


def test_items_without_a_score_are_no_units() -> None:
    means, rng = np.array([[1, np.nan, 2, 0], [np.nan, np.nan, 2, 1]]), np.random.default_rng(0)
    replicates, units = bootstrap_scores(means, 200, rng, Clusters.of(None, 4))
    assert units == [3, 2] and np.isnan(replicates[:, 1]).any()
    assert bootstrap_scores(means, 5, rng, Clusters.of(["a", "a", "b", "b"], 4))[1] == [2, 1]


def test_questions_share_their_resamples() -> None:
    means, alone = np.array([[0.5, 2, 1], [1.5, 0, 1]]), Clusters.of(None, 3)
    found, _ = bootstrap_scores(means, 50, np.random.default_rng(0), alone)
    assert found.shape == (50, 2) and found.sum(axis=1) == pytest.approx(2)


def difference(first: Any, second: Any, resamples: int = 1000) -> PairedTest:
    """The paired bootstrap of one column of rounds for each model, with equal draws for both."""
    columns, alone = (mean_scores([first]), mean_scores([second])), Clusters.of(None, len(first))
    (replicates, units), (others, _) = (
        bootstrap_scores(means, resamples, np.random.default_rng(0), alone) for means in columns
    )
    one, other = map(summed_score, columns)
    return paired_bootstrap(one - other, (replicates - others).sum(axis=1), min(units))


def test_differences_against_the_t_test() -> None:
    """With 200 items both tests say the same; 10,000 resamples know a p-value to about 0.01."""
    rng = np.random.default_rng(9)
    first = rng.integers(0, 3, (200, 5))
    for shift in (-0.1, 0.0, 0.05, 0.1):
        second = np.clip(np.where(rng.random((200, 5)) < 0.5 + shift, first + 1, first - 1), 0, 2)
        found = difference(first.tolist(), second.tolist(), resamples=10_000)
        expected = ttest_rel(first.mean(axis=1), second.mean(axis=1))
        assert found.difference == pytest.approx(np.mean(first) - np.mean(second))
        assert found.p_value == pytest.approx(expected.pvalue, abs=0.03)
        assert found.interval == pytest.approx(tuple(expected.confidence_interval()), abs=0.01)
    same = difference(first.tolist(), first.tolist())
    assert (same.difference, same.p_value, same.n) == (0.0, 1.0, 200)
    assert all(map(math.isnan, same.interval)), "all resamples are equal, which says nothing of how sure that is"
