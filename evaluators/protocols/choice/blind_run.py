"""Finished blind runs: questions that they solved can be left out (MMBench, Appendix B) or compared with (MMStar)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingFileError, UsageError
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.finished_runs import TaskKey, read_runs
from eyechart.evaluators.results.items import MAIN, PREDICTIONS_FILE
from eyechart.evaluators.results.results_file import RESULTS_FILE

Question = tuple[str, str | None]
"""Id and text, because the same question in another language may have the same id."""


@dataclass(frozen=True)
class BlindRun:
    """The replies of a model that did not see the images."""

    run: Any
    """A `Run`, which pydantic need not check."""
    results: Any
    """Its results of blind tasks, by key."""
    setting: str
    """The setting that names the folder, for errors."""
    solved: Mapping[Question, bool | None] = field(default_factory=dict)
    """Whether each question of one task was answered correctly; None if it was not scored. Empty until `of_task`."""

    @property
    def model(self) -> str:
        """The model."""
        return next(iter(self.results.values())).model

    def of_task(self, key: TaskKey, column: str) -> "BlindRun":
        """The same run with the questions solved of one task; versions of a benchmark differ in their options.

        Args:
            key: The task and its data.
            column: The column of items that says whether a question was answered correctly.

        Raises:
            UsageError: The folder has no blind run of that task on that data.
            DataError: It has no predictions.
        """
        if key not in self.results:
            available = ", ".join(blind.title for blind in self.results)
            raise UsageError(
                f"{self.setting}={str(self.run.folder)!r} has no blind run of {key.title}; found blind runs of: "
                f"{available}"
            )
        answers = self.run.answers(key)
        if answers is None or column not in answers.table.column_names:
            raise BadAnnotationError("no replies of the blind run found", path=self.run.folder / PREDICTIONS_FILE)
        rows = zip(*(answers.column(name) for name in ("pass", "id", "question", column)), strict=True)
        return replace(self, solved={(id, question): right for name, id, question, right in rows if name == MAIN})

    def settings(self) -> dict[str, Any]:
        """The blind run as part of a result: its model, and how many of its questions it solved."""
        solved = list(self.solved.values()).count(True)
        return {"model": self.model, "folder": self.run.folder.name, "solved": solved, "of": len(self.solved)}

    def removal(self, questions: Sequence[Question]) -> dict[str, Any]:
        """The model, and how many of these questions are left out because they were solved blind or not asked blind."""
        asked = [question for question in questions if question in self.solved]
        removed = sum(self.solved[question] is True for question in asked)
        not_asked = len(questions) - len(asked)
        return {"model": self.model, "removed": removed, "not_asked": not_asked, "of": len(questions)}

    def check_asked(self, row: Row) -> None:
        """Refuse a question that the blind run did not ask."""
        if (row["id"], row["question"]) not in self.solved:
            raise DataError("the blind run did not ask this question; run it on the same data", path=self.run.folder)


def _read_blind_run(folder: str | Path | BlindRun, about: ValidationInfo) -> BlindRun:
    if isinstance(folder, BlindRun):
        return folder
    if not isinstance(folder, str | Path) or folder == "":
        raise ValueError("not a path")
    for path in (Path(folder, RESULTS_FILE), Path(folder, PREDICTIONS_FILE)):
        if not path.is_file():
            reason = f"the file does not exist; {about.field_name} must name the folder of a finished run"
            raise MissingFileError(reason, path=path)
    (run,) = read_runs([folder])
    results = {key: result for key, result in run.tasks.items() if result.settings.get("blind") and result.scores}
    if not results:
        raise UsageError(
            f"{about.field_name}={str(folder)!r} has no scores of a blind run; found: "
            f"{', '.join(key.task for key in run.tasks)}. Run `eyechart run TASK --set blind=true --out FOLDER` first"
        )
    return BlindRun(run, results, str(about.field_name))


BlindRunFolder = Annotated[BlindRun, BeforeValidator(_read_blind_run)]
"""The folder of a finished blind run, as `eyechart run TASK --set blind=true --out FOLDER` writes it."""
