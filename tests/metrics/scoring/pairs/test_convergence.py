import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from eyechart.metrics.scoring import pair_ranking
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.pairs.convergence import convergence, score_limit
from eyechart.metrics.scoring.pairs.pools import check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs, winners
from eyechart.metrics.scoring.pairs.scores import PairSettings, pair_scores


def _rounds(rng: np.random.Generator, n_images: int, rounds: int) -> list[tuple[int, int, int]]:
    """Round, first and second image of each pair."""
    return [(r, *pair) for r in range(rounds) for pair in rng.permutation(n_images).reshape(-1, 2).tolist()]


def by_scores(first, second):
    """The image with the higher score wins."""
    ids = range(len(first))
    return check_pairs([f"a{i}" for i in ids], [f"b{i}" for i in ids], first, second).better


@pytest.fixture
def drawn():
    """Twelve rounds of 40 images of random quality, and a judge's scores of them that are half noise."""
    rng = np.random.default_rng(0)
    quality = rng.random(40)
    rounds, first, second = (list(column) for column in zip(*_rounds(rng, 40, 12), strict=True))
    pairs = check_pairs([f"i{i}" for i in first], [f"i{i}" for i in second], quality[first], quality[second])
    return rounds, np.array(first), np.array(second), quality, quality + 0.3 * rng.standard_normal(40), pairs


@pytest.mark.parametrize("count", [1, 3, 12])
def test_the_curve_is_that_of_the_first_rounds_alone(drawn, count: int) -> None:
    rounds, first, second, quality, scores, pairs = drawn
    curve = convergence(by_scores(scores[first], scores[second]), pairs, rounds)
    rows = [row for row, number in enumerate(rounds) if number < count]
    wins = scores[first[rows]] > scores[second[rows]]
    winners, losers = np.where(wins, first[rows], second[rows]), np.where(wins, second[rows], first[rows])
    ranking = pair_ranking.map_scores(winners, losers, 40)
    # Images that did equally well differ by rounding errors alone.
    ranking = np.round(ranking, 9)
    assert (curve[count - 1]["rounds"], curve[count - 1]["n_pairs"], curve[count - 1]["n_images"]) == (
        count,
        20 * count,
        40,
    )
    assert curve[count - 1]["srcc"] == pytest.approx(stats.spearmanr(ranking, quality)[0])
    assert curve[count - 1]["plcc"] == pytest.approx(stats.pearsonr(ranking, quality)[0])


def test_its_end_is_the_score_of_all_rounds(drawn) -> None:
    rounds, first, second, _, scores, pairs = drawn
    better = scores[first] > scores[second]
    replies = [["A" if is_first else "B" for is_first in side] for side in (better, ~better)]
    items = read_pairs(*replies, pairs)
    assert winners(items).tolist() == by_scores(scores[first], scores[second]).tolist()
    for settings in (PairSettings("map"), PairSettings("trueskill"), PairSettings("mle_ridge", ridge=100.0)):
        whole = pair_scores(items, pairs, settings)
        end = convergence(winners(items), pairs, rounds, settings)[-1]
        assert {name: end[name] for name in end if name != "rounds"} == {
            name: whole[name] for name in end if name in whole
        }


def test_a_judge_by_opinion_scores_bounds_a_noisy_one(drawn) -> None:
    rounds, first, second, quality, scores, pairs = drawn
    perfect = [part["srcc"] for part in convergence(by_scores(quality[first], quality[second]), pairs, rounds)]
    noisy = [part["srcc"] for part in convergence(by_scores(scores[first], scores[second]), pairs, rounds)]
    assert all(one > other for one, other in zip(perfect, noisy, strict=True))
    assert perfect[-1] > 0.95 > perfect[0]


def test_a_judges_ranking_approaches_the_correlation_of_its_scores() -> None:
    # As Fig. 3 shows for NIQE and DBCNN: with rounds enough, the ranking says what the scores say.
    rng = np.random.default_rng(1)
    quality = rng.random(60)
    scores = quality + 0.4 * rng.standard_normal(60)
    rounds, first, second = (list(column) for column in zip(*_rounds(rng, 60, 60), strict=True))
    pairs = check_pairs([f"i{i}" for i in first], [f"i{i}" for i in second], quality[first], quality[second])
    limit = score_limit({f"i{i}": score for i, score in enumerate(scores)}, pairs)
    assert limit["srcc"] == pytest.approx(stats.spearmanr(scores, quality)[0])
    assert limit["plcc"] == pytest.approx(stats.pearsonr(scores, quality)[0])
    assert limit["n_images"] == 60
    curve = convergence(by_scores(scores[first], scores[second]), pairs, rounds)
    distance = [abs(part["srcc"] - limit["srcc"]) for part in curve]
    assert distance[-1] < 0.02 < distance[0]


def test_pools_are_averaged_with_their_weights() -> None:
    first, second = ["a", "b", "c", "d", "p", "q"], ["b", "c", "d", "a", "q", "r"]
    quality = {name: number for number, name in enumerate("abcdpqr")}
    pools = ["one"] * 4 + ["two"] * 2
    pairs = check_pairs(first, second, [quality[i] for i in first], [quality[i] for i in second], pools)
    scores = dict(quality) | {"p": 9}
    settings = PairSettings(pool_weights="images")
    limit = score_limit(scores, pairs, settings)
    two = stats.spearmanr([9, 5, 6], [4, 5, 6])[0]
    assert limit["srcc"] == pytest.approx((4 * 1 + 3 * two) / 7)
    assert np.isnan(limit["plcc_fitted"])


def test_rounds_are_counted_by_size_and_nothing_is_undefined_aloud() -> None:
    pairs = check_pairs(["a", "c", "a"], ["b", "d", "c"], [1, 3, 1], [2, 4, 3])
    curve = convergence(winners(read_pairs(["A", "?", "B"], ["A", "?", "A"], pairs)), pairs, [4, 4, 7])
    assert [(part["rounds"], part["n_pairs"], part["n_images"]) for part in curve] == [(1, 2, 4), (2, 3, 4)]
    assert np.isnan(curve[0]["srcc"]) and np.isfinite(curve[1]["srcc"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda pairs: convergence(by_scores([1], [2]), pairs, [0, 1]), "rounds has 2 rows"),
        (lambda pairs: score_limit({"a": 1}, pairs), "scores has no score for image 'b'"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(check_pairs(["a"], ["b"], [1], [2]))


def test_spaq_converges_within_twelve_rounds_as_in_the_paper(reference: Path) -> None:
    # Fig. 3: the judge by opinion scores on SPAQ (N = 160) is close to 1 after twelve rounds.
    images = json.loads((reference / "two-afc" / "Coarse_grained_mixed.json").read_text())["spaq"]
    quality = np.array([float(image["gt_score"]) for image in images])
    rounds, first, second = (list(column) for column in zip(*_rounds(np.random.default_rng(0), 160, 12), strict=True))
    pairs = check_pairs([str(i) for i in first], [str(i) for i in second], quality[first], quality[second])
    curve = convergence(by_scores(quality[first], quality[second]), pairs, rounds)
    assert [part["n_pairs"] for part in curve] == [80 * count for count in range(1, 13)]
    assert curve[0]["plcc"] < 0.7 and curve[-1]["plcc"] > 0.94
    assert all(later["plcc"] > earlier["plcc"] - 0.01 for earlier, later in pairwise(curve))
