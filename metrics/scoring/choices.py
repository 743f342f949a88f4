r"""Choice extraction: from a model's free text to the letter of the option it names.

Protocol: MMBench, Sec. 3.2, step 1 (https://arxiv.org/abs/2307.06281): a choice is extracted if one and only one
option matches the reply, by its letter or by its text. The paper leaves the matching open; the rules here are:

- Case, surrounding punctuation, Markdown, HTML tags and closed reasoning blocks do not matter.
- An answer container (`<answer>...</answer>`, `\boxed{...}`) speaks for the whole reply.
- A letter needs a boundary, and a cue or punctuation where it may be a word: "A blurry image" does not name A.
- An option's text matches as a whole phrase. Where one matched option is part of another, the longer wins.
- A mention behind not, no, never, n't or without in the same clause does not count, unless the option says so itself.
- Yes and No match only alone, opening the reply, or right behind "answer is".
- Nothing named, two options named, or a letter and a text that disagree: no choice. Parsing never guesses.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase

from eyechart.metrics.scoring.choice_mentions import find_mentions
from eyechart.metrics.scoring.choice_text import comparison_key
from eyechart.metrics.scoring.choice_text import drop_reasoning
from eyechart.metrics.scoring.choice_text import explicit_answers
from eyechart.metrics.scoring.choice_text import has_key
from eyechart.metrics.scoring.choice_text import normalise
from eyechart.metrics.scoring.choice_text import option_phrase
from eyechart.metrics.scoring.choice_text import split_words
from eyechart.metrics.scoring.choice_text import strip_markdown
from eyechart.metrics.scoring.choice_text import stripped_key
from eyechart.metrics.scoring.errors import InputError

_LONE_LETTER_WRAPPING = " \t\n*_`\"'()[]{}.,:;!"
_CUE = r"(?:(?:the|my) )?(?:(?:final|correct|best|right) )?(?:answer|option|choice)(?: is)?(?:\s?[:=]|\s)[\s*]{0,4}"
_CUE_WORDS = frozenset({"the", "my", "final", "correct", "best", "right", "answer", "option", "choice", "is"})
_CUED = re.compile(rf"(?P<cue>(?i:{_CUE}))[(\[\"*]{{0,3}}(?P<letter>[A-Z])[)\]\"*]{{0,3}}[.!]?")
_LABELLED = re.compile(rf"(?P<cue>(?i:{_CUE}))?\(?(?P<letter>[A-Z])[.):]\s+(?P<text>.+)")
# In a longer text, what follows a label would be looked for behind each of many blanks.
_PLAIN_LENGTH = 256


def extract_choice(text: str, options: Sequence[str]) -> str | None:
    r"""Letter of the one option that a reply names.

    Args:
        text: The model's reply, any string.
        options: The option texts in the order shown; the first is A. At most 26, no two equal.

    Returns:
        A letter, or None where the reply names no option or more than one.

    Raises:
        InputError: `options` holds the same text twice or more than 26 texts. No `text` raises.

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
    return extract_checked(text, options)


def extract_checked(text: str, options: Sequence[str]) -> str | None:
    """`extract_choice` for options that `check_options` has passed."""
    text = drop_reasoning(text)
    contained = explicit_answers(text)
    if not contained:
        return _one_named(text, options)
    # Many containers mostly hold the same few contents; the first that disagrees decides.
    contents = iter(dict.fromkeys(contained))
    letter = _one_named(next(contents), options)
    agree = letter is not None and all(_one_named(content, options) == letter for content in contents)
    return letter if agree else None


def check_options(options: Sequence[str], row: int | None = None) -> None:
    """Refuse option lists that no letter can name one of.

    Args:
        options: The option texts.
        row: Row number for the message, where there are many lists.

    Raises:
        InputError: Two options are equal, or there are more options than letters.
    """
    where = "options" if row is None else f"choices[{row}]"
    if len(options) > len(ascii_uppercase):
        raise InputError(f"{where} holds {len(options)} options; at most {len(ascii_uppercase)} can have a letter")
    if len(set(options)) < len(options):
        twice = next(option for index, option in enumerate(options) if option in options[:index])
        raise InputError(f"{where} holds {twice!r} twice; options must differ")


def _one_named(text: str, options: Sequence[str]) -> str | None:
    """The one option named by a text without reasoning blocks and answer containers."""
    text = strip_markdown(normalise(text))
    if not text:
        return None
    lone = text.strip(_LONE_LETTER_WRAPPING).upper() if len(text) < 16 else ""
    if len(lone) != 1 or lone not in ascii_uppercase[: len(options)]:
        lone = ""
    named = {lone} if lone else set()
    # An option verbatim needs no rule, and tells apart texts that differ in punctuation alone ("x > y", "x < y").
    key = stripped_key(text) if len(text) < 1024 else ""
    equal = [letter for letter, option in zip(ascii_uppercase, options, strict=False) if has_key(option, key)]
    if key and len(equal) == 1:
        named.update(equal)
    named = named or _plainly_named(text, options)
    if not named:
        mentions = find_mentions(split_words(text), options)
        named = set(mentions.letters | mentions.texts)
    return named.pop() if len(named) == 1 else None


def _plainly_named(text: str, options: Sequence[str]) -> set[str]:
    """The letter in the commonest forms of all, "The answer is C." and "Answer: C. text", without reading each word."""
    if len(text) > _PLAIN_LENGTH:
        return set()
    labelled = _LABELLED.fullmatch(text)
    found = labelled or _CUED.fullmatch(text)
    if not found or found["letter"] not in ascii_uppercase[: len(options)]:
        return set()
    own = options[ascii_uppercase.index(found["letter"])]
    if labelled and comparison_key(labelled["text"]) != comparison_key(own):
        return set()
    # An option such as "A" or "right" may be what the cue names.
    if found["cue"] and any(map(_may_be_cue, options)):
        return set()
    return {found["letter"]}


@lru_cache(maxsize=8192)
def _may_be_cue(option: str) -> bool:
    last = option_phrase(option).words[-1:]
    return any(word in _CUE_WORDS or (len(word) == 1 and word.isalpha()) for word in last)
