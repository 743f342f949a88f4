"""Multiple-choice questions: a prompt with lettered options in, a letter or a text out; or each option's loss."""

import hashlib
from collections.abc import Sequence
from copy import copy
from string import ascii_uppercase
from typing import Any, ClassVar, Self

import numpy as np

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.base import Evaluator
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.judging.memory import RememberingJudge
from eyechart.evaluators.protocols.breakdown import crossed_groups, known_groups
from eyechart.evaluators.protocols.choice.closed_set import CLOSED_SET, LOSSES, check_inference, lowest_loss
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.protocols.validation import check_images, check_text_list, check_texts
from eyechart.evaluators.requests.types import IMAGE, Backend, OutputType, Request, Response, Row, RowResponses
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.choices.decisions import Extraction, decide
from eyechart.metrics.scoring.choices.extraction import extract_choice, moved_letter, moved_reply, unplaced_reply
from eyechart.metrics.scoring.inputs import map_groups
from eyechart.metrics.scoring.judging.replies import Judge


class MultipleChoiceEvaluator(Evaluator):
    """Runs a multiple-choice task.

    Options are shown in the release's order, as the releases are shuffled already. The option `shuffle_seed` shuffles
    them for each question, by the question's id and not by the order of visit.

    With `inference="closed-set"` no options are shown: the answer is the letter of the option of the lowest loss, the
    first one where several have it. `loss` says which loss; the scores by the other one are a variant.
    """

    required_columns: tuple[str, ...] = ("id", "images", "answer", "question", "options")
    takes: ClassVar[tuple[str, ...]] = (
        "shuffle_seed",
        "inference",
        "loss",
        "wording",
        "fallback",
        "rounds",
        "max_new_tokens",
    )
    _needs_images = True

    def __init__(
        self, task: Task, *, seed: int = 0, options: TaskOptions | None = None, judge: Judge | None = None
    ) -> None:
        """Keep and check the settings; nothing is loaded."""
        super().__init__(task, seed=seed, options=options, judge=judge)
        check_inference(task, self.options)
        self._prompt, self._prompt_id = task.worded(self.options.wording)
        self._is_closed_set = self.options.inference == CLOSED_SET
        self._loss = self.options.loss or LOSSES[0]
        # What the metric asks of a judge tells afterwards how each answer was read.
        self._remembering = None if judge is None else RememberingJudge(judge)

    @property
    def output_type(self) -> OutputType:
        """Losses for closed-set inference, else text."""
        return OutputType.LOSSES if self._is_closed_set else OutputType.TEXT

    def for_backend(self, backend: Backend) -> Self:
        """One that takes rows without images too, where answers were made elsewhere."""
        bound = copy(self)
        bound._needs_images = self._needs_images and backend.needs_images
        return bound

    def requests(self, row: Row) -> list[Request]:
        """One request: the question with its options as they are to be shown, or for their losses."""
        options = self._shown(row)
        if self._is_closed_set:
            return [self._closed_set_request(row, options)]
        prompt = self._prompt({**row, "options": options})
        return [
            Request(
                id=row["id"],
                prompt=prompt,
                images=tuple(row["images"]),
                options=options,
                prefill=self.definition.prefill,
                max_new_tokens=self._max_new_tokens,
            )
        ]

    def check_row(self, row: Row) -> None:
        """The answer must be the letter of one of the options, which may repeat, and each image have a place."""
        check_texts(row, "question", *(("hint",) if row.get("hint") else ()))
        check_texts(row, "answer", private=True)
        check_text_list(row, "options")
        options, answer = row["options"], row["answer"]
        if not 1 <= len(options) <= len(ascii_uppercase):
            raise DataError(f"its options are {options!r}; expected 1 to {len(ascii_uppercase)} texts")
        letters = ascii_uppercase[: len(options)]
        if answer and (len(answer) != 1 or answer not in letters):
            raise DataError(f"its answer is {answer!r}; expected one of {', '.join(letters)}, or '' if it is private")
        if self._needs_images:
            # The prompts of some tasks show whatever images there are.
            check_images(row, (max(1, self._prompt(row).count(IMAGE)),))

    def is_private(self, row: Row) -> bool:
        """Whether the row has no answer letter."""
        return not row["answer"]

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Raw texts, or letters of lowest loss, answer letters and options, in the order in which these were shown."""
        inputs = {
            "predictions": [self._reply(item, self._loss) for item in answered],
            "references": [right_letter(item.row, shown_options(item.responses[0])) for item in answered],
            "choices": [list(shown_options(item.responses[0])) for item in answered],
            "groups": self._groups(answered),
            "seed": self.seed,
            **self.definition.metric_arguments,
        }
        if self.options.fallback is not None:
            inputs["fallback"] = self.options.fallback
        return inputs | self._judging(answered)

    def variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        """With closed-set inference, the scores by the other loss."""
        if not self._is_closed_set:
            return {}
        inputs = self.metric_inputs(answered)
        return {
            f"loss={loss}": self.prepare_metric(None).compute(
                **inputs | {"predictions": [self._reply(item, loss) for item in answered]}
            )
            for loss in LOSSES
            if loss != self._loss
        }

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Prompt failures (Q-Bench, A.2.1), or the questions of which several options have the lowest loss."""
        responses = [item.responses[0] for item in answered]
        if self._is_closed_set:
            ties = {loss: sum(lowest_loss(of.losses or (), loss)[1] for of in responses) for loss in LOSSES}
            return {"equal_lowest_losses": ties}
        failed = [extract_choice(of.text or "", shown_options(of)) is None for of in responses]
        groups = known_groups([item.row for item in answered], self.definition.groups)
        whole = _failure_rate(failed, range(len(failed)))
        return {"prompt_failure": whole | map_groups(groups, lambda _, rows: _failure_rate(failed, rows))}

    def files(self, answered: Sequence[RowResponses], loaded: LoadedData) -> dict[str, bytes]:
        """The benchmark's own file of answers, where all answers are private."""
        write = self.definition.answer_file
        is_private = all(self.is_private(item.row) for item in answered)
        if write is None or loaded.subset not in self.definition.subsets or not is_private:
            return {}
        rows, replies = [item.row for item in answered], [self._released_reply(item) for item in answered]
        return dict(write(rows, replies))

    def settings(self) -> dict[str, Any]:
        """Prompt, inference, option order, length of the answer or kind of loss, seed."""
        order = {
            "option_order": "release" if self.options.shuffle_seed is None else "shuffled",
            "shuffle_seed": self.options.shuffle_seed,
            "seed": self.seed,
        }
        if self._is_closed_set:
            prompt = {"prompt_id": f"{self._prompt_id}/{CLOSED_SET}", "prefill": self.definition.open_prefill}
            return {
                **prompt,
                "inference": CLOSED_SET,
                "loss": self._loss,
                "of_equal_losses": "the first option",
                **order,
            }
        prompt = {"prompt_id": self._prompt_id, "prefill": self.definition.prefill}
        return {**prompt, "inference": "options", "max_new_tokens": self._max_new_tokens, **order}

    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """Options as shown, the right letter ("" if private), the letter read, by which step, and options' losses."""
        options = list(shown_options(response))
        answer = "" if self.is_private(answered.row) else right_letter(answered.row, options)
        if not self._is_closed_set:
            reply = unplaced_reply(response.text or "", options, response.request.options)
            reading = self._reading(answered.row["question"], reply, options, answer)
            return {"options": options, "answer": answer, **reading}
        losses = response.losses or ()
        return {
            "options": options,
            "answer": answer,
            "extracted": self._reply(answered, self._loss),
            "losses": [loss.total for loss in losses],
            "loss_tokens": [loss.tokens for loss in losses],
        }

    @property
    def _max_new_tokens(self) -> int:
        return self.options.max_new_tokens or self.definition.max_new_tokens

    def _closed_set_request(self, row: Row, options: tuple[str, ...]) -> Request:
        assert self.definition.open_prompt is not None, "tasks without one were refused"
        return Request(
            id=row["id"],
            prompt=self.definition.open_prompt(row),
            images=tuple(row["images"]),
            options=options,
            prefill=self.definition.open_prefill,
            continuations=options,
        )

    def _reply(self, answered: RowResponses, loss: str) -> str:
        """The text, or the letter of the option of lowest loss; where that stands several times, its right place."""
        response = answered.responses[0]
        if not self._is_closed_set:
            return unplaced_reply(response.text or "", shown_options(response), response.request.options)
        shown, place = shown_options(response), lowest_loss(response.losses or (), loss)[0]
        right = "" if self.is_private(answered.row) else right_letter(answered.row, shown)
        is_right = bool(right) and shown[ascii_uppercase.index(right)] == shown[place]
        return right if is_right else ascii_uppercase[place]

    def _released_reply(self, answered: RowResponses) -> str:
        """The reply; where options were not shown in the release's order, the option that it names as there."""
        released, shown = answered.row["options"], shown_options(answered.responses[0])
        reply = self._reply(answered, self._loss)
        if self._is_closed_set:
            place = ascii_uppercase.index(reply)
            return f"{moved_letter(reply, shown, released)}. {shown[place]}"
        return moved_reply(reply, shown, released)

    def _judging(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        if self.judge is None or self._is_closed_set:
            return {}
        rounds = {} if self.options.rounds is None else {"rounds": self.options.rounds}
        return {"judge": self._remembering, "questions": [item.row["question"] for item in answered], **rounds}

    def _reading(self, question: str, text: str, options: list[str], answer: str) -> dict[str, Any]:
        """The letter read from a reply, by which step, and whether it is right, as the metric decided it.

        What chance decided is left open: the metric draws by the place of a row among all.
        """
        arguments = dict(self.definition.metric_arguments)
        if self.options.rounds is not None:
            arguments["rounds"] = self.options.rounds
        known = {name: arguments[name] for name in ("judge_template", "judge_reads", "rounds") if name in arguments}
        judge = self._remembering if answer else None
        found = decide([text], [answer or "A"], [options], Extraction([question], judge, **known))
        (letter,), (step,) = found.letters, found.steps
        if step == "unmatched" and self.options.fallback == "random":
            return {"extracted": None, "step": "random", "correct": None}
        return {"extracted": letter, "step": step, "correct": bool(found.correct[0]) if answer else None}

    def _groups(self, answered: Sequence[RowResponses]) -> dict[str, list[str]] | None:
        groups = known_groups([item.row for item in answered], self.definition.groups)
        groups |= crossed_groups(groups, self.definition.crossed_groups)
        if self.definition.by_response:
            groups["response"] = [_clarity(item.responses[0]) for item in answered]
        return groups or None

    def _shown(self, row: Row) -> tuple[str, ...]:
        options = tuple(row["options"])
        if self.options.shuffle_seed is None:
            return options
        digest = hashlib.sha256(f"{self.options.shuffle_seed}:{row['id']}".encode()).digest()
        order = np.random.default_rng(list(digest)).permutation(len(options))
        return tuple(options[i] for i in order)


def shown_options(response: Response) -> tuple[str, ...]:
    """The options in the order in which they were shown."""
    return response.options if response.options is not None else response.request.options


def _failure_rate(failed: Sequence[bool], rows: Sequence[int]) -> dict[str, Any]:
    """Share of answers that name no given option, of those in `rows`."""
    count = sum(failed[row] for row in rows)
    return {"rate": count / len(rows), "failures": count, "n": len(rows)}


def _clarity(response: Response) -> str:
    """Whether exact matching finds an option, so that no judge is asked (AesBench, Sec. 3.1)."""
    return "ambiguous" if extract_choice(response.text or "", shown_options(response)) is None else "explicit"


def right_letter(row: Row, options: Sequence[str]) -> str:
    """The right option's letter among the options as they were shown."""
    return moved_letter(row["answer"], row["options"], options)
