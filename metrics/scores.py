"""The table of all scores: the meaning, key and presentation of every number that a metric returns.

Printed tables, the check of `results.json`, reports, comparisons, model cards, leaderboards and the metric cards are
built from it. A dot in a key leads into a mapping: `yes_no.mean` is `scores["yes_no"]["mean"]`. If a key has different
meanings in different modules, the table has one entry for each meaning.
"""

from collections.abc import Mapping
from typing import Any

from eyechart.metrics.score_spec import ScoreSpec, Unit, value_at

INFINITY = float("inf")

CHOICE, CIRCULAR, AWARENESS = "choice_accuracy", "circular_eval", "self_awareness"
QUALITY, PAIRS = "softmax_iqa", "paired_comparison"
DESCRIPTION, ANSWER = "judge_description", "judge_answer"
NUMBERS = "numbers"
"""Used like a metric name: how `QualityAssessment` read the numbers in replies that softmax_iqa then scores."""
OWN = "own_score"
"""Used like a metric name: the mean of what a task's own scoring function returns."""
_CHOICES = (CHOICE, CIRCULAR, AWARENESS)
_JUDGED = (DESCRIPTION, ANSWER)
DIMENSIONS = ("completeness", "preciseness", "precision", "relevance")
"""Keys of the mappings that `judge_description` returns for the dimensions of its templates."""

OWN_RANGE = "own_score_range"
"""Not a score: the lowest and the highest value that a task's own scoring function may return."""
_PERCENT: dict[str, Any] = {"unit": Unit.PERCENT, "high": 100.0}
_POINTS: dict[str, Any] = {"unit": Unit.POINTS}
_SIDES_OF_PAIR = ("first_id", "second_id")
_QUESTIONS: dict[str, Any] = {"counts": ("n_questions",)}
_PAIRS: dict[str, Any] = {"counts": ("n_pairs",)}


def _main(key: str, label: str, module: str, **more: Any) -> ScoreSpec:
    """A score that tables show with its interval."""
    return ScoreSpec(key, label, (module,), has_interval=True, **more)


def _detail(key: str, label: str, *modules: str, **more: Any) -> ScoreSpec:
    """A score that results and reports have, but not the printed table."""
    return ScoreSpec(key, label, modules, in_table=False, **more)


def _neutral(key: str, label: str, *modules: str, **more: Any) -> ScoreSpec:
    """A detail of which neither direction is better."""
    return _detail(key, label, *modules, higher_is_better=None, **more)


def _count(key: str, label: str, *modules: str) -> ScoreSpec:
    return _neutral(key, label, *modules, unit=Unit.COUNT, high=INFINITY, counts=())


def _correlations(module: str, count: str) -> tuple[ScoreSpec, ...]:
    """The same correlations, of images, in two modules."""
    shared: dict[str, Any] = {"modules": (module,), "unit": Unit.CORRELATION, "low": -1.0, "counts": (count,)}
    is_pairs = module == PAIRS
    # Images that are ranked from pairs have no items of their own: see `ImageRanking`.
    ranks, values = (() if is_pairs else (column,) for column in ("rank_score", "quality_score"))
    shared |= {"images": _SIDES_OF_PAIR} if is_pairs else {"against": "quality"}
    compared: dict[str, Any] = {**shared, "has_interval": True, "chance": 0.0}
    not_fitted = "the logistic is not refitted on every resample"
    return (
        ScoreSpec("plcc_fitted", "PLCC, fitted", **shared, no_interval=not_fitted, in_table=is_pairs),
        ScoreSpec("srcc", "SRCC", **compared, of=ranks, correlation="spearman", headline=not is_pairs),
        ScoreSpec("plcc", "PLCC", **compared, of=values, correlation="pearson"),
        ScoreSpec("krcc", "KRCC", **shared, chance=0.0, in_table=False),
    )


def _dimension(name: str) -> tuple[ScoreSpec, ...]:
    """What `judge_description` returns for one dimension."""
    part: dict[str, Any] = {"counts": (f"{name}.n",), "part_of": "mean"}
    return (
        _main(f"{name}.score", name, DESCRIPTION, **part, **_POINTS, high=2.0, of=(name,)),
        *(_neutral(f"{name}.p{score}", f"{name}: share of {score}", DESCRIPTION, **part) for score in range(3)),
        _count(f"{name}.n", f"{name}: images with a judge score", DESCRIPTION),
        _count(f"{name}.failed_rounds", f"{name}: failed rounds", DESCRIPTION),
    )


def _extraction(mapping: str, label: str, *modules: str) -> tuple[ScoreSpec, ...]:
    """Shares of replies by the step that decided them."""
    steps = {
        "exact": "parsed by exact matching",
        "declared": "parsed as declared answers",
        "judge": "parsed by a judge",
        "random": "replaced by a random choice",
        "unmatched": "that name no option, or no image",
    }
    shares = (_neutral(f"{mapping}.{step}", f"{label} {how}", *modules) for step, how in steps.items())
    unread = _unread(mapping, label, "cut off before they name an answer", "that could not be parsed", *modules)
    return *shares, *unread


def _unread(mapping: str, label: str, cut_off: str, unparseable: str, *modules: str) -> tuple[ScoreSpec, ...]:
    """Shares of replies without an answer, or of incomplete texts, by reason."""
    reasons = {
        "cut_off": cut_off,
        "unfinished_reasoning": "that end in unfinished reasoning",
        "refused": "refused",
        "unparseable": unparseable,
    }
    shared: dict[str, Any] = {"counts": (), "no_interval": "they only describe the replies of this run"}
    return tuple(
        _neutral(f"{mapping}.{reason}", f"{label} {how}", *modules, **shared, above_zero=True)
        for reason, how in reasons.items()
    )


_BIAS: dict[str, Any] = {
    "no_interval": "by chance alone it is already above 0 (see the spread expected by chance)",
    "chance": "position_bias.spread_by_chance",
    "higher_is_better": False,
    "counts": (),
}
_YES, _NO = ("yes_no.n_yes",), ("yes_no.n_no",)

SCORES: tuple[ScoreSpec, ...] = (
    _main("accuracy", "accuracy", CHOICE, chance="random_guess", headline=True, of=("correct",)),
    _main("yes_no.mean", "balanced yes/no accuracy", CHOICE, chance=0.5, counts=_YES + _NO, part_of="accuracy"),
    _detail("yes_no.yes", "accuracy where the answer is yes", CHOICE, counts=_YES),
    _detail("yes_no.no", "accuracy where the answer is no", CHOICE, counts=_NO),
    _detail("yes_no.all", "accuracy where the answer is yes or no", CHOICE, counts=_YES + _NO),
    _main(
        "circular_accuracy",
        "CircularEval",
        CIRCULAR,
        **_QUESTIONS,
        chance="random_guess",
        headline=True,
        of=("circular_correct",),
    ),
    _main("vanilla_accuracy", "VanillaEval", CIRCULAR, counts=("n_vanilla",), of=("correct",)),
    _detail("position_free_accuracy", "accuracy by majority of the passes", CIRCULAR, **_QUESTIONS, has_interval=True),
    _detail(
        "flip_rate",
        "questions whose answer changes with the order of the options",
        CIRCULAR,
        **_QUESTIONS,
        has_interval=True,
        higher_is_better=False,
    ),
    _main("score_sa", "self-awareness", AWARENESS, **_PERCENT, headline=True, of=("self_aware",)),
    _main("score_cc", "right answers", AWARENESS, **_PERCENT, part_of="score_sa", of=("correct",)),
    _main("score_rc", "right refusals", AWARENESS, **_PERCENT, part_of="score_sa"),
    _main("answer_rate", "answer rate", AWARENESS, higher_is_better=None),
    _main("answer_accuracy", "answer accuracy", AWARENESS, chance="random_guess"),
    _main("sum", "sum (0 to 6)", DESCRIPTION, **_POINTS, high=6.0, of=DIMENSIONS),
    _main("mean", "mean (0 to 2)", DESCRIPTION, **_POINTS, high=2.0, headline=True, of=DIMENSIONS, is_averaged=True),
    *(part for name in DIMENSIONS for part in _dimension(name)),
    _main(
        "mean_score",
        "mean judge score (1 to 5)",
        ANSWER,
        **_POINTS,
        low=1.0,
        high=5.0,
        counts=("n_scored",),
        headline=True,
    ),
    _main("exact_match", "exact match", ANSWER),
    _main(
        "own_score",
        "own score",
        OWN,
        **_POINTS,
        low=-INFINITY,
        high=INFINITY,
        range_key=OWN_RANGE,
        headline=True,
        of=(OWN,),
    ),
    _main("consistency", "consistency", PAIRS, **_PAIRS, of=("consistent",), images=_SIDES_OF_PAIR),
    _main(
        "accuracy_all",
        "pair accuracy",
        PAIRS,
        **_PAIRS,
        chance=0.25,
        headline=True,
        of=("correct",),
        images=_SIDES_OF_PAIR,
    ),
    _main("accuracy_consistent", "accuracy, consistent pairs", PAIRS, counts=("n_consistent",), chance=0.5),
    _main("first_rate", "first-position preference", PAIRS, **_PAIRS, higher_is_better=None, chance=0.5),
    _neutral("second_rate", "second-position preference", PAIRS, **_PAIRS),
    _neutral("draw_rate", "no preference", PAIRS, **_PAIRS),
    *_correlations(PAIRS, "n_images"),
    *_correlations(QUALITY, "n"),
    _detail("rmse_fitted", "RMSE, fitted", QUALITY, **_POINTS, high=INFINITY, higher_is_better=False),
    _neutral("random_guess", "chance level", *_CHOICES),
    _detail("position_bias.spread", "spread of recall over positions", *_CHOICES, **_BIAS),
    _neutral("position_bias.spread_by_chance", "spread of recall expected by chance", *_CHOICES, counts=()),
    *_extraction("extraction", "replies", *_CHOICES, PAIRS),
    *_extraction("forced_extraction", "forced replies", AWARENESS),
    *_unread("outcomes", "texts", "cut off", "that are empty", DESCRIPTION),
    *_unread("unread", "replies", "cut off before they give a number", "that could not be parsed", NUMBERS),
    _count("n", "items", *_CHOICES, QUALITY, *_JUDGED, OWN),
    _count("yes_no.n_yes", "items whose answer is yes", CHOICE),
    _count("yes_no.n_no", "items whose answer is no", CHOICE),
    _count("n_questions", "questions", CIRCULAR),
    _count("n_vanilla", "questions with a first pass", CIRCULAR),
    _count("n_passes", "passes", CIRCULAR),
    _count("dropped", "questions left out", CIRCULAR),
    _count("n_refused", "refused questions", AWARENESS),
    _count("unmatched", "replies that name no option, or no image", AWARENESS, PAIRS),
    _count("forced_unmatched", "forced replies that name no option", AWARENESS),
    _count("judge_asked", "replies sent to the judge", *_CHOICES),
    _count("judge_failed_rounds", "failed judge rounds", *_CHOICES),
    _count("judge_unscored", "replies for which every judge round failed", *_CHOICES),
    _count("judge_ties", "replies for which the judge's rounds tied", *_CHOICES),
    _count("n_scored", "answers with a judge score", ANSWER),
    _count("failed_rounds", "failed judge rounds", *_JUDGED),
    _count("unscored", "images without a score in at least one dimension", DESCRIPTION),
    _count("empty_predictions", "empty texts", *_JUDGED),
    _count("without_reference", "items without a reference", *_JUDGED),
    _count("n_pairs", "pairs", PAIRS),
    _count("n_consistent", "consistent pairs", PAIRS),
    _count("equal_quality", "pairs of equal quality", PAIRS),
    _count("n_images", "images", PAIRS),
    _count("n_pools", "pools", PAIRS),
    _count("n_undefined_pools", "pools without a correlation", PAIRS),
)
"""All scores, in the order in which tables show them."""

NAMED: Mapping[str, tuple[tuple[str, ...], float]] = {
    "choice_distribution.predicted": (_CHOICES, 1.0),
    "choice_distribution.correct": (_CHOICES, 1.0),
    "position_bias.recall": (_CHOICES, 1.0),
    "score_distribution": ((ANSWER,), 1.0),
    "scores": ((PAIRS,), 100.0),
}
"""Mappings of names, such as letters or image ids, to numbers: the modules that return them, and the highest possible
number. The lowest is 0."""

IMAGE_SCORES = "scores"
"""Not a score: the scores of images that were ranked from pairs, by id, or by pool and id."""
EQUAL_QUALITY, DROPPED = "equal_quality", "dropped"
"""Counts of pairs without a right answer, and of questions that CircularEval leaves out."""
INTERVALS = "intervals"
"""Not a score: the `kind` of each interval and its number of independent `units`, by the key of the score."""
FIT_PARAMETERS = "fit_parameters"
"""Not a score: parameters b1, b2, ... of the logistic fitted for `plcc_fitted`, for its curve in reports; None without
a fit."""

_BY_KEY: dict[str, ScoreSpec] = {}
for _spec in SCORES:
    _BY_KEY.setdefault(_spec.key, _spec)


def spec(key: str, module: str | None = None) -> ScoreSpec:
    """The declaration of a key; raises KeyError for an undeclared one.

    The module matters for the correlations, whose items are counted differently by different metrics.

    Examples:
        >>> spec("srcc", "paired_comparison").counts, spec("yes_no.mean").label
        (('n_images',), 'balanced yes/no accuracy')
    """
    if module is None:
        return _BY_KEY[key]
    return next((found for found in SCORES if found.key == key and module in found.modules), _BY_KEY[key])


def specs_of(module: str) -> tuple[ScoreSpec, ...]:
    """The declarations of all scores that a metric returns, its headline first."""
    return tuple(sorted((found for found in SCORES if module in found.modules), key=lambda found: not found.headline))


def correlations_of(module: str) -> tuple[ScoreSpec, ...]:
    """The declarations of the correlations that a metric returns."""
    return tuple(found for found in specs_of(module) if found.unit is Unit.CORRELATION)


def specs_in(scores: Mapping[str, Any]) -> tuple[ScoreSpec, ...]:
    """The declarations of the scores in a metric's result for all items or for a group, in the order of the table."""
    return tuple(
        found
        for found in SCORES
        if value_at(scores, found.key) is not None and (not found.counts or found.n(scores) is not None)
    )


def headline(module: str) -> ScoreSpec:
    """The declaration of the score that represents a metric."""
    return next(found for found in SCORES if found.headline and module in found.modules)
