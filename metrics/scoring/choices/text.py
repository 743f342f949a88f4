r"""Text handling for choice extraction: explicit answers, Markdown, words.

All functions take time linear in the length of the text. Protocol: MMBench, Sec. 3.2, step 1 (exact matching).

Words are maximal runs of letters and digits, with two exceptions that the protocol needs. Every CJK character is a
separate word, so that `选C` contains the word `C` and CJK options match as substrings. A decimal point or an apostrophe
inside a word belongs to the word (`3.5`, `isn't`).
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_CJK = "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"


def _word_pattern(letter: str, single: str = "") -> re.Pattern[str]:
    """A pattern for words: runs of letters with inner apostrophes and decimal points, or one character of `single`."""
    run = rf"{letter}++(?:(?:'|(?<=\d)[.,](?=\d)){letter}++)*+"
    return re.compile(f"({run}|[{single}])" if single else f"({run})")


_WORD = _word_pattern(rf"[^\W_{_CJK}]", _CJK)
_ASCII_WORD = _word_pattern("[A-Za-z0-9]")
_CJK_CHARACTER = re.compile(rf"[{_CJK}]")

_ANSWER_OPEN = re.compile(r"<answer>|<\|begin_of_box\|>", re.IGNORECASE)
_ANSWER_CLOSE = re.compile(r"</answer>|<\|end_of_box\|>", re.IGNORECASE)
_BOXED = re.compile(r"\\f?boxed\s{0,8}\{")
_BRACE = re.compile(r"[{}]")
_LATEX_COMMAND = re.compile(r"\\(?:text[a-z]{0,8}|math[a-z]{0,8}|f?boxed|bf|rm|it)(?![a-zA-Z])")
# Lower case only: <B> may well be an answer.
_HTML_TAG = re.compile(r"</?(?:b|i|u|s|p|br|em|strong|mark|code|pre|span|div|li|ul|ol|answer)\s{0,4}/?>|<\|\w{1,32}\|>")

_MARKDOWN_START = re.compile(r"(?:[\s*_`#~>]|[-+•](?=\s))+")
# A string for str.rstrip, which is linear; a regular expression anchored at the end is not.
_MARKDOWN_END = "*_`#~" + "".join(character for character in map(chr, range(0x3001)) if character.isspace())
_FINAL_PUNCTUATION = ".!?。"
_STRAIGHT_QUOTES = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2212": "-"}
)
_LONGEST_LIGATURE = "\ufdfa"
_MINUS = re.compile(r"(?<![\w)\].])-(?=\d)")


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
    """Split a text into words and gaps.

    Args:
        text: Any string.

    Returns:
        The words, case-folded words, and gaps; `len(gaps) == len(words) + 1`.

    Examples:
        >>> split_words("(C) isn't 3.5").words
        ['C', "isn't", '3.5']
        >>> split_words("选C。").words
        ['选', 'C']
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


def compose(text: str) -> str:
    """Compatibility-normalised text with straight quotes."""
    if text.isascii():
        return text
    # A few ligatures stand for entire sentences; a text of many of them is not an answer and would grow eighteenfold.
    composed = unicodedata.normalize("NFKC", text) if text.count(_LONGEST_LIGATURE) < 64 else text
    return (composed if len(composed) <= 2 * len(text) + 64 else text).translate(_STRAIGHT_QUOTES)


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
    if text[:1].isalnum():
        return text
    start = _MARKDOWN_START.match(text)
    return text[start.end() :] if start else text


@lru_cache(maxsize=8192)
def comparison_key(text: str) -> str:
    """A key that is equal for texts that differ only in case, blanks, Markdown and final punctuation.

    Examples:
        >>> comparison_key(" **Very blurry.** ")
        'very blurry'
    """
    if text.isascii() and text.replace(" ", "").isalnum():
        # A shortcut for plain words, as in most options.
        return text.strip(" ").casefold()
    return stripped_key(strip_markdown(normalise(text)))


def stripped_key(text: str) -> str:
    """`comparison_key` of a text after `normalise` and `strip_markdown`."""
    return (text.rstrip(_FINAL_PUNCTUATION + " ") or text).casefold()


@lru_cache(maxsize=8192)
def option_phrase(option: str) -> str:
    r"""An option's words in the form of `Words.joined`, to search for them in a reply.

    Examples:
        >>> option_phrase("Very blurry")
        '\nvery\nblurry\n'
    """
    if option.isascii() and option.replace(" ", "").isalnum():
        # The same shortcut as in `comparison_key`.
        return "\n" + "\n".join(option.casefold().split()) + "\n"
    return split_words(normalise(option)).joined


@lru_cache(maxsize=8192)
def option_breaks(option: str) -> tuple[bool, ...]:
    """For each gap between an option's words, whether a sentence ends there."""
    return tuple(map(ends_sentence, split_words(normalise(option)).gaps[1:-1]))


@lru_cache(maxsize=1024)
def ends_sentence(gap: str) -> bool:
    """Whether a sentence ends in this gap, so that a phrase cannot run across it."""
    return any(mark in gap for mark in ".!?;\n。")


def explicit_answers(text: str) -> list[str]:
    r"""Contents of a reply's answer containers, `<answer>...</answer>` and `\boxed{...}`, without empty ones.

    Examples:
        >>> explicit_answers(r"so \boxed{\text{C}}")
        ['\\text{C}']
        >>> explicit_answers("<answer>C</answer>")
        ['C']
    """
    found = []
    if "<" in text:
        found.extend(_tagged(text))
    if "boxed" in text:
        found.extend(_boxed(text))
    return [content for content in found if strip_markdown(content)]


def _tagged(text: str) -> list[str]:
    found, position = [], 0
    while opening := _ANSWER_OPEN.search(text, position):
        closing = _ANSWER_CLOSE.search(text, opening.end())
        if closing is None:
            break
        found.append(text[opening.end() : closing.start()])
        position = closing.end()
    return found


def _boxed(text: str) -> list[str]:
    found, position = [], 0
    while opening := _BOXED.search(text, position):
        depth, end = 1, None
        for brace in _BRACE.finditer(text, opening.end()):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = brace.start()
                break
        if end is None:
            break
        found.append(text[opening.end() : end])
        position = end
    return found
