"""Multiple-choice questions: lettered options in the prompt and a reply, or no options and a loss for each option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.breakdown import crossed_groups, known_groups
from eyechart.evaluators.protocols.choice.blind import ChoiceProtocol, without_images
from eyechart.evaluators.protocols.choice.closed_set import CLOSED_SET, LOSSES, lowest_loss
from eyechart.evaluators.protocols.choice.questions import (
    CHOICE_COLUMNS,
    add_choices,
    check_question,
    module_settings,
    ordered_options,
    right_letter,
    shown_options,
)
from eyechart.evaluators.protocols.protocol import (
    CONFIG,
    Count,
    Definition,
    PromptFunction,
    Scored,
    Seed,
    clusters_of,
    columns_of,
    flat_items,
)
from eyechart.evaluators.requests.types import OutputType, Request, Response, Row, RowResponses
from eyechart.metrics.scoring.choices.accuracy import choice_scores
from eyechart.metrics.scoring.choices.extraction import moved_letter
from eyechart.metrics.scoring.choices.reading import ExtractionSettings
from eyechart.metrics.scoring.choices.replies import Extraction, moved_reply, read_reply, unplaced_reply
from eyechart.metrics.scoring.inputs import map_groups
from eyechart.metrics.scoring.judging.replies import judge_name

Fallback = Literal["wrong", "random"]


@dataclass(frozen=True, config=CONFIG)
class MultipleChoice(ChoiceProtocol):
    """Questions with options, one of which is correct.

    Options are shown in the release's order, because releases are already shuffled. With `inference="closed-set"` the
    prompt shows no options, and the option with the lowest loss is the answer; the first one if several have the lowest
    loss (Q-Bench, Appendix A.2.1).
    """

    name: ClassVar[str] = "multiple_choice"
    metric: ClassVar[str] = "choice_accuracy"
    columns: ClassVar[tuple[str, ...]] = ("id", "images", "answer", "question", "options")
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"inference": CLOSED_SET}, {"blind": True})

    prefill: Definition[str] = ""
    """How the reply begins, given to the model."""
    open_prompt: Definition[PromptFunction | None] = None
    """The prompt without options, for closed-set inference; None if the task has none."""
    open_prefill: Definition[str] = ""
    """How the reply to `open_prompt` begins."""
    crossed: Definition[tuple[tuple[str, str], ...]] = ()
    """Pairs of groups by which the scores are broken down jointly."""
    by_response: Definition[bool] = False
    """Whether replies that name an option and replies that do not are also scored separately (AesBench)."""
    judge_template: Definition[str] = "mmbench_choice"
    """The judge's prompt template, see `metrics/scoring/judging`."""
    shuffle_seed: Seed | None = None
    """Seed to shuffle the options of each question; by default they keep the release's order."""
    inference: Literal["options", "closed-set"] = "options"
    """"options" shows lettered options and parses the reply; "closed-set" shows no options and chooses the option with
    the lowest loss (Q-Bench, A.2.1)."""
    loss: Literal["mean", "sum"] = "mean"
    """Loss of an option in closed-set inference: mean or sum over its tokens."""
    extraction: Extraction = "declared"
    """How a reply is parsed: "declared" tries exact matching, then statements such as "the answer is B"; "strict" is
    exact matching only (MMBench, Sec. 3.2, step 1)."""
    fallback: Fallback = "wrong"
    """How a reply that names no option is scored: as wrong, or as a random choice (MMBench, Sec. 3.2)."""
    judge_reads: Literal["unmatched", "all"] = "unmatched"
    """Which replies the judge reads: those that could not be parsed, or all of them (Q-Bench, A.2.1), where a reply
    without a verdict counts as it was parsed."""
    rounds: Count = 5
    """Replies requested from the judge for each of the model's replies."""

    def __post_init__(self) -> None:
        """Refuse closed-set inference if the task has no prompt for it.

        Raises:
            UsageError: The task has no prompt without options, or a scoring function; or no prompt of the given name.
        """
        ChoiceProtocol.__post_init__(self)
        if self.inference == CLOSED_SET and self.open_prompt is None:
            raise UsageError(f"inference='{CLOSED_SET}' needs a prompt without options, which this task does not have")
        if self.inference == CLOSED_SET and self.scorer is not None:
            raise UsageError(f"inference='{CLOSED_SET}' gives no replies that the task's score= could take")

    @property
    def is_closed_set(self) -> bool:
        """Whether options are compared by their losses."""
        return self.inference == CLOSED_SET

    @property
    def output_type(self) -> OutputType:
        """Losses for closed-set inference, otherwise text."""
        return OutputType.LOSSES if self.is_closed_set else OutputType.TEXT

    @property
    def is_judged(self) -> bool:
        """Whether a judge may read replies; closed-set inference has no replies, and a scoring function no judge."""
        return not self.is_closed_set and self.scorer is None

    def unused_settings(self) -> tuple[str, ...]:
        """Settings of replies have no effect on losses; the kind of loss has no effect on replies."""
        of_replies = ("prompt", "extraction", "fallback", "judge_reads", "rounds", "max_new_tokens")
        return of_replies if self.is_closed_set else ("loss",)

    @property
    def full_prompt_id(self) -> str:
        """Id of the prompt in use; closed-set inference has its own."""
        if not self.is_closed_set:
            return super().full_prompt_id
        return f"{self.prompt_id}/{CLOSED_SET}{'/blind' if self.blind else ''}"

    def settings(self) -> dict[str, Any]:
        """The settings in use, and how the reply begins."""
        return {**super().settings(), "prefill": self.open_prefill if self.is_closed_set else self.prefill}

    def check(self, row: Row) -> None:
        """Check that the answer is the letter of one of the options, or several letters; options may repeat."""
        check_question(row, several=True)
        super().check(row)

    def requests(self, row: Row) -> list[Request]:
        """One request: the question with its options as shown, or, in closed-set inference, for the options' losses."""
        options = ordered_options(row, self.shuffle_seed)
        if self.is_closed_set:
            assert self.open_prompt is not None
            opened = self.open_prompt(row)
            prompt = without_images(opened) if self.blind else opened
            prefill, continuations = self.open_prefill, options
        else:
            prompt, prefill, continuations = self.prompt_of({**row, "options": options}), self.prefill, ()
        return [
            Request(
                id=row["id"],
                prompt=prompt,
                images=self.images_of(row),
                options=options,
                prefill=prefill,
                continuations=continuations,
                max_new_tokens=self.reply_length,
            )
        ]

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """Options, correct letter, parsed letter, parsing step, whether it is correct; the losses of the options."""
        items: list[dict[str, Any]] = [
            {"options": list(shown_options(response)), "answer": right_letter(row, shown_options(response))}
            for row, response in zip(rows, responses, strict=True)
        ]
        texts = [self._reply(row, response) for row, response in zip(rows, responses, strict=True)]
        ends = [response.finish_reason for response in responses]
        judge = None if self.is_closed_set else self.judge
        add_choices(items, rows, texts, self._extraction(), judge, finish_reasons=ends)
        if self.is_closed_set:
            for item, response in zip(items, responses, strict=True):
                item["losses"] = [loss.total for loss in response.losses or ()]
                item["loss_tokens"] = [loss.tokens for loss in response.losses or ()]
        return items

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Accuracy, with prompt failures (Q-Bench, A.2.1); the answer file if the labels are private."""
        public = [one for one in answered if not self.is_private(one.row)]
        items, diagnostics = flat_items(answered), self._diagnostics(answered)
        if not public:
            return Scored(items, diagnostics=diagnostics, files=self._answer_files(answered), caveats=self.caveats())
        found = [one.responses[0].item for one in public]
        scores = self._scores(public, found)
        chances = [len(item["answer"]) / len(item["options"]) for item in found]
        diagnostics |= self.gain([one.row for one in public], [one["correct"] for one in found], chances, "accuracy")
        others = [loss for loss in LOSSES if self.is_closed_set and loss != self.loss]
        variants = {f"loss={loss}": self._scores(public, self._items_by(loss, public)) for loss in others}
        return Scored(items, scores, variants, diagnostics, caveats=self.caveats())

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module for rows with public answers."""
        items = [one.responses[0].item for one in answered]
        return {
            "predictions": [self._reply(one.row, one.responses[0]) for one in answered],
            "references": [item["answer"] for item in items],
            "choices": [item["options"] for item in items],
            "questions": [one.row["question"] for one in answered],
            "finish_reasons": [one.responses[0].finish_reason for one in answered],
            "groups": self._groups(answered) or None,
            "clusters": clusters_of(one.row for one in answered),
            **module_settings(self._extraction(), None if self.is_closed_set else self.judge),
            "judge_reads": self.judge_reads,
        }

    def _extraction(self) -> ExtractionSettings:
        """How replies are parsed."""
        return ExtractionSettings(
            judge=None if self.judge is None or self.is_closed_set else judge_name(self.judge),
            judge_template=self.judge_template,
            judge_reads=self.judge_reads,
            rounds=self.rounds,
            fallback=self.fallback,
            seed=self.seed,
            extraction=self.extraction,
        )

    def _scores(self, answered: Sequence[RowResponses], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        columns = columns_of(items, *CHOICE_COLUMNS, "answer", "options")
        references, choices = columns.pop("answer"), columns.pop("options")
        clusters = clusters_of(one.row for one in answered)
        return choice_scores(columns, references, choices, self._groups(answered), self._extraction(), clusters)

    def _items_by(self, loss: str, answered: Sequence[RowResponses]) -> list[dict[str, Any]]:
        items = [dict(one.responses[0].item) for one in answered]
        letters = [self._loss_letter(one.row, one.responses[0], loss) for one in answered]
        add_choices(items, [one.row for one in answered], letters, self._extraction(), None)
        return items

    def _diagnostics(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        responses = [one.responses[0] for one in answered]
        if self.is_closed_set:
            ties = {loss: sum(lowest_loss(of.losses or (), loss)[1] for of in responses) for loss in LOSSES}
            return {"equal_lowest_losses": ties}
        failed = [not self._names_option(of) for of in responses]
        groups = known_groups([one.row for one in answered], self.groups)
        whole = _failure_rate(failed, range(len(failed)))
        return {"prompt_failure": whole | map_groups(groups, lambda _, rows: _failure_rate(failed, rows))}

    def _answer_files(self, answered: Sequence[RowResponses]) -> dict[str, bytes]:
        if self.answer_file is None:
            return {}
        return dict(self.answer_file([one.row for one in answered], [self.released_reply(one) for one in answered]))

    def released_reply(self, answered: RowResponses) -> str:
        """The reply; if the options were shown in another order, its option is written as in the release's order."""
        response = answered.responses[0]
        released, shown, reply = answered.row["options"], shown_options(response), self._reply(answered.row, response)
        if self.is_closed_set:
            place = ascii_uppercase.index(reply)
            return f"{moved_letter(reply, shown, released)}. {shown[place]}"
        return moved_reply(reply, shown, released, self.extraction, response.finish_reason)

    def _reply(self, row: Row, response: Response) -> str:
        if self.is_closed_set:
            return self._loss_letter(row, response, self.loss)
        shown, ended = shown_options(response), response.finish_reason
        return unplaced_reply(response.text or "", shown, response.request.options, self.extraction, ended)

    def _loss_letter(self, row: Row, response: Response, loss: str) -> str:
        """The letter of the option with the lowest loss; if that text is repeated, the correct letter if it is one."""
        shown, place = shown_options(response), lowest_loss(response.losses or (), loss)[0]
        right = [letter for letter in right_letter(row, shown) if shown[ascii_uppercase.index(letter)] == shown[place]]
        return right[0] if right else ascii_uppercase[place]

    def _groups(self, answered: Sequence[RowResponses]) -> dict[str, list[str]]:
        groups = known_groups([one.row for one in answered], self.groups)
        groups |= crossed_groups(groups, self.crossed)
        if self.by_response:
            names = ("ambiguous", "explicit")
            groups["response"] = [names[self._names_option(one.responses[0])] for one in answered]
        return groups

    def _names_option(self, response: Response) -> bool:
        """Whether the reply names an option without a judge (AesBench, Sec. 3.1)."""
        if self.judge_reads == "all":
            return bool(
                read_reply(response.text or "", shown_options(response), self.extraction, response.finish_reason)[0]
            )
        step = response.item.get("step")
        return response.item["choice"] is not None if step is None else step in ("exact", "declared")


def _failure_rate(failed: Sequence[bool], rows: Sequence[int]) -> dict[str, Any]:
    """Share of the replies in `rows` that name none of the options."""
    count = sum(failed[row] for row in rows)
    return {"rate": count / len(rows), "failures": count, "n": len(rows)}
