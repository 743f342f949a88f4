r"""Choice extraction: from a model's free text to the letter of the option it names.

Protocol: MMBench, Sec. 3.2, step 1 (https://arxiv.org/abs/2307.06281): a choice is extracted if one and only one
option matches the reply, by its letter or by its text. The paper leaves the matching open; the rules here are:

- Case, surrounding punctuation, Markdown, HTML tags and closed reasoning blocks do not matter.
- An answer container (`<answer>...</answer>`, `\boxed{...}`) speaks for the whole reply.
- A letter needs a word boundary. If it may be a word, it also needs a cue or punctuation: "A blurry image" does not
  name A. Departure: the paper skips every "A", because it may be an article (footnote 1).
- An option's text matches only as a complete phrase. If one matched option is part of another, the longer one wins.
- A mention after not, no, never, n't or without in the same clause does not count, unless the option itself contains
  the negation.
- Yes and No match only as the complete reply, at its beginning, or directly after "answer is".
- In a reply of several sentences, an option's text without a letter counts only in the first or last sentence, and not
  if the reply says that it cannot answer or was cut off.
- If no option is named, two options are named, or a letter and a text disagree, there is no choice. Parsing never
  guesses.
- A letter that is the complete reply or follows a cue names its own option, even if the text of another option is this
  letter.
- Option texts may repeat. A letter names only its own option; a text names all options with this text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.mentions import find_mentions
from eyechart.metrics.scoring.choices.sentences import is_cut, refuses, split_sentences
from eyechart.metrics.scoring.choices.text import (
    comparison_key,
    explicit_answers,
    normalise,
    option_phrase,
    split_words,
    strip_markdown,
    stripped_key,
)
from eyechart.metrics.scoring.errors import InputError
from eyechart.metrics.scoring.reasoning import split_reasoning

_LONE_LETTER_WRAPPING = " \t\n*_`\"'()[]{}.,:;!"
_CUE = r"(?:(?:the|my) )?(?:(?:final|correct|best|right) )?(?:answer|option|choice)(?: is)?(?:\s?[:=]|\s)[\s*]{0,4}"
_CUE_WORDS = frozenset({"the", "my", "final", "correct", "best", "right", "answer", "option", "choice", "is"})
# A cue and a letter ("The answer is C."), or a letter and an option's text, with or without a cue ("C. Medium").
_PLAIN = re.compile(
    rf"(?P<cue>(?i:{_CUE}))?(?:\(?(?P<label>[A-Z])[.):]\s+(?P<text>.+)|"
    rf"(?(cue)[(\[\"*]{{0,3}}(?P<letter>[A-Z])[)\]\"*]{{0,3}}[.!]?|(?!)))"
)
# A longer reply contains reasoning that mentions options.
_LONG = 120
# In a longer text, matching the text after a label would be slow, because it is tried after every blank.
_PLAIN_LENGTH = 256


def extract_choice(text: str, options: Sequence[str]) -> str | None:
    r"""Letter of the one option that a reply names.

    Args:
        text: The model's reply, any string.
        options: The option texts in the order shown; the first is A. At most 26; texts may repeat.

    Returns:
        A letter; the first one if the reply names a repeated option text. None if the reply names no option or more
        than one.

    Raises:
        InputError: `options` contains more than 26 texts. No `text` raises an error.

    Examples:
        >>> extract_choice("The answer is dark.", ["Bright", "Dark", "Medium", "Dull"])
        'B'
        >>> extract_choice("**C**", ["Bright", "Dark", "Medium"])
        'C'
        >>> extract_choice("A blurry image", ["Sharp", "Blurry"])
        'B'
        >>> extract_choice("It is not blurry", ["Sharp", "Blurry"]) is None
        True
        >>> extract_choice("A. Blurry", ["Sharp", "Blurry"]) is None
        True
    """
    check_options(options)
    return named_letters(text, options)[:1] or None


def named_letters(text: str, options: Sequence[str]) -> str:
    """Letters of the one option that a reply names.

    Args:
        text: The model's reply, any string.
        options: Option texts, checked by `check_options`.

    Returns:
        One letter; several letters, in order, if the reply gives an option text that is repeated; "" if it names no
        option or more than one.

    Examples:
        >>> named_letters("athlete", ["officer", "athlete", "athlete"])
        'BC'
        >>> named_letters("C", ["officer", "athlete", "athlete"])
        'C'
    """
    text = split_reasoning(text).answer
    if "<" not in text and "boxed" not in text:
        return _one_named(text, options)
    contained = explicit_answers(text)
    if not contained:
        return _one_named(text, options)
    # Many containers usually have few different contents; one that disagrees is enough to reject all.
    contents = iter(dict.fromkeys(contained))
    letters = _one_named(next(contents), options)
    return letters if all(_one_named(content, options) == letters for content in contents) else ""


def moved_letter(letter: str, options: Sequence[str], shown: Sequence[str]) -> str:
    """The letter of an option after the options were shown in another order.

    Repeated texts keep their order: the first one in `options` is the first one in `shown`.

    Args:
        letter: The option's letter in `options`.
        options: Option texts.
        shown: The same texts in any order.

    Examples:
        >>> moved_letter("C", ["athlete", "officer", "athlete"], ["officer", "athlete", "athlete"])
        'C'
    """
    if list(shown) == list(options):
        return letter
    place = ascii_uppercase.index(letter)
    text = options[place]
    places = [index for index, option in enumerate(shown) if option == text]
    return ascii_uppercase[places[list(options[:place]).count(text)]]


def right_text(reference: str, options: Sequence[str]) -> str:
    """The text of the correct option; of several accepted options, their texts.

    Examples:
        >>> right_text("AC", ["red", "blue", "crimson"])
        'red or crimson'
    """
    return " or ".join(options[ascii_uppercase.index(letter)] for letter in reference)


def check_options(options: Sequence[str], row: int | None = None) -> None:
    """Check that there are not more options than letters.

    Args:
        options: The option texts.
        row: Row number for the message, if there are many lists.

    Raises:
        InputError: There are more options than letters.
    """
    where = "options" if row is None else f"choices[{row}]"
    if len(options) > len(ascii_uppercase):
        raise InputError(f"{where} contains {len(options)} options; at most {len(ascii_uppercase)} are allowed")


def _one_named(text: str, options: Sequence[str]) -> str:
    """`named_letters` of a text without reasoning blocks and answer containers."""
    text = strip_markdown(normalise(text))
    if not text:
        return ""
    lone = text.strip(_LONE_LETTER_WRAPPING).upper() if len(text) < 16 else ""
    if len(lone) == 1 and lone in ascii_uppercase[: len(options)]:
        return lone
    # A verbatim option needs no rules. This also tells texts that differ only in punctuation ("x > y", "x < y") apart.
    key = stripped_key(text) if len(text) < 1024 else ""
    keys = list(map(comparison_key, options))
    equal = _places_of_one([place for place, own in enumerate(keys) if own == key], options) if key in keys else ""
    return (key and equal) or _plainly_named(text, options, keys) or _mentioned(text, options)


def _places_of_one(places: Sequence[int], options: Sequence[str]) -> str:
    """The letters of places if all of them have the same option text; else ""."""
    return "".join(ascii_uppercase[place] for place in places) if len({options[place] for place in places}) == 1 else ""


def _plainly_named(text: str, options: Sequence[str], keys: Sequence[str]) -> str:
    """The letter in the most common forms, "The answer is C." and "Answer: C. text", without reading each word."""
    found = _PLAIN.fullmatch(text) if len(text) <= _PLAIN_LENGTH else None
    if found is None:
        return ""
    cue, label, content, letter = found.groups()
    index = ascii_uppercase.index(label or letter)
    if index >= len(options) or (label and comparison_key(content) != keys[index]):
        return ""
    # An option such as "right" may be part of the cue.
    return "" if cue and any(map(_may_be_cue, options)) else ascii_uppercase[index]


@lru_cache(maxsize=8192)
def _may_be_cue(option: str) -> bool:
    return option_phrase(option)[1:-1].rpartition("\n")[2] in _CUE_WORDS


def _mentioned(text: str, options: Sequence[str]) -> str:
    """The one option that a text mentions, read word by word."""
    letters, texts = find_mentions(split_words(text), options)
    if texts and not letters and len(text) > _LONG:
        texts = find_mentions(split_words(_outer_sentences(text)), options).texts
    if letters:
        # If the text of an option is itself a letter, it is in the reply only because the letter is.
        texts = frozenset(letter for letter in texts if not _is_letter(options[ascii_uppercase.index(letter)]))
    named = sorted(letters | texts)
    if len(named) < 2:
        return "".join(named)
    # A repeated text counts as one option; a letter selects one of its places.
    places = _places_of_one([ascii_uppercase.index(letter) for letter in named], options)
    return places if not letters else "".join(letters) if places and len(letters) == 1 else ""


def _outer_sentences(text: str) -> str:
    """The first and last sentence of a reply; "" if it refuses to answer or was cut off."""
    sentences = split_sentences(text)
    if not sentences or is_cut(text, sentences) or any(map(refuses, sentences)):
        return ""
    return ". ".join(dict.fromkeys((sentences[0], sentences[-1])))


def _is_letter(option: str) -> bool:
    key = comparison_key(option)
    return len(key) == 1 and key.isalpha()
