"""What all multiple-choice protocols share: questions with lettered options, and the option that a reply names.

Questions can also be asked blind, without their images, to measure what the images contribute.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import field, replace
from string import ascii_uppercase
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.choice.passes import pass_number
from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.protocols.choice.blind_run import BlindRunFolder
from eyechart.evaluators.protocols.protocol import CONFIG, Count, Fixed, Flag, PromptFunction, Protocol
from eyechart.evaluators.protocols.validation import check_text_list, check_texts
from eyechart.evaluators.requests.types import IMAGE, Prompt, Request, Response, Row
from eyechart.evaluators.results.items import Item, columns_of, with_columns
from eyechart.evaluators.results.notes import Note, note
from eyechart.metrics.scores import GAIN, spec
from eyechart.metrics.scoring.choices.extraction import moved_letter, right_text
from eyechart.metrics.scoring.choices.gain import multimodal_gain
from eyechart.metrics.scoring.choices.reading import ExtractionSettings, read_choices
from eyechart.metrics.scoring.choices.replies import Extraction, read_reply
from eyechart.metrics.scoring.judging.replies import name_or_none
from eyechart.metrics.scoring.statistics.shares import Clusters

Fallback = Literal["wrong", "random"]


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
    """Questions with options, with or without the images."""

    kind: ClassVar[str] = "multiple choice"
    item_type: ClassVar[type[ChoiceItem]] = ChoiceItem
    columns: ClassVar[tuple[str, ...]] = ("id", "images", "answer", "question", "options")
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"blind": True},)
    share: ClassVar[str] = "accuracy"
    """Key of the score that is the share of correct replies, which the multimodal gain compares."""

    blind_prompt: Fixed[PromptFunction | None] = None
    """The prompt without images; None removes the images from the prompt in use."""
    blind: Flag = False
    """Ask without the images, to see how many questions can be answered without them."""
    blind_run: BlindRunFolder | None = None
    """Folder of a finished blind run of the same model; adds the multimodal gain and leakage (MMStar, Sec. 4.3)."""
    extraction: Extraction = "declared"
    """How a reply is parsed: "declared" tries exact matching, then statements such as "the answer is B"; "strict" is
    exact matching only (MMBench, Sec. 3.2, step 1)."""
    fallback: Fallback = "wrong"
    """How a reply that names no option is scored: as wrong, or as a random choice (MMBench, Sec. 3.2, step 3)."""
    rounds: Count = 5
    """Replies requested from the judge for each of the model's replies."""

    def __post_init__(self) -> None:
        """Refuse a blind run that is compared with a blind run.

        Raises:
            UsageError: Two settings contradict each other.
        """
        Protocol.__post_init__(self)
        if self.blind and self.blind_run is not None:
            raise UsageError("blind and blind_run cannot be combined; leave out blind in the run that sees the images")

    @property
    def is_judged(self) -> bool:
        """Whether a judge may read the replies that could not be parsed; a scoring function needs none."""
        return self.scorer is None

    @property
    def shows_images(self) -> bool:
        """False in a blind run."""
        return not self.blind

    @property
    def full_prompt_id(self) -> str:
        """Id of the prompt in use."""
        if not self.blind:
            return super().full_prompt_id
        return f"{super().full_prompt_id if self.blind_prompt is None else self.prompt_id}/blind"

    def for_data(self, task: str, split: str) -> Any:
        """The protocol with the part of a blind run that is about these data."""
        if self.blind_run is None:
            return self
        return replace(self, blind_run=self.blind_run.of_task(task, split, spec(self.share).of[0]))

    def settings(self) -> dict[str, Any]:
        """The settings; a blind run is described by its model and its result."""
        found = Protocol.settings(self)
        return {**found, "blind_run": None if self.blind_run is None else self.blind_run.settings()}

    def check(self, row: Row) -> None:
        """Refuse a question that the blind run did not ask."""
        if self.blind_run is not None and not self.skip_bad:
            self.blind_run.check_asked(row)

    def prompt_of(self, row: Row) -> Prompt:
        """The prompt for a row."""
        if not self.blind:
            return super().prompt_of(row)
        return without_images(super().prompt_of(row)) if self.blind_prompt is None else self.blind_prompt(row)

    def images_of(self, row: Row) -> tuple[Any, ...]:
        """The images to show."""
        return () if self.blind else tuple(row["images"])

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item with its options as shown and the letter of the correct one."""
        shown = shown_options(response)
        accepted = {moved_letter(letter, row["options"], shown) for letter in row["answer"] or ""}
        if shown != response.request.options:
            # Of equal texts in precomputed predictions, nobody knows which is which: each is accepted.
            texts = {shown[ascii_uppercase.index(letter)] for letter in accepted}
            accepted |= {letter for letter, text in zip(ascii_uppercase, shown, strict=False) if text in texts}
        answer = "".join(sorted(accepted))
        label = right_text(row["answer"], row["options"]) if answer else None
        return super().item(row, response, **{"options": list(shown), "answer": answer, "label": label} | fields)

    def parse(self, items: Sequence[Any]) -> list[Any]:
        """Parse the option that each reply names; the judge is not asked about private questions."""
        found = list(items)
        places = [place for place, item in enumerate(items) if item.error is None and item.answer]
        if places:
            asked = [items[place] for place in places]
            columns = read_choices(
                [self.reply(item) for item in asked],
                [item.answer for item in asked],
                [list(item.options) for item in asked],
                self.reading,
                questions=[item.question or "" for item in asked],
                judge=self.judge if self.is_judged else None,
                ids=[item.id for item in asked],
                rotations=[pass_number(item.pass_name) for item in asked],
                finish_reasons=[item.finish_reason for item in asked],
                several=True,
            )
            for place, item in zip(places, with_columns(asked, columns), strict=True):
                found[place] = item
        private = [place for place, item in enumerate(items) if item.error is None and not item.answer and item.options]
        named = [self.named_letters(items[place])[:1] or None for place in private]
        for place, item in zip(private, with_columns([items[p] for p in private], {"choice": named}), strict=True):
            found[place] = item
        return found

    def reply(self, item: Any) -> str:
        """The text in which an option is looked for."""
        return item.text or ""

    def named_letters(self, item: Any) -> str:
        """The letters of the one option that a reply names without a judge; "" for none."""
        return read_reply(self.reply(item), item.options, self.extraction, item.finish_reason)[0]

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

    def gain(self, items: Sequence[Any], chances: Sequence[float]) -> dict[str, Any]:
        """Compare the scores with those of the blind run, for the diagnostics; empty without a blind run.

        Args:
            items: The first item of each public question.
            chances: The probability that a guess is correct, for each question.
        """
        if self.blind_run is None:
            return {}
        (right,) = columns_of(items, *spec(self.share).of).values()
        compared = [
            (item, bool(seen), solved, chance)
            for item, seen, chance in zip(items, right, chances, strict=True)
            if seen is not None and (solved := self.blind_run.solved.get((item.id, item.question))) is not None
        ]
        if not compared:
            return {}
        asked, seen, blind, levels = map(list, zip(*compared, strict=True))
        clusters = Clusters.of([item.cluster for item in asked], len(asked))
        return {
            GAIN: {"score": self.share, "model": self.blind_run.model} | multimodal_gain(seen, blind, levels, clusters)
        }

    def notes(self, settings: Mapping[str, Any]) -> list[Note]:
        """A note if the questions were asked without their images."""
        return [note("blind")] if self.blind else []


def without_images(prompt: Prompt) -> Prompt:
    r"""A prompt without its images.

    Examples:
        >>> without_images((IMAGE, "\nIs it sharp?", IMAGE, " Answer yes or no."))
        ('Is it sharp? Answer yes or no.',)
    """
    return ("".join(part for part in prompt if part is not IMAGE).lstrip(),)


def check_question(row: Row, *, several: bool = False) -> None:
    """Refuse a malformed row, such as one whose answer is not the letter of an option; options may repeat.

    Args:
        row: The row.
        several: Whether the answer may be several letters, each of which is accepted.

    Raises:
        DataError: Question, hint, options or answer are malformed.
    """
    check_texts(row, "question", *(("hint",) if row.get("hint") else ()))
    check_texts(row, "answer", private=True)
    check_text_list(row, "options")
    options, answer = row["options"], row["answer"]
    if not 1 <= len(options) <= len(ascii_uppercase):
        raise DataError(f"column 'options' is {options!r}; expected 1 to {len(ascii_uppercase)} strings")
    letters = ascii_uppercase[: len(options)]
    if answer and not (set(answer) <= set(letters) and len(answer) == len(set(answer))):
        raise DataError(f"column 'answer' is {answer!r}; expected one of {', '.join(letters)} ('' if private)")
    if len(answer or "") > 1 and not several:
        raise DataError(f"column 'answer' is {answer!r}; only the protocol multiple_choice takes several answers")


def ordered_options(row: Row, shuffle_seed: int | None) -> tuple[str, ...]:
    """The options in the release's order, or in a random order that depends on the seed and the row's id."""
    options = tuple(row["options"])
    if shuffle_seed is None:
        return options
    digest = hashlib.sha256(f"{shuffle_seed}:{row['id']}".encode()).digest()
    order = np.random.default_rng(list(digest)).permutation(len(options))
    return tuple(options[i] for i in order)


def shown_options(response: Response) -> tuple[str, ...]:
    """The options in the order in which they were shown."""
    return response.options if response.options is not None else response.request.options


def choice_request(protocol: Choice, row: Row, options: tuple[str, ...], pass_name: str, **fields: Any) -> Request:
    """A question with its options, of which the row may be a variant for one pass."""
    return Request(
        id=row["id"],
        prompt=protocol.prompt_of({**row, "options": options}),
        images=protocol.images_of(row),
        options=options,
        max_new_tokens=protocol.reply_length,
        pass_name=pass_name,
        **fields,
    )
