"""Base of all multiple-choice protocols: questions can also be asked blind, to measure what the images contribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.choice.blind_run import BlindRunFolder
from eyechart.evaluators.protocols.protocol import CONFIG, Definition, Flag, PromptFunction, Protocol, clusters_of
from eyechart.evaluators.requests.types import IMAGE, Prompt, Row
from eyechart.metrics.scoring.choices.gain import multimodal_gain
from eyechart.metrics.scoring.statistics.shares import Clusters

GAIN = "multimodal_gain"
"""Key of the diagnostics of a run that is compared with a blind run."""
ASKED_BLIND = "The model was not shown the images."


@dataclass(frozen=True, config=CONFIG)
class ChoiceProtocol(Protocol):
    """Multiple choice, with or without the images."""

    kind: ClassVar[str] = "multiple choice"
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"blind": True},)

    blind_prompt: Definition[PromptFunction | None] = None
    """The prompt without images; None removes the images from the prompt in use."""
    blind: Flag = False
    """Ask without the images, to see how many questions can be answered without them."""
    blind_run: BlindRunFolder | None = None
    """Folder of a finished blind run of the same model; adds the multimodal gain and leakage (MMStar, Sec. 4.3)."""

    def __post_init__(self) -> None:
        """Refuse a blind run that is compared with a blind run.

        Raises:
            UsageError: Two settings contradict each other.
        """
        Protocol.__post_init__(self)
        if self.blind and self.blind_run is not None:
            raise UsageError("blind and blind_run cannot be combined; leave out blind in the run that sees the images")

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

    def caveats(self) -> tuple[str, ...]:
        """A caveat if the questions were asked without their images."""
        return (ASKED_BLIND,) if self.blind else ()

    def gain(
        self, rows: Sequence[Row], right: Sequence[bool | None], chances: Sequence[float], score: str
    ) -> dict[str, Any]:
        """Compare the scores with those of the blind run, for the diagnostics; empty without a blind run.

        Args:
            rows: Rows with public answers.
            right: Whether each reply is correct; None if the row is left out of the scores.
            chances: The probability that a guess is correct, for each row.
            score: Key of the score that is the share of correct replies.
        """
        if self.blind_run is None:
            return {}
        blind = [self.blind_run.solved.get((row["id"], row["question"])) for row in rows]
        places = [place for place in range(len(rows)) if right[place] is not None and blind[place] is not None]
        if not places:
            return {}
        found = multimodal_gain(
            [bool(right[place]) for place in places],
            [bool(blind[place]) for place in places],
            [chances[place] for place in places],
            Clusters.of(clusters_of(rows[place] for place in places), len(places)),
        )
        return {GAIN: {"score": score, "model": self.blind_run.model, **found}}


def without_images(prompt: Prompt) -> Prompt:
    r"""A prompt without its images.

    Examples:
        >>> without_images((IMAGE, "\nIs it sharp?", IMAGE, " Answer yes or no."))
        ('Is it sharp? Answer yes or no.',)
    """
    return ("".join(part for part in prompt if part is not IMAGE).lstrip(),)
