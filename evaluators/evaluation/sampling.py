"""A seeded random sample of N of the M items: how it is drawn, and what its scores say about all items.

Each stratum gets its share to within one item, and each item has the chance N / M, so plain means need no weights.
Intervals are narrowed by the finite population correction sqrt(1 - N / M), even if several items share an image
(Cochran, Sampling Techniques, 1977, Sec. 2.6); the gain from stratification is not used.
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.score_spec import Unit, value_at
from eyechart.metrics.scores import GAIN, INTERVALS, specs_in
from eyechart.metrics.scoring.choices.gain import with_leak_interval
from eyechart.metrics.scoring.statistics.intervals import Interval, finite_interval

SAMPLE = "sample"
"""The setting of a result that describes its sample; absent if all items were asked."""
_WITHOUT = ("none", "constant", "constant-part", "ranking")


@dataclass(frozen=True)
class Sample:
    """A random sample of the rows."""

    rows: tuple[int, ...]
    """Their indices, in order."""
    of: int
    """Total number of rows."""
    seed: int
    strata: tuple[str, ...]
    """Columns whose values define the strata."""

    def settings(self) -> dict[str, Any]:
        """What a result records about the sample."""
        return {"n": len(self.rows), "of": self.of, "seed": self.seed, "strata": list(self.strata)}


def draw_sample(dataset: Dataset, groups: Sequence[str], n: int, seed: int) -> Sample | None:
    """Draw n rows, at least 1, stratified by the groups' columns that exist; None if there are no more than n."""
    if n < 1:
        raise UsageError(f"sample={n} is not allowed; expected at least 1")
    total = len(dataset)
    if n >= total:
        return None
    strata = tuple(name for name in groups if name in dataset.column_names)
    columns = dataset.select_columns(list(strata)).to_dict() if strata else {}
    names = list(zip(*([str(value) for value in columns[name]] for name in strata), strict=True)) or [()] * total
    return Sample(tuple(systematic_rows(names, n, np.random.default_rng(seed))), total, seed, strata)


def systematic_rows(strata: Sequence[tuple[str, ...]], n: int, rng: np.random.Generator) -> list[int]:
    """Indices of n rows with equal chances, spread over the strata (Madow, Annals of Mathematical Statistics, 1949).

    Examples:
        >>> rows = systematic_rows([("what",)] * 60 + [("how",)] * 30, 9, np.random.default_rng(0))
        >>> len(rows), sum(row < 60 for row in rows)
        (9, 6)
    """
    shuffled = rng.permutation(len(strata)).tolist()
    # The order of the strata is random too; otherwise the same neighbours would always share a step.
    different = sorted(set(strata))
    order = dict(zip(different, rng.permutation(len(different)).tolist(), strict=True))
    ordered = sorted(shuffled, key=lambda row: order[strata[row]])
    step = len(strata) / n
    start = rng.random() * step
    return sorted(ordered[min(int(start + index * step), len(strata) - 1)] for index in range(n))


def correct_for_all(result: TaskResult, sample: Mapping[str, Any]) -> None:
    """Change the intervals of a sample's result: they are then for the scores on all items."""
    if result.scores is not None:
        result.scores = finite_scores(result.scores, sample)
    result.variants = {name: finite_scores(scores, sample) for name, scores in result.variants.items()}
    diagnostics = result.diagnostics
    if GAIN in diagnostics:
        diagnostics[GAIN] = with_leak_interval(finite_scores(diagnostics[GAIN], sample))
    if "table" in diagnostics:
        diagnostics["table"] = {name: finite_scores(part, sample) for name, part in diagnostics["table"].items()}


def finite_scores(scores: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of a sample whose intervals, overall and by group, are for the score on all items."""
    fraction = sample["n"] / sample["of"]
    corrected = _finite_part(scores, fraction)
    for name, parts in scores.items():
        if name.startswith("by_") and isinstance(parts, Mapping):
            corrected[name] = {part: _finite_part(of_part, fraction) for part, of_part in parts.items()}
    return corrected


def _finite_part(scores: Mapping[str, Any], fraction: float) -> dict[str, Any]:
    corrected = deepcopy(dict(scores))
    for score in specs_in(scores):
        about = scores.get(INTERVALS, {}).get(score.key)
        if about is None or about["kind"] in _WITHOUT:
            continue
        units = about["units"]
        if score.correlation and not score.of:
            # Pairs were sampled, not the images that they rank.
            interval = Interval(math.nan, math.nan, "ranking", units)
        else:
            value, (low, high) = float(score.value(scores)), score.bounds(scores)
            is_share = score.unit in (Unit.FRACTION, Unit.PERCENT) and score.low == 0 and len(score.counts) == 1
            n = score.n(scores) if is_share else None
            interval = finite_interval(Interval(low, high, "bootstrap", units), value, fraction, n, score.high)
        corrected[INTERVALS][score.key] = interval.described()
        *outer, last = score.interval_key.split(".")
        part = value_at(corrected, ".".join(outer)) if outer else corrected
        part[last] = [interval.low, interval.high]
    return corrected
