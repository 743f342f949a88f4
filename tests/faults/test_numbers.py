"""Numbers: replies and data that could change a score."""

import math
import warnings

import numpy as np
import pytest
from datasets import Value

from eyechart.metrics.columns import check_columns
from eyechart.metrics.scoring.choices.replies import read_reply
from eyechart.metrics.scoring.errors import InputError, UndefinedScoreWarning
from eyechart.metrics.scoring.pairs.pools import check_pairs
from eyechart.metrics.scoring.pairs.preferences import read_pairs
from eyechart.metrics.scoring.quality.pooling import ensemble_logits, read_logits, read_scores
from eyechart.metrics.scoring.quality.scores import QualitySettings, quality_scores
from tests.faults.fault import fault, rows


@pytest.mark.parametrize(
    ("options", "reply", "letters"),
    [
        *rows(
            "that option is extracted",
            ("a reply equals another option's text except for punctuation", ["A", "A+", "A-"], "A+", "B"),
        ),
        *rows(
            "it is accepted", ("a reply is an option's text that looks like a letter", ["C++", "C#", "C"], "C#", "B")
        ),
    ],
)
def test_texts_that_look_like_letters(options, reply, letters):
    assert read_reply(reply, options)[0] == letters


SAME = "all scores equal those of the same values in the usual range"
N = 40
PREDICTED = np.random.default_rng(0).normal(size=N)
OPINIONS = PREDICTED + 0.3 * np.random.default_rng(1).normal(size=N)


def scores(predicted, opinions):
    return quality_scores(read_scores(predicted), opinions, settings=QualitySettings(resamples=50))


def module(opinions):
    """The module's check of its columns."""
    return check_columns({"references": opinions}, {"references": Value("float64")})


@pytest.mark.parametrize(
    ("of_predictions", "of_opinions"),
    rows(
        SAME,
        ("predicted scores are as large as 1.7e308", 1.7e308, 1),
        ("opinion scores are as large as 1.7e308", 1, 1.7e308),
        ("predicted scores are as small as 1e-305", 1e-305, 1),
        ("opinion scores are as small as 1e-305", 1, 1e-305),
    ),
)
def test_scores_at_the_ends_of_the_range_of_numbers(of_predictions, of_opinions):
    predicted, opinions = PREDICTED / np.abs(PREDICTED).max(), OPINIONS / np.abs(OPINIONS).max()
    usual, scored = scores(predicted, opinions), scores(predicted * of_predictions, opinions * of_opinions)
    for name in ("srcc", "plcc", "krcc", "plcc_fitted", "srcc_ci95", "plcc_ci95"):
        assert scored[name] == pytest.approx(usual[name], abs=1e-6)
    assert scored["rmse_fitted"] / of_opinions == pytest.approx(usual["rmse_fitted"], rel=1e-6)


@fault("one of forty predicted scores is 1e308", "correlations and intervals are defined")
def test_one_score_is_enormous():
    scored = scores(np.append(PREDICTED[1:], 1e308), OPINIONS)
    assert all(map(math.isfinite, [scored["srcc"], scored["plcc"], *scored["srcc_ci95"], *scored["plcc_ci95"]]))


@fault("opinion scores near 1e15 differ by less than the rounding error", "the fit and its interval are defined")
def test_scores_that_differ_by_little():
    scored = scores(1e15 + np.round(3 * PREDICTED), OPINIONS)
    assert scored["plcc"] > 0.8 and math.isfinite(scored["rmse_fitted"]) and math.isfinite(scored["plcc_ci95"][0])


@fault("opinion scores of a pair are 1e308 and -1e308", "the first image counts as better; no overflow occurs")
def test_a_difference_beyond_numbers():
    pairs = check_pairs(["a", "b"], ["b", "c"], [1e308, -1e308], [-1e308, 0.0])
    items = read_pairs(["first", "first"], ["second", "second"], pairs)
    assert items["correct"] == [True, False]


UNDEFINED = "the scores are nan, and a warning says why"


@pytest.mark.parametrize(
    ("predicted", "opinions", "reason"),
    rows(
        UNDEFINED,
        ("all predicted scores are equal", np.ones(N), OPINIONS, "all 40 predictions are equal"),
        ("all opinion scores are equal", PREDICTED, np.ones(N), "all 40 references are equal"),
        ("there is only one image", PREDICTED[:1], OPINIONS[:1], "at least two items"),
    ),
)
def test_scores_that_are_undefined(predicted, opinions, reason):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scored = scores(predicted, opinions)
    assert {warning.category for warning in caught} == {UndefinedScoreWarning} and reason in str(caught[0].message)
    assert all(math.isnan(scored[name]) for name in ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted"))


NAMES_ROW = "it is refused; the message names the argument and the row"


@pytest.mark.parametrize(
    ("compute", "reason"),
    [
        *rows(
            NAMES_ROW,
            ("a predicted score is nan", lambda: read_scores([1, math.nan]), r"predictions\[1\] is nan"),
            ("a predicted score is a string", lambda: read_scores([1, "x"]), r"predictions\[1\] is 'x'"),
            ("an opinion score is nan", lambda: scores([1, 2], [1, math.nan]), r"references\[1\] is nan"),
            ("an opinion score is an integer of 400 digits", lambda: scores([1, 2], [1, 10**400]), r"references\[1\]"),
            ("an opinion score is true", lambda: scores([1, 2], [1, True]), r"references\[1\] is True"),
            ("opinion scores are text", lambda: scores([1, 2], np.array(["1", "1_0"])), r"references\[0\] is '1'"),
            ("a pair's opinion score is true", lambda: check_pairs("a", "b", [True], [2]), r"first_references\[0\]"),
            ("a module's opinion score is true", lambda: module([0.5, True]), r"references\[1\] is True"),
            ("a module's opinion score is NumPy's true", lambda: module([np.True_]), r"references\[0\] is np.True_"),
            ("a module's opinion score has 400 digits", lambda: module([0.5, 10**400]), r"references\[1\] is 1000"),
            ("a logit is infinite", lambda: read_logits([[1, 2], [1, -math.inf]]), r"predictions\[1\] is \[1.0"),
            ("two logits are 1e308 and -1e308", lambda: read_logits([[1, 2], [1e308, -1e308]]), r"predictions\[1\]"),
            ("an image lacks the second logit", lambda: read_logits([[1, 2], [1]]), r"predictions\[1\] is \[1\]"),
            ("there are more opinion scores than predicted scores", lambda: scores([1, 2], [1, 2, 3]), "row 2 is the"),
        ),
        *rows(
            "it is refused; the message states the lengths",
            (
                "the words of an ensemble have different numbers of logits",
                lambda: ensemble_logits({"good": [1, 2], "fine": [1], "poor": [1, 2]}, ["good", "fine"], ["poor"]),
                "fine has 1 rows and good has 2",
            ),
        ),
    ],
)
def test_numbers_that_are_refused(compute, reason):
    with pytest.raises(InputError, match=reason):
        compute()
