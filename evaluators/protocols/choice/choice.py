"""The choice protocol: passes over a question with lettered options, each in one order, and a rule that scores them."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import field, replace
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.choice.passes import pass_number
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Fixed, Flag, PromptFunction, Protocol, check_texts
from eyechart.evaluators.requests.types import IMAGE, Request, Response, Row
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.results.items import Item, column_of, where, with_columns
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.choices.options import moved_letter, right_text
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, Replies, read_choices
from eyechart.metrics.scoring.choices.replies import Extraction, read_reply
from eyechart.metrics.scoring.judging.replies import name_or_none


@plain_dataclass(frozen=True)
class Pass:
    """One way to ask a question."""

    name: str
    row: Row
    """The row as this pass asks it; `options` and `answer` are in the order shown."""
    shows_options: bool = True
    """False to ask with the open prompt; the options, if any, are then compared by their losses."""
    prefill: str = ""
    """How the reply begins, given to the model."""
    is_optional: bool = False
    """Whether the question can be scored without a reply in this pass."""


@plain_dataclass(frozen=True)
class ChoiceItem(Item):
    """What one reply to a multiple-choice question gave."""

    options: list[str] = field(default_factory=list)
    """The options as they were shown."""
    answer: str = ""
    """The letter of the correct option as shown; several if several are accepted, or have its text; "" if private."""
    choice: str | None = None
    """The letter that the reply names."""
    step: str | None = None
    """The step that found it, or the reason why none did: see `read_choices`."""
    correct: bool | None = None
    judge_failed_rounds: int | None = None


@dataclass(frozen=True, config=CONFIG)
class Choice(Protocol):
    """Questions with options, with or without the images. A subclass is a rule: the passes, and their scores."""

    kind: ClassVar[str] = "multiple choice"
    item_type: ClassVar[type[ChoiceItem]] = ChoiceItem
    columns: ClassVar[tuple[str, ...]] = ("id", "images", "answer", "question", "options")
    can_be_judged: ClassVar[bool] = True
    accepts_several: ClassVar[bool] = False
    """Whether the answer may be several letters, each of which is accepted."""

    blind_prompt: Fixed[PromptFunction | None] = None
    """The prompt without images; None removes the images from the prompt in use."""
    open_prompt: Fixed[PromptFunction | None] = None
    """The prompt without options, for closed-set inference and open answers; None if the task has none."""
    blind: Flag = False
    """Ask without the images, to see how many questions can be answered without them."""
    extraction: Extraction = "declared"
    """How a reply is parsed: "declared" tries exact matching, then statements such as "the answer is B"; "strict" is
    exact matching only (MMBench, Sec. 3.2, step 1)."""
    fallback: Literal["wrong", "random"] = "wrong"
    """How a reply that names no option is scored: as wrong, or as a random choice (MMBench, Sec. 3.2, step 3)."""
    rounds: Count = 5
    """Replies requested from the judge for each of the model's replies."""

    # The rule.

    @abstractmethod
    def passes(self, row: Row) -> list[Pass]:
        """All passes over a question, in the order in which they are asked."""

    def next_passes(self, row: Row, items: Sequence[Any]) -> list[Pass]:
        """The passes to ask after the items so far; those that were asked already are not asked again."""
        return [] if items else self.passes(row)

    @abstractmethod
    def scores_of(self, items: Sequence[Any]) -> dict[str, Any]:
        """The metric's scores of items with public answers."""

    # What is the same under every rule.

    @property
    @override
    def full_prompt_id(self) -> str:
        if not self.blind:
            return super().full_prompt_id
        return f"{super().full_prompt_id if self.blind_prompt is None else self.prompt_id}/blind"

    @property
    def reading(self) -> ExtractionSettings:
        """How replies are parsed."""
        return ExtractionSettings(
            judge=name_or_none(self.judge if self.is_judged else None),
            rounds=self.rounds,
            fallback=self.fallback,
            seed=self.seed,
            extraction=self.extraction,
        )

    @override
    def check(self, row: Row) -> None:
        check_question(row, several=self.accepts_several)

    def request(self, row: Row, asked: Pass) -> Request:
        """The request of one pass."""
        options = tuple(asked.row["options"])
        ask = self.prompts[self.prompt] if self.blind_prompt is None or not self.blind else self.blind_prompt
        if not asked.shows_options and self.open_prompt is not None:
            ask = self.open_prompt
        prompt = ask({**asked.row, "options": options})
        if self.blind and ask is not self.blind_prompt:
            prompt = ("".join(part for part in prompt if part is not IMAGE).lstrip(),)
        return Request(
            id=row["id"],
            prompt=prompt,
            images=() if self.blind else tuple(row["images"]),
            options=options,
            prefill=asked.prefill,
            continuations=() if asked.shows_options else options,
            max_new_tokens=self.reply_length,
            pass_name=asked.name,
            optional=asked.is_optional,
        )

    @override
    def requests(self, row: Row) -> list[Request]:
        return self.follow_ups(row, [])

    @override
    def follow_ups(self, row: Row, items: Sequence[Any]) -> list[Request]:
        return [self.request(row, asked) for asked in self.next_passes(row, items)]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        asked = next(asked for asked in self.passes(row) if asked.name == response.request.pass_name)
        options, answer = asked.row["options"], asked.row["answer"] or ""
        # Precomputed predictions may have shown the options in another order than this pass.
        shown = response.request.options if response.options is None else response.options
        letters = {moved_letter(letter, options, shown) for letter in answer}
        if shown != response.request.options:
            # Of options with equal texts, nobody knows which is which: each is accepted.
            texts = {shown[ascii_uppercase.index(letter)] for letter in letters}
            letters = {letter for letter, text in zip(ascii_uppercase, shown, strict=False) if text in texts}
        fields |= {
            "question": asked.row["question"],
            "options": list(shown),
            "answer": "".join(sorted(letters)),
            "label": right_text(answer, options) if answer else None,
        }
        return super().item(row, response, **fields)

    @override
    def parse(self, items: Sequence[Any]) -> list[Any]:
        """Parse the option that each reply names; the judge is not asked about private questions."""
        items = [
            replace(item, choice=self.named_letters(item)[:1] or None)
            if item.error is None and item.options and not item.answer
            else item
            for item in items
        ]
        return parse_some(items, lambda item: item.error is None and item.answer, self._read)

    def reply(self, item: Any) -> str:
        """The text in which an option is looked for."""
        return item.text or ""

    def named_letters(self, item: Any) -> str:
        """The letters of the one option that a reply names without a judge; "" for none."""
        return read_reply(self.reply(item), item.options, self.extraction, item.finish_reason)[0]

    @override
    def score(self, items: Sequence[Any]) -> TaskResult:
        if self.scorer is not None:
            return super().score(items)
        public = where(items, list(map(bool, column_of(items, "answer"))))
        has_replies = None in column_of(public, "error")
        return TaskResult(scores=self.scores_of(public) if has_replies else None, items=items)

    def _read(self, items: Sequence[Any]) -> list[Any]:
        replies = Replies(
            [self.reply(item) for item in items],
            [item.answer for item in items],
            [item.options for item in items],
            [item.finish_reason for item in items],
            [item.question or "" for item in items],
            [item.id for item in items],
            [pass_number(item.pass_name) for item in items],
        )
        columns = read_choices(replies, self.reading, self.judge if self.is_judged else None)
        return list(with_columns(items, columns))


def parse_some(
    items: Sequence[Any], is_parsed: Callable[[Any], Any], parse: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """The items with those of one kind parsed, all in one call."""
    chosen = [item for item in items if is_parsed(item)]
    parsed = iter(parse(chosen) if chosen else ())
    return [next(parsed) if is_parsed(item) else item for item in items]


def check_question(row: Row, *, several: bool = False) -> None:
    """Refuse a malformed row, such as one whose answer is not the letter of an option."""
    check_texts(row, "question", *(("hint",) if row.get("hint") else ()))
    check_texts(row, "answer", private=True)
    options, answer = row["options"], row["answer"] or ""
    is_list = isinstance(options, list | tuple) and all(isinstance(option, str) for option in options)
    if not is_list or not 1 <= len(options) <= len(ascii_uppercase):
        expected = f"a list of strings, 1 to {len(ascii_uppercase)} of them"
        raise DataError(f"column 'options' is {brief(options)}; expected {expected}")
    letters = ascii_uppercase[: len(options)]
    if not set(answer) <= set(letters) or len(set(answer)) < len(answer):
        raise DataError(f"column 'answer' is {answer!r}; expected one of {', '.join(letters)} ('' if private)")
    if len(answer) > 1 and not several:
        raise DataError(f"column 'answer' is {answer!r}; only the protocol multiple_choice takes several answers")


def shuffled(row: Row, seed: int | None) -> Row:
    """The row with its options in a random order, which depends on the seed and the row's id; None keeps the order."""
    options = tuple(row["options"])
    if seed is None:
        return {**row, "options": options, "answer": row["answer"] or ""}
    digest = hashlib.sha256(f"{seed}:{row['id']}".encode()).digest()
    options = tuple(options[i] for i in np.random.default_rng(list(digest)).permutation(len(options)))
    answer = "".join(moved_letter(letter, row["options"], options) for letter in row["answer"] or "")
    return {**row, "options": options, "answer": answer}
