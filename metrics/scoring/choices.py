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
from eyechart.metrics.scoring.choice_text import normalise
from eyechart.metrics.scoring.choice_text import option_phrase
from eyechart.metrics.scoring.choice_text import split_words
from eyechart.metrics.scoring.choice_text import strip_markdown
from eyechart.metrics.scoring.choice_text import stripped_key
from eyechart.metrics.scoring.errors import InputError

_LONE_LETTER_WRAPPING = " \t\n*_`\"'()[]{}.,:;!"
_CUE = r"(?:(?:the|my) )?(?:(?:final|correct|best|right) )?(?:answer|option|choice)(?: is)?(?:\s?[:=]|\s)[\s*]{0,4}"
_CUE_WORDS = frozenset({"the", "my", "final", "correct", "best", "right", "answer", "option", "choice", "is"})
# A cue and a letter ("The answer is C."), or a letter and an option's text, with or without a cue ("C. Medium").
_PLAIN = re.compile(
    rf"(?P<cue>(?i:{_CUE}))?(?:\(?(?P<label>[A-Z])[.):]\s+(?P<text>.+)|"
    rf"(?(cue)[(\[\"*]{{0,3}}(?P<letter>[A-Z])[)\]\"*]{{0,3}}[.!]?|(?!)))"
)
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
    if "<" not in text and "boxed" not in text and "◁" not in text:
        return _one_named(text, options)
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
    # An option verbatim needs no rule, and tells apart texts that differ in punctuation alone ("x > y", "x < y").
    key = stripped_key(text) if len(text) < 1024 else ""
    keys = list(map(comparison_key, options))
    if key and keys.count(key) == 1:
        equal = ascii_uppercase[keys.index(key)]
        return equal if lone in ("", equal) else None
    return lone or _plainly_named(text, options, keys) or _mentioned(text, options)


def _plainly_named(text: str, options: Sequence[str], keys: Sequence[str]) -> str | None:
    """The letter in the commonest forms of all, "The answer is C." and "Answer: C. text", without reading each word."""
    found = _PLAIN.fullmatch(text) if len(text) <= _PLAIN_LENGTH else None
    if found is None:
        return None
    cue, label, content, letter = found.groups()
    index = ascii_uppercase.index(label or letter)
    if index >= len(options) or (label and comparison_key(content) != keys[index]):
        return None
    # An option such as "A" or "right" may be what the cue names.
    return None if cue and any(map(_may_be_cue, options)) else ascii_uppercase[index]


@lru_cache(maxsize=8192)
def _may_be_cue(option: str) -> bool:
    last = option_phrase(option)[1:-1].rpartition("\n")[2]
    return last in _CUE_WORDS or (len(last) == 1 and last.isalpha())


def _mentioned(text: str, options: Sequence[str]) -> str | None:
    """The one option that a text mentions, read word by word."""
    letters, texts = find_mentions(split_words(text), options)
    named = letters | texts
    return min(named) if len(named) == 1 else None
