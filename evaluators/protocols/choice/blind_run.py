"""Finished blind runs: questions that they solved can be left out (MMBench, Appendix B) or compared with (MMStar)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingFileError, UsageError
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE, read_columns
from eyechart.evaluators.results.results_file import RESULTS_FILE, TaskResult, read_results
from eyechart.metrics.scoring.choices.self_awareness import OUTCOMES

Question = tuple[str, str]
"""Id and text, because the same question in another language may have the same id."""
Solved = Mapping[Question, bool | None]
"""Whether each question was answered correctly, in all its passes; None if it was not scored."""
_RIGHT: Mapping[str, tuple[str, Any]] = {
    "circular_eval": ("circular_correct", True),
    "multiple_choice": ("correct", True),
    "self_awareness": ("outcome", OUTCOMES[0]),
}
"""By protocol, the column that says whether a reply is correct, and its value if it is."""


@dataclass(frozen=True)
class BlindRun:
    """The replies of a model that did not see the images."""

    folder: Path
    model: str
    by_task: Mapping[tuple[str, str], Solved]
    """Task and split to the questions solved."""
    setting: str
    """The setting that names the folder, for errors."""
    solved: Solved = field(default_factory=dict)
    """The questions solved of one task and split; empty until `of_task` chooses them."""

    def of_task(self, task: str, split: str) -> "BlindRun":
        """The same run with the questions solved of one task; versions of a benchmark differ in their options.

        Raises:
            UsageError: The folder has no blind run of that task and split.
        """
        if (task, split) not in self.by_task:
            held = ", ".join(f"{name} ({of})" for name, of in self.by_task)
            raise UsageError(
                f"{self.setting}={str(self.folder)!r} has no blind run of {task} ({split}); found blind runs of: {held}"
            )
        return replace(self, solved=self.by_task[task, split])

    def settings(self) -> dict[str, Any]:
        """The blind run as part of a result: its model, and how many of its questions it solved."""
        solved = list(self.solved.values()).count(True)
        return {"model": self.model, "folder": self.folder.name, "solved": solved, "of": len(self.solved)}

    def finds_unsolved(self, row: Row) -> bool:
        """Whether the blind run asked this question and did not solve it."""
        return self.solved.get((row["id"], row["question"]), True) is not True

    def removal(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The model, and how many of these rows are left out because they were solved blind or not asked blind."""
        asked = [key for row in rows if (key := (row["id"], row["question"])) in self.solved]
        removed = sum(self.solved[key] is True for key in asked)
        return {"model": self.model, "removed": removed, "not_asked": len(rows) - len(asked), "of": len(rows)}

    def check_asked(self, row: Row) -> None:
        """Refuse a question that the blind run did not ask.

        Raises:
            DataError: The blind run did not ask this question.
        """
        if (row["id"], row["question"]) not in self.solved:
            raise DataError("the blind run did not ask this question; run it on the same data", path=self.folder)


def read_blind_run(folder: str | Path | BlindRun, setting: str = "exclude_blind_solved") -> BlindRun:
    """Read which questions a finished blind run solved.

    Args:
        folder: The folder that `eyechart run TASK --set blind=true --out FOLDER` wrote.
        setting: The setting that names the folder, for errors.

    Raises:
        MissingFileError: A file of the run does not exist.
        BadResultsError: The results cannot be read.
        BadAnnotationError: The predictions cannot be read.
        UsageError: The folder has no scores of a blind run.
        ValueError: `folder` is not a path.
    """
    if isinstance(folder, BlindRun):
        return folder
    if not isinstance(folder, str | Path) or folder == "":
        raise ValueError("not a path")
    folder = Path(folder)
    for name in (RESULTS_FILE, PREDICTIONS_FILE):
        if not (folder / name).is_file():
            reason = f"the file does not exist; {setting} must name the folder of a finished run"
            raise MissingFileError(reason, path=folder / name)
    results = read_results(folder)
    blind = [
        one
        for one in results.tasks
        if one.settings.get("blind") is True and one.scores is not None and one.settings.get("protocol") in _RIGHT
    ]
    if not blind:
        held = ", ".join(one.task for one in results.tasks) or "nothing"
        raise UsageError(
            f"{setting}={str(folder)!r} has no scores of a blind run; found: {held}. Run `eyechart run TASK "
            "--model MODEL --set blind=true --out FOLDER` first"
        )
    by_task = {(result.task, result.split): _solved(folder, result) for result in blind}
    return BlindRun(folder, blind[0].model, by_task, setting)


def _solved(folder: Path, result: TaskResult) -> Solved:
    column, right = _RIGHT[str(result.settings.get("protocol"))]
    rows = read_columns(folder, result, ("id", "question", column, "pass"))
    solved = {
        (row["id"], row["question"]): None if row[column] is None else row[column] == right
        for row in rows
        if row["pass"] == "main"
    }
    if not solved:
        raise BadAnnotationError("no replies of the blind run found", path=folder / PREDICTIONS_FILE)
    return solved


def _read_for(folder: Any, about: ValidationInfo) -> BlindRun:
    return read_blind_run(folder, str(about.field_name))


BlindRunFolder = Annotated[BlindRun, BeforeValidator(_read_for)]
"""A finished blind run, given as its folder."""
