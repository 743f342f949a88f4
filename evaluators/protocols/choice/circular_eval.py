"""CircularEval: a question is correct only if the reply is correct in every pass over it (MMBench, Sec. 3.1).

Each pass shows the options in another order. If a pass has no reply, the question is wrong if another pass is wrong.
Otherwise it is an error; with `skip_bad` the question is left out and counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.choice.passes import MAIN, QuestionPass, passes_of
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.answer_files.mmbench import cell_text
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.choice.blind import ChoiceProtocol
from eyechart.evaluators.protocols.choice.blind_run import BlindRunFolder
from eyechart.evaluators.protocols.choice.human_labels import HumanLabelFile
from eyechart.evaluators.protocols.choice.multiple_choice import Fallback
from eyechart.evaluators.protocols.choice.passes import OPEN, asked_pass, asked_reply, observed, passes_and_replies
from eyechart.evaluators.protocols.choice.questions import (
    CHOICE_COLUMNS,
    add_choices,
    check_question,
    module_settings,
    shown_options,
)
from eyechart.evaluators.protocols.protocol import (
    CONFIG,
    Count,
    Definition,
    Flag,
    PromptFunction,
    Scored,
    clusters_of,
    columns_of,
    flat_items,
)
from eyechart.evaluators.requests.types import Request, Response, Row, RowResponses
from eyechart.metrics.scoring.choices.circular import add_circular, circular_scores
from eyechart.metrics.scoring.choices.circular_passes import find_questions
from eyechart.metrics.scoring.choices.extraction import moved_letter
from eyechart.metrics.scoring.choices.reading import ExtractionSettings
from eyechart.metrics.scoring.choices.replies import Extraction
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.lexical import lexical
from eyechart.metrics.scoring.judging.replies import Judge, judge_name
from eyechart.metrics.scoring.judging.rounds import JudgeSettings

WITHOUT_BLIND = "without blind-solvable questions"
GRADES = "grades of open answers"
"""Variants that settings ask for."""
RELEASE_PASSES, ROTATIONS = "release", "rotations"
"""Values of the setting `passes`: the release's own passes, or rotations of the options."""
_GRADE_COLUMNS = ("judge_score", "rounds", "exact_match", "empty_prediction")


@dataclass(frozen=True, config=CONFIG)
class CircularEval(ChoiceProtocol):
    """Questions asked once for each order of their options; a question is correct only if every reply is.

    The passes are the release's own if the rows have them, otherwise one rotation for each option. With early stop, no
    further pass over a question is asked after a wrong reply, which changes no score. Questions with private answers
    are always asked in every pass.
    """

    name: ClassVar[str] = "circular_eval"
    metric: ClassVar[str] = "circular_eval"
    columns: ClassVar[tuple[str, ...]] = ("id", "images", "answer", "question", "options")
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"blind": True}, {"grade_open_answers": True})

    open_prompt: Definition[PromptFunction | None] = None
    """The prompt without options, for replies that a judge grades."""
    split: Definition[str] = ""
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
    extraction: Extraction = "declared"
    """How a reply is parsed: "declared" tries exact matching, then statements such as "the answer is B"; "strict" is
    exact matching only (Sec. 3.2, step 1)."""
    fallback: Fallback = "wrong"
    """How a reply that names no option is scored: as wrong, or as a random choice (Sec. 3.2, step 3)."""
    rounds: Count = 1
    """Replies requested from the judge for each of the model's replies; 1 in the paper."""

    def __post_init__(self) -> None:
        """Refuse open questions without the image.

        Raises:
            UsageError: Two settings contradict each other, or the task does not support one.
        """
        ChoiceProtocol.__post_init__(self)
        if self.blind and self.grade_open_answers:
            raise UsageError("blind and grade_open_answers cannot be combined; open questions need the image")
        if self.grade_open_answers and self.open_prompt is None:
            raise UsageError("grade_open_answers needs a prompt without options, which this task does not have")

    @property
    def is_judged(self) -> bool:
        """Always True: a judge reads the replies that could not be parsed."""
        return True

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

    def follow_ups(self, row: Row, responses: Sequence[Response]) -> list[Request]:
        """With early stop, the next pass if no reply so far is wrong."""
        asked = [response for response in responses if response.request.pass_name != OPEN]
        if self.is_private(row) or any(response.item.get("correct") is False for response in asked):
            return []
        return [self._request(row, one) for one in passes_of(row)[len(asked) : len(asked) + 1]]

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """Options, correct letter, parsed letter, parsing step, whether it is correct; the judge's grades."""
        items: list[dict[str, Any]] = [{} for _ in responses]
        of_open = [place for place, response in enumerate(responses) if response.request.pass_name == OPEN]
        asked = [place for place, response in enumerate(responses) if response.request.pass_name != OPEN]
        passes = [asked_pass(rows[place], responses[place]) for place in asked]
        for place, one in zip(asked, passes, strict=True):
            shown = shown_options(responses[place])
            answer = moved_letter(one.answer, one.options, shown) if one.answer else ""
            count = len(passes_of(rows[place]))
            items[place].update(options=list(shown), answer=answer, pass_count=count)
        there = [number for number, place in enumerate(asked) if responses[place].error is None]
        places = [asked[number] for number in there]
        add_choices(
            [items[place] for place in places],
            [rows[place] for place in places],
            [asked_reply(responses[asked[number]], passes[number], self.extraction) for number in there],
            self._extraction(),
            self.judge,
            questions=[passes[number].question for number in there],
            rotations=[passes[number].number for number in there],
            finish_reasons=[responses[place].finish_reason for place in places],
        )
        if of_open:
            graded = self._graded([rows[place] for place in of_open], [responses[place] for place in of_open])
            for place, item in zip(of_open, graded, strict=True):
                items[place] = item
        return items

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """CircularEval and VanillaEval; the variants that settings ask for; the file for the evaluation server."""
        public = [one for one in answered if not self.is_private(one.row)]
        diagnostics: dict[str, Any] = {}
        if self.exclude_blind_solved is not None:
            diagnostics["exclude_blind_solved"] = self.exclude_blind_solved.removal([one.row for one in public])
        if self.human_labels is not None and public:
            diagnostics["extractor_agreement"] = self.human_labels.agreement(observed(public))
        files = {}
        if len(public) < len(answered):
            passes, replies = passes_and_replies(answered, self.extraction)
            asked = sum(len(passes_of(one.row)) for one in answered)
            changed = sum(cell_text(reply) != reply for reply in replies)
            diagnostics["answer_file"] = {"passes": len(passes), "missing": asked - len(passes), "changed": changed}
            files = {} if self.answer_file is None else dict(self.answer_file(passes, replies, split=self.split))
        own = [bool(one.row.get("passes")) for one in answered]
        settings = {"passes": RELEASE_PASSES if all(own) else "both" if any(own) else ROTATIONS}
        if not public:
            items = flat_items(answered)
            return Scored(items, None, {}, diagnostics, files, self.caveats(), settings=settings)
        scores, circular = self._scores(public)
        items = [
            {**response.item, "circular_correct": circular.get(one.row["id"])}
            if response.request.pass_name != OPEN
            else dict(response.item)
            for one in answered
            for response in one.responses
        ]
        dropped = scores["dropped"]
        chances = [1 / math.prod(len(shown.options) for shown in passes_of(one.row)) for one in public]
        right = [circular.get(one.row["id"]) for one in public]
        diagnostics |= self.gain([one.row for one in public], right, chances, "circular_accuracy")
        caveats = [*self.caveats()]
        if dropped:
            caveats.append(
                f"{dropped} question{'s' if dropped > 1 else ''} left out of CircularEval: not every pass has a reply, "
                "and no pass is wrong."
            )
        return Scored(
            items,
            scores,
            self._variants(public),
            diagnostics,
            files,
            tuple(caveats),
            settings=settings,
            complete=not dropped,
        )

    def settings(self) -> dict[str, Any]:
        """The settings; files are described by their contents."""
        found = ChoiceProtocol.settings(self)
        for name in ("exclude_blind_solved", "human_labels"):
            value = getattr(self, name)
            found[name] = None if value is None else value.settings()
        return {**found, "missing": self._missing}

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module: one row for each pass that was answered."""
        passes = observed(answered)
        asked = [asked_pass(row, response) for row, response in passes]
        items = [response.item for _, response in passes]
        counts = {row["id"]: len(passes_of(row)) for row, _ in passes}
        return {
            "predictions": [
                asked_reply(response, one, self.extraction) for (_, response), one in zip(passes, asked, strict=True)
            ],
            "references": [item["answer"] for item in items],
            "choices": [item["options"] for item in items],
            "question_ids": [row["id"] for row, _ in passes],
            "rotations": [one.number for one in asked],
            "pass_counts": [counts[row["id"]] for row, _ in passes],
            "questions": [one.question for one in asked],
            "finish_reasons": [response.finish_reason for _, response in passes],
            "groups": known_groups([row for row, _ in passes], self.groups) or None,
            "clusters": clusters_of(row for row, _ in passes),
            **module_settings(self._extraction(), self.judge),
            "missing": self._missing,
        }

    @property
    def _missing(self) -> str:
        return "drop" if self.skip_bad else "error"

    def _extraction(self) -> ExtractionSettings:
        judge = None if self.judge is None else judge_name(self.judge)
        return ExtractionSettings(
            judge=judge, rounds=self.rounds, fallback=self.fallback, seed=self.seed, extraction=self.extraction
        )

    def _scores(self, answered: Sequence[RowResponses]) -> tuple[dict[str, Any], dict[str, bool | None]]:
        """The metric's scores, and whether each question is correct in all passes, by id."""
        inputs = self.metric_inputs(answered)
        columns = columns_of([response.item for _, response in observed(answered)], *CHOICE_COLUMNS)
        ids = inputs["question_ids"]
        questions = find_questions(ids, inputs["rotations"], inputs["choices"], inputs["pass_counts"])
        columns = add_circular(columns, questions, self._missing)
        scores = circular_scores(
            columns,
            questions,
            inputs["references"],
            inputs["choices"],
            inputs["groups"],
            self._missing,
            self._extraction(),
            inputs["clusters"],
        )
        return scores, dict(zip(ids, columns["circular_correct"], strict=True))

    def _variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        found = {}
        if self.exclude_blind_solved is not None:
            kept = [one for one in answered if self.exclude_blind_solved.finds_unsolved(one.row)]
            if kept:
                found[WITHOUT_BLIND] = self._scores(kept)[0]
        if self.grade_open_answers:
            rows = [one.row for one in answered]
            columns = columns_of([_of_open(one).item for one in answered], *_GRADE_COLUMNS)
            judge = JudgeSettings(judge_name(self._grader), self.rounds)
            groups = known_groups(rows, self.groups) or None
            found[GRADES] = answer_scores(columns, groups, judge, clusters_of(rows))
        return found

    @property
    def _grader(self) -> Judge:
        grader: Judge = lexical if self.judge is None else self.judge
        return grader

    def _graded(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """The correct answer ("" if private) and the judge's grade of each reply to an open question."""
        references = ["" if self.is_private(row) else _right_text(row) for row in rows]
        texts, questions = [response.text or "" for response in responses], [row["question"] for row in rows]
        columns = read_answers(texts, references, questions, self._grader, self.rounds)
        return [
            {"reference": reference, **{name: column[number] for name, column in columns.items()}}
            for number, reference in enumerate(references)
        ]

    def _request(self, row: Row, one: QuestionPass) -> Request:
        shown = {**row, "question": one.question, "hint": one.hint, "options": one.options}
        return Request(
            id=row["id"],
            prompt=self.prompt_of(shown),
            images=self.images_of(row),
            options=one.options,
            max_new_tokens=self.reply_length,
            pass_name=one.name,
            # One wrong pass is enough, whichever it is. An open reply alone would drop the question silently.
            optional=not (self.grade_open_answers and one.name == MAIN),
        )

    def _open_request(self, row: Row) -> Request:
        assert self.open_prompt is not None
        return Request(
            id=row["id"],
            prompt=self.open_prompt(row),
            images=tuple(row["images"]),
            max_new_tokens=self.reply_length,
            pass_name=OPEN,
        )


def _of_open(answered: RowResponses) -> Response:
    response = answered.of_pass(OPEN)
    assert response is not None, "the open question is asked of every row"
    return response


def _right_text(row: Row) -> str:
    text: str = row["options"][ascii_uppercase.index(row["answer"])]
    return text
