"""What one task on one model gave."""

from dataclasses import dataclass, field
from typing import Any

AVERAGE = "average"
"""What stands in place of the data set's name in an average over data sets."""
PRIVATE = "its answer is private"
"""Why a row that was answered is left out of the scores where its own answer is not public."""


@dataclass(frozen=True)
class Evaluation:
    """Everything that one task on one model gave."""

    task: str
    dataset: str
    split: str
    model: str
    scores: dict[str, Any] | None
    """Exactly what the metric returned; None where no answer is public."""
    settings: dict[str, Any]
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """One {"id", "path", "reason"} for each item that has no part in the scores."""
    predictions: list[dict[str, Any]] = field(default_factory=list)
    """One record per response: the columns of `predictions.parquet`."""
    variants: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Alternative scorings of the same answers, each exactly what a metric returned, by name."""
    diagnostics: dict[str, Any] = field(default_factory=dict)
    """What else the answers show, such as the prompt-failure rate."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files for the run's folder by name, such as the answer file for a private split."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds, items per second, and how many answers came from the store, as these took no time."""
    warnings: list[str] = field(default_factory=list)
    """What was warned of while scoring, for example an undefined correlation."""
    caveats: list[str] = field(default_factory=list)
    """What a reader has to know, for example why there is no score."""
    headline: str = ""
    """Key of the score that stands for the task; that of its metric if empty."""
    complete: bool = True
    """False where scores had to be made of less than was to be asked, for which a caveat gives the reason."""
