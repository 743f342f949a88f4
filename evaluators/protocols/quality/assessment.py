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
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.protocol import CONFIG, Definition, Protocol, Scored, columns_of, flat_items
from eyechart.evaluators.protocols.quality.ratings import read_rating
from eyechart.evaluators.protocols.quality.variants import (
    METRIC_TIES,
    TieRule,
    have_scores,
    large_groups,
    missing_words,
    pooled_logits,
    score_variants,
    variant_ways,
)
from eyechart.evaluators.protocols.quality.word_pairs import WordPair, find_pair, likeliest_pair, words_of
from eyechart.evaluators.protocols.validation import check_number
from eyechart.evaluators.requests.types import OutputType, Request, Response, Row, RowResponses
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
    shares_images: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ("id", "image", "quality")

    prefill: Definition[str] = ""
    """How the reply begins, given to the model."""
    word_pairs: Definition[tuple[WordPair, ...]] = (WordPair(("good",), ("poor",)),)
    """Pairs of words or of sets of words, positive before negative; the first pair is the task's default."""
    average_over: Definition[str] = ""
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

    def read(self, rows: Sequence[Row], responses: Sequence[Response]) -> list[dict[str, Any]]:
        """The opinion score, and the rating or precomputed score; `step` gives the reason if a reply has no rating."""
        items: list[dict[str, Any]] = [{"quality": row["quality"]} for row in rows]
        for item, response in zip(items, responses, strict=True):
            if self.is_numerical:
                text = response.text or ""
                item["quality_score"] = read_rating(text)
                if item["quality_score"] is None:
                    item["step"] = why_unread(text, response.finish_reason)
            elif response.score is not None:
                item["quality_score"] = response.score
        return items

    def score(self, answered: Sequence[RowResponses]) -> Scored:
        """Correlations with opinion scores; variants; word statistics."""
        public = [one for one in answered if not self.is_private(one.row)]
        steps = {one.row["id"]: one.responses[0].item.get("step") for one in public}
        left_out = {id: _LEFT_OUT[step] for id, step in steps.items() if step is not None}
        used = [one for one in public if one.row["id"] not in left_out]
        diagnostics = self._diagnostics(answered)
        given_scores = self.output_type is OutputType.LOGITS and have_scores(answered)
        settings = {}
        if given_scores:
            settings = {**dict.fromkeys(("prompt_id", "prefill", *_POOLING)), "prediction": PRECOMPUTED}
        if self.is_top_token:
            pair = self._suggested(answered)
            advice = f"suggested: --set word_pair={pair.name}" if pair else "no token is a word of a known pair"
            caveat = f"This run gives no score; it counts the most probable tokens to choose a word pair ({advice})."
            return Scored(flat_items(answered), diagnostics=diagnostics, caveats=(caveat,), settings=settings)
        if not used:
            return Scored(flat_items(answered), diagnostics=diagnostics, left_out=left_out, settings=settings)
        if given_scores:
            self._check_given_for_scores()
        groups = self._large_groups(used)
        pooling = None if self.is_numerical or given_scores else self._pooling
        read = [one.responses[0].item for one in used]
        if all("rank_score" in item for item in read):
            columns = columns_of(read, "quality_score", "rank_score")
        elif pooling is None:
            columns = read_scores([item["quality_score"] for item in read])
        else:
            columns = read_logits(pooled_logits(used, self._pair), pooling)
        scoring = QualitySettings(average_over=self._averaged(groups), seed=self.seed, pooling=pooling)
        references = [one.row["quality"] for one in used]
        scores = quality_scores(columns, references, groups, scoring)
        if self.is_numerical and any(one.responses[0].finish_reason is not None for one in public):
            scores["unread"] = unread_shares(list(steps.values()))
        by_id = {
            one.row["id"]: {name: column[number] for name, column in columns.items()} for number, one in enumerate(used)
        }
        items = [{**response.item, **by_id.get(one.row["id"], {})} for one in answered for response in one.responses]
        variants = {} if pooling is None else self._variants(used, pooling)
        return Scored(items, scores, variants, diagnostics, left_out=left_out, settings=settings)

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Arguments of the metric module for rows with opinion scores: pairs of logits, or scores that were read."""
        if self.is_numerical or have_scores(answered):
            answered = [one for one in answered if one.responses[0].item["quality_score"] is not None]
            inputs: dict[str, Any] = {"predictions": [one.responses[0].item["quality_score"] for one in answered]}
        else:
            inputs = {"predictions": pooled_logits(answered, self._pair), "temperature": self.temperature}
            inputs["ties"] = METRIC_TIES[self.ties]
        groups = self._large_groups(answered)
        return {
            **inputs,
            "references": [one.row["quality"] for one in answered],
            "groups": groups or None,
            "average_over": self._averaged(groups),
            "seed": self.seed,
        }

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

    def _variants(self, answered: Sequence[RowResponses], pooling: PoolingSettings) -> dict[str, dict[str, Any]]:
        """Every other word pair with all logits known, the argmax of Table 9, and the other rule for ties."""
        averaged = {name: values for name, values in self._groups(answered).items() if name == self.average_over}
        references = [one.row["quality"] for one in answered]
        ways = variant_ways(answered, self._pair, self.word_pairs, pooling)
        return score_variants(ways, references, averaged, seed=self.seed)

    def _diagnostics(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Counts of tokens or of ratings in replies; words without a logit; groups too small to be scored."""
        if self.is_top_token:
            return self._token_shares(answered)
        if self.is_numerical:
            ratings = [one.responses[0].item["quality_score"] for one in answered]
            counts = Counter(f"{rating:g}" for rating in ratings if rating is not None)
            return {"ratings": dict(sorted(counts.items())), "unread": ratings.count(None), "replies": len(ratings)}
        found: dict[str, Any] = {}
        missing = {} if have_scores(answered) else missing_words(answered, self.word_pairs)
        if missing:
            found["words_missing"] = missing
        small = sorted(self._groups(answered).keys() - self._large_groups(answered).keys())
        if small:
            found["groups_left_out"] = {name: f"a value has fewer than {SMALL_SAMPLE} images" for name in small}
        return found

    def _groups(self, answered: Sequence[RowResponses]) -> dict[str, list[str]]:
        return known_groups([one.row for one in answered], self.groups)

    def _large_groups(self, answered: Sequence[RowResponses]) -> dict[str, Sequence[str]]:
        return large_groups(self._groups(answered), self.average_over)

    def _averaged(self, groups: Mapping[str, Sequence[str]]) -> str | None:
        """The group whose scores are averaged; None if the data lack it."""
        return self.average_over if self.average_over in groups else None

    def _suggested(self, answered: Sequence[RowResponses]) -> WordPair | None:
        return likeliest_pair(Counter(_first_word(one) for one in answered), self.word_pairs)

    def _token_shares(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """How often each token was the most probable one: Q-Bench, Sec. 2.4.1."""
        counts = Counter(_first_word(one)[:_LONGEST_TOKEN] for one in answered)
        frequent = counts.most_common(_TOKENS_KEPT)
        pair = self._suggested(answered)
        return {
            "top_tokens": {token: count / len(answered) for token, count in frequent},
            "other_tokens": 1 - sum(count for _, count in frequent) / len(answered),
            "suggested_word_pair": None if pair is None else pair.name,
        }


def _first_word(answered: RowResponses) -> str:
    """The most probable token as a word, in lower case and without punctuation."""
    words = (answered.responses[0].text or "").split()
    return words[0].strip(".,:;!?*\"'").lower() if words else ""
