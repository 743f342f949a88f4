"""CircularEval: a question is correct only if the reply is correct in every pass over it (MMBench, Sec. 3.1).

A question without a reply in a pass is wrong if another pass is; otherwise an error, or left out with `skip_bad`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.choice.passes import pass_number, passes_of
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.protocols.choice.choice import Choice, ChoiceItem, Pass, check_question, parse_some
from eyechart.evaluators.protocols.choice.setting_files import BlindRunFolder, HumanLabelFile
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Flag
from eyechart.evaluators.requests.types import Response, Row
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.items import MAIN, PackedItems, columns_of, packed, where, with_columns
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.choices.circular import add_circular, circular_scores
from eyechart.metrics.scoring.choices.options import right_text
from eyechart.metrics.scoring.choices.reading import Replies
from eyechart.metrics.scoring.choices.replies import moved_reply
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.replies import JudgeSettings, judge_name

WITHOUT_BLIND = "without blind-solvable questions"
GRADES = "grades of open answers"
"""Variants that settings ask for."""
OPEN = "open"
"""The pass that shows no options; it is not one of CircularEval's passes."""


@plain_dataclass(frozen=True)
class CircularItem(ChoiceItem):
    """What the reply in one pass, or to the open question, gave."""

    pass_count: int | None = None
    """Number of passes of the question, asked or not."""
    circular_correct: bool | None = None
    """Whether all passes of the question are correct; None if it is left out."""
    judge_score: float | None = None
    """The judge's grade of the reply to an open question, from 1 to 5."""
    rounds: list[list[int | None]] | None = None
    """The same in each round."""
    exact_match: bool | None = None
    empty_prediction: bool | None = None


@dataclass(frozen=True, config=CONFIG)
class CircularEval(Choice):
    """Questions asked once for each order of their options; a question is correct only if every reply is.

    The passes are the release's own if the rows have them, otherwise one rotation for each option. With early stop, no
    further pass over a question is asked after a wrong reply, which changes no score. Questions with private answers
    are always asked in every pass.
    """

    name: ClassVar[str] = "circular_eval"
    metric: ClassVar[str] = "circular_eval"
    item_type: ClassVar[type[CircularItem]] = CircularItem

    exclude_blind_solved: BlindRunFolder | None = None
    """Folder of a finished blind run; adds a second score without the questions that the blind run solved
    (Appendix B)."""
    grade_open_answers: Flag = False
    """Ask each question also without its options, and have a judge grade the replies from 1 to 5 (Appendix D.2)."""
    human_labels: HumanLabelFile | None = None
    """CSV or JSON Lines file with id, pass and the letter that people read in the reply; adds the agreement of the
    parser with people (Sec. 3.3)."""
    early_stop: Flag | None = None
    """Stop asking a question after its first wrong pass; by default only if each request is billed."""
    rounds: Count = 1
    """Replies requested from the judge for each of the model's replies; 1 in the paper."""

    def __post_init__(self) -> None:
        """Refuse open questions without the image or without a prompt."""
        super().__post_init__()
        if self.blind and self.grade_open_answers:
            raise UsageError("blind and grade_open_answers cannot be combined; open questions need the image")
        if self.grade_open_answers and self.open_prompt is None:
            raise UsageError("grade_open_answers needs a prompt without options, which this task does not have")

    @override
    def for_data(self, task: str, dataset: str, split: str, *, is_billed: bool = False) -> Any:
        run: Any = self.exclude_blind_solved and self.exclude_blind_solved.of_task(TaskKey(task, dataset, split))
        early_stop = is_billed if self.early_stop is None else self.early_stop
        return replace(self, exclude_blind_solved=run, early_stop=early_stop)

    @override
    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        settings = {**super().settings(rows), "missing": self._missing}
        if released := [bool(row.get("passes")) for row in rows]:
            settings["passes"] = "release" if all(released) else "both" if any(released) else "rotations"
        return settings

    @override
    def check(self, row: Row) -> None:
        super().check(row)
        if self.exclude_blind_solved is not None and not self.skip_bad:
            self.exclude_blind_solved.check_asked(row)
        released = row.get("passes") or ()
        numbers = [values["rotation"] for values in released]
        if numbers and (0 not in numbers or len(set(numbers)) < len(numbers)):
            raise DataError(f"the rotations of the passes are {numbers}; expected distinct numbers that include 0")
        for values in released:
            check_question({**row, **values})

    @override
    def passes(self, row: Row) -> list[Pass]:
        asked = []
        for shown in passes_of(row):
            texts = {"question": shown.question, "hint": shown.hint, "options": shown.options, "answer": shown.answer}
            # One wrong pass is enough, whichever it is. An open reply alone would drop the question silently.
            is_optional = not (self.grade_open_answers and shown.name == MAIN)
            asked.append(Pass(shown.name, {**row, **texts, "index": shown.index}, is_optional=is_optional))
        opened = Pass(OPEN, {**row, "options": (), "answer": ""}, shows_options=False)
        return [*asked, opened] if self.grade_open_answers else asked

    @override
    def next_passes(self, row: Row, items: Sequence[CircularItem]) -> list[Pass]:
        if not self.early_stop or self.is_private(row):
            return super().next_passes(row, items)
        if any(item.correct is False for item in items):
            return []
        asked = {item.pass_name for item in items}
        left = [wanted for wanted in self.passes(row) if wanted.name not in asked]
        rotations = [wanted for wanted in left if wanted.name != OPEN]
        return [*rotations[:1], *(wanted for wanted in left if wanted.name == OPEN)]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        if response.request.pass_name != OPEN:
            return super().item(row, response, pass_count=len(row.get("passes") or row["options"]))
        answer = None if self.is_private(row) else right_text(row["answer"], row["options"])
        return replace(super().item(row, response), label=answer)

    @override
    def parse(self, items: Sequence[CircularItem]) -> list[CircularItem]:
        return parse_some(super().parse(items), lambda item: item.pass_name == OPEN, self._grade)

    @override
    def scores_of(self, items: Sequence[CircularItem]) -> dict[str, Any]:
        items = _readable(items)
        columns = columns_of(items, "choice", "step", "correct", "judge_failed_rounds", "circular_correct")
        return circular_scores(columns, _replies(items, self.groups_of(items)), self._missing, self.reading)

    @override
    def score(self, items: Sequence[CircularItem]) -> TaskResult:
        result = super().score(self._with_outcomes(items))
        firsts = {item.id: (item.id, item.question) for item in items if item.pass_name == MAIN and item.answer}
        if (blind_run := self.exclude_blind_solved) is not None:
            result.diagnostics["exclude_blind_solved"] = blind_run.removal(list(firsts.values()))
        if result.scores is None:
            return result
        readable = _readable(result.items)
        if blind_run is not None:
            unsolved = {id for id, question in firsts.items() if blind_run.solved.get(question, True) is not True}
            if left := PackedItems(item for item in readable if item.id in unsolved):
                result.variants[WITHOUT_BLIND] = self.scores_of(left)
        if self.human_labels is not None:
            result.diagnostics["extractor_agreement"] = self.human_labels.agreement(readable)
        if graded := PackedItems(item for item in items if item.pass_name == OPEN and item.label is not None):
            columns = columns_of(graded, "judge_score", "rounds", "exact_match", "empty_prediction")
            settings = JudgeSettings(judge_name(self.grader), self.rounds)
            clusters = columns_of(graded, "cluster")["cluster"]
            result.variants[GRADES] = answer_scores(columns, self.groups_of(graded) or None, settings, clusters)
        if dropped := result.scores["dropped"]:
            result.notes.append(note("left_out_of_circular", questions=dropped))
        return result

    @override
    def released(self, rows: Sequence[Row], items: Sequence[CircularItem]) -> list[tuple[Row, str]]:
        passes = {(row["id"], asked.name): asked.row for row in rows for asked in self.passes(row)}
        answered = [
            (passes[item.id, item.pass_name], item) for item in items if item.pass_name != OPEN and item.error is None
        ]
        return [
            (row, moved_reply(item.text or "", item.options, row["options"], self.extraction, item.finish_reason))
            for row, item in answered
        ]

    @property
    def _missing(self) -> str:
        return "drop" if self.skip_bad else "error"

    def _with_outcomes(self, items: Sequence[CircularItem]) -> Sequence[CircularItem]:
        readable = _readable(items)
        if not readable:
            return items
        outcomes = add_circular(columns_of(readable, "correct"), _replies(readable), self._missing)["circular_correct"]
        by_question = dict(zip(columns_of(readable, "id")["id"], outcomes, strict=True))
        names = zip(*columns_of(items, "id", "pass_name").values(), strict=True)
        column = [None if name == OPEN else by_question.get(id) for id, name in names]
        return packed(items).with_columns({"circular_correct": column})

    def _grade(self, items: Sequence[CircularItem]) -> list[CircularItem]:
        texts, answers = [item.text or "" for item in items], [item.label or "" for item in items]
        questions = [item.question or "" for item in items]
        return list(with_columns(items, read_answers(texts, answers, questions, self.grader, self.rounds)))


def _readable(items: Sequence[CircularItem]) -> Sequence[CircularItem]:
    """The items of passes with a public answer and a reply."""
    columns = columns_of(items, "answer", "error")
    return where(items, [bool(answer) and error is None for answer, error in zip(*columns.values(), strict=True)])


def _replies(items: Sequence[CircularItem], groups: Mapping[str, Sequence[str]] | None = None) -> Replies:
    columns = columns_of(items, "answer", "options", "id", "pass_name", "pass_count", "cluster")
    return Replies(
        None,
        [answer[:1] for answer in columns["answer"]],
        columns["options"],
        question_ids=columns["id"],
        rotations=list(map(pass_number, columns["pass_name"])),
        pass_counts=[count or 1 for count in columns["pass_count"]],
        groups=groups,
        clusters=columns["cluster"],
    )
