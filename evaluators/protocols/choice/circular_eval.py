"""CircularEval: each multiple-choice question is asked in several passes, its options in another order in each."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar, Self

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.evaluation.data import LoadedData, undecoded_rows
from eyechart.evaluators.evaluation.waves import explain_item
from eyechart.evaluators.judging.memory import RememberingJudge
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.choice.blind_run import BlindRun, read_blind_run
from eyechart.evaluators.protocols.choice.circular_answer_file import answer_file_facts, answer_files
from eyechart.evaluators.protocols.choice.human_letters import HumanLetters, read_human_letters
from eyechart.evaluators.protocols.choice.multiple_choice import MultipleChoiceEvaluator, shown_options
from eyechart.evaluators.protocols.choice.passes import (
    MAIN,
    OPEN,
    asked_pass,
    count_asked,
    decision_columns,
    observed,
    pass_counts,
    passes_of,
)
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.requests.types import Backend, Request, Response, Row, RowResponses
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.choices.decisions import Decisions, Extraction, decide
from eyechart.metrics.scoring.choices.extraction import extract_choice, moved_letter
from eyechart.metrics.scoring.judging.replies import Judge

WITHOUT_BLIND = "without blind-solvable questions"
MARKING = "marking of open answers"
RELEASE_PASSES, ROTATIONS = "release", "rotations"
"""Values of the setting `passes`: the release's own, or made by turning the options."""


class CircularEvaluator(MultipleChoiceEvaluator):
    """Runs a task under CircularEval (MMBench, Sec. 3.1).

    A question has the passes that its release holds. Where that holds first passes alone, a question with N options has
    N passes, in each of which its options are turned by one more place. Where each request is paid for, a question is
    asked no further after a wrong pass; what is wrong is decided as the metric decides it, so that neither CircularEval
    nor VanillaEval changes. Questions whose answers are private are asked in all passes. A pass that a predictions file
    lacks leaves a question that has a wrong pass wrong; another such question is an error, or has no part in
    CircularEval, and is counted, where bad rows are skipped. There the same holds for a pass that a server does not
    answer.
    """

    takes: ClassVar[tuple[str, ...]] = (
        *("blind", "without_blind", "marking", "human_letters"),
        *("early_stop", "fallback", "rounds", "max_new_tokens"),
    )

    def __init__(
        self, task: Task, *, seed: int = 0, options: TaskOptions | None = None, judge: Judge | None = None
    ) -> None:
        """As every evaluator.

        Raises:
            UsageError: An option that the task does not take, or marking in a blind run.
        """
        super().__init__(task, seed=seed, options=options, judge=judge)
        if self.options.blind and self.options.marking:
            raise UsageError("blind and marking are both given; open questions need the image, so leave out one")
        if self.options.blind:
            self.definition = replace(task, note=f"{task.note} Asked without the images.".strip())
        self._prompt, self._prompt_id = task.worded("blind" if self.options.blind else None)
        self._needs_images = not self.options.blind
        self._early_stop = bool(self.options.early_stop)
        self._missing = "error"
        self._blind_run: BlindRun | None = None
        self._letters: HumanLetters | None = None

    def requests(self, row: Row) -> list[Request]:
        """All passes, or the first alone where it may be the last; and the open question."""
        passes = self._passes(row)
        if self._early_stop and not self.is_private(row):
            passes = passes[:1]
        return [*passes, self._open_request(row)] if self.options.marking else passes

    def check_row(self, row: Row) -> None:
        """As for other questions, in every pass; the release's own passes have numbers of which 0 is the first."""
        super().check_row(row)
        numbers = [one["rotation"] for one in row.get("passes") or ()]
        if numbers and (0 not in numbers or len(set(numbers)) < len(numbers)):
            raise DataError(f"its passes have the rotations {numbers}; expected different numbers, among them 0")
        for one in row.get("passes") or ():
            super().check_row({**row, **one})

    def next_wave(self, answered: Sequence[RowResponses]) -> list[Request]:
        """With early stop, the next pass over each question that no pass so far found wrong."""
        if not self._early_stop:
            return []
        going_on = [item for item in answered if not self.is_private(item.row)]
        wrong = self._wrong(going_on)
        following = [(self._passes(item.row), count_asked(item)) for item in going_on if item.row["id"] not in wrong]
        return [request for of_row, asked in following for request in of_row[asked : asked + 1]]

    def is_optional(self, request: Request) -> bool:
        """All passes, as one wrong pass is enough, whichever it is; not the open pass, nor then the first one."""
        # An open answer alone would leave the question out of CircularEval without a word.
        return request.pass_name not in ((OPEN, MAIN) if self.options.marking else (OPEN,))

    def for_backend(self, backend: Backend) -> Self:
        """With early stop where each request is paid for, unless the options say otherwise."""
        bound = super().for_backend(backend)
        if self.options.early_stop is None:
            bound._early_stop = backend.billed_per_request
        return bound

    def for_data(self, loaded: LoadedData, *, skip_bad: bool, limit: int | None) -> "CircularEvaluator":
        """With the files that the options name, checked against the data, and a memory of the judge's replies.

        With `skip_bad`, questions of which passes are missing and none is wrong are left out of CircularEval, and those
        that the blind run was not asked out of the score without blind-solvable questions.

        Raises:
            UsageError: The blind run is none of this task and split.
            DataError: Something is wrong with the data, or with the files.
        """
        bound = copy(self)
        bound._missing = "drop" if skip_bad else "error"
        bound._remembering = None if self.judge is None else RememberingJudge(self.judge)
        questions = dict(zip(loaded.dataset["id"][:limit], loaded.dataset["question"][:limit], strict=True))
        if self.options.without_blind is not None:
            counts = {row["id"]: len(passes_of(row)) for row in undecoded_rows(loaded.dataset, limit)}
            bound._blind_run = read_blind_run(self.options.without_blind, self.definition.name, loaded.split, counts)
            if not skip_bad:
                bound._blind_run.check_covers(questions)
        if self.options.human_letters is not None:
            bound._letters = read_human_letters(self.options.human_letters)
            bound._letters.check_known(questions)
        return bound

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """One row for each pass that was answered: reply, letter and options as shown, question and number of the pass.

        Raises:
            DataError: A question lacks passes, none of the others is wrong, and bad rows are not skipped.
        """
        passes = observed(answered)
        if self._missing == "error":
            self._check_complete(answered)
        return {
            **decision_columns(passes),
            "pass_counts": pass_counts(passes),
            "groups": known_groups([row for row, _ in passes], self.definition.groups) or None,
            **self.definition.metric_arguments,
            "judge": self._remembering,
            "rounds": self._rounds,
            "fallback": self._fallback,
            "missing": self._missing,
            "seed": self.seed,
        }

    def lacking(self, answered: Sequence[RowResponses], scores: Mapping[str, Any]) -> str:
        """Questions that CircularEval leaves out, as no pass is wrong and one is missing."""
        dropped = scores.get("dropped")
        if not dropped:
            return ""
        questions = f"{dropped} question{'s' if dropped > 1 else ''}"
        return f"{questions} without answers to all passes, and with none that is wrong, left out of CircularEval."

    def variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        """CircularEval of the questions that need their image (Appendix B); marks of open answers (Appendix D.2)."""
        found = {}
        if self._blind_run is not None:
            kept = [item for item in answered if self._blind_run.finds_unsolved(item.row)]
            if kept:
                found[WITHOUT_BLIND] = self.prepare_metric(None).compute(**self.metric_inputs(kept))
        if self.options.marking:
            found[MARKING] = self.prepare_metric("judge_answer").compute(**self._marking_inputs(answered))
        return found

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Questions that were removed as solvable blind; agreement with human letters; what an answer file holds."""
        found: dict[str, Any] = {}
        public = [item for item in answered if not self.is_private(item.row)]
        if self._blind_run is not None:
            found["without_blind"] = self._blind_run.removal([item.row for item in public])
        if self._letters is not None and public:
            passes = observed(public)
            decisions = self._decide(passes)
            keys = [(row["id"], response.request.pass_name) for row, response in passes]
            found["extractor_agreement"] = self._letters.agreement(keys, decisions.letters, decisions.steps)
        if len(public) < len(answered):
            found["answer_file"] = answer_file_facts(answered)
        return found

    def files(self, answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
        """The file for the evaluation server, where answers are private."""
        if not any(self.is_private(item.row) for item in answered):
            return {}
        return answer_files(answered, loaded)

    def settings(self) -> dict[str, Any]:
        """Prompt, passes, extraction, length of the answer, seed, and the blind run whose questions are removed."""
        return {
            "prompt_id": self._prompt_id,
            "blind": bool(self.options.blind),
            "early_stop": self._early_stop,
            "fallback": self._fallback,
            "rounds": self._rounds,
            "missing": self._missing,
            "marking": bool(self.options.marking),
            "without_blind": None if self._blind_run is None else self._blind_run.settings(),
            "human_letters": None if self._letters is None else self._letters.settings(),
            "max_new_tokens": self._max_new_tokens,
            "seed": self.seed,
        }

    def answer_settings(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Where the passes come from."""
        own = [bool(item.row.get("passes")) for item in answered]
        return {"passes": RELEASE_PASSES if all(own) else "both" if any(own) else ROTATIONS}

    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """Options as shown, the right letter ("" if private), the letter read, by which step, and if it is right.

        Replies to private questions are read by exact matching alone, and open answers not at all.
        """
        row, options = answered.row, list(shown_options(response))
        if response.request.pass_name == OPEN:
            return {"reference": "" if self.is_private(row) else _right_text(row)}
        if self.is_private(row):
            return {"options": options, "answer": "", "extracted": extract_choice(response.text or "", options)}
        shown = asked_pass(row, response)
        known = {"options": options, "answer": moved_letter(shown.answer, shown.options, options)}
        if response.error is not None:
            return known
        found = self._decide([(row, response)])
        return {**known, "extracted": found.letters[0], "step": found.steps[0], "correct": bool(found.correct[0])}

    @property
    def _rounds(self) -> int:
        return self.options.rounds or self.definition.metric_arguments["rounds"]

    @property
    def _fallback(self) -> str:
        return self.options.fallback or "wrong"

    def _passes(self, row: Row) -> list[Request]:
        return [
            Request(
                id=row["id"],
                prompt=self._prompt({**row, "question": one.question, "hint": one.hint, "options": one.options}),
                images=() if self.options.blind else tuple(row["images"]),
                options=one.options,
                max_new_tokens=self._max_new_tokens,
                pass_name=one.name,
            )
            for one in passes_of(row)
        ]

    def _open_request(self, row: Row) -> Request:
        assert self.definition.open_prompt is not None, "tasks under CircularEval have a prompt without options"
        return Request(
            id=row["id"],
            prompt=self.definition.open_prompt(row),
            images=tuple(row["images"]),
            max_new_tokens=self._max_new_tokens,
            pass_name=OPEN,
        )

    def _decide(self, passes: Sequence[tuple[Row, Response]]) -> Decisions:
        """What becomes of passes over public questions, as the metric decides it from `metric_inputs`."""
        columns = decision_columns(passes)
        extraction = Extraction(
            questions=columns["questions"],
            judge=self._remembering,
            rounds=self._rounds,
            fallback=self._fallback,
            seed=self.seed,
            question_ids=columns["question_ids"],
            rotations=columns["rotations"],
        )
        return decide(columns["predictions"], columns["references"], columns["choices"], extraction)

    def _wrong(self, answered: Sequence[RowResponses]) -> set[str]:
        """Ids of the questions that have a wrong pass."""
        passes = observed(answered)
        if not passes:
            return set()
        right = self._decide(passes).correct
        return {row["id"] for (row, _), is_right in zip(passes, right, strict=True) if not is_right}

    def _check_complete(self, answered: Sequence[RowResponses]) -> None:
        incomplete = [item for item in answered if len(observed([item])) < len(passes_of(item.row))]
        wrong = self._wrong(incomplete)
        for item in incomplete:
            if item.row["id"] not in wrong:
                there = {response.request.pass_name for _, response in observed([item])}
                lacking = [one.name for one in passes_of(item.row) if one.name not in there]
                reason = f"there is no answer to {', '.join(lacking)}, and those to its other passes are right"
                raise explain_item(item.row["id"], DataError(reason))

    def _marking_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        replies = [item.of_pass(OPEN) for item in answered]
        rows = [item.row for item in answered]
        return {
            "predictions": [(reply and reply.text) or "" for reply in replies],
            "references": [_right_text(row) for row in rows],
            "questions": [row["question"] for row in rows],
            "groups": known_groups(rows, self.definition.groups) or None,
            "judge": self._remembering,
            "rounds": self._rounds,
            "seed": self.seed,
        }


def _right_text(row: Row) -> str:
    text: str = row["options"][ascii_uppercase.index(row["answer"])]
    return text
