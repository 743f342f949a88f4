"""Text handling that scoring shares: one normalisation, words, and keys to compare texts.

Words are maximal runs of letters and digits, with two exceptions: every CJK character is a separate word, so that `选C`
contains the word `C`, and a decimal point or an apostrophe inside a word belongs to it (`3.5`, `isn't`). All functions
take time linear in the length of the text.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN = r"@+(?:(?:'|(?<=\d)[.,](?=\d))@+)*"
_WORD = re.compile(f"({_RUN}|[{_CJK}])".replace("@", rf"[^\W_{_CJK}]"))
_ASCII_WORD = re.compile(f"({_RUN})".replace("@", "[A-Za-z0-9]"))
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")

_LATEX_COMMAND = re.compile(r"\\(?:text[a-z]{0,8}|math[a-z]{0,8}|f?boxed|bf|rm|it)(?![a-zA-Z])")
# Lower case only: <B> may well be an answer.
_HTML_TAG = re.compile(r"</?(?:b|i|u|s|p|br|em|strong|mark|code|pre|span|div|li|ul|ol|answer)\s{0,4}/?>|<\|\w{1,32}\|>")
_MARKDOWN_START = re.compile(r"(?:[\s*_`#~>]|[-+•](?=\s))+")
# A string for str.rstrip, which is linear; a regular expression anchored at the end is not.
_MARKDOWN_END = "*_`#~" + "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_STRAIGHT = {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2212": "-"}
# Curly quotes; and invisible characters, such as marks of the writing direction.
_ODD = re.compile("[\u2018\u2019\u02bc\u201c\u201d\u2212\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\0]")
_LONGEST_LIGATURE = "\ufdfa"
_MINUS = re.compile(r"(?<![A-Za-z0-9_)\].])-(?=\d)")


class Words(NamedTuple):
    """A text as words and the gaps between them.

    Attributes:
        words: The words as written.
        folded: The case-folded words, for comparison.
        joined: The folded words with a line break before, between and after them, to search for phrases.
        gaps: The text before each word and after the last word (one more than words).
    """

    words: list[str]
    folded: list[str]
    joined: str
    gaps: list[str]


def split_words(text: str) -> Words:
    """Split a text into words and gaps; `len(gaps) == len(words) + 1`.

    Examples:
        >>> split_words("(C) isn't 3.5").words, split_words("选C。").words
        (['C', "isn't", '3.5'], ['选', 'C'])
    """
    if "-" in text:
        # A minus sign has a meaning ("-5" and "5" differ) but is not a letter, so it is compared as a word.
        text = _MINUS.sub(" minus", text)
    pieces = (_ASCII_WORD if text.isascii() else _WORD).split(text)
    words = pieces[1::2]
    folded = "\n".join(words).casefold()
    return Words(words, folded.split("\n") if words else [], f"\n{folded}\n", pieces[::2])


def is_cjk(word: str) -> bool:
    """Whether a word of `split_words` is a CJK character."""
    return bool(_CJK_CHARACTER.match(word))


def ends(text: str, most: int = 50_000) -> str:
    """The two ends of a text that is too long to be a reply and repeats itself, or the whole text."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


def compose(text: str) -> str:
    """Compatibility-normalised text with straight quotes, without invisible characters."""
    if text.isascii() and "\0" not in text:
        return text
    # A few ligatures stand for entire sentences; a text of many of them is not an answer and would grow eighteenfold.
    composed = unicodedata.normalize("NFKC", text) if text.count(_LONGEST_LIGATURE) < 64 else text
    return _ODD.sub(lambda odd: _STRAIGHT.get(odd[0], ""), composed if len(composed) <= 2 * len(text) + 64 else text)


def normalise(text: str) -> str:
    """Apply `compose`, and remove HTML tags and LaTeX font commands."""
    text = compose(text)
    if "<" in text:
        text = _HTML_TAG.sub(" ", text)
    if "\\" in text:
        text = _LATEX_COMMAND.sub(" ", text)
    return text


def strip_markdown(text: str) -> str:
    """The text without surrounding blanks and Markdown marks.

    Examples:
        >>> strip_markdown("  ## **C** "), strip_markdown("**C#**")
        ('C', 'C#')
    """
    whole, text = text, text.rstrip(_MARKDOWN_END)
    removed = whole[len(text) :]
    if removed.startswith("#") and not removed.startswith("##") and "#" not in whole[: len(text)]:
        # The sign is part of a name such as "C#", not the end of a heading.
        text += "#"
    start = _MARKDOWN_START.match(text)
    return text[start.end() :] if start else text


@lru_cache(maxsize=8192)
def comparison_key(text: str) -> str:
    """A key that is equal for texts that differ only in case, blanks, Markdown and final punctuation.

    Examples:
        >>> comparison_key(" **Very blurry.** ")
        'very blurry'
    """
    text = strip_markdown(normalise(text))
    return (text.rstrip(".!?。 ") or text).casefold()


@lru_cache(maxsize=8192)
def option_phrase(option: str) -> str:
    r"""An option's words in the form of `Words.joined`, to search for them in a reply.

    Examples:
        >>> option_phrase("Very blurry")
        '\nvery\nblurry\n'
    """
    return split_words(normalise(option)).joined


@lru_cache(maxsize=1024)
def ends_sentence(gap: str) -> bool:
    """Whether a sentence ends in this gap, so that a phrase cannot run across it."""
    return any(mark in gap for mark in ".!?;\n。")
