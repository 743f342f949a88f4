import dataclasses

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.text_to_score.regressor import train
from eyechart.evaluators.text_to_score.validation import assign_folds, cross_validate
from eyechart.metrics.scoring.errors import SmallSampleWarning


@pytest.fixture(scope="module")
def validated(descriptions, settings):
    with pytest.warns(SmallSampleWarning, match="with n=24 images, the fit inflates plcc_fitted"):
        return cross_validate(*descriptions, settings, folds=3)


def test_unseen_descriptions_are_ranked_far_above_chance(validated, settings):
    assert validated.settings == {**dataclasses.asdict(settings), "folds": 3, "images": 72}
    assert validated.scores["n"] == 72
    assert validated.scores["srcc"] > 0.85 and validated.scores["plcc"] > 0.85
    assert validated.scores["srcc_ci95"][0] > 0.8


def test_correlations_are_those_of_scipy_on_the_same_predictions(validated, descriptions):
    scores = np.array(descriptions[1])
    parts = {fold: validated.folds == int(fold) for fold in "123"}
    assert set(validated.scores["by_fold"]) == set(parts)
    all_rows = (validated.scores, scores > 0)
    for part, rows in [all_rows, *((validated.scores["by_fold"][fold], parts[fold]) for fold in parts)]:
        predicted, expected = validated.predictions[rows], scores[rows]
        assert part["srcc"] == pytest.approx(spearmanr(predicted, expected).statistic, abs=1e-12)
        assert part["plcc"] == pytest.approx(pearsonr(predicted, expected).statistic, abs=1e-12)


def test_a_fold_is_predicted_by_a_regressor_trained_on_the_others(validated, descriptions, settings):
    texts, scores = descriptions
    others = [row for row, fold in enumerate(validated.folds) if fold != 2]
    asked = [row for row, fold in enumerate(validated.folds) if fold == 2]
    regressor = train([texts[row] for row in others], [scores[row] for row in others], settings)
    predicted = regressor.predict([texts[row] for row in asked])
    np.testing.assert_allclose(predicted, validated.predictions[asked], rtol=1e-4)


def test_scores_that_the_texts_do_not_tell_are_predicted_at_chance(descriptions, settings):
    texts, scores = descriptions
    shuffled = np.random.default_rng(0).permutation(scores).tolist()
    with pytest.warns(SmallSampleWarning):
        validation = cross_validate(texts, shuffled, dataclasses.replace(settings, epochs=4), folds=3)
    assert abs(validation.scores["srcc"]) < 0.3


def test_images_with_several_descriptions_are_validated_image_by_image(descriptions, settings):
    texts, scores = descriptions[0][:24], descriptions[1][:24]
    short = dataclasses.replace(settings, epochs=1)
    with pytest.warns(SmallSampleWarning):
        validation = cross_validate(texts, scores, short, folds=2, image_ids=[f"{row // 3}" for row in range(24)])
    assert (validation.folds.reshape(8, 3) == validation.folds[::3, None]).all()
    assert sorted(np.bincount(validation.folds)) == [0, 12, 12]
    assert (validation.settings["images"], validation.scores["n"]) == (8, 24)
    # Whatever the order of the images, and another for another seed.
    ids = [f"image {number % 20}" for number in range(50)]
    folds = assign_folds(ids, 3, seed=4)
    assert (assign_folds(ids[::-1], 3, seed=4)[::-1] == folds).all()
    assert (assign_folds(ids, 3, seed=5) != folds).any()


@pytest.mark.parametrize(
    ("texts", "scores", "ids", "message"),
    [
        (["a", "b"], [1.0, 2.0], None, "folds=3 is not allowed; expected 2 to 2, the number of images"),
        (["a", "b", "c"], [1.0, 2.0, 3.0], ["x", "y", "y"], "folds=3 is not allowed; expected 2 to 2"),
        (["a", "b", "c"], [1.0, 2.0, 3.0], ["x", "y"], "image_ids has 2 items; expected one for each of 3"),
        (["a", "b", "c"], [1.0, 2.0], None, "scores has 2"),
    ],
)
def test_what_cannot_be_validated_is_refused(settings, texts, scores, ids, message):
    with pytest.raises(UsageError) as caught:
        cross_validate(texts, scores, settings, folds=3, image_ids=ids)
    assert message in str(caught.value)


def test_a_fold_without_which_all_scores_are_equal_is_named(settings):
    with pytest.raises(UsageError) as caught:
        cross_validate(["a", "b", "c"], [1.0, 1.0, 2.0], settings, folds=3)
    assert "scores are all 1.0" in caught.value.explain()
    assert "on the 2 descriptions outside fold" in caught.value.explain()
