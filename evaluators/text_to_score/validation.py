"""How well a regressor predicts the scores of images that it was not trained on."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.text_to_score import DEFAULT_FOLDS, TrainingSettings
from eyechart.evaluators.text_to_score.regressor import check_pairs, train
from eyechart.metrics.scoring.inputs import FloatArray


class CrossValidation(NamedTuple):
    """The prediction for each description, by the regressor that was not trained on its image, and the metric's scores.

    `scores` are those of `softmax_iqa` (configuration "scores") for all predictions, and in `by_fold` for each fold.
    Each fold has a different regressor, so the overall correlations can be lower than those of every fold.
    """

    scores: dict[str, Any]
    predictions: FloatArray
    """Shape (n,), in the unit of the scores."""
    folds: NDArray[np.int64]
    """The fold of each description, shape (n,), counted from 1."""
    settings: dict[str, Any]
    """The training settings, and the numbers of folds and images."""


def cross_validate(
    descriptions: Sequence[str],
    scores: Sequence[float],
    settings: TrainingSettings | None = None,
    *,
    folds: int = DEFAULT_FOLDS,
    image_ids: Sequence[str] | None = None,
) -> CrossValidation:
    """Train one regressor for each fold on the other folds, predict the fold, and correlate predictions with scores.

    All descriptions of an image are in the same fold; otherwise a regressor would know the score of an image that it is
    tested on. Without `image_ids`, every description has a different image.
    """
    settings = settings or TrainingSettings()
    targets = check_pairs(descriptions, scores)
    ids = list(map(str, range(len(descriptions)))) if image_ids is None else list(image_ids)
    if len(ids) != len(descriptions):
        raise UsageError(f"image_ids has {len(ids)} items; expected one for each of {len(descriptions)} descriptions.")
    fold_of = assign_folds(ids, folds, settings.seed)
    predictions = np.zeros(len(descriptions))
    for fold in range(1, folds + 1):
        others, in_fold = np.flatnonzero(fold_of != fold).tolist(), np.flatnonzero(fold_of == fold).tolist()
        try:
            regressor = train([descriptions[row] for row in others], targets[others].tolist(), settings)
        except UsageError as error:
            error.add_note(f"This concerns the training on the {len(others)} descriptions outside fold {fold}.")
            raise
        predictions[in_fold] = regressor.predict([descriptions[row] for row in in_fold])
    correlations = metrics.load("softmax_iqa", "scores").compute(
        predictions=predictions,
        references=targets,
        groups={"fold": [str(fold) for fold in fold_of]},
        seed=settings.seed,
    )
    assert correlations is not None, "only the first process of several gets the scores, and this is the only one"
    used = {**dataclasses.asdict(settings), "folds": folds, "images": len(set(ids))}
    return CrossValidation(correlations, predictions, fold_of, used)


def assign_folds(image_ids: Sequence[str], folds: int, seed: int) -> NDArray[np.int64]:
    """Assign images to folds of nearly equal size, whatever their order; returns the fold of each description, from 1.

    Examples:
        >>> assign_folds(["a", "b", "b", "c"], folds=3, seed=0).tolist()
        [2, 3, 3, 1]
    """
    images = sorted(set(image_ids))
    if not 2 <= folds <= len(images):
        raise UsageError(f"folds={folds} is not allowed; expected 2 to {len(images)}, the number of images.")
    order = np.random.default_rng(seed).permutation(len(images))
    fold_of = {images[index]: number % folds + 1 for number, index in enumerate(order)}
    return np.array([fold_of[image] for image in image_ids], dtype=np.int64)
