"""Finished blind runs, whose solved questions can be left out of others (MMBench, Appendix B)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingFileError, UsageError
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE, read_columns
from eyechart.evaluators.results.results_file import RESULTS_FILE, TaskResult, read_results

Question = tuple[str, str]
"""Id and text: questions of other languages may have the same id."""


@dataclass(frozen=True)
class BlindRun:
    """What a model answered that saw no image."""

    folder: Path
    model: str
    by_task: Mapping[tuple[str, str], Mapping[Question, bool]]
    """Task and split to whether each question was answered right in every pass."""
    solved: Mapping[Question, bool] = field(default_factory=dict)
    """The same of one task and split; empty until `of_task` chooses it."""

    def of_task(self, task: str, split: str) -> "BlindRun":
        """The same with what was solved of one task: versions of a benchmark ask the same with other options.

        Raises:
            UsageError: It holds no blind run of that task and split.
        """
        if (task, split) not in self.by_task:
            held = ", ".join(f"{name} ({of})" for name, of in self.by_task)
            raise UsageError(
                f"exclude_blind_solved={str(self.folder)!r} has no scores of {task} ({split}) without images, but "
                f"of: {held}"
            )
        return replace(self, solved=self.by_task[task, split])

    def settings(self) -> dict[str, Any]:
        """What a result says about it: the model, and how many questions it solved of how many."""
        solved = sum(self.solved.values())
        return {"model": self.model, "folder": self.folder.name, "solved": solved, "of": len(self.solved)}

    def finds_unsolved(self, row: Row) -> bool:
        """Whether it was asked this question and did not answer it right in every pass."""
        return not self.solved.get((row["id"], row["question"]), True)

    def removal(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Who solved questions blind, and how many of these rows are left out for that, or as it was not asked them."""
        known = [self.solved.get((row["id"], row["question"])) for row in rows]
        return {"model": self.model, "removed": known.count(True), "not_asked": known.count(None), "of": len(rows)}

    def check_asked(self, row: Row) -> None:
        """Refuse a question of which the blind run cannot tell whether it needs its image.

        Raises:
            DataError: It was not asked this question.
        """
        if (row["id"], row["question"]) not in self.solved:
            raise DataError("the blind run was not asked this question; run it on the same data", path=self.folder)


def read_blind_run(folder: str | Path | BlindRun) -> BlindRun:
    """Read which questions a finished run solved blind.

    Args:
        folder: What `eyechart run TASK --set blind=true --out FOLDER` wrote.

    Raises:
        MissingFileError: A file is not there.
        BadResultsError: The results cannot be read.
        BadAnnotationError: The predictions cannot be read.
        UsageError: The run has no scores without images.
        ValueError: It is not a path.
    """
    if isinstance(folder, BlindRun):
        return folder
    if not isinstance(folder, str | Path) or folder == "":
        raise ValueError("not a path")
    folder = Path(folder)
    for name in (RESULTS_FILE, PREDICTIONS_FILE):
        if not (folder / name).is_file():
            raise MissingFileError(
                "not there; exclude_blind_solved names the folder of a finished run", path=folder / name
            )
    results = read_results(folder)
    blind = [one for one in results.tasks if one.settings.get("blind") is True and one.scores is not None]
    if not blind:
        held = ", ".join(one.task for one in results.tasks) or "nothing"
        raise UsageError(
            f"exclude_blind_solved={str(folder)!r} has no scores without images, but: {held}. Make them with `eyechart "
            "run TASK --model MODEL --set blind=true --out FOLDER`"
        )
    by_task = {(result.task, result.split): _solved(folder, result) for result in blind}
    return BlindRun(folder, blind[0].model, by_task)


def _solved(folder: Path, result: TaskResult) -> dict[Question, bool]:
    rows = read_columns(folder, result, ("id", "question", "circular_correct", "pass"))
    solved = {(row["id"], row["question"]): row["circular_correct"] is True for row in rows if row["pass"] == "main"}
    if not solved:
        raise BadAnnotationError("holds no answers of the blind run", path=folder / PREDICTIONS_FILE)
    return solved


BlindRunFolder = Annotated[BlindRun, BeforeValidator(read_blind_run)]
"""A finished blind run, given as its folder."""
