"""What all multiple choice has in common: it can be asked without the images, and tell what the images add."""

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
"""Key of the diagnostics of a run that names its blind run."""
ASKED_BLIND = "Asked without the images."


@dataclass(frozen=True, config=CONFIG)
class ChoiceProtocol(Protocol):
    """Multiple choice, with the images or without."""

    kind: ClassVar[str] = "multiple choice"
    other_prompts: ClassVar[tuple[Mapping[str, Any], ...]] = ({"blind": True},)

    blind_prompt: Definition[PromptFunction | None] = None
    """The prompt without images; None is the prompt in use with its images left out."""
    blind: Flag = False
    """Ask without the images, to see what can be answered without them."""
    blind_run: BlindRunFolder | None = None
    """Folder of the same model's finished blind run: gives the multimodal gain and the leak (MMStar, Sec. 4.3)."""

    def __post_init__(self) -> None:
        """Refuse a blind run that is compared with a blind run.

        Raises:
            UsageError: Settings that do not go together.
        """
        Protocol.__post_init__(self)
        if self.blind and self.blind_run is not None:
            raise UsageError("blind and blind_run are both given; leave out blind in the run that sees the images")

    @property
    def shows_images(self) -> bool:
        """Not in a blind run."""
        return not self.blind

    @property
    def full_prompt_id(self) -> str:
        """Names the prompt in use."""
        if not self.blind:
            return super().full_prompt_id
        return f"{super().full_prompt_id if self.blind_prompt is None else self.prompt_id}/blind"

    def settings(self) -> dict[str, Any]:
        """The settings; a blind run by what it is."""
        found = Protocol.settings(self)
        return {**found, "blind_run": None if self.blind_run is None else self.blind_run.settings()}

    def check(self, row: Row) -> None:
        """A question of which the blind run knows whether it was answered right."""
        if self.blind_run is not None and not self.skip_bad:
            self.blind_run.check_asked(row)

    def prompt_of(self, row: Row) -> Prompt:
        """What the model sees of a row."""
        if not self.blind:
            return super().prompt_of(row)
        return without_images(super().prompt_of(row)) if self.blind_prompt is None else self.blind_prompt(row)

    def images_of(self, row: Row) -> tuple[Any, ...]:
        """The images to show."""
        return () if self.blind else tuple(row["images"])

    def caveats(self) -> tuple[str, ...]:
        """That the questions were asked without their images, where they were."""
        return (ASKED_BLIND,) if self.blind else ()

    def gain(
        self, rows: Sequence[Row], right: Sequence[bool | None], chances: Sequence[float], score: str
    ) -> dict[str, Any]:
        """Diagnostics that compare with the blind run; empty without one.

        Args:
            rows: With public answers.
            right: Whether each was answered right; None where it has no part in the scores.
            chances: The probability that a guess is right.
            score: Key of the share of right answers.
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
    r"""A prompt with its images left out.

    Examples:
        >>> without_images((IMAGE, "\nIs it sharp?", IMAGE, " Answer yes or no."))
        ('Is it sharp? Answer yes or no.',)
    """
    return ("".join(part for part in prompt if part is not IMAGE).lstrip(),)
