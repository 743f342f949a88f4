"""CircularEval: a question is correct only if the reply is correct in every pass over it (MMBench, Sec. 3.1).

Each pass shows the options in another order. If a pass has no reply, the question is wrong if another pass is wrong.
Otherwise it is an error; with `skip_bad` the question is left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.choice.passes import QuestionPass, pass_number, passes_of
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.protocols.choice.blind_run import BlindRunFolder
from eyechart.evaluators.protocols.choice.choice import Choice, ChoiceItem, check_question, choice_request
from eyechart.evaluators.protocols.choice.human_labels import HumanLabelFile
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Fixed, Flag, PromptFunction, Protocol
from eyechart.evaluators.requests.types import Request, Response, Row
from eyechart.evaluators.results.items import MAIN, by_row, columns_of, with_columns
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scores import spec
from eyechart.metrics.scoring.choices.circular import add_circular, circular_scores
from eyechart.metrics.scoring.choices.circular_passes import find_questions
from eyechart.metrics.scoring.choices.replies import moved_reply
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.lexical import lexical
from eyechart.metrics.scoring.judging.replies import Judge, judge_name
from eyechart.metrics.scoring.judging.rounds import JudgeSettings

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
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"blind": True}, {"grade_open_answers": True})
    share: ClassVar[str] = "circular_accuracy"

    open_prompt: Fixed[PromptFunction | None] = None
    """The prompt without options, for replies that a judge grades."""
    split: Fixed[str] = ""
    """Split of the data; the name of the answer file contains it."""
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
        """Refuse open questions without the image.

        Raises:
            UsageError: Two settings contradict each other, or the task does not support one.
        """
        Choice.__post_init__(self)
        if self.blind and self.grade_open_answers:
            raise UsageError("blind and grade_open_answers cannot be combined; open questions need the image")
        if self.grade_open_answers and self.open_prompt is None:
            raise UsageError("grade_open_answers needs a prompt without options, which this task does not have")

    def for_data(self, task: str, split: str) -> Any:
        """The protocol with the parts of blind runs that are about these data."""
        found: Any = Choice.for_data(self, task, split)
        excluded = self.exclude_blind_solved
        if excluded is not None:
            excluded = excluded.of_task(task, split, spec(self.share).of[0])
        return replace(found, exclude_blind_solved=excluded)

    def settings(self) -> dict[str, Any]:
        """The settings; files are described by their contents."""
        found = Choice.settings(self)
        for name in ("exclude_blind_solved", "human_labels"):
            value = getattr(self, name)
            found[name] = None if value is None else value.settings()
        return {**found, "missing": self._missing}

    def data_settings(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Whether the passes are the release's own, rotations of the options, or both."""
        own = [bool(row.get("passes")) for row in rows]
        return {"passes": "release" if all(own) else "both" if any(own) else "rotations"}

    def check(self, row: Row) -> None:
        """Check every pass of the question; passes from the release have distinct numbers that include 0."""
        check_question(row)
        numbers = [one["rotation"] for one in row.get("passes") or ()]
        if numbers and (0 not in numbers or len(set(numbers)) < len(numbers)):
            raise DataError(f"the rotations of the passes are {numbers}; expected distinct numbers that include 0")
        for one in row.get("passes") or ():
            check_question({**row, **one})
        if self.exclude_blind_solved is not None and not self.skip_bad:
            self.exclude_blind_solved.check_asked(row)
        super().check(row)

    def requests(self, row: Row) -> list[Request]:
        """All passes, or only the first with early stop; and the open question."""
        passes = [self._request(row, one) for one in passes_of(row)]
        if self.early_stop and not self.is_private(row):
            passes = passes[:1]
        return [*passes, self._open_request(row)] if self.grade_open_answers else passes

    def follow_ups(self, row: Row, items: Sequence[CircularItem]) -> list[Request]:
        """With early stop, the next pass if no reply so far is wrong."""
        asked = [item for item in items if item.pass_name != OPEN]
        if self.is_private(row) or any(item.correct is False for item in asked):
            return []
        return [self._request(row, one) for one in passes_of(row)[len(asked) : len(asked) + 1]]

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item of a pass, with the question as that pass asks it; or of the open question, with its answer."""
        name = response.request.pass_name
        if name == OPEN:
            answer = None if self.is_private(row) else row["options"][ascii_uppercase.index(row["answer"])]
            return Protocol.item(self, row, response, label=answer)
        passes = passes_of(row)
        asked = next(one for one in passes if one.name == name)
        shown = {**row, "question": asked.question, "options": asked.options, "answer": asked.answer}
        return super().item(shown, response, pass_count=len(passes))

    def parse(self, items: Sequence[CircularItem]) -> list[CircularItem]:
        """Parse the option that each reply names, and have the judge grade the replies to open questions."""
        found = super().parse(items)
        places = [place for place, item in enumerate(items) if item.pass_name == OPEN]
        if places:
            asked = [items[place] for place in places]
            texts, questions = [item.text or "" for item in asked], [item.question or "" for item in asked]
            answers = [item.label or "" for item in asked]
            columns = read_answers(texts, answers, questions, self._grader, self.rounds)
            for place, item in zip(places, with_columns(asked, columns), strict=True):
                found[place] = item
        return found

    def score(self, items: Sequence[CircularItem]) -> TaskResult:
        """CircularEval and VanillaEval, and the variants that settings ask for."""
        public = [item for item in items if item.answer and item.error is None]
        found = TaskResult(items=list(items))
        firsts = [passes[MAIN] for passes in by_row(item for item in items if item.label is not None)]
        if self.exclude_blind_solved is not None:
            questions = [(item.id, item.question) for item in firsts]
            found.diagnostics["exclude_blind_solved"] = self.exclude_blind_solved.removal(questions)
        if not public:
            return found
        if self.human_labels is not None:
            found.diagnostics["extractor_agreement"] = self.human_labels.agreement(public)
        found.scores, circular = self._scores(public)
        found.items = [
            item if item.pass_name == OPEN else replace(item, circular_correct=circular.get(item.id)) for item in items
        ]
        firsts = [passes[MAIN] for passes in by_row(item for item in found.items if item.answer)]
        found.diagnostics |= self.gain(firsts, [1 / len(item.options) ** (item.pass_count or 1) for item in firsts])
        if dropped := found.scores["dropped"]:
            found.notes.append(note("left_out_of_circular", questions=dropped))
        found.complete = not dropped
        if self.exclude_blind_solved is not None:
            solved = self.exclude_blind_solved.solved
            unsolved = {item.id for item in firsts if solved.get((item.id, item.question), True) is not True}
            kept = [item for item in public if item.id in unsolved]
            if kept:
                found.variants[WITHOUT_BLIND] = self._scores(kept)[0]
        if graded := [item for item in items if item.pass_name == OPEN and item.label is not None]:
            columns = columns_of(graded, "judge_score", "rounds", "exact_match", "empty_prediction", "cluster")
            clusters, judge = columns.pop("cluster"), JudgeSettings(judge_name(self._grader), self.rounds)
            found.variants[GRADES] = answer_scores(columns, self.groups_of(graded) or None, judge, clusters)
        return found

    def answer_files(self, rows: Sequence[Row], items: Sequence[CircularItem]) -> dict[str, bytes]:
        """The file for the evaluation server, if any label is private: each pass as in the release, and its reply."""
        if self.answer_file is None or not any(map(self.is_private, rows)):
            return {}
        by_id = {row["id"]: row for row in rows}
        passes, replies = [], []
        for item in items:
            if item.pass_name != OPEN and item.error is None:
                row = by_id[item.id]
                asked = next(one for one in passes_of(row) if one.name == item.pass_name)
                texts = {"question": asked.question, "hint": asked.hint, "options": asked.options}
                passes.append({**row, "index": asked.index, **texts})
                replies.append(
                    moved_reply(item.text or "", item.options, asked.options, self.extraction, item.finish_reason)
                )
        return dict(self.answer_file(passes, replies, split=self.split))

    @property
    def _missing(self) -> str:
        return "drop" if self.skip_bad else "error"

    def _scores(self, items: Sequence[CircularItem]) -> tuple[dict[str, Any], dict[str, bool | None]]:
        """The metric's scores, and whether each question is correct in all passes, by id."""
        columns = columns_of(items, "choice", "step", "correct", "judge_failed_rounds")
        given = columns_of(items, "id", "options", "pass_count", "answer", "cluster")
        rotations = [pass_number(item.pass_name) for item in items]
        questions = find_questions(given["id"], rotations, given["options"], given["pass_count"])
        columns = add_circular(columns, questions, self._missing)
        scores = circular_scores(
            columns,
            questions,
            [answer[:1] for answer in given["answer"]],
            given["options"],
            self.groups_of(items) or None,
            self._missing,
            self.reading,
            given["cluster"],
        )
        return scores, dict(zip(given["id"], columns["circular_correct"], strict=True))

    @property
    def _grader(self) -> Judge:
        grader: Judge = lexical if self.judge is None else self.judge
        return grader

    def _request(self, row: Row, one: QuestionPass) -> Request:
        shown = {**row, "question": one.question, "hint": one.hint}
        # One wrong pass is enough, whichever it is. An open reply alone would drop the question silently.
        optional = not (self.grade_open_answers and one.name == MAIN)
        return choice_request(self, shown, one.options, one.name, optional=optional)

    def _open_request(self, row: Row) -> Request:
        assert self.open_prompt is not None
        return Request(
            id=row["id"],
            prompt=self.open_prompt(row),
            images=tuple(row["images"]),
            max_new_tokens=self.reply_length,
            pass_name=OPEN,
        )
