"""A score over training steps: the runs below a folder, one for each checkpoint of a model."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.comparison.compare import Refused, chosen_keys, comparable_items, headline_of_all
from eyechart.evaluators.comparison.item_scores import IncomparableError
from eyechart.evaluators.comparison.settings import allowed_names, also_differ
from eyechart.evaluators.results.finished_runs import Run, TaskKey, read_runs
from eyechart.evaluators.results.results_file import AVERAGE, RESULTS_FILE, TaskResult
from eyechart.metrics.score_spec import ScoreSpec

_STEP = re.compile(r"(?:^|[^a-z])(?:checkpoint|ckpt|step|iter|iteration|epoch)s?[-_=]?(\d{1,15})(?!\d)", re.IGNORECASE)


@dataclass(frozen=True)
class History:
    """The headline score of a task over the steps of a model."""

    key: TaskKey
    score: ScoreSpec
    results: dict[int, TaskResult]
    """By step, in ascending order."""


@dataclass(frozen=True)
class Histories:
    """What the runs below a folder show."""

    tasks: tuple[History, ...]
    refused: tuple[Refused, ...]
    """Tasks whose settings or items differ between runs, or without a headline score."""
    only_in_one: tuple[str, ...]
    """Titles of tasks that only one run has."""
    runs: tuple[Run, ...]
    """In the order of their steps."""
    also_differ: tuple[tuple[str, str, str], ...]
    """Labels of two runs, and the settings besides the model in which they differ."""


def read_step(*texts: str) -> int | None:
    """The training step in the first of some names that has one, the last one in it; None without any.

    Examples:
        >>> read_step("out/checkpoint-500"), read_step("me/vlm-7b", "runs/global_step_1200"), read_step("me/vlm-7b")
        (500, 1200, None)
    """
    return next((int(steps[-1]) for text in texts if (steps := _STEP.findall(text))), None)


def read_history(folder: Path, tasks: Sequence[str] = (), allowed: Collection[str] = ()) -> Histories:
    """The scores of the runs below a folder by step, for the tasks that a user names, or all.

    Raises UsageError for fewer than two runs, and for runs without a step or with the same step.
    """
    folders = sorted(file.parent for file in folder.rglob(RESULTS_FILE))
    if len(folders) < 2:
        count = "one run" if folders else "no run"
        raise UsageError(f"--history {folder} has {count} below it; a history needs two or more")
    by_step: dict[int, Run] = {}
    for run in read_runs(folders):
        step = _step_of(run, folder)
        if step is None:
            raise UsageError(
                f"no step is known of the run {run.folder}: neither its folder nor its model is named like "
                f"checkpoint-500. Rename its folder, or run with --model-arg step=500"
            )
        if step in by_step:
            raise UsageError(
                f"the runs {by_step[step].folder} and {run.folder} both have step {step}; keep one below {folder}"
            )
        by_step[step] = run
    runs = dict(sorted(by_step.items()))
    allowed = allowed_names(allowed, runs.values())
    histories, refused, alone, differ = [], [], list[str](), dict[tuple[str, str, str], None]()
    for key in chosen_keys([*runs.values()], tasks):
        with_task = {step: run for step, run in runs.items() if key in run.tasks}
        first, *others = with_task.values()
        # The datasets of an average are shown one by one.
        if key.dataset == AVERAGE:
            continue
        if not others:
            alone.append(key.title)
            continue
        try:
            score = headline_of_all(key, [first, *others])
            for other in others:
                comparable_items(key, [first, other], allowed, common=None)
                if settings := also_differ(first.tasks[key], other.tasks[key]):
                    differ[first.label, other.label, settings] = None
        except IncomparableError as error:
            title = f"{first.label} with {other.label}: {key.title}"
            refused.append(Refused(title, error.reasons, error.can_be_allowed))
        except DataError as error:
            refused.append(Refused(key.title, (error.reason,), can_be_allowed=False))
        else:
            histories.append(History(key, score, {step: run.tasks[key] for step, run in with_task.items()}))
    return Histories(tuple(histories), tuple(refused), tuple(alone), tuple(runs.values()), tuple(differ))


def _step_of(run: Run, above: Path) -> int | None:
    """The step that was given, or that the model's name or the run's folder has."""
    request = run.results.request or {}
    given = [pair for pair in map(str, request.get("model_arg") or ()) if pair.startswith("step=")]
    models = [*(result.model for result in run.results.tasks), *map(str, request.get("model") or ())]
    return read_step(*given, *models, str(run.folder.relative_to(above)))
