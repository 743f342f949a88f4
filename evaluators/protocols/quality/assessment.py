"""Quality assessment against opinion scores: logits of words after a prefilled reply, numbers in replies, or scores.

What a model is asked follows from the options:

- by default, the next-token logits of all words of the task's pairs, in one request an image. One pair makes the scores
  (Q-Bench, Eq. 1 or 4); the others, the argmax of Table 9 and the other way with ties are `variants` of them. A backend
  that has made scores of its own gives these instead (`Response.score`), and has no variants;
- wording "numerical" (Sec. 2.4.1): a reply, whose number is the score;
- inference "top-token" (Sec. 2.4.1): the one token that goes on with the prefilled reply. Which words are frequent
  there chooses the pair of words (Eq. 3), and that is all it is for: such answers give no score.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.evaluation.base import Evaluator
from eyechart.evaluators.protocols.breakdown import known_groups
from eyechart.evaluators.protocols.options import TaskOptions
from eyechart.evaluators.protocols.quality.ratings import read_rating
from eyechart.evaluators.protocols.quality.variants import (
    AVERAGED,
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
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.scoring.judging.replies import Judge
from eyechart.metrics.scoring.quality.scores import SMALL_SAMPLE

NUMERICAL = "numerical"
TOP_TOKEN = "top-token"
_LOGITS_ONLY = ("words", "temperature", "ties")
_TOKENS_KEPT = 20
_LONGEST_TOKEN = 40


class QualityAssessmentEvaluator(Evaluator):
    """Runs a task that scores images by softmax pooling (Q-Bench, Eq. 1)."""

    required_columns = ("id", "image", "quality")
    takes = ("inference", "wording", "max_new_tokens", *_LOGITS_ONLY)

    def __init__(
        self, task: Task, *, seed: int = 0, options: TaskOptions | None = None, judge: Judge | None = None
    ) -> None:
        """Keep and check the settings.

        Raises:
            UsageError: An option that the task does not take, or that has no effect beside another.
        """
        super().__init__(task, seed=seed, options=options, judge=judge)
        self._is_top_token = self.options.inference is not None
        self._is_numerical = self.options.wording == NUMERICAL
        self._prompt, self._prompt_id = task.worded(self.options.wording)
        self._prefill = "" if self._is_numerical else task.prefill
        self._pair = find_pair(self.options.words, task.word_pairs)

    @classmethod
    def taken(cls, options: TaskOptions) -> tuple[str, ...]:
        """Words and how they are pooled have no effect on texts, nor the longest reply on anything else."""
        if options.wording == NUMERICAL:
            return ("wording", "max_new_tokens")
        if options.inference == TOP_TOKEN:
            return ("wording", "inference")
        return ("wording", *_LOGITS_ONLY)

    @property
    def output_type(self) -> OutputType:
        """Logits, unless a text is to be read."""
        return OutputType.TEXT if self._is_top_token or self._is_numerical else OutputType.LOGITS

    def requests(self, row: Row) -> list[Request]:
        """One request: for the logits of all words, or for a text."""
        is_text = self.output_type is OutputType.TEXT
        others = tuple(word for word in words_of(self.definition.word_pairs) if word not in self._pair.words)
        return [
            Request(
                id=row["id"],
                prompt=self._prompt(row),
                images=(row["image"],),
                prefill=self._prefill,
                words=() if is_text else self._pair.words,
                optional_words=() if is_text else others,
                max_new_tokens=self._max_new_tokens if is_text else 0,
            )
        ]

    def check_row(self, row: Row) -> None:
        """The quality must be finite or absent."""
        check_number(row, "quality", private=True)

    def is_private(self, row: Row) -> bool:
        """Whether the row has no opinion score."""
        return row["quality"] is None

    def unusable(self, answered: RowResponses) -> str:
        """A reply without a number has no part in the scores."""
        if self._is_numerical and _rating(answered) is None:
            return "its reply gives no number from 1 to 5, or several"
        return ""

    def why_unscored(self, answered: Sequence[RowResponses]) -> str:
        """The likeliest tokens choose the words and give no score."""
        if not self._is_top_token:
            return ""
        pair = self._suggested(answered)
        advice = f"go on with words={pair.name!r} (--words {pair.name})" if pair else "none of them is a known word"
        return f"The likeliest tokens choose the pair of words and give no score: {advice}."

    def metric_config(self, answered: Sequence[RowResponses]) -> str:
        """That for scores where a number is the answer, else that for logits."""
        return "scores" if self._is_numerical or have_scores(answered) else "logits"

    def metric_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Rows of two pooled logits, positive first, or scores; qualities; groups of enough images."""
        groups = large_groups(self._groups(answered))
        shared = {
            "groups": groups or None,
            "average_over": AVERAGED if AVERAGED in groups else None,
            **self._shared_inputs(answered),
            **self.definition.metric_arguments,
        }
        if self._is_numerical:
            return {"predictions": [_rating(item) for item in answered], **shared}
        if have_scores(answered):
            self._check_given_for_scores()
            return {"predictions": [item.responses[0].score for item in answered], **shared}
        return {"predictions": pooled_logits(answered, self._pair), **self._pooling(), **shared}

    def variants(self, answered: Sequence[RowResponses]) -> dict[str, dict[str, Any]]:
        """Every other pair of words that can be had, the argmax of Table 9, and the other way with ties."""
        if self.metric_config(answered) == "scores":
            return {}
        groups = self._groups(answered)
        halves = {AVERAGED: groups[AVERAGED]} if AVERAGED in groups else None
        shared = {"groups": halves, "average_over": AVERAGED if halves else None, **self._shared_inputs(answered)}
        ways = variant_ways(answered, self._pair, self.definition.word_pairs, self._pooling())
        return score_variants(metrics.load(self.definition.metric, "logits"), ways, shared)

    def extras(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Counts of tokens or numbers in replies; words without a logit; groups that are too small to score."""
        if self._is_top_token:
            return self._token_shares(answered)
        if self._is_numerical:
            ratings = [_rating(item) for item in answered]
            counts = Counter(f"{rating:g}" for rating in ratings if rating is not None)
            return {"ratings": dict(sorted(counts.items())), "unread": ratings.count(None), "replies": len(ratings)}
        found: dict[str, Any] = {}
        if not have_scores(answered):
            missing = missing_words(answered, self.definition.word_pairs)
            if missing:
                found["words_missing"] = missing
        groups = self._groups(answered)
        small = sorted(groups.keys() - large_groups(groups).keys())
        if small:
            found["groups_left_out"] = {name: f"a value has fewer than {SMALL_SAMPLE} images" for name in small}
        return found

    def settings(self) -> dict[str, Any]:
        """Prompt, prefilled reply, what is read, words, longest reply, seed."""
        settings: dict[str, Any] = {"prompt_id": self._prompt_id, "prefill": self._prefill, "seed": self.seed}
        if self._is_top_token:
            return {**settings, "prediction": "likeliest token", "max_new_tokens": self._max_new_tokens}
        if self._is_numerical:
            return {**settings, "prediction": "number in the reply", "max_new_tokens": self._max_new_tokens}
        return {**settings, "prediction": "pooled logits of words", "words": self._pair.name, **self._pooling()}

    def answer_settings(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """Scores made elsewhere come of no prompt and no words."""
        if self.output_type is OutputType.TEXT or not have_scores(answered):
            return {}
        no_part = dict.fromkeys(("prompt_id", "prefill", "words", *self._pooling()))
        published: dict[str, Any] = {"as_published": {}} if self.options.as_published else {}
        return {**no_part, **published, "prediction": "score made elsewhere"}

    def record(self, answered: RowResponses, response: Response) -> dict[str, Any]:
        """The opinion score, and the number that was read."""
        rating = _rating(answered) if self._is_numerical else None
        return {"quality": answered.row["quality"], "extracted": None if rating is None else f"{rating:g}"}

    @property
    def _max_new_tokens(self) -> int:
        return 1 if self._is_top_token else self.options.max_new_tokens or self.definition.max_new_tokens

    def _check_given_for_scores(self) -> None:
        for name in _LOGITS_ONLY:
            value = getattr(self.options, name)
            # What the paper did with logits is nothing to refuse scores for.
            if value is not None and not (self.options.as_published and name == "ties"):
                raise UsageError(f"{name}={value!r} is for logits of words, and the answers are scores; leave it out")

    def _pooling(self) -> dict[str, Any]:
        """The metric's arguments that only logits have."""
        temperature = self.options.temperature
        return {"temperature": 100.0 if temperature is None else temperature, "ties": self.options.ties or "exact"}

    def _shared_inputs(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        return {"references": [item.row["quality"] for item in answered], "seed": self.seed}

    def _groups(self, answered: Sequence[RowResponses]) -> dict[str, list[str]]:
        return known_groups([item.row for item in answered], self.definition.groups)

    def _suggested(self, answered: Sequence[RowResponses]) -> WordPair | None:
        return likeliest_pair(Counter(_first_word(item) for item in answered), self.definition.word_pairs)

    def _token_shares(self, answered: Sequence[RowResponses]) -> dict[str, Any]:
        """How often which token was the likeliest: Q-Bench, Sec. 2.4.1."""
        counts = Counter(_first_word(item)[:_LONGEST_TOKEN] for item in answered)
        frequent = counts.most_common(_TOKENS_KEPT)
        pair = self._suggested(answered)
        return {
            "top_tokens": {token: count / len(answered) for token, count in frequent},
            "other_tokens": 1 - sum(count for _, count in frequent) / len(answered),
            "suggested_words": None if pair is None else pair.name,
        }


def _rating(answered: RowResponses) -> float | None:
    text = answered.responses[0].text
    return None if text is None else read_rating(text)


def _first_word(answered: RowResponses) -> str:
    """What the likeliest token says, without what is around a word and in small letters."""
    words = (answered.responses[0].text or "").split()
    return words[0].strip(".,:;!?*\"'").lower() if words else ""
