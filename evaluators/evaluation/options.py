"""Options of Python functions that are also options of the command line, so that only light modules are imported."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from eyechart.datasets_scripts.common.errors import UsageError

if TYPE_CHECKING:
    import datasets

    from eyechart.evaluators.protocols.protocol import Protocol
    from eyechart.evaluators.tasks.task import Task
    from eyechart.metrics.scoring.judging.replies import Judge

Images = Literal["load", "skip"]
Texts = list[str] | None


def cli_option(text: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option of a command: its help, its names if they differ from the field's, its group on the help page."""
    return Option(*names, help=" ".join(text.split()), rich_help_panel=panel, **more)


data_option = partial(cli_option, panel="Data")
scoring_option = partial(cli_option, panel="Task and scoring")


@dataclass(frozen=True)
class DataRequest:
    """The rows on which to run a task; `limit` and `sample` exclude each other."""

    data: "str | Path | datasets.Dataset | None" = None
    """A `Dataset` with the documented columns, the name of an eyechart dataset, any dataset id, or the folder of a
    release as `[DATASET=]PATH`; "mini" for synthetic demo data of `dataset`, "mini:NAME" for that of another eyechart
    dataset; None for `dataset`."""
    dataset: str | None = None
    """One of the task's datasets (default: its first) if `data` is None, "mini" or the name of your own task;
    otherwise the configuration of `data`."""
    split: Annotated[str | None, data_option("Split to run on (default: the task's first).")] = None
    data_dir: str | Path | None = None
    """Folder of the release; None is the official release, downloaded if possible."""
    is_mini: Annotated[bool, data_option("Use synthetic demo data for datasets without --data-dir.", "--mini")] = False
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the dataset."""
    limit: Annotated[int | None, data_option("Evaluate only the first N items.", min=1)] = None
    sample: Annotated[int | None, data_option("Evaluate a random sample, stratified by group.", min=1)] = None
    skip_missing: bool = False
    """Leave out rows whose image file is missing."""
    skip_bad: Annotated[bool, data_option("Leave out what cannot be read or has no answer.", "--skip-bad")] = False
    images: Images = "load"
    """"skip" reads annotations only, for precomputed predictions."""

    def __post_init__(self) -> None:
        """Refuse two ways of choosing items, and a sample of none."""
        if self.sample is not None and self.sample < 1:
            raise UsageError(f"sample={self.sample} is not allowed; expected at least 1")
        if self.limit is not None and self.sample is not None:
            raise UsageError(f"limit={self.limit} and sample={self.sample} are both given; leave out one")


@dataclass(frozen=True)
class RunOptions:
    """How a task is run."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the task's protocol, by name, that replace the task's defaults."""
    as_published: Annotated[
        bool, scoring_option("Use the paper's settings instead of the defaults.", "--as-published")
    ] = False
    seed: Annotated[int, scoring_option("Seed of intervals and random choices.", min=0)] = 0
    judge: "Judge | None" = None
    """A function `judge(messages, n)` that returns n replies; with None, the metric scores without a judge."""
    repeats: int = 1
    """How many times to ask everything, for a backend that samples; the scores are those of the first repeat."""

    def protocol(self, task: "Task") -> "Protocol":
        """The protocol of a task with these options; `UsageError` if a setting is unknown or the paper fixes it."""
        from eyechart.evaluators.protocols.settings import with_settings
        from eyechart.evaluators.tasks.task import with_published_settings

        protocol = with_settings(task.bound(seed=self.seed, judge=self.judge), self.settings, task.name)
        return with_published_settings(task, protocol, self.settings) if self.as_published else protocol


@dataclass(frozen=True)
class Goal:
    """What `eyechart plan` plans for; a UsageError names a value that is out of range.

    Differences are fractions of the scale for shares, else in the score's unit.
    """

    difference: Annotated[float | None, cli_option("True difference, such as 0.02 (default: the runs' own).")] = None
    n: Annotated[int | None, cli_option("Number of items (default: those of the runs).", "--n")] = None
    power: Annotated[float, cli_option("Probability of detecting the difference.")] = 0.8
    models: Annotated[int, cli_option("Number of models to compare in pairs, with adjusted p-values.")] = 2
    seed: Annotated[int, cli_option("Seed for the bootstrap.", min=0)] = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        ranges = {
            "difference": (self.difference is None or 0 < abs(self.difference) <= 2, "above 0 and at most 2"),
            "power": (0.05 < self.power < 1, "above 0.05 and below 1"),
            "n": (self.n is None or 2 <= self.n <= 10**7, "from 2 to 10,000,000"),
            "models": (2 <= self.models <= 10**6, "from 2 to 1,000,000"),
        }
        for name, (is_allowed, allowed) in ranges.items():
            if not is_allowed:
                value = getattr(self, name)
                shown = f"{value:g}" if isinstance(value, float) else str(value)
                raise UsageError(f"--{name} {shown:.40} is not allowed; it must be {allowed}")


LIMIT = "TASK[@DATASET][:SCORE]=VALUE"
_MIN_HELP = """Fail if a score (default: the headline) is significantly below a value: if its whole 95 % interval is.
Percentages are given as fractions. Repeatable."""
_MAX_HELP = "The same for scores of which lower is better: fail if the whole interval is above the value. Repeatable."
_BASELINE_HELP = "Fail if a headline is significantly worse than in this finished run, on the items that both have."


@dataclass(frozen=True)
class Requirements:
    """What `eyechart check` requires of a run."""

    minimum: Annotated[Texts, cli_option(_MIN_HELP, "--min", metavar=LIMIT)] = None
    maximum: Annotated[Texts, cli_option(_MAX_HELP, "--max", metavar=LIMIT)] = None
    not_worse_than: Annotated[Path | None, cli_option(_BASELINE_HELP, metavar="RUN")] = None
    task: Annotated[Texts, cli_option("Compare only this task with the other run. Repeatable.")] = None
    allow: Annotated[Texts, cli_option("Compare even if this setting differs. Repeatable.", metavar="SETTING")] = None
