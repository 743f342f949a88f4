"""A seeded random sample of the items, in place of all of them: which ones, and what their scores say about all.

The items are sorted by stratum, at random within each, and every (M / N)-th is taken from a random start on (Madow,
Annals of Mathematical Statistics, 1949). So each stratum has its share of the sample, to within one item, and each item
the same chance N / M, so that plain means weight all items as a weighted estimate would. Nothing but the choice of
items is random of the score on all M of them: intervals become narrower by the finite population correction
sqrt(1 - N / M), whichever items are about the same image (Cochran, Sampling Techniques, 1977, Sec. 2.6).
The gain from strata is not counted, so that intervals are a little wider than need be where strata differ much.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from datasets import Dataset

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.choice.blind import GAIN
from eyechart.evaluators.protocols.choice.calibration import CALIBRATION
from eyechart.metrics.scores import INTERVALS, ScoreSpec, Unit, specs_in
from eyechart.metrics.scoring.statistics.intervals import Interval, finite_interval

SAMPLE = "sample"
"""The setting of a result that describes its sample; not there where all items were asked."""
_WITHOUT = ("none", "constant", "constant-part", "ranking")


@dataclass(frozen=True)
class Sample:
    """Rows that stand for all."""

    rows: tuple[int, ...]
    """Their places, in order."""
    of: int
    """Number of all rows."""
    seed: int
    strata: tuple[str, ...]
    """Columns whose values make the strata."""

    def settings(self) -> dict[str, Any]:
        """What a result says of it."""
        return {"n": len(self.rows), "of": self.of, "seed": self.seed, "strata": list(self.strata)}


def draw_sample(dataset: Dataset, groups: Sequence[str], n: int, seed: int) -> Sample | None:
    """Draw a sample of some data.

    Args:
        dataset: All rows.
        groups: Columns of the task's groups; those that the data have make the strata, each combination one.
        n: Number of rows, at least 1.
        seed: Of the draw.

    Returns:
        The sample; None where there are no more than n rows.

    Raises:
        UsageError: n is below 1.
    """
    if n < 1:
        raise UsageError(f"sample={n} is not allowed; it is at least 1")
    total = len(dataset)
    if n >= total:
        return None
    strata = tuple(name for name in groups if name in dataset.column_names)
    columns = dataset.select_columns(list(strata)).to_dict() if strata else {}
    names = list(zip(*([str(value) for value in columns[name]] for name in strata), strict=True)) or [()] * total
    return Sample(tuple(systematic_rows(names, n, np.random.default_rng(seed))), total, seed, strata)


def systematic_rows(strata: Sequence[tuple[str, ...]], n: int, rng: np.random.Generator) -> list[int]:
    """Places of a stratified random sample, each with the same chance.

    Args:
        strata: Of each row.
        n: Number of rows to take, at most as many as there are.
        rng: Source of the draws.

    Examples:
        >>> rows = systematic_rows([("what",)] * 60 + [("how",)] * 30, 9, np.random.default_rng(0))
        >>> len(rows), sum(row < 60 for row in rows)
        (9, 6)
    """
    shuffled = rng.permutation(len(strata)).tolist()
    # Strata come in a random order too, or those at the seams would always share a step.
    different = sorted(set(strata))
    order = dict(zip(different, rng.permutation(len(different)).tolist(), strict=True))
    ordered = sorted(shuffled, key=lambda row: order[strata[row]])
    step = len(strata) / n
    start = rng.random() * step
    return sorted(ordered[min(int(start + place * step), len(strata) - 1)] for place in range(n))


def finite_scores(scores: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, Any]:
    """Scores with intervals about the score on all items.

    Args:
        scores: What the metric returned for the sample.
        sample: From `Sample.settings`.
    """
    fraction = sample["n"] / sample["of"]
    found = _finite_part(scores, fraction)
    for name, parts in scores.items():
        if name.startswith("by_") and isinstance(parts, Mapping):
            found[name] = {part: _finite_part(own, fraction) for part, own in parts.items()}
    return found


def finite_diagnostics(diagnostics: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, Any]:
    """Diagnostics with intervals about all items: gain and leak, repeats, the benchmark's table, AURC.

    Two stay intervals about many more items. The ends of that of the calibration error bound what chance adds to it,
    and chance adds to the error of all items too. That of abstaining rests on the few answers that differ; brought
    nearer to their difference it would exclude 0 where resamples do not.

    Args:
        diagnostics: Of a result on the sample.
        sample: From `Sample.settings`.
    """
    fraction, found = sample["n"] / sample["of"], dict(diagnostics)
    if GAIN in found:
        gain = _finite_part(found[GAIN], fraction)
        # The leak is the blind score, moved by the chance level.
        found[GAIN] = gain | {"leak_ci95": [end - gain["random_guess"] for end in gain["blind_score_ci95"]]}
    if "choices" in found.get("repeats", {}):
        found["repeats"] = found["repeats"] | {"choices": _finite_part(found["repeats"]["choices"], fraction)}
    if "table" in found:
        found["table"] = {name: _finite_part(part, fraction) for name, part in found["table"].items()}
    if CALIBRATION in found and (about := found[CALIBRATION][INTERVALS]["aurc"])["kind"] not in _WITHOUT:
        calibration = found[CALIBRATION]
        low, high = calibration["aurc_ci95"]
        interval = finite_interval(Interval(low, high, about["kind"], about["units"]), calibration["aurc"], fraction)
        kinds = calibration[INTERVALS] | {"aurc": interval.described()}
        found[CALIBRATION] = calibration | {"aurc_ci95": [interval.low, interval.high], INTERVALS: kinds}
    return found


def _finite_part(scores: Mapping[str, Any], fraction: float) -> dict[str, Any]:
    found = dict(scores)
    kinds = dict(scores.get(INTERVALS, {}))
    for score in specs_in(scores):
        about = kinds.get(score.key)
        if score.interval is None or about is None or about["kind"] in _WITHOUT:
            continue
        if score.unit is Unit.CORRELATION and "n_pairs" in scores:
            # Pairs were sampled, not the images that they rank.
            interval = Interval(math.nan, math.nan, "ranking", about["units"])
        else:
            interval = _finite(score, scores, about["units"], fraction)
        kinds[score.key] = interval.described()
        _put(found, score.interval.split("."), [interval.low, interval.high])
    return {**found, INTERVALS: kinds} if kinds else found


def _finite(score: ScoreSpec, scores: Mapping[str, Any], units: int, fraction: float) -> Interval:
    value, (low, high) = float(score.value(scores)), score.bounds(scores)
    is_share = score.unit in (Unit.FRACTION, Unit.PERCENT) and score.low == 0 and len(score.counts) == 1
    n = score.n(scores) if is_share else None
    return finite_interval(Interval(low, high, "bootstrap", units), value, fraction, n, score.high)


def _put(scores: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    *outer, last = keys
    for key in outer:
        scores[key] = dict(scores[key])
        scores = scores[key]
    scores[last] = value


def sample_caveat(settings: Mapping[str, Any], is_calibrated: bool = False) -> str:
    """That scores are of a sample; "" where they are not.

    Args:
        settings: Of the result.
        is_calibrated: Whether its diagnostics hold a calibration error.

    Examples:
        >>> sample_caveat({"sample": {"n": 300, "of": 1495, "seed": 0, "strata": ["question_type"]}})
        'Sample of 300 from 1,495 items (seed 0, by question_type); intervals are about the score on all of them.'
    """
    sample = settings.get(SAMPLE)
    if sample is None:
        return ""
    by = f", by {' and '.join(sample['strata'])}" if sample["strata"] else ""
    error = (
        " Those of the ECE, to which chance adds on all of them too, and of abstaining are about many more items."
        if is_calibrated
        else ""
    )
    return (
        f"Sample of {sample['n']:,} from {sample['of']:,} items (seed {sample['seed']}{by}); intervals are about the "
        f"score on all of them.{error}"
    )
