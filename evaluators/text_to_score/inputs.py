"""Checks of texts and scores, and texts as tokens."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.metrics.scoring.inputs import FloatArray

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerBase


class TruncatedTextWarning(UserWarning):
    """Only the beginning of a text was read."""


def check_texts(name: str, texts: Sequence[str]) -> list[str]:
    """Texts as a list.

    Args:
        name: The argument's name, for messages.
        texts: The texts.

    Raises:
        UsageError: A single text instead of a list, or an item that is blank or not text; the message names it.
    """
    if isinstance(texts, str):
        raise UsageError(f"{name} is a single text; expected a list of texts: write [{name}].")
    for place, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            found = f"{text!r}" if isinstance(text, str) else f"a {type(text).__name__}"
            raise UsageError(f"{name}[{place}] is {found}; expected a non-empty string. Leave out such items.")
    return list(texts)


def check_scores(scores: Sequence[float], n_texts: int) -> FloatArray:
    """Scores as an array of shape (n_texts,).

    Args:
        scores: One finite number for each description.
        n_texts: Number of descriptions.

    Raises:
        UsageError: The numbers of scores and descriptions differ, a score is not a finite number, or all scores are
            equal, so that there is nothing to learn.
    """
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"scores must be numbers: {error}.") from error
    if values.shape != (n_texts,):
        raise UsageError(
            f"scores have the shape {values.shape}; expected one score for each of {n_texts} descriptions."
        )
    unusable = np.flatnonzero(~np.isfinite(values))
    if unusable.size:
        raise UsageError(f"scores[{unusable[0]}] is {values[unusable[0]]}; expected a finite number.")
    if n_texts == 0 or values.min() == values.max():
        found = f"all {values[0]}" if n_texts else "empty"
        raise UsageError(f"scores are {found}; expected at least two different scores to learn from.")
    return values


def encode(tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], max_length: int) -> "BatchEncoding":
    """Texts as tokens, not yet padded.

    Args:
        tokenizer: The encoder's.
        texts: Texts from `check_texts`.
        max_length: Maximum number of tokens read of each text.

    Warns:
        TruncatedTextWarning: Texts are longer than that.
    """
    longer = sum(len(ids) > max_length for ids in tokenizer(list(texts), verbose=False)["input_ids"])
    if longer:
        message = (
            f"{longer} of {len(texts)} texts are longer than max_length={max_length} tokens; their ends are not read"
        )
        warnings.warn(message, TruncatedTextWarning, stacklevel=3)
    return tokenizer(list(texts), truncation=True, max_length=max_length)
