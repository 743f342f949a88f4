"""Multiple-choice questions: lettered options in the prompt and a reply, or no options and a loss for each option."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.choice.choice import Choice, ChoiceItem, Pass, shuffled
from eyechart.evaluators.protocols.protocol import CONFIG, Fixed, Seed
from eyechart.evaluators.requests.types import OutputType, Response, Row
from eyechart.evaluators.results.items import MAIN, column_of, columns_of
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.choices.accuracy import choice_scores
from eyechart.metrics.scoring.choices.options import moved_letter
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies
from eyechart.metrics.scoring.choices.replies import moved_reply
from eyechart.metrics.scoring.inputs import map_groups

CLOSED_SET = "closed-set"


@plain_dataclass(frozen=True)
class LossItem(ChoiceItem):
    """What the reply or the losses of the options gave."""

    losses: list[float] | None = None
    """Each option's loss over all its tokens, in nats, in the order shown."""
    loss_tokens: list[int] | None = None
    """The number of these tokens."""


@dataclass(frozen=True, config=CONFIG)
class MultipleChoice(Choice):
    """Questions with options, asked in a single pass.

    Options are shown in the release's order, because releases are already shuffled. With `inference="closed-set"`
    (Q-Bench, Appendix A.2.1), the option with the lowest loss is the answer, the first one of a tie.
    """

    name: ClassVar[str] = "multiple_choice"
    metric: ClassVar[str] = "choice_accuracy"
    item_type: ClassVar[type[LossItem]] = LossItem
    accepts_several: ClassVar[bool] = True

    prefill: Fixed[str] = ""
    """How the reply begins, given to the model."""
    open_prefill: Fixed[str] = ""
    """How the reply to `open_prompt` begins."""
    crossed: Fixed[tuple[tuple[str, str], ...]] = ()
    """Pairs of groups by which the scores are broken down jointly."""
    by_response: Fixed[bool] = False
    """Whether replies that name an option and replies that do not are also scored separately (AesBench)."""
    judge_template: Fixed[str] = "mmbench_choice"
    """The judge's prompt template, see `metrics/scoring/judging`."""
    shuffle_seed: Seed | None = None
    """Seed to shuffle the options of each question; by default they keep the release's order."""
    inference: Literal["options", "closed-set"] = "options"
    """"options" shows lettered options and parses the reply; "closed-set" shows no options and chooses the option with
    the lowest mean loss over its tokens (Q-Bench, A.2.1)."""
    judge_reads: Literal["unmatched", "all"] = "unmatched"
    """Which replies the judge reads: those that could not be parsed, or all of them (Q-Bench, A.2.1), where a reply
    without a verdict counts as it was parsed."""

    def __post_init__(self) -> None:
        """Refuse closed-set inference if the task has no prompt for it."""
        super().__post_init__()
        if self.is_closed_set and self.open_prompt is None:
            raise UsageError(f"inference='{CLOSED_SET}' needs a prompt without options, which this task does not have")
        if self.is_closed_set and self.scorer is not None:
            raise UsageError(f"inference='{CLOSED_SET}' gives no replies that the task's score= could take")

    @property
    def is_closed_set(self) -> bool:
        """Whether options are compared by their losses."""
        return self.inference == CLOSED_SET

    @property
    @override
    def output_type(self) -> OutputType:
        return OutputType.LOSSES if self.is_closed_set else OutputType.TEXT

    @override
    def unused_settings(self) -> tuple[str, ...]:
        of_replies = ("prompt", "extraction", "fallback", "judge_reads", "rounds", "max_new_tokens")
        return of_replies if self.is_closed_set else ()

    @property
    @override
    def full_prompt_id(self) -> str:
        if not self.is_closed_set:
            return super().full_prompt_id
        return f"{self.prompt_id}/{CLOSED_SET}{'/blind' if self.blind else ''}"

    @override
    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        return {**super().settings(rows), "prefill": self._prefill}

    @property
    @override
    def reading(self) -> ExtractionSettings:
        return replace(super().reading, judge_template=self.judge_template, judge_reads=self.judge_reads)

    @override
    def passes(self, row: Row) -> list[Pass]:
        shown = shuffled(row, self.shuffle_seed)
        return [Pass(MAIN, shown, shows_options=not self.is_closed_set, prefill=self._prefill)]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        if response.losses is not None:
            fields["losses"] = [loss.total for loss in response.losses]
            fields["loss_tokens"] = [loss.tokens for loss in response.losses]
        return super().item(row, response, **fields)

    @override
    def reply(self, item: LossItem) -> str:
        """The reply, or the letter of the option with the lowest loss."""
        if not self.is_closed_set:
            return super().reply(item)
        losses = _mean_losses(item)
        chosen = item.options[losses.index(min(losses))]
        # Of options with the same text, the correct one counts.
        letters = [letter for letter, option in zip(ascii_uppercase, item.options, strict=False) if option == chosen]
        return next((letter for letter in letters if letter in item.answer), letters[0])

    @override
    def scores_of(self, items: Sequence[LossItem]) -> dict[str, Any]:
        groups = self.groups_of(items)
        for first, second in self.crossed:
            if first in groups and second in groups:
                pairs = zip(groups[first], groups[second], strict=True)
                groups[f"{first}_by_{second}"] = list(map(", ".join, pairs))
        if self.by_response:
            groups["response"] = ["explicit" if self._names_option(item) else "ambiguous" for item in items]
        columns = columns_of(items, "choice", "step", "correct", "judge_failed_rounds")
        answers, clusters = columns_of(items, "answer", "cluster").values()
        replies = Replies(None, answers, column_of(items, "options"), groups=groups, clusters=clusters)
        return choice_scores(columns, replies, self.reading)

    @override
    def score(self, items: Sequence[LossItem]) -> TaskResult:
        """Counts ties of the lowest loss too, or replies that name none of the options (Q-Bench, A.2.1)."""
        result = super().score(items)
        if self.is_closed_set:
            losses = [_mean_losses(item) for item in items]
            result.diagnostics["equal_lowest_losses"] = sum(of_item.count(min(of_item)) > 1 for of_item in losses)
        elif self.scorer is None:
            failed = [not self._names_option(item) for item in items]

            def rate(_: str, rows: Sequence[int]) -> dict[str, Any]:
                failures = sum(failed[row] for row in rows)
                return {"rate": failures / len(rows), "failures": failures, "n": len(rows)}

            by_group = map_groups(self.groups_of(items), rate)
            result.diagnostics["prompt_failure"] = rate("", range(len(failed))) | by_group
        return result

    @property
    def _prefill(self) -> str:
        return self.open_prefill if self.is_closed_set else self.prefill

    @override
    def released(self, rows: Sequence[Row], items: Sequence[LossItem]) -> list[tuple[Row, str]]:
        return [(row, self._released_reply(row, item)) for row, item in zip(rows, items, strict=True)]

    def _released_reply(self, row: Row, item: LossItem) -> str:
        released, reply = row["options"], self.reply(item)
        if self.is_closed_set:
            return f"{moved_letter(reply, item.options, released)}. {item.options[ascii_uppercase.index(reply)]}"
        return moved_reply(reply, item.options, released, self.extraction, item.finish_reason)

    def _names_option(self, item: LossItem) -> bool:
        """Whether the reply names an option without a judge (AesBench, Sec. 3.1)."""
        if self.judge_reads == "all":
            return bool(self.named_letters(item))
        return item.choice is not None if item.step is None else item.step in ("exact", "declared")


def _mean_losses(item: LossItem) -> list[float]:
    """Each option's mean loss over its tokens."""
    return [loss / tokens for loss, tokens in zip(item.losses or [], item.loss_tokens or [], strict=True)]
