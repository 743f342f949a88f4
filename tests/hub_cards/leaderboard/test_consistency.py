"""Scores that contradict each other, and genuine ones, none of which may be taken for such."""

import numpy as np
import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import load_data
from eyechart.evaluators.requests.values import without_nan
from eyechart.evaluators.tasks import get_task
from eyechart.hub_cards.leaderboard.consistency import inconsistencies
from eyechart.metrics.scoring.statistics.intervals import bootstrap_correlations, interval_or_nan, wilson_interval
from tests.hub_cards.leaderboard.submitted import board_named, put, result_on


def reasons_for(name, changes):
    board = board_named(name)
    scores = result_on(board, "some/model")["scores"]
    for keys, value in changes.items():
        put(scores, tuple(keys.split(".")), value)
    return list(inconsistencies(board, scores))


@pytest.mark.parametrize(
    ("board", "changes", "reason"),
    [
        (
            "q_bench/perception",
            {"accuracy": 1480 / 1495, "accuracy_ci95": [0.2, 0.3]},
            "scores.accuracy_ci95 is [0.2, 0.3]; the Wilson interval of that share of 1,495 items is [0.983",
        ),
        ("q_bench/perception", {"accuracy_ci95": [0.0, 1.0]}, "is [0.0, 1.0]; the Wilson interval"),
        ("q_bench/perception", {"accuracy_ci95": None}, "is None; the Wilson interval"),
        ("q_bench/perception", {"accuracy_ci95": [None, None]}, "is [None, None]; the Wilson interval"),
        ("q_bench/perception", {"accuracy": 0.5}, "scores.accuracy is 0.5, which no number of 1,495 items gives"),
        ("q_bench/perception", {"n": 0}, "which no number of 0 items gives"),
        (
            "q_bench/perception",
            {"accuracy": 1400 / 1495, "accuracy_ci95": list(wilson_interval(1400, 1495))},
            "the parts in scores.by_question_type give 0.500334",
        ),
        (
            "q_bench/perception",
            {"by_question_type.what.accuracy_ci95": [0.1, 0.9]},
            "scores.by_question_type.what.accuracy_ci95 is [0.1, 0.9]; the Wilson interval",
        ),
        (
            "q_bench/perception",
            {"by_concern.other.n": None},
            "by_concern.other.accuracy is a share, and the numbers of its items are not there: n",
        ),
        ("mmbench/en", {"circular_ci95": [0.1, 0.9]}, "scores.circular_ci95 is [0.1, 0.9]; the Wilson interval"),
        ("mmbench/en", {"n_vanilla": 10**400}, "the numbers of its items are not there: n_vanilla"),
        ("ql_bench/single", {"score_sa_ci95": [0.0, 100.0]}, "scores.score_sa_ci95 is [0.0, 100.0]; the Wilson"),
        ("ql_bench/single", {"n_refused": 1495}, "scores.answer_accuracy is"),
        ("two_afc/coarse", {"consistency_ci95": [0.2, 0.9]}, "scores.consistency_ci95 is [0.2, 0.9]; the Wilson"),
        (
            "two_afc/coarse",
            {"accuracy_consistent_ci95": [0.6, 0.9]},
            "which lies outside scores.accuracy_consistent_ci",
        ),
        (
            "two_afc/coarse",
            {"equal_quality": None},
            "the numbers of its items are not there: n_pairs and equal_quality",
        ),
        ("two_afc/coarse", {"equal_quality": 600}, "scores.equal_quality is 600 of"),
        ("two_afc/coarse", {"consistency": 0.2}, "more pairs are right than consistent"),
        ("q_bench/assessment/spaq", {"srcc_ci95": [0.6, 0.9]}, "scores.srcc is 0.5, which lies outside"),
        (
            "q_bench/assessment/spaq",
            {"srcc_ci95": [-1.0, 1.0]},
            "scores.srcc_ci95 is [-1.0, 1.0]; resamples of so many images give one of a width of at most 0.114",
        ),
        ("q_bench/description", {"sum_ci95": [1.0, 2.0]}, "scores.sum is 0.5, which lies outside scores.sum_ci95"),
        ("q_bench/description", {"relevance.score_ci95": [0.0, 0.1]}, "scores.relevance.score is 0.5, which lies"),
        ("aes_bench/interpretation", {"mean_ci95": [0.0, 0.1]}, "scores.mean is 0.5, which lies outside"),
        ("q_bench/assessment", {"srcc": 0.51}, "the mean of its databases is 0.500000"),
    ],
)
def test_what_cannot_be_true_together_is_named(board, changes, reason):
    found = reasons_for(board, changes)
    assert any(reason in one for one in found), found
    assert all(len(one) < 400 and one.isascii() for one in found)


@pytest.mark.parametrize(
    ("board", "changes"),
    [
        # The parts do not have all items between them, so that nothing follows for the whole.
        ("q_bench/perception", {"by_question_type": {"what": {"n": 3, "accuracy": 1.0}}}),
        ("q_bench/perception", {"by_new": {}, "by_other": {"x": {"n": None, "accuracy": 0.1}}, "by_text": "x"}),
        ("q_bench/assessment/spaq", {"srcc_ci95": None, "plcc_ci95": [None, None]}),
        ("q_bench/assessment/spaq", {"srcc": 1.0, "srcc_ci95": [0.9999999, 0.9999999]}),
        ("two_afc/fine_levels", {"srcc_ci95": [0.6, 0.9]}),
    ],
)
def test_what_says_nothing_is_no_contradiction(board, changes):
    found = [one for one in reasons_for(board, changes) if "Wilson" not in one]
    assert found == []


def test_more_pairs_may_be_right_in_share_than_consistent_where_some_are_of_equal_quality():
    """Of 100 pairs 10 are of equal quality, and no answer about these is consistent; the 90 others are all right."""
    changes = {"n_pairs": 100, "equal_quality": 10, "consistency": 0.9, "accuracy_all": 1.0}
    changes |= {"consistency_ci95": list(wilson_interval(90, 100)), "accuracy_all_ci95": list(wilson_interval(90, 90))}
    assert reasons_for("two_afc/coarse", changes) == []


@pytest.mark.parametrize("marked", [1, 3, 30, 584])
def test_the_widest_genuine_interval_of_a_rank_correlation_is_taken(marked):
    """The smallest database, and predictions that tell nothing but which images are among the best or the worst."""
    board = board_named("q_bench/assessment/live_itw")
    references = np.random.default_rng(0).normal(size=board.items)
    predictions = np.zeros(board.items)
    order = np.argsort(references)
    predictions[[*order[:marked], *order[-marked:]]] = 1.0
    srcc, _ = bootstrap_correlations(predictions, references, np.random.default_rng(0), resamples=200)
    changes = {"srcc": float(np.median(srcc)), "srcc_ci95": interval_or_nan(srcc)}
    assert reasons_for(board.name, changes) == []


def guesses(seed):
    """Answers at random: letters, a refusal, nothing at all; logits for those who ask for them."""
    rng = np.random.default_rng(seed)

    def answer(messages, words=()):
        if words:
            return dict(zip(words, rng.normal(size=len(words)).tolist(), strict=True))
        return str(rng.choice(["A", "A", "B", "C", "D", "I don't know", ""]))

    return answer


CHOICE = ("q_bench/perception", "q_bench/perception_pairs", "mmbench/en", "mmbench/cc", "ql_bench/single")
CHOICE += ("ql_bench/pair", "aes_bench/perception", "aes_bench/assessment")
OTHERS = ("q_bench/description", "q_bench/assessment/cgiqa6k", "two_afc/coarse")


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize(
    ("boards", "model"),
    [
        pytest.param((*CHOICE, *OTHERS), guesses(0), id="guesses"),
        pytest.param(CHOICE, lambda messages: "A", id="always A"),
        pytest.param((*CHOICE, "q_bench/description", "two_afc/coarse"), lambda messages: "", id="silent"),
        pytest.param(CHOICE, lambda messages: "I don't know", id="refuses"),
    ],
)
def test_genuine_results_contradict_themselves_nowhere(boards, model):
    for board in map(board_named, boards):
        data = load_data(get_task(board.task), subset=board.subset, split=board.split, is_mini=True)
        done = evaluator(board.task).run(FunctionBackend(model), data, limit=16)
        assert list(inconsistencies(board, without_nan(done.scores))) == [], board.name
