"""The outcome of one task on one model."""

from dataclasses import dataclass, field
from typing import Any

AVERAGE = "average"
"""Used instead of the dataset's name for an average over datasets."""
VARIANT_WARNING = "variant "
"""How a warning about an alternative scoring begins."""
PRIVATE = "its answer is private"
"""Why an answered row is left out of the scores: its reference answer is not public."""


@dataclass(frozen=True)
class Evaluation:
    """The full outcome of one task on one model."""

    task: str
    dataset: str
    split: str
    model: str
    scores: dict[str, Any] | None
    """Exactly what the metric returned; None if no reference answer is public."""
    settings: dict[str, Any]
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """One {"id", "path", "reason"} for each item that the scores do not include."""
    predictions: list[dict[str, Any]] = field(default_factory=list)
    """One record per response: the columns of `predictions.parquet`."""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Alternative scorings of the same answers by name; each is exactly what a metric returned."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """Further numbers about the answers, such as the prompt-failure rate."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files for the run's folder by name, such as the answer file for a private split."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds, items per second, and the number of answers from the store, which took no time."""
    warnings: list[str] = field(default_factory=list)
    """Warnings during scoring, for example of an undefined correlation."""
    caveats: list[str] = field(default_factory=list)
    """Caveats for readers, for example why there is no score."""
    headline: str = ""
    """Key of the task's headline score; if empty, the metric's headline."""
    complete: bool = True
    """False if the scores do not use all requested answers; a caveat gives the reason."""
