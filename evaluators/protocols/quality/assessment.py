"""Quality assessment against opinion scores: logits of words after a prefilled reply, ratings in replies, or scores.

- By default, one request per image asks for the next-token logits of all words in the task's word pairs. One pair gives
  the scores (Q-Bench, Eq. 1 or 4). The other pairs, the argmax of Table 9 and the other rule for ties are variants. A
  backend with precomputed scores returns those instead (`Response.score`), without variants.
- `prompt="numerical"` (Sec. 2.4.1): the number in the reply is the score. Replies without a number are left out of the
  correlations; if finish reasons are known, the scores give the shares of unread replies by reason as `unread`.
- `inference="top-token"` (Sec. 2.4.1): the single token that follows the prefilled reply. The most frequent words
  suggest the word pair (Eq. 3); this run gives no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.protocols.protocol import CONFIG, Fixed, Protocol
from eyechart.evaluators.protocols.quality.ratings import read_rating
from eyechart.evaluators.protocols.quality.variants import (
    METRIC_TIES,
    QualityItem,
    TieRule,
    have_scores,
    missing_words,
    pooled_logits,
    score_variants,
    variant_ways,
)
from eyechart.evaluators.protocols.quality.word_pairs import WordPair, find_pair, likeliest_pair, words_of
from eyechart.evaluators.protocols.validation import check_number
from eyechart.evaluators.requests.types import OutputType, Request, Response, Row
from eyechart.evaluators.results.items import with_columns
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import LeftOut, TaskResult
from eyechart.metrics.scoring.choices.replies import (
    CUT_OFF,
    REFUSED,
    UNFINISHED_REASONING,
    UNPARSEABLE,
    unread_shares,
    why_unread,
)
from eyechart.metrics.scoring.quality.pooling import PoolingSettings, read_logits, read_scores
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE, QualitySettings, quality_scores

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
NUMERICAL = "numerical"
TOP_TOKEN = "top-token"
READ_NUMBER = "number in the reply"
PRECOMPUTED = "precomputed score"
_LEFT_OUT = {
    CUT_OFF: "the reply was truncated before it gave a number",
    UNFINISHED_REASONING: "the reply is unfinished reasoning",
    REFUSED: "the reply is a refusal",
    UNPARSEABLE: "the reply does not give exactly one number from 1 to 5",
}
_POOLING = ("word_pair", "temperature", "ties")
_TOKENS_KEPT = 20
_LONGEST_TOKEN = 40


@dataclass(frozen=True, config=CONFIG)
class QualityAssessment(Protocol):
    """Scores images by a softmax over the logits of two words (Q-Bench, Eq. 1)."""

    name: ClassVar[str] = "quality_assessment"
    metric: ClassVar[str] = "softmax_iqa"
    kind: ClassVar[str] = "quality"
    item_type: ClassVar[type[QualityItem]] = QualityItem
    shares_images: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "quality")

    prefill: Fixed[str] = ""
    """How the reply begins, given to the model."""
    word_pairs: Fixed[tuple[WordPair, ...]] = (WordPair(("good",), ("poor",)),)
    """Pairs of words or of sets of words, positive before negative; the first pair is the task's default."""
    average_over: Fixed[str] = ""
    """Group whose values are scored separately and then averaged; by default all images are scored together."""
    inference: Literal["logits", "top-token"] = "logits"
    """"logits" pools the logits of two words into a score; "top-token" counts the most probable tokens, to choose the
    words."""
    word_pair: str | None = None
    """Words whose logits give the score, such as high/low; by default the task's first pair."""
    temperature: Positive = 100.0
    """Divides the logits before the softmax."""
    ties: TieRule = "exact"
    """How images with equal logit differences are ranked: "exact" as ties, "paper-code" with the rounding of the
    paper's code."""

    def __post_init__(self) -> None:
        """Refuse a word pair that the task does not have.

        Raises:
            UsageError: The task does not have this word pair or prompt.
        """
        Protocol.__post_init__(self)
        find_pair(self.word_pair, self.word_pairs)

    @property
    def output_type(self) -> OutputType:
        """Logits, unless a reply is to be read."""
        return OutputType.TEXT if self.is_top_token or self.is_numerical else OutputType.LOGITS

    @property
    def is_numerical(self) -> bool:
        """Whether the number in the reply is the score."""
        return self.prompt == NUMERICAL

    @property
    def is_top_token(self) -> bool:
        """Whether the most probable tokens are counted."""
        return self.inference == TOP_TOKEN and not self.is_numerical

    def unused_settings(self) -> tuple[str, ...]:
        """Pooling settings have no effect on replies; the maximum reply length has no effect on logits."""
        if self.is_numerical:
            return ("inference", *_POOLING)
        return (*_POOLING, "max_new_tokens") if self.is_top_token else ("max_new_tokens",)

    def check(self, row: Row) -> None:
        """Check that the quality is finite or absent."""
        check_number(row, "quality", private=True)

    def requests(self, row: Row) -> list[Request]:
        """One request: for the logits of all words, or for a text."""
        is_text = self.output_type is OutputType.TEXT
        others = tuple(word for word in words_of(self.word_pairs) if word not in self._pair.words)
        return [
            Request(
                id=row["id"],
                prompt=self.prompt_of(row),
                images=(row["image"],),
                prefill=self._prefill,
                words=() if is_text else self._pair.words,
                optional_words=() if is_text else others,
                max_new_tokens=self._longest if is_text else 0,
            )
        ]

    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        """The item, with the opinion score, and the logits of words or a precomputed score."""
        quality = row["quality"]
        fields |= {
            "label": None if quality is None else repr(float(quality)),
            "quality": quality,
            "logits": None if response.logits is None else dict(response.logits),
            "upper_bound_words": list(response.upper_bound_words) or None,
        }
        if not self.is_numerical:
            fields["quality_score"] = response.score
        return super().item(row, response, **fields)

    def parse(self, items: Sequence[QualityItem]) -> list[QualityItem]:
        """Parse the ratings in replies; `step` gives the reason if a reply has none."""
        if not self.is_numerical:
            return list(items)
        ratings = [read_rating(item.text or "") for item in items]
        steps = [
            why_unread(item.text or "", item.finish_reason) if rating is None else None
            for item, rating in zip(items, ratings, strict=True)
        ]
        return with_columns(items, {"quality_score": ratings, "step": steps})

    def score(self, items: Sequence[QualityItem]) -> TaskResult:
        """Correlations with opinion scores; variants; word statistics."""
        public = [item for item in items if item.quality is not None]
        used = [item for item in public if item.step is None]
        found = TaskResult(
            items=list(items),
            diagnostics=self._diagnostics(items),
            left_out=[LeftOut(id=item.id, reason=_LEFT_OUT[item.step]) for item in public if item.step is not None],
        )
        given_scores = self.output_type is OutputType.LOGITS and have_scores(items)
        if given_scores:
            found.settings = {**dict.fromkeys(("prompt_id", "prefill", *_POOLING)), "prediction": PRECOMPUTED}
        if self.is_top_token:
            pair = self._suggested(items)
            found.notes = [note("top_token", pair=None if pair is None else pair.name)]
            return found
        if not used:
            return found
        if given_scores:
            self._check_given_for_scores()
        groups = self._large_groups(used)
        pooling = None if self.is_numerical or given_scores else self._pooling
        if pooling is None:
            columns = read_scores([item.quality_score or 0.0 for item in used])
        else:
            columns = read_logits(pooled_logits(used, self._pair), pooling)
        scoring = QualitySettings(average_over=self._averaged(groups), seed=self.seed, pooling=pooling)
        found.scores = quality_scores(columns, [item.quality or 0.0 for item in used], groups, scoring)
        if self.is_numerical and any(item.finish_reason is not None for item in public):
            found.scores["unread"] = unread_shares([item.step for item in public])
        by_id = {item.id: item for item in with_columns(used, columns)}
        found.items = [by_id.get(item.id, item) for item in items]
        if pooling is not None:
            found.variants = self._variants(used, pooling)
        return found

    def settings(self) -> dict[str, Any]:
        """The settings in use, and what the score is computed from."""
        found = Protocol.settings(self)
        if "word_pair" in found:
            found["word_pair"] = self._pair.name
        reads = READ_NUMBER if self.is_numerical else "likeliest token" if self.is_top_token else "logits"
        return {**found, "prefill": self._prefill, "prediction": reads}

    @property
    def _pair(self) -> WordPair:
        return find_pair(self.word_pair, self.word_pairs)

    @property
    def _pooling(self) -> PoolingSettings:
        return PoolingSettings("softmax", self.temperature, METRIC_TIES[self.ties])

    @property
    def _prefill(self) -> str:
        return "" if self.is_numerical else self.prefill

    @property
    def _longest(self) -> int:
        return 1 if self.is_top_token else self.reply_length

    def _check_given_for_scores(self) -> None:
        """Refuse pooling settings if there are no logits to pool."""
        for name in ("word_pair", "temperature"):
            value = getattr(self, name)
            if value != getattr(QualityAssessment, name):
                raise UsageError(
                    f"{name}={value!r} has no effect: the predictions are scores, not logits of words; leave it out"
                )

    def _variants(self, items: Sequence[QualityItem], pooling: PoolingSettings) -> dict[str, dict[str, Any]]:
        """Every other word pair with all logits known, the argmax of Table 9, and the other rule for ties."""
        averaged = {name: values for name, values in self.groups_of(items).items() if name == self.average_over}
        ways = variant_ways(items, self._pair, self.word_pairs, pooling)
        return score_variants(ways, [item.quality or 0.0 for item in items], averaged, seed=self.seed)

    def _diagnostics(self, items: Sequence[QualityItem]) -> dict[str, Any]:
        """Counts of tokens or of ratings in replies; words without a logit; groups too small to be scored."""
        if self.is_top_token:
            return self._token_shares(items)
        if self.is_numerical:
            ratings = [item.quality_score for item in items]
            counts = Counter(f"{rating:g}" for rating in ratings if rating is not None)
            return {"ratings": dict(sorted(counts.items())), "unread": ratings.count(None), "replies": len(ratings)}
        found: dict[str, Any] = {}
        missing = {} if have_scores(items) else missing_words(items, self.word_pairs)
        if missing:
            found["words_missing"] = missing
        small = sorted(self.groups_of(items).keys() - self._large_groups(items).keys())
        if small:
            found["groups_left_out"] = {name: f"a value has fewer than {SMALL_SAMPLE} images" for name in small}
        return found

    def _large_groups(self, items: Sequence[QualityItem]) -> dict[str, Sequence[str]]:
        """The groups whose values all have enough images for a correlation, and always the group of `average_over`."""
        return {
            name: values
            for name, values in self.groups_of(items).items()
            if name == self.average_over or min(Counter(values).values()) >= SMALL_SAMPLE
        }

    def _averaged(self, groups: Mapping[str, Sequence[str]]) -> str | None:
        """The group whose scores are averaged; None if the data lack it."""
        return self.average_over if self.average_over in groups else None

    def _suggested(self, items: Sequence[QualityItem]) -> WordPair | None:
        return likeliest_pair(Counter(map(_first_word, items)), self.word_pairs)

    def _token_shares(self, items: Sequence[QualityItem]) -> dict[str, Any]:
        """How often each token was the most probable one: Q-Bench, Sec. 2.4.1."""
        counts = Counter(_first_word(item)[:_LONGEST_TOKEN] for item in items)
        frequent = counts.most_common(_TOKENS_KEPT)
        pair = self._suggested(items)
        return {
            "top_tokens": {token: count / len(items) for token, count in frequent},
            "other_tokens": 1 - sum(count for _, count in frequent) / len(items),
            "suggested_word_pair": None if pair is None else pair.name,
        }


def _first_word(item: QualityItem) -> str:
    """The most probable token as a word, in lower case and without punctuation."""
    words = (item.text or "").split()
    return words[0].strip(".,:;!?*\"'").lower() if words else ""
