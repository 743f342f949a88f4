"""All scores that compare predicted quality with opinion scores: overall, by group and averaged over groups.

Protocol: Q-Bench, Sec. 2.4 and Appendix A.2.3 (CGIQA-6K is scored on its two halves, whose scores are averaged). Here
an undefined score becomes nan, with a warning; the functions in `correlation` raise an error instead.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eyechart.metrics.scoring.errors import SmallSampleWarning, UndefinedScoreError, UndefinedScoreWarning
from eyechart.metrics.scoring.inputs import (
    FloatArray,
    ItemColumns,
    check_count,
    check_lengths,
    check_member,
    check_numbers,
    check_opinions,
    rows_by_value,
)
from eyechart.metrics.scoring.quality import correlation
from eyechart.metrics.scoring.quality.correlation import FitName
from eyechart.metrics.scoring.quality.pooling import Pooled, PoolingSettings
from eyechart.metrics.scoring.statistics.bootstrap import bootstrap_correlations, check_seed, part_generator
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, mean_interval, percentile_interval
from eyechart.metrics.scoring.statistics.pearson import plcc_interval

SCORES = ("srcc", "plcc", "krcc", "plcc_fitted", "rmse_fitted")
SMALL_SAMPLE = 30


@dataclass(frozen=True)
class QualitySettings:
    """Settings of quality scores; raises `InputError` for one that is not allowed."""

    fit: FitName = "logistic4"
    average_over: str | None = None
    """Name of the group whose scores are averaged for the overall scores."""
    resamples: int = 1000
    seed: int = 0
    pooling: PoolingSettings | None = None
    """How logits were pooled, for the result; None if scores were given directly."""

    def __post_init__(self) -> None:
        """Check the settings that do not depend on the data."""
        check_member("fit", self.fit, ("logistic4", "logistic5"))
        check_count("resamples", self.resamples)
        check_seed(self.seed)

    def applying(self) -> dict[str, Any]:
        """The settings that a result depends on."""
        logits = {} if self.pooling is None else asdict(self.pooling) | {"temperature": float(self.pooling.temperature)}
        return {**logits, **{name: getattr(self, name) for name in ("fit", "average_over", "resamples", "seed")}}


@dataclass(frozen=True)
class Correlations:
    """Scores of one set of images, with the data that an average over sets needs."""

    scores: Mapping[str, float]
    """`SCORES` by name; an undefined score is nan."""
    replicates: FloatArray
    """Bootstrap replicates of SRCC and of PLCC, shape (2, resamples); nan without resampling."""
    n: int
    undefined: Mapping[str, Sequence[str]]
    """Names of undefined scores by reason."""
    fit_parameters: tuple[float, ...] | None = None
    """As in `correlation.Fit`; None without a fit of these images."""
    units: int | None = None
    """Number of resampled units; None if images were resampled."""
    plcc_interval: Interval | None = None
    """None if it comes from the replicates."""

    def listed(self, names: Sequence[str] = SCORES) -> dict[str, Any]:
        """Scores with their intervals, for results."""
        units = self.n if self.units is None else self.units
        srcc = percentile_interval(self.replicates[0], units)
        plcc = self.plcc_interval or percentile_interval(self.replicates[1], units)
        return {**{name: self.scores[name] for name in names}, **listed_intervals({"srcc": srcc, "plcc": plcc})}


def quality_scores(
    items: ItemColumns,
    references: ArrayLike,
    groups: Mapping[str, Sequence[str]] | None = None,
    settings: QualitySettings | None = None,
) -> dict[str, Any]:
    """Everything that `softmax_iqa` returns: correlations of predicted quality with opinion scores, higher is better.

    `items` are from `read_logits` or `read_scores`. With `average_over`, the overall scores are plain means over the
    values of that group, with intervals for these means. A score is nan, with a warning, if an input is constant or too
    short; there is also a warning if a fit is based on fewer than 30 images.
    """
    settings, groups = settings or QualitySettings(), groups or {}
    opinions = check_opinions("references", references)
    pooled = Pooled(*(check_numbers(name, items[name]) for name in ("quality_score", "rank_score")))
    check_lengths(predictions=pooled.values, references=opinions)
    if settings.average_over is not None:
        check_member("average_over", settings.average_over, list(groups))
    parts = {
        name: {
            value: _part(f"{name}={value}", pooled, opinions, rows, settings)
            for value, rows in rows_by_value(values).items()
        }
        for name, values in groups.items()
    }
    if settings.average_over is None:
        whole = _part("overall", pooled, opinions, range(len(opinions)), settings)
    else:
        whole = _mean(list(parts[settings.average_over].values()))
    by_group = {f"by_{name}": {value: _listed(part) for value, part in of.items()} for name, of in parts.items()}
    return {**_listed(whole), **by_group, **settings.applying()}


def _listed(part: Correlations) -> dict[str, Any]:
    parameters = None if part.fit_parameters is None else list(part.fit_parameters)
    return {**part.listed(), "fit_parameters": parameters, "n": part.n}


def _mean(parts: Sequence[Correlations]) -> Correlations:
    means = {name: float(np.mean([part.scores[name] for part in parts])) for name in SCORES}
    replicates = np.mean([part.replicates for part in parts], axis=0)
    intervals = [part.plcc_interval for part in parts if part.plcc_interval is not None]
    interval = mean_interval([part.scores["plcc"] for part in parts], intervals)
    return Correlations(means, replicates, sum(part.n for part in parts), {}, plcc_interval=interval)


def _part(
    where: str, pooled: Pooled, references: FloatArray, rows: Sequence[int], settings: QualitySettings
) -> Correlations:
    """Scores of the images in `rows`; `where` names them in warnings."""
    index = np.asarray(rows)
    x, y = Pooled(pooled.values[index], pooled.ranking[index]), references[index]
    part = replace(correlate(where, x, y, settings, ["spearman"]), plcc_interval=plcc_interval(x.values, y))
    for reason, names in part.undefined.items():
        warnings.warn(f"{where}: nan for {', '.join(names)}: {reason}", UndefinedScoreWarning, stacklevel=4)
    if part.n < SMALL_SAMPLE and not np.isnan(part.scores["plcc_fitted"]):
        message = f"{where}: with n={part.n} images, the fit inflates plcc_fitted; compare it with plcc and srcc"
        warnings.warn(message, SmallSampleWarning, stacklevel=4)
    return part


def correlate(
    where: str, pooled: Pooled, references: FloatArray, settings: QualitySettings, resampled: Sequence[str]
) -> Correlations:
    """Scores of one set of images, nan if undefined, with the bootstrap of the `resampled` correlations of its ranking.

    `where`, the name of the set, decides the draws. `resampled` is empty, "spearman", or "spearman" and "pearson".
    """
    x, ranking, y = pooled.values, pooled.ranking, references
    scores: dict[str, float] = {}
    undefined: dict[str, list[str]] = {}
    parameters: tuple[float, ...] | None = None

    def keep(names: Sequence[str], compute: Callable[[], Sequence[float]]) -> None:
        try:
            found = compute()
        except UndefinedScoreError as error:
            undefined.setdefault(str(error), []).extend(names)
            found = [float("nan")] * len(names)
        scores.update(zip(names, found, strict=True))

    def fitted() -> Sequence[float]:
        nonlocal parameters
        fit = correlation.fit_logistic(x, y, settings.fit)
        parameters = fit.parameters
        return fit.plcc, fit.rmse

    keep(["srcc"], lambda: [correlation.srcc(ranking, y)])
    keep(["plcc"], lambda: [correlation.plcc(x, y)])
    keep(["krcc"], lambda: [correlation.krcc(ranking, y)])
    keep(["plcc_fitted", "rmse_fitted"], fitted)
    replicates = np.full((2, settings.resamples), np.nan)
    if resampled:
        # The bootstrap is faster with sorted items.
        order, rng = np.argsort(ranking, kind="stable"), part_generator(settings.seed, where)
        found = bootstrap_correlations(ranking[order], y[order], rng, settings.resamples, resampled)
        replicates[: len(resampled)] = found
    return Correlations(scores, replicates, len(y), undefined, parameters)
