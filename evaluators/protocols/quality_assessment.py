"""Quality assessment against opinion scores: logits of words after a prefilled reply, ratings in replies, or scores.

Logits are pooled as in Q-Bench, Eq. 1 or 4, or those of the names of levels as in Q-Align (`levels`). Ratings
(`prompt="numerical"`) and the tokens that suggest a word pair (`inference="top-token"`, without a score) are from
Sec. 2.4.1 of Q-Bench. Precomputed scores (`Response.score`) have no variants.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass
from typing_extensions import override

from eyechart.datasets_scripts.common.errors import DataError, UsageError, unknown_name
from eyechart.evaluators.protocols.protocol import CONFIG, REASONING_LENGTH, Fixed, Protocol, check_number
from eyechart.evaluators.requests.types import OutputType, Request, Response, Row
from eyechart.evaluators.results.items import Item, column_of, packed, where, with_columns
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import LeftOut, TaskResult
from eyechart.metrics.scoring.choices.replies import CUT_OFF, REFUSED, UNFINISHED_REASONING, UNPARSEABLE, unread_shares
from eyechart.metrics.scoring.errors import InputError, ScoringWarning
from eyechart.metrics.scoring.inputs import FloatArray
from eyechart.metrics.scoring.quality.pooling import (
    PoolingSettings,
    Ties,
    ensemble_logits,
    read_levels,
    read_logits,
    read_scores,
)
from eyechart.metrics.scoring.quality.ratings import read_ratings
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE, QualitySettings, quality_scores

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
NUMERICAL = "numerical"
ANSWER_TAG = "answer-tag"
"""Prompts whose reply is read as a number."""
LEVELS = "levels"
TOP_TOKEN = "top-token"
READ_NUMBER = "number in the reply"
PRECOMPUTED = "precomputed score"
METRIC_TIES: dict[str, Ties] = {"exact": "exact", "paper-code": "released"}
"""The rules for ties: the setting's value to the metric's argument."""
_LEFT_OUT = {
    CUT_OFF: "the reply was truncated before it gave a number",
    UNFINISHED_REASONING: "the reply is unfinished reasoning",
    REFUSED: "the reply is a refusal",
    UNPARSEABLE: "the reply does not give exactly one number from 1 to 5",
}
_POOLING = ("word_pair", "temperature", "ties")
_UNUSED = {
    "logits": ("max_new_tokens",),
    LEVELS: (*_POOLING, "max_new_tokens"),
    NUMERICAL: ("inference", LEVELS, *_POOLING),
    TOP_TOKEN: (LEVELS, *_POOLING, "max_new_tokens"),
}
"""Settings without effect, by what is read."""
_SOURCES = {"logits": "logits", LEVELS: "expected level", NUMERICAL: READ_NUMBER, TOP_TOKEN: "likeliest token"}
VARIANT_RESAMPLES = 200
"""Bootstrap resamples for each variant; with the usual 1,000, seven variants would take six times as long as the score
itself."""
_TOKENS_KEPT = 20
_LONGEST_TOKEN = 40


@plain_dataclass(frozen=True)
class WordPair:
    """A positive and a negative set of words: one word each in Eq. 1 of Q-Bench, synonyms in Eq. 4."""

    positive: tuple[str, ...]
    """Words for good images."""
    negative: tuple[str, ...]
    """Words for bad images."""

    @property
    def name(self) -> str:
        """Its name in settings and results, such as "good+high/poor+low"."""
        return f"{'+'.join(self.positive)}/{'+'.join(self.negative)}"

    @property
    def words(self) -> tuple[str, ...]:
        """All its words, positive first."""
        return self.positive + self.negative

    def pooled(self, logits: Mapping[str, FloatArray]) -> FloatArray:
        """The summed logits of its two sets of words for each image, positive first: Q-Bench, Eq. 4."""
        return ensemble_logits(logits, self.positive, self.negative)


def find_pair(name: str | None, pairs: Sequence[WordPair]) -> WordPair:
    """The word pair of that name, the first if the name is None; raises UsageError if there is none."""
    by_name = {pair.name: pair for pair in pairs}
    if name is not None and name not in by_name:
        raise unknown_name("value", name, by_name, "of word_pair")
    return pairs[0] if name is None else by_name[name]


@plain_dataclass(frozen=True)
class QualityItem(Item):
    """What the response for one image gave."""

    quality: float | None = None
    """The opinion score; None if private."""
    logits: Mapping[str, float] | None = None
    """Next-token logits of words."""
    upper_bound_words: list[str] | None = None
    """Words whose logit is only an upper bound."""
    quality_score: float | None = None
    """The predicted score: from the logits, the rating in the reply, or precomputed."""
    rank_score: float | None = None
    """The same with the ties that rank correlations use."""
    step: str | None = None
    """Why a reply gives no rating; None if it does."""


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
    levels: tuple[str, ...] | None = None
    """Names of levels, best first, whose logits give the score instead of a word pair, as in Q-Align: the expected
    level, for example [excellent, good, fair, poor, bad]."""
    temperature: Positive = 100.0
    """Divides the logits before the softmax."""
    ties: Literal["exact", "paper-code"] = "exact"
    """How images with equal logit differences are ranked: "exact" as ties, "paper-code" with the rounding of the
    paper's code."""

    def __post_init__(self) -> None:
        """Refuse a word pair that the task does not have, and levels that are no different words."""
        Protocol.__post_init__(self)
        find_pair(self.word_pair, self.word_pairs)
        if self.levels is not None and len(set(map(str.strip, self.levels)) - {""}) < max(2, len(self.levels)):
            raise UsageError(
                f"levels={list(self.levels)} is not allowed; give at least two different words, best first"
            )

    @property
    @override
    def reply_length(self) -> int:
        # This prompt asks for reasoning.
        is_long = self.prompt == ANSWER_TAG and self.max_new_tokens is None
        return REASONING_LENGTH if is_long else super().reply_length

    @property
    @override
    def output_type(self) -> OutputType:
        return OutputType.LOGITS if self._read in ("logits", LEVELS) else OutputType.TEXT

    @override
    def unused_settings(self) -> tuple[str, ...]:
        return _UNUSED[self._read]

    @override
    def settings(self, rows: Iterable[Row] = ()) -> dict[str, Any]:
        settings = super().settings(rows)
        if "word_pair" in settings:
            settings["word_pair"] = self._pair.name
        if self.levels and LEVELS in settings:
            settings[LEVELS] = list(self.levels)
        return {**settings, "prefill": self._prefill, "prediction": _SOURCES[self._read]}

    @override
    def check(self, row: Row) -> None:
        check_number(row, "quality", private=True)

    @override
    def requests(self, row: Row) -> list[Request]:
        words, others = self._words
        length = 0 if words else 1 if self._read == TOP_TOKEN else self.reply_length
        of_image: dict[str, Any] = {"id": row["id"], "prompt": self.prompt_of(row), "images": (row["image"],)}
        return [Request(**of_image, prefill=self._prefill, words=words, optional_words=others, max_new_tokens=length)]

    @override
    def item(self, row: Row, response: Response, **fields: Any) -> Any:
        quality = row["quality"]
        return super().item(
            row,
            response,
            label=None if quality is None else repr(float(quality)),
            quality=quality,
            logits=None if response.logits is None else dict(response.logits),
            upper_bound_words=list(response.upper_bound_words) or None,
            quality_score=None if self._read == NUMERICAL else response.score,
        )

    @override
    def parse(self, items: Sequence[QualityItem]) -> list[QualityItem]:
        if self._read != NUMERICAL:
            return list(items)
        texts, ends = [item.text or "" for item in items], [item.finish_reason for item in items]
        return list(with_columns(items, read_ratings(texts, ends)))

    @override
    def score(self, items: Sequence[QualityItem]) -> TaskResult:
        if self._read == TOP_TOKEN:
            return self._count_tokens(items)
        is_numerical = self._read == NUMERICAL
        given = column_of(items, "quality_score")
        is_given = not is_numerical and None not in given and all(of is None for of in column_of(items, "logits"))
        is_public = [quality is not None for quality in column_of(items, "quality")]
        public = where(items, is_public)
        steps = list(column_of(public, "step"))
        used = where(public, [step is None for step in steps])
        words = () if is_given or is_numerical else self._words[0] + self._words[1]
        logits = _logits(items, words) if words else {}
        missed = zip(column_of(public, "id"), steps, strict=True)
        result = TaskResult(
            items=items,
            diagnostics=_rating_counts(items) if is_numerical else self._gaps(items, logits),
            left_out=[LeftOut(id=id, reason=_LEFT_OUT[step]) for id, step in missed if step is not None],
        )
        if is_given:
            result.settings = {**dict.fromkeys(("prompt_id", "prefill", *_POOLING)), "prediction": PRECOMPUTED}
        if not used:
            return result
        if is_given:
            self._check_no_pooling()
        if not words:
            pooling, columns = None, read_scores([score or 0.0 for score in column_of(used, "quality_score")])
        else:
            logits = {word: column[is_public] for word, column in logits.items()}
            if self.levels is None:
                pooling, columns = self._pooling, read_logits(self._pair.pooled(logits), self._pooling)
            else:
                of_levels = np.column_stack([logits[word] for word in self.levels])
                pooling, columns = None, read_levels(of_levels, len(self.levels))
            result.variants = self._variants(used, logits)
        groups = self._large_groups(used)
        average_over = self.average_over if self.average_over in groups else None
        settings = QualitySettings(average_over=average_over, seed=self.seed, pooling=pooling)
        result.scores = quality_scores(columns, _references(used), groups, settings)
        if is_numerical and any(ending is not None for ending in column_of(public, "finish_reason")):
            result.scores["unread"] = unread_shares(steps)
        left = iter(steps)
        is_used = [public and next(left) is None for public in is_public]
        for name, values in columns.items():
            scored = iter(values)
            of_all = zip(is_used, column_of(items, name), strict=True)
            columns[name] = [next(scored) if used else before for used, before in of_all]
        result.items = packed(items).with_columns(columns)
        return result

    @cached_property
    def _words(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The words whose logits are required, and the others; none if a reply is asked for."""
        if self.output_type is OutputType.TEXT:
            return (), ()
        needed = self.levels or self._pair.words
        others = dict.fromkeys(word for pair in self.word_pairs for word in pair.words if word not in needed)
        return needed, tuple(others)

    @cached_property
    def _pair(self) -> WordPair:
        return find_pair(self.word_pair, self.word_pairs)

    @property
    def _pooling(self) -> PoolingSettings:
        return PoolingSettings("softmax", self.temperature, METRIC_TIES[self.ties])

    @property
    def _prefill(self) -> str:
        return "" if self._read == NUMERICAL else self.prefill

    @property
    def _read(self) -> str:
        """What is read of a response."""
        if self.prompt in (NUMERICAL, ANSWER_TAG):
            return NUMERICAL
        return LEVELS if self.levels and self.inference == "logits" else self.inference

    def _check_no_pooling(self) -> None:
        """Refuse pooling settings if there are no logits to pool."""
        for name in ("word_pair", "levels", "temperature"):
            value = getattr(self, name)
            if value != getattr(QualityAssessment, name):
                raise UsageError(
                    f"{name}={value!r} has no effect: the predictions are scores, not logits of words; leave it out"
                )

    def _variants(self, items: Sequence[QualityItem], logits: Mapping[str, FloatArray]) -> dict[str, dict[str, Any]]:
        """Every other word pair with all logits known; of a pair, the argmax of Table 9 and the other rule for ties."""
        pooling, references, complete = self._pooling, _references(items), {*self._words[0]}
        complete |= {word for word, column in logits.items() if not np.isnan(column).any()}
        pairs = [
            pair for pair in self.word_pairs if (self.levels or pair != self._pair) and set(pair.words) <= complete
        ]
        ways = {pair.name: (pair, pooling) for pair in pairs}
        if self.levels is None:
            ways["argmax"] = (self._pair, replace(pooling, strategy="argmax"))
            (other,) = (rule for rule in METRIC_TIES if rule != self.ties)
            ways[f"ties={other}"] = (self._pair, replace(pooling, ties=METRIC_TIES[other]))
        averaged = {name: values for name, values in self.groups_of(items).items() if name == self.average_over}
        variants = {}
        for name, (pair, way) in ways.items():
            settings = QualitySettings(
                average_over=next(iter(averaged), None), resamples=VARIANT_RESAMPLES, seed=self.seed, pooling=way
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ScoringWarning)
                    columns = read_logits(pair.pooled(logits), way)
                    variants[name] = quality_scores(columns, references, averaged, settings)
            # The released arithmetic overflows at small temperatures.
            except InputError as error:
                warnings.warn(f"variant {name} left out: {error}", stacklevel=2)
        return variants

    def _gaps(self, items: Sequence[QualityItem], logits: Mapping[str, FloatArray]) -> dict[str, Any]:
        """How many images lack the logit of each word; groups too small to be scored."""
        counts = {word: int(np.isnan(column).sum()) for word, column in logits.items()}
        missing = {word: count for word, count in counts.items() if count}
        small = sorted(self.groups_of(items).keys() - self._large_groups(items).keys())
        gaps = {
            "words_missing": missing,
            "groups_left_out": {name: f"a value has fewer than {SMALL_SAMPLE} images" for name in small},
        }
        return {name: values for name, values in gaps.items() if values}

    def _large_groups(self, items: Sequence[QualityItem]) -> dict[str, Sequence[str]]:
        """The groups whose values all have enough images for a correlation, and always the group of `average_over`."""
        return {
            name: values
            for name, values in self.groups_of(items).items()
            if name == self.average_over or min(Counter(values).values()) >= SMALL_SAMPLE
        }

    def _count_tokens(self, items: Sequence[QualityItem]) -> TaskResult:
        """How often each token was the most probable one, and the word pair that this suggests: Q-Bench, Sec. 2.4.1."""
        words = [_first_word(item.text or "") for item in items]
        counts = {pair.name: sum(map(words.count, pair.words)) for pair in self.word_pairs if len(pair.words) == 2}
        likeliest = max(counts, key=lambda pair: counts[pair])
        name = likeliest if counts[likeliest] else None
        frequent = Counter(word[:_LONGEST_TOKEN] for word in words).most_common(_TOKENS_KEPT)
        diagnostics = {
            "top_tokens": {token: count / len(items) for token, count in frequent},
            "other_tokens": 1 - sum(count for _, count in frequent) / len(items),
            "suggested_word_pair": name,
        }
        return TaskResult(items=items, diagnostics=diagnostics, notes=[note("top_token", pair=name)])


def _logits(items: Sequence[QualityItem], words: Sequence[str]) -> dict[str, FloatArray]:
    """The logits of each word, nan where there is none."""
    columns = {word: np.full(len(items), np.nan) for word in words}
    for row, logits in enumerate(column_of(items, "logits")):
        if logits is None:
            reason = f"item '{items[row].id}' has a score, but other items have logits; give scores or logits for all"
            raise DataError(f"{reason} items")
        for word, column in columns.items():
            if word in logits:
                column[row] = logits[word]
    return columns


def _references(items: Sequence[QualityItem]) -> list[float]:
    return [quality or 0.0 for quality in column_of(items, "quality")]


def _rating_counts(items: Sequence[QualityItem]) -> dict[str, Any]:
    ratings = [item.quality_score for item in items]
    counts = Counter(f"{rating:g}" for rating in ratings if rating is not None)
    return {"ratings": dict(sorted(counts.items())), "unread": ratings.count(None), "replies": len(ratings)}


def _first_word(text: str) -> str:
    """The first word in lower case and without punctuation."""
    return (text.split() or [""])[0].strip(".,:;!?*\"'").lower()
