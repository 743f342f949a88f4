import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from eyechart.metrics.scoring.errors import InputError, LostRoundsWarning, UndefinedScoreError
from eyechart.metrics.scoring.judging.rounds import (
    JudgeSettings,
    ask_scores,
    bootstrap_scores,
    count_failed,
    is_scored,
    mean_of_frequencies,
    score_frequencies,
    score_interval,
    summed_score,
)
from eyechart.metrics.scoring.statistics.means import bounded_mean_interval
from eyechart.metrics.scoring.statistics.shares import Clusters
from eyechart.metrics.scoring.statistics.significance import PairedTest, paired_bootstrap

SCALE = (0, 1, 2)
# Q-Bench (arXiv:2309.14181), Table 3: P_0, P_1, P_2 in percent and the score, for completeness, precision and
# relevance, then the sum.
TABLE_3 = {
    "LLaVA-v1.5 (Vicuna-v1.5-7B)": (
        (27.48, 54.74, 17.78, 0.90, 30.51, 26.04, 43.45, 1.13, 10.85, 60.34, 28.81, 1.18),
        3.21,
    ),
    "LLaVA-v1.5 (Vicuna-v1.5-13B)": (
        (27.68, 53.78, 18.55, 0.91, 25.45, 21.47, 53.08, 1.28, 6.31, 58.75, 34.94, 1.29),
        3.47,
    ),
    "InternLM-XComposer-VL (InternLM)": (
        (19.94, 51.82, 28.24, 1.08, 22.59, 28.99, 48.42, 1.26, 1.05, 10.62, 88.32, 1.87),
        4.21,
    ),
    "IDEFICS-Instruct (LLaMA-7B)": (
        (28.91, 59.16, 11.93, 0.83, 34.68, 27.86, 37.46, 1.03, 3.90, 59.66, 36.44, 1.33),
        3.18,
    ),
    "Qwen-VL (QwenLM)": ((26.34, 49.13, 24.53, 0.98, 50.62, 23.44, 25.94, 0.75, 0.73, 35.56, 63.72, 1.63), 3.36),
    "Shikra (Vicuna-7B)": ((21.14, 68.33, 10.52, 0.89, 30.33, 28.30, 41.37, 1.11, 1.14, 64.36, 34.50, 1.33), 3.34),
    "Otter-v1 (MPT-7B)": ((22.38, 59.36, 18.25, 0.96, 40.68, 35.99, 23.33, 0.83, 1.95, 13.20, 84.85, 1.83), 3.61),
    "Kosmos-2": ((8.76, 70.91, 20.33, 1.12, 29.45, 34.75, 35.81, 1.06, 0.16, 14.77, 85.06, 1.85), 4.03),
    "InstructBLIP (Flan-T5-XL)": (
        (23.16, 66.44, 10.40, 0.87, 34.85, 26.03, 39.12, 1.04, 14.71, 59.87, 25.42, 1.11),
        3.02,
    ),
    "InstructBLIP (Vicuna-7B)": (
        (29.73, 61.47, 8.80, 0.79, 27.84, 23.52, 48.65, 1.21, 27.40, 61.29, 11.31, 0.84),
        2.84,
    ),
    "VisualGLM-6B (GLM-6B)": ((30.75, 56.64, 12.61, 0.82, 38.64, 26.18, 35.18, 0.97, 6.14, 67.15, 26.71, 1.21), 2.99),
    "mPLUG-Owl (LLaMA-7B)": ((28.28, 37.69, 34.03, 1.06, 26.75, 18.18, 55.07, 1.28, 3.03, 33.82, 63.15, 1.60), 3.94),
    "LLaMA-Adapter-V2": ((30.44, 53.99, 15.57, 0.85, 29.41, 25.79, 44.80, 1.15, 1.50, 52.75, 45.75, 1.44), 3.45),
    "LLaVA-v1 (Vicuna-13B)": ((34.10, 40.52, 25.39, 0.91, 30.02, 15.15, 54.83, 1.25, 1.06, 38.03, 60.91, 1.60), 3.76),
    "MiniGPT-4 (Vicuna-13B)": (
        (34.01, 32.15, 33.85, 1.00, 29.20, 15.27, 55.53, 1.26, 6.88, 45.65, 47.48, 1.41),
        3.67,
    ),
}
rounds_of = st.lists(st.sampled_from([None, *SCALE]), min_size=1, max_size=5)


@pytest.mark.parametrize("model", TABLE_3)
def test_frequencies_give_the_scores_of_table_3(model: str) -> None:
    cells, total = TABLE_3[model]
    scores = []
    for dimension in range(3):
        *shares, printed = cells[4 * dimension : 4 * dimension + 4]
        scores.append(mean_of_frequencies({score: share / 100 for score, share in zip(SCALE, shares, strict=True)}))
        # Each printed share is within 0.005 % of the true one, and the score is rounded to two digits.
        assert scores[-1] == pytest.approx(printed, abs=0.005 + 0.00016)
        assert sum(shares) == pytest.approx(100, abs=0.0201)
    assert len(TABLE_3) == 15
    # The paper adds the printed scores.
    assert sum(cells[3::4]) == pytest.approx(total, abs=0.0101)
    assert sum(scores) == pytest.approx(total, abs=0.0151)


@given(st.lists(rounds_of, min_size=1, max_size=8))
def test_a_score_is_the_mean_of_the_items_means(items: list[list[int | None]]) -> None:
    scored = [[score for score in rounds if score is not None] for rounds in items]
    assert count_failed(items) == sum(map(len, items)) - sum(map(len, scored))
    if not any(scored):
        with pytest.raises(UndefinedScoreError, match="no score in any round"):
            score_frequencies(items, SCALE)
        return
    frequencies = score_frequencies(items, SCALE)
    assert sum(frequencies.values()) == pytest.approx(1)
    assert mean_of_frequencies(frequencies) == pytest.approx(np.mean([np.mean(rounds) for rounds in scored if rounds]))


def test_scored_items() -> None:
    assert is_scored([None, 0]) and not is_scored([None, None])


def test_each_form_of_a_reply_and_failed_rounds() -> None:
    replies = ["Score: 1", "Result:1", "1", "**Score:** 2", "It is 2"]
    found = ask_scores("q_bench_relevance", [{"description": "dark"}], SCALE, lambda messages, n: replies, 5)
    assert found == [[1, 1, 1, 2, None]]


def test_an_item_without_a_text_is_not_put_to_the_judge() -> None:
    def never(messages: object, n: int) -> list[str]:
        raise AssertionError

    assert ask_scores("q_bench_relevance", [None], SCALE, never, 2) == [[0, 0]]


def test_a_judge_that_raises_loses_its_rounds_only() -> None:
    def moody(messages: list[dict[str, str]], n: int) -> list[str]:
        if "bright" in messages[-1]["content"]:
            raise TimeoutError
        return ["Score: 2"] * n

    items = [{"description": "bright"}, {"description": "dark"}]
    with pytest.warns(LostRoundsWarning, match="first error: TimeoutError$"):
        found = ask_scores("q_bench_relevance", items, SCALE, moody, 2)
    assert found == [[None, None], [2, 2]]


def test_intervals_are_over_items_and_not_over_rounds() -> None:
    once = [[int(score)] for score in np.random.default_rng(0).integers(0, 3, 100)]
    alone = Clusters.of(None, 100)
    found, again = (score_interval([items], (0, 2), alone) for items in (once, [rounds * 5 for rounds in once]))
    # Five equal rounds of an image tell no more than one.
    assert found == again == bounded_mean_interval([rounds[0] for rounds in once], (0, 2))


def test_the_interval_of_a_sum_counts_what_each_item_adds_to_every_question() -> None:
    """Of items with a score, the interval of the items' sums; failed rounds and items leave the others' weight."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 3, (60, 2)).tolist() for _ in range(3)]
    alone = Clusters.of(None, 60)
    sums = np.sum([np.mean(items, axis=1) for items in columns], axis=0)
    found = score_interval(columns, (0, 2), alone)
    assert found.rounded() == bounded_mean_interval(sums, (0, 6)).rounded()
    columns[0][0], columns[1][:5] = [None, 2], [[None, None]] * 5
    partly = score_interval(columns, (0, 2), alone)
    assert partly.low < summed_score(columns) < partly.high and partly.units == 60
    assert partly.high - partly.low > found.high - found.low


def test_items_of_a_cluster_are_resampled_together() -> None:
    items = [[score] for score in np.random.default_rng(0).integers(0, 3, 40).tolist()]
    doubled = [one for one in items for _ in range(2)]
    clusters = Clusters.of([f"image {number // 2}" for number in range(80)], 80)
    replicates, scored = bootstrap_scores([doubled], 200, np.random.default_rng(1), clusters)
    alone, _ = bootstrap_scores([items], 200, np.random.default_rng(1))
    assert replicates == pytest.approx(alone) and scored == [40]


def test_items_without_a_score_are_no_units() -> None:
    columns = [[[1], [None], [2], [0]], [[None], [None], [2], [1, None]]]
    assert bootstrap_scores(columns, 5, np.random.default_rng(0))[1] == [3, 2]
    clusters = Clusters.of(["a", "a", "b", "b"], 4)
    assert bootstrap_scores(columns, 5, np.random.default_rng(0), clusters)[1] == [2, 1]


def test_dimensions_share_their_resamples() -> None:
    items = [[0, 1], [2, None], [1, 1]]
    opposite = [[2, 1], [0, None], [1, 1]]
    found, _ = bootstrap_scores([items, opposite], 50, np.random.default_rng(0))
    assert found.shape == (50, 2) and found.sum(axis=1) == pytest.approx(2)


def test_resamples_without_a_score_are_nan() -> None:
    found = bootstrap_scores([[[None], [2]]], 200, np.random.default_rng(0))[0][:, 0]
    assert np.isnan(found).any() and set(found[~np.isnan(found)]) == {2.0}


def difference(first: Any, second: Any, clusters: Clusters | None = None, resamples: int = 1000) -> PairedTest:
    """The paired bootstrap, with equal draws for both models."""
    (replicates, units), (others, _) = (
        bootstrap_scores(columns, resamples, np.random.default_rng(0), clusters) for columns in (first, second)
    )
    gaps = (replicates - others).sum(axis=1)
    return paired_bootstrap(summed_score(first) - summed_score(second), gaps, len(first[0]), min(units))


def test_differences_without_failed_rounds_against_the_t_test() -> None:
    """With 200 items both tests say the same; 10,000 resamples know a p-value to about 0.01."""
    rng = np.random.default_rng(9)
    first = rng.integers(0, 3, (200, 5))
    for shift in (-0.1, 0.0, 0.05, 0.1):
        moved = np.where(rng.random((200, 5)) < 0.5 + shift, first + 1, first - 1)
        second = np.clip(moved, 0, 2)
        one, other = ([scores.tolist()] for scores in (first, second))
        found = difference(one, other, resamples=10_000)
        expected = ttest_rel(first.mean(axis=1), second.mean(axis=1))
        assert found.difference == pytest.approx(np.mean(first) - np.mean(second))
        assert found.p_value == pytest.approx(expected.pvalue, abs=0.03)
        assert found.interval == pytest.approx(tuple(expected.confidence_interval()), abs=0.01)
    same = difference(one, one)
    assert (same.difference, same.p_value, same.n) == (0.0, 1.0, 200)
    assert all(map(math.isnan, same.interval)), "all resamples are equal, which says nothing of how sure that is"


def test_differences_of_images_with_several_texts() -> None:
    """Four equal texts of an image tell no more than one."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 3, (2, 50, 1))
    alone = difference([first.tolist()], [second.tolist()])
    one, other = ([np.repeat(scores, 4, axis=0).tolist()] for scores in (first, second))
    clusters = Clusters(np.repeat(np.arange(50), 4))
    found = difference(one, other, clusters)
    assert (found.difference, found.p_value, found.n) == (pytest.approx(alone.difference), alone.p_value, 200)
    assert found.interval == pytest.approx(alone.interval)


def test_failed_rounds_do_not_change_the_weight_of_an_image_in_a_difference() -> None:
    """(2 + 0) / 2 in the first model, (2 + 1) / 2 in the second."""
    first, second = [[2] * 5, [0, None, None, None, None]], [[2] * 5, [1, None, None, None, None]]
    found = difference([first], [second])
    assert (summed_score([first]), found.difference) == (1.0, -0.5)
    replicates, _ = bootstrap_scores([first], 50, np.random.default_rng(0))
    assert set(replicates[:, 0]) == {0.0, 1.0, 2.0}
    assert all(map(math.isnan, found.interval)), "two images are too few for an interval"
    with pytest.raises(UndefinedScoreError, match="no score in any round"):
        summed_score([[[None]]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 2.5}, "rounds is 2.5"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        JudgeSettings("len", **settings)


def test_a_judge_that_cannot_be_called() -> None:
    with pytest.raises(InputError, match="judge is 'gpt-4'; it must be a callable"):
        ask_scores("q_bench_relevance", [None], SCALE, "gpt-4", 1)
