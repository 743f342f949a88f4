"""What a result records about the responses of a run, counted as they arrive: a run may have millions."""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from eyechart.evaluators.backends.endpoint.failures import DROPPED, dropped_settings
from eyechart.evaluators.requests.types import Response
from eyechart.metrics.scoring.reasoning import LENGTH, REASONING


@dataclass
class Endings:
    """How replies ended; one that was limited to one token is not counted."""

    replies: int = 0
    cut: int = 0
    cut_in_reasoning: int = 0
    unknown: int = 0
    limit: int = 0
    """The longest limit of a reply that was cut off, in tokens."""
    written: int = 0
    """The most tokens that a server counted in such a reply."""

    def add(self, response: Response) -> None:
        """Count a response."""
        ending, limit = response.finish_reason, response.request.max_new_tokens
        if response.text is None or limit <= 1:
            return
        self.replies += 1
        self.unknown += ending is None
        if ending in (LENGTH, REASONING):
            self.cut += 1
            self.cut_in_reasoning += ending == REASONING
            self.limit = max(self.limit, limit)
            self.written = max(self.written, response.usage.get("completion_tokens", 0))


@dataclass
class Tally:
    """Counts of the responses to the rows that were answered in all repeats."""

    responses: int = 0
    stored: int = 0
    """Those from the response store."""
    with_reasoning: int = 0
    public: Endings = field(default_factory=Endings)
    """Of the rows that can be scored."""
    private: Endings = field(default_factory=Endings)
    """Of the other rows."""
    _rendered_prompt: str | None = None
    _images: int = 0
    _downscaled: int = 0
    _is_downscaling_known: bool = True
    _metadata: dict[str, set[str]] = field(default_factory=dict)
    _upper_bounds: Counter[str] = field(default_factory=Counter)
    _usage: Counter[str] = field(default_factory=Counter)

    def add(self, responses: Iterable[Response], private: Container[str]) -> None:
        """Count responses, given the ids of private rows."""
        for response in responses:
            if not self.responses:
                self._rendered_prompt = response.rendered_prompt
            self.responses += 1
            self.stored += response.stored
            self.with_reasoning += response.reasoning is not None
            (self.private if response.request.id in private else self.public).add(response)
            self._images += len(response.request.images)
            self._downscaled += response.images_downscaled or 0
            self._is_downscaling_known &= response.images_downscaled is not None
            for name, value in response.response_metadata.items():
                self._metadata.setdefault(name, set()).add(value)
            self._upper_bounds.update(response.upper_bound_words)
            self._usage.update(response.usage)

    def settings(self) -> dict[str, Any]:
        """Settings of a model that are known only from its responses; stored responses give the same as new ones."""
        settings: dict[str, Any] = {name: sorted(self._metadata[name]) for name in sorted(self._metadata)}
        settings |= dropped_settings(settings.get(DROPPED, ()))
        if self._rendered_prompt is not None:
            settings["rendered_prompt"] = self._rendered_prompt
        if self._images and self._is_downscaling_known:
            settings["downscaled_share"] = self._downscaled / self._images
        counts = {"upper_bound_words": dict(self._upper_bounds), "usage": dict(self._usage)}
        return settings | {name: of_name for name, of_name in counts.items() if of_name}
