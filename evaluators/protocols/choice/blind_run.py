"""Finished blind runs, whose questions can be removed from others (MMBench, Appendix B)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingFileError, UsageError
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.predictions import PREDICTIONS_FILE
from eyechart.evaluators.results.results_file import RESULTS_FILE, TaskResult, read_results

_COLUMNS = ("id", "question", "options", "correct")


@dataclass(frozen=True)
class BlindRun:
    """What a model answered that saw no image."""

    folder: Path
    model: str
    asked: Mapping[str, str]
    """All questions that it was asked, by id."""
    solved: frozenset[str]
    """Ids of those that it answered right in every pass."""

    def settings(self) -> dict[str, Any]:
        """What a result says about it: the model, and how many questions it solved of how many."""
        return {"model": self.model, "folder": self.folder.name, "solved": len(self.solved), "of": len(self.asked)}

    def finds_unsolved(self, row: Row) -> bool:
        """Whether it was asked this question and did not answer it right in every pass."""
        return self._was_asked(row["id"], row["question"]) and row["id"] not in self.solved

    def removal(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Who solved questions blind, and how many of these rows are removed for that, or as it was not asked them."""
        known = [row for row in rows if self._was_asked(row["id"], row["question"])]
        removed = sum(row["id"] in self.solved for row in known)
        return {"model": self.model, "removed": removed, "not_asked": len(rows) - len(known), "of": len(rows)}

    def check_covers(self, questions: Mapping[str, str]) -> None:
        """Refuse questions of which the blind run cannot tell whether they need their image.

        Args:
            questions: What is to be asked, by id.

        Raises:
            DataError: It was not asked one of them, or another question of that id.
        """
        lacking = [id for id, question in questions.items() if not self._was_asked(id, question)]
        if lacking:
            count = f"{len(lacking)} of the {len(questions)} questions"
            reason = f"the blind run was not asked {count}, the first: '{lacking[0]}'"
            how = "run it on the same data, or leave them out of that score with skip_bad (--skip-bad)"
            raise DataError(f"{reason}; {how}", path=self.folder)

    def _was_asked(self, id: str, question: str) -> bool:
        return self.asked.get(id) == question


def read_blind_run(folder: str | Path, task: str, split: str, pass_counts: Mapping[str, int]) -> BlindRun:
    """Read which questions a finished run solved blind.

    Args:
        folder: What `eyechart run <task> --blind --out <folder>` wrote.
        task: The task's name.
        split: Its split.
        pass_counts: How many passes the questions have, by id; others have one for each option.

    Raises:
        MissingFileError: A file is not there.
        BadResultsError: The results cannot be read.
        BadAnnotationError: The predictions cannot be read.
        UsageError: The run has no scores of this task and split without images.
    """
    folder = Path(folder)
    for name in (RESULTS_FILE, PREDICTIONS_FILE):
        if not (folder / name).is_file():
            raise MissingFileError("not there; without_blind names the folder of a finished run", path=folder / name)
    results = read_results(folder)
    for result in results.tasks:
        if _is_blind(result) and result.scores is not None and (result.task, result.split) == (task, split):
            return BlindRun(folder, result.model, *_read_answers(folder, result, pass_counts))
    held = [f"{r.task} ({r.split}{', blind' if _is_blind(r) else ''})" for r in results.tasks]
    raise UsageError(
        f"without_blind={str(folder)!r} has no scores of {task} ({split}) without images, but: "
        f"{', '.join(held) or 'nothing'}. Make them with `eyechart run {task} --model MODEL --split {split} --blind "
        "--out FOLDER`"
    )


def _is_blind(result: TaskResult) -> bool:
    return result.settings.get("blind") is True


def _read_answers(
    folder: Path, result: TaskResult, pass_counts: Mapping[str, int]
) -> tuple[dict[str, str], frozenset[str]]:
    """The questions asked, by id, and the ids of those answered right in all of their passes."""
    from pyarrow import ArrowException, parquet

    path = folder / PREDICTIONS_FILE
    filters = [("task", "=", result.task), ("subset", "=", result.subset), ("split", "=", result.split)]
    try:
        rows = parquet.read_table(path, columns=list(_COLUMNS), filters=filters).to_pylist()
    except (ArrowException, OSError) as error:
        raise BadAnnotationError(f"cannot be read as predictions: {error}", path=path) from error
    passes: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        passes.setdefault(row["id"], []).append(row)
    solved = [
        id
        for id, of_id in passes.items()
        if sum(row["correct"] is True for row in of_id) == pass_counts.get(id, len(of_id[0]["options"]))
    ]
    return {id: of_id[0]["question"] for id, of_id in passes.items()}, frozenset(solved)
