"""Files and folders that settings name: finished blind runs (MMBench, Appendix B), and human labels of replies.

In MMBench, Sec. 3.3 and Fig. 5, six volunteers label what exact matching could not parse.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

from pydantic import BeforeValidator

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, UsageError
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, iterate_jsonl_rows, iterate_table
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.finished_runs import TaskKey, load_runs
from eyechart.evaluators.results.items import MAIN, PREDICTIONS_FILE
from eyechart.metrics.scoring.statistics.intervals import Interval, listed_intervals, wilson_interval

Question = tuple[str, str | None]
"""Id and text, because the same question in another language may have the same id."""
_SOLVED = "circular_correct"
"""The column of items that says whether the question was solved."""


@dataclass(frozen=True)
class BlindRun:
    """The replies of a model that did not see the images."""

    run: Any
    """A `Run`, which pydantic need not check."""
    results: Any
    """Its results of blind tasks, by key."""
    solved: Mapping[Question, bool | None] = field(default_factory=dict)
    """Whether each question of one task was answered correctly; None if it was not scored. Empty until `of_task`."""

    @property
    def model(self) -> str:
        """The model."""
        return next(iter(self.results.values())).model

    def of_task(self, key: TaskKey) -> "BlindRun":
        """The same run with the questions of one task."""
        if key not in self.results:
            available = ", ".join(blind.title for blind in self.results)
            raise UsageError(f"{self.run.folder} has no blind run of {key.title}; found blind runs of: {available}")
        answers = self.run.answers(key)
        if answers is None or _SOLVED not in answers.table.column_names:
            raise BadAnnotationError("no replies of the blind run found", path=self.run.folder / PREDICTIONS_FILE)
        rows = zip(*(answers.column(name) for name in ("pass", "id", "question", _SOLVED)), strict=True)
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


def _read_blind_run(folder: str | Path | BlindRun) -> BlindRun:
    if isinstance(folder, BlindRun):
        return folder
    if not isinstance(folder, str | Path) or folder == "":
        raise ValueError("not a path")
    (run,) = load_runs([folder])
    results = {key: result for key, result in run.tasks.items() if result.settings.get("blind") and result.scores}
    if not results:
        names = ", ".join(key.task for key in run.tasks)
        command = "`eyechart run TASK --set blind=true --out FOLDER`"
        raise UsageError(f"{folder} has no scores of a blind run; found: {names}. Run {command} first")
    return BlindRun(run, results)


BlindRunFolder = Annotated[BlindRun, BeforeValidator(_read_blind_run)]
"""The folder of a finished blind run, as `eyechart run TASK --set blind=true --out FOLDER` writes it."""


Key = tuple[str, str]
"""Id of a question and name of a pass."""


@dataclass(frozen=True)
class HumanLabels:
    """The option that people read in each reply."""

    path: Path
    letters: Mapping[Key, str]
    """A letter of the options as they were shown in that pass, or X for none of them."""

    def settings(self) -> dict[str, Any]:
        """The file as part of a result."""
        return {"file": self.path.name, "letters": len(self.letters)}

    def agreement(self, items: Sequence[Any]) -> dict[str, Any]:
        """How often people and parser agree on the letter in all labelled replies, and in those left by exact matching.

        The latter is the paper's number. Each is None without such replies; `unused` counts labels without a reply.
        """
        labelled = [item for item in items if (item.id, item.pass_name) in self.letters]
        parts = {"all": labelled, "after_exact": [item for item in labelled if item.step != "exact"]}
        agreements = {
            name: _agreement([(item.choice or "X", self.letters[item.id, item.pass_name]) for item in part])
            for name, part in parts.items()
        }
        return {**agreements, "unused": len(self.letters) - len(labelled)}


def _agreement(pairs: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    """How often two readers of a reply find the same letter, or both none, X (MMBench, Sec. 3.3 and Appendix D.1).

    If they differ, either only one of them finds a letter (Case I), or they find different ones (Case II).
    """
    if not pairs:
        return None
    n, agree = len(pairs), sum(first == second for first, second in pairs)
    one_says_x = sum((first == "X") != (second == "X") for first, second in pairs)
    return {
        "agreement": agree / n,
        **listed_intervals({"agreement": Interval(*wilson_interval(agree, n), "wilson", n)}),
        "one_says_x": one_says_x / n,
        "different_letters": (n - agree - one_says_x) / n,
        "n": n,
    }


def _read_human_labels(path: str | Path | HumanLabels) -> HumanLabels:
    if isinstance(path, HumanLabels):
        return path
    if not isinstance(path, str | Path) or path == "":
        raise ValueError("not a path")
    path = Path(path)
    letters: dict[Key, str] = {}
    for number, row in _rows(path):
        if ROW_ERROR in row:
            raise BadAnnotationError(row[ROW_ERROR], path=path, row=number)
        id, letter = row.get("id"), str(row.get("letter")).strip()
        key = "" if id is None else str(id), str(row.get("pass") or MAIN)
        if letter not in set(ascii_uppercase):
            reason = f"'letter' is {row.get('letter')!r}; expected a letter from A to Z (X: the reply names no option)"
            raise BadAnnotationError(reason, path=path, row=number)
        if not key[0] or key in letters:
            reason = f"repeated id {key[0]!r} with pass '{key[1]}'" if key[0] else "'id' is missing or empty"
            raise BadAnnotationError(reason, path=path, row=number)
        letters[key] = letter
    if not letters:
        raise BadAnnotationError("the file of human labels is empty", path=path)
    return HumanLabels(path, letters)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix.lower() == ".csv":
        return iterate_table(str(path), ("id", "letter"))
    if path.suffix.lower() == ".jsonl":
        return iterate_jsonl_rows(str(path))
    raise BadAnnotationError(f"human labels are .csv or .jsonl files, not {path.suffix!r}", path=path)


HumanLabelFile = Annotated[HumanLabels, BeforeValidator(_read_human_labels)]
"""A CSV or JSON Lines file with `id`, `letter` and `pass` ("main" if absent or empty)."""
