"""The `lexical` judge: a small deterministic baseline without a model, based on the attribute lexicon in `lexicon`.

It does not come from a paper and does not replace a language model; results name it. It reads the fields of a
conversation from `prompts.render` and replies in the form that the template requires:

- completeness: the share of the reference's statements that the description also makes; 2 if it is at least 0.8, 0 if
  it is 0, else 1.
- preciseness, precision: 2 if nothing contradicts the reference and something agrees with it, 1 if more agrees than
  contradicts, else 0. A description that shares nothing with the reference gets 0.
- relevance: the share of clauses with a statement; 2 if it is at least 0.8, 0 if it is 0, else 1. Emotion, interest and
  originality count only for AesBench.
- choices: the option that exact matching finds, else the option whose statements or words agree best with the answer,
  else X. For yes or no, it matters whether the answer agrees with the question's statements or repeats its words.
- scores from 1 to 5: 5 if the answer is or names the correct answer, 4 if its statements agree with it, 1 if they
  contradict it, else by the share of common words.

If a text makes no statement, its content words are used instead; words cannot contradict each other.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.claims import Claims
from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.choices.text import comparison_key, is_cjk, normalise, option_phrase, split_words
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.judging.lexicon import (
    AESTHETIC,
    NEGATORS,
    Statement,
    phrases,
    read_clauses,
    read_statements,
)
from eyechart.metrics.scoring.judging.prompts import Messages, read_fields

LEXICAL = "lexical"
"""The name of this judge in results."""
_ALMOST_ALL = 0.8
_FUNCTION_WORDS = frozenset(
    phrases(
        "the, this, that, these, those, there, with, and, for, from, into, onto, are, was, were, has, have, had, its, "
        "his, her, their, them, they, you, your, our, not, but, can, could, would, should, will, which, what, who, "
        "how, does, did, been, being, very, more, most, some, any, image, picture, photo, photograph"
    )
)
_OTHER = {"yes": "No", "no": "Yes"}
# "A. Dark B. Bright": each letter in turn, after a blank.
_LABEL = "(?:^| ){letter}[.] "


def lexical(messages: Messages, n: int) -> list[str]:
    """Judge by the lexicon. All replies to one conversation are the same.

    Args:
        messages: A conversation that `render` created from one of the templates.
        n: Number of replies.

    Returns:
        The replies, such as "Score: 1", "Result: 0" or "B".

    Raises:
        InputError: The conversation does not come from one of the templates.

    Examples:
        >>> from eyechart.metrics.scoring.judging.prompts import render
        >>> fields = {"description": "The light is poor.", "reference": "Poor lighting and vivid colors."}
        >>> lexical(render("q_bench_completeness", fields), 2)
        ['Score: 1', 'Score: 1']
    """
    found = read_fields(messages)
    if found is None or found[0] not in _REPLIES:
        raise InputError(
            f"the lexical judge only reads conversations from these templates: {', '.join(sorted(_REPLIES))}"
        )
    template, fields = found
    return [_REPLIES[template](fields)] * n


def completeness(description: str, reference: str) -> int:
    """How much of the reference the description includes: 0, 1 or 2.

    Examples:
        >>> completeness("Dark and noisy.", "It is dark, noisy and out of focus.")
        1
    """
    stated = read_statements(reference)
    if stated:
        share = len(_agreeing(stated, read_statements(description))) / len(stated)
    else:
        words = _content_words(reference)
        share = len(words & _content_words(description)) / max(len(words), 1)
    return _grade(share)


def preciseness(description: str, reference: str) -> int:
    """How far the description agrees with the reference without contradicting it: 0, 1 or 2.

    Examples:
        >>> preciseness("Bright and noisy.", "It is dark and noisy."), preciseness("Noisy.", "It is dark and noisy.")
        (0, 2)
    """
    said, stated = read_statements(description), read_statements(reference)
    agreed, contradicted = len(_agreeing(stated, said)), len(_contradicting(said, stated))
    if not stated:
        agreed = len(_content_words(description) & _content_words(reference))
    return 0 if agreed <= contradicted else 1 if contradicted else 2


def relevance(description: str, ignored: frozenset[str] = frozenset()) -> int:
    """How much of the description is about the look of the image: 0, 1 or 2.

    Args:
        description: The judged text.
        ignored: Attributes that do not count.

    Examples:
        >>> relevance("It is dark, and a dog sleeps."), relevance("It is dark."), relevance("A dog sleeps.")
        (1, 2, 0)
    """
    clauses = [clause.statements for clause in read_clauses(description)]
    about = sum(any(attribute not in ignored for attribute, _ in statements) for statements in clauses)
    return _grade(about / max(len(clauses), 1))


def best_option(question: str, options: Sequence[str], answer: str) -> str | None:
    """Letter of the option that an answer names, or else of the option that agrees best with it; None if missing.

    Examples:
        >>> best_option("How is the light?", ["Bright", "Dark"], "The scene is quite dim.")
        'B'
        >>> best_option("Is it blurry?", ["Yes", "No"], "It looks sharp.")
        'B'
    """
    named = extract_choice(answer, options)
    if named is not None:
        return named
    keys = [comparison_key(option) for option in options]
    if sorted(keys) == ["no", "yes"]:
        affirmed = _affirms(question, answer)
        return None if affirmed is None else ascii_uppercase[keys.index("yes" if affirmed else "no")]
    said, words = read_statements(answer), _content_words(answer)
    merits = []
    for option in options:
        stated, own = read_statements(option), _content_words(option)
        agreed, contradicted = len(_agreeing(stated, said)), len(_contradicting(said, stated))
        shared = len(own & words) / max(len(own), 1)
        merits.append((0, 0.0) if contradicted else (agreed, shared))
    best = max(merits, default=(0, 0.0))
    if best == (0, 0.0) or merits.count(best) > 1:
        return None
    return ascii_uppercase[merits.index(best)]


def rate(question: str, reference: str, answer: str) -> int:
    """Score from 1 (completely wrong) to 5 (completely correct) for an answer.

    Examples:
        >>> rate("Which side?", "right", "The bag is on the right side."), rate("How is it?", "Dark", "It is dim.")
        (5, 4)
    """
    if comparison_key(reference) in ("yes", "no"):
        # An answer that is neither yes nor no is incorrect.
        return 5 if best_option(question, [reference, _OTHER[comparison_key(reference)]], answer) == "A" else 1
    claims = Claims(answer, [reference])
    if any(claims.code(i) == "O" for i in claims.mentions(0, claims.n_words)):
        return 5
    said, stated = read_statements(answer), read_statements(reference)
    # If the correct answer is in the text but not named as an option, it is denied.
    if _contradicting(said, stated) or option_phrase(reference) in split_words(normalise(answer)).joined:
        return 1
    if _agreeing(stated, said):
        return 4
    given, true = _content_words(answer), _content_words(reference)
    return 1 + min(int(8 * len(given & true) / max(len(given) + len(true), 1)), 3)


def _affirms(question: str, answer: str) -> bool | None:
    """Whether an answer affirms what a question asks; None if it neither affirms nor denies it."""
    asked, said = read_statements(question), read_statements(answer)
    agreed, contradicted = len(_agreeing(asked, said)), len(_contradicting(said, asked))
    if asked:
        return None if agreed == contradicted else agreed > contradicted
    # "The microwave is silver" repeats "Is the microwave silver?", with or without a not.
    words = _content_words(answer)
    if not words or len(words & _content_words(question)) < _ALMOST_ALL * len(words):
        return None
    return NEGATORS.isdisjoint(split_words(normalise(answer)).folded)


def _agreeing(stated: frozenset[Statement], said: frozenset[Statement]) -> set[Statement]:
    """The statements of one text that another text also makes; a mention without a judgement agrees with any."""
    mentioned = {attribute for attribute, _ in said}
    return {(a, value) for a, value in stated if (a, value) in said or (value == 0 and a in mentioned)}


def _contradicting(said: frozenset[Statement], stated: frozenset[Statement]) -> set[Statement]:
    """Judgements for which the other text contains only the opposite."""
    return {(a, value) for a, value in said if value and (a, -value) in stated and (a, value) not in stated}


def _content_words(text: str) -> set[str]:
    """Content words: words of at least three letters, numbers, and CJK characters."""
    words = split_words(normalise(text)).folded
    return {
        word for word in words if (len(word) > 2 or word.isdecimal() or is_cjk(word)) and word not in _FUNCTION_WORDS
    }


def _grade(share: float) -> int:
    return 2 if share >= _ALMOST_ALL else 1 if share > 0 else 0


def _labelled_options(listed: str) -> list[str]:
    """Options of "A. Dark B. Bright"."""
    starts: list[tuple[int, int]] = []
    for letter in ascii_uppercase:
        label = re.compile(_LABEL.format(letter=letter)).search(listed, starts[-1][1] if starts else 0)
        if label is None:
            break
        starts.append(label.span())
    ends = [start for start, _ in starts[1:]] + [len(listed)]
    return [listed[start:end] for (_, start), end in zip(starts, ends, strict=True)]


def _letter(fields: Mapping[str, str]) -> str:
    return best_option(fields["question"], _labelled_options(fields["options"]), fields["answer"]) or "X"


def _vote(fields: Mapping[str, str]) -> str:
    # The template contains the list's `repr`. literal_eval reads literals only and runs no code.
    options = ast.literal_eval(fields["options"])
    letter = best_option(fields["question"], options, fields["answer"])
    return f"Result: {int(letter is not None and options[ascii_uppercase.index(letter)] == fields['correct'])}"


_REPLIES: dict[str, Callable[[Mapping[str, str]], str]] = {
    "q_bench_completeness": lambda fields: f"Score: {completeness(fields['description'], fields['reference'])}",
    "q_bench_preciseness": lambda fields: f"Score: {preciseness(fields['description'], fields['reference'])}",
    "q_bench_relevance": lambda fields: f"Score: {relevance(fields['description'], AESTHETIC)}",
    "aesbench_completeness": lambda fields: f"Score: {completeness(fields['description'], fields['reference'])}",
    "aesbench_precision": lambda fields: f"Score: {preciseness(fields['description'], fields['reference'])}",
    "aesbench_relevance": lambda fields: f"Score: {relevance(fields['description'])}",
    "mmbench_choice": _letter,
    "mmbench_marking": lambda fields: f"Score: {rate(fields['question'], fields['reference'], fields['answer'])}",
    "q_bench_vote": _vote,
}
