"""The lexer: a reply as words and gaps with a character for each, so that rules can be regular expressions.

A word is a word of the text, a phrase of the lexicon, or the text of an option. Its character is its key in
`lexicon.WORDS`, that of the gap before it is one of `GAPS`.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from string import ascii_letters, ascii_uppercase
from typing import NamedTuple

from eyechart.metrics.scoring.choices.containers import CONTAINER_MARK
from eyechart.metrics.scoring.choices.lexicon import COMMON, SYNONYMS, phrases
from eyechart.metrics.scoring.choices.text import ends_sentence, is_cjk, normalise, option_phrase, split_words
from eyechart.metrics.scoring.choices.values import Values

GAPS = {
    "@": (CONTAINER_MARK, "an answer container"),
    "?": (r"\?", "a question mark"),
    "¶": (r"(?s::.*\n|\n.*:)", "a colon and the end of a line"),
    "\n": ("\n", "the end of a line"),
    ".": (r"[.][\"')\]*_]*(?:\s|\Z)|[!;。]", "the end of a sentence"),
    ":": ("[:=】]| - ", "a colon, dash or equals sign"),
    ",": (",", "a comma"),
    "、": ("、", "a comma of an enumeration"),
    ";": ("[.)\\]}\u2014\u2013]", "another mark inside a sentence"),
    "(": (r"[(\[*\"'`$]\Z", "an opening bracket, quotation mark or emphasis"),
    " ": ("", "anything else"),
}
"""The characters of gaps, from the first expression that matches, and what they stand for."""
GAP, WORD, INSIDE = "[ (,、;:.?\n¶@]", "[^ (,、;:.?\n¶@]", "[ (]"
"""A gap, a word, and a gap inside a clause, in regular expressions."""

SHORT = 40
"""Maximum number of words of a reply in which a bare letter is rather an answer than a variable, a point or a unit."""

_ENDS, _LINE_ENDS = re.compile("[.?\n¶@]"), re.compile("[\n¶]")
# A clause begins at a mark, and at a word such as "but" or "because".
_INSIDE_CLAUSE = "".join({*map(chr, range(32, 127))} - {*GAPS, "B", "r"} | {" ", "("})

_CODES: dict[str, str] = {}
# The phrases of the lexicon by their first two words: the others, the longest first, and their character.
_PHRASES: dict[str, dict[str, list[tuple[list[str], str]]]] = {}
for _phrase, _code in sorted(phrases(), key=lambda entry: -len(entry[0])):
    _first, *_others = split_words(_phrase).folded
    if _others:
        _PHRASES.setdefault(_first, {}).setdefault(_others[0], []).append((_others, _code))
    else:
        _CODES[_first] = _code

# A letter that one of these joins to the word before or after it is part of a word, angle or unit: "USB-C", "C++".
_JOINED = re.compile(r"[-/°+&@#∠△]\Z|\A'\Z|\{~\Z|[_^]\{?\Z"), re.compile(r"[+#/&']")
_VARIABLE = re.compile(r"[ )\]}$]*(?:[=_^+\\→≈]|->)")
# The gap behind a letter that sets it off from the next word: more than blanks, brackets and marks that open.
_CLOSED = re.compile(r"\S|.*\n|.*[^\s(\"'*\[`_$<]")
_JUDGED = re.compile(rf"{GAP}(?:d{GAP})?[NFX]")
_SET_OFF = re.compile(r"[(\[*\"'`:\n]")
_CUED = re.compile(r"[AN=CK][^,.;?]\Z|S[ ,]\Z|[lL](?:[,、]|[ ,]& )\Z")
_ANNOUNCED = re.compile(
    rf"(?:[AN](?:{GAP}d)*[ (:\n¶@]|(?:[AN](?:{INSIDE}{WORD}){{0,6}}{INSIDE}=|[CK])(?:{GAP}d)*{GAP})\Z"
)
# A common word is the answer at the beginning, or in place of a conclusion: "So, yes".
_ASSERTED = re.compile(rf"\A{GAP}(?:[AN]{GAP})?(?:L{GAP})?(?:O & )?\Z|(?:\A|[.?\n¶@])S[ ,]\Z")
_SINGLES = frozenset(ascii_letters)
_COMMON, _SYNONYMS = set(map(option_phrase, COMMON)), [tuple(map(option_phrase, pair)) for pair in SYNONYMS]


@lru_cache(maxsize=4096)
def _gap_code(gap: str) -> str:
    return next(code for code, (marks, _) in GAPS.items() if re.search(marks, gap))


class OptionText(NamedTuple):
    """An option text as words."""

    letters: str
    """The letters of the options with these words: several if the text is repeated."""
    phrase: str
    """Its words, as from `option_phrase`."""
    has_break: bool
    """Whether a sentence ends between its words."""
    is_common: bool
    """Whether it is yes, no, or words that have a role in replies: an answer only at the beginning and behind a cue."""
    is_letter: bool


@lru_cache(maxsize=4096)
def option_texts(options: tuple[str, ...]) -> tuple[OptionText, ...]:
    """The different texts of options that have words."""
    letters: dict[str, str] = {}
    for letter, phrase in zip(ascii_uppercase, map(option_phrase, options), strict=False):
        letters[phrase] = letters.get(phrase, "") + letter
    for pair in _SYNONYMS:
        present = [phrase for phrase in pair if phrase in letters]
        letters |= dict.fromkeys(pair, letters[present[0]]) if len(present) == 1 else {}
    return tuple(
        OptionText(
            own,
            phrase,
            _has_break(options[ascii_uppercase.index(own[0])]),
            _is_common(phrase),
            len(phrase) == 3 and phrase[1] in ascii_letters,
        )
        for phrase, own in letters.items()
        if phrase.strip("\n")
    )


@lru_cache(maxsize=4096)
def _has_break(option: str) -> bool:
    return any(map(ends_sentence, split_words(normalise(option)).gaps[1:-1]))


@lru_cache(maxsize=4096)
def _is_common(phrase: str) -> bool:
    first, *others = phrase.strip("\n").split("\n")
    entries = _PHRASES.get(first, {}).get(others[0] if others else "", [])
    codes = {code for words, code in entries if words == others} or {_CODES.get(word, "w") for word in (first, *others)}
    return phrase in _COMMON or codes.isdisjoint("wnysQDvFGXR0")


class Reply:
    """A reply as words and gaps.

    Args:
        text: A normalised text.
        options: Option texts, at most 26.

    Attributes:
        words, gaps: The words as written, and the text before each of them and after the last.
        codes: The characters of gap 0, word 0, gap 1, ...
        letters: By word, the letters of the option that a letter or an option's text names.
        starts: The words that begin sentences, and the number of words if the last one ends.
    """

    def __init__(self, text: str, options: Sequence[str]) -> None:
        """See above."""
        self.options, self.values = options, Values.of(tuple(options))
        texts = option_texts(tuple(options))
        self.letters: dict[int, str] = {}
        codes, common = self._split(text, [text for text in texts if not text.is_letter])
        self.n_words = len(self.words)
        gap_codes = [" " if gap == " " else _gap_code(gap) for gap in self.gaps]
        singles = [i for i, word in enumerate(self.words) if word in _SINGLES]
        singles = [i for i in singles if self.words[i].isupper() or not i or codes[i - 1] in "AN=CK"]
        for i in singles:
            codes[i] = "l" if self.words[i].isupper() and codes[i] in "wt" else codes[i]
        self._set_codes(gap_codes, codes)
        for i in [i for i in self.letters if self.words[i].isdecimal() and self._is_step(i)]:
            codes[i] = "w"
            del self.letters[i]
        letter_texts = {text.phrase[1].upper(): text.letters for text in texts if text.is_letter}
        letters = [i for i in singles if self._is_letter(i)]
        for i in singles:
            role = {"A": "t", "I": "u"}.get(self.words[i], "w") if self.gaps[i + 1].isspace() else "w"
            codes[i] = role if codes[i] == "l" else codes[i]
        for i in letters:
            codes[i], self.letters[i] = "L", self.words[i].upper()
            gap_codes[i + 1] = ";" if self._is_label_stop(i) else gap_codes[i + 1]
        # Where options are letters, one behind the option's letter is its text, and so is "image C".
        for i in [i for i in singles if self.words[i] in letter_texts]:
            own = letter_texts[self.words[i]]
            if self.words[i - 1 : i] == [own] or self.code(i - 1) == "n":
                codes[i], self.letters[i] = "O", own
        self._set_codes(gap_codes, codes)
        for i in common:
            if self._is_asserted(i):
                codes[i] = "O"
                if i < 5:
                    self._set_codes(gap_codes, codes)
            else:
                del self.letters[i]
        if common:
            self._set_codes(gap_codes, codes)
        self.named = sorted(self.letters)
        self.starts = [0, *(found.start() // 2 for found in _ENDS.finditer(self.codes, 1))]

    def _set_codes(self, gaps: list[str], words: list[str]) -> None:
        codes = [""] * (len(gaps) + len(words))
        codes[::2], codes[1::2] = gaps, words
        self.codes = "".join(codes)

    def _split(self, text: str, texts: list[OptionText]) -> tuple[list[str], list[int]]:
        """Split into words, phrases and options' texts; returns their characters, and where common texts are."""
        words, folded, joined, gaps = split_words(text)
        found = _find_texts([text for text in texts if text.phrase in joined], joined, gaps)
        starts = sorted(found)
        spans, last = [], 0
        folded.append("")
        heads = [i for i, word in enumerate(folded) if word in _PHRASES and folded[i + 1] in _PHRASES[word]]
        for i in sorted({*starts, *heads}) if starts else heads:
            if i < last:
                continue
            end, option = found.get(i, (i, None))
            code = "O" if option and not option.is_common else _CODES.get(folded[i], "w")
            for others, phrase_code in () if code == "O" else _PHRASES.get(folded[i], {}).get(folded[i + 1], ()):
                after = i + 1 + len(others)
                # A phrase runs neither into an option's text nor over a sentence's end, one of Chinese over no mark.
                is_whole = folded[i + 1 : after] == others and bisect_left(starts, i + 1) == bisect_left(starts, after)
                if is_whole and not any(map(bool if is_cjk(words[i]) else ends_sentence, gaps[i + 1 : after])):
                    end, code = after, phrase_code
                    break
            if end > i:
                spans.append((i, end, code, option))
                last = end
        self.words, self.gaps, position = [], [], 0
        codes: list[str] = []
        common = []
        for start, end, code, option in spans:
            self.words += words[position:start]
            self.gaps += gaps[position : start + 1]
            codes += map(_CODES.get, folded[position:start], repeat("w"))
            if option:
                self.letters[len(codes)] = option.letters
                if option.is_common:
                    common.append(len(codes))
            self.words.append("".join([words[start], *(gaps[i] + words[i] for i in range(start + 1, end))]))
            codes.append(code)
            position = end
        self.words += words[position:]
        self.gaps += gaps[position:]
        codes += map(_CODES.get, folded[position:-1], repeat("w"))
        return codes, common

    def code(self, i: int) -> str:
        """The character of a word; "" if there is none."""
        return self.codes[2 * i + 1 : 2 * i + 2] if i >= 0 else ""

    def gap(self, i: int) -> str:
        """The character of the gap before a word."""
        return self.codes[2 * i]

    def left(self, i: int, reach: int = 12) -> str:
        """The characters of the words before a word, with the gap before it."""
        return self.codes[max(0, 2 * (i - reach)) : 2 * i + 1]

    def right(self, i: int, reach: int = 12) -> str:
        """The characters of the words behind a word, with the gap after it."""
        return self.codes[2 * i + 2 : 2 * (i + reach) + 3]

    def clause(self, i: int) -> str:
        """The characters of the clause of a word before the word, at most 60 words."""
        left = self.left(i, 60)
        return left[len(left.rstrip(_INSIDE_CLAUSE)) :]

    def named_between(self, start: int, end: int) -> list[int]:
        """The letters and texts of options between two words, denied ones included."""
        return self.named[bisect_left(self.named, start) : bisect_left(self.named, end)]

    def sentence_end(self, i: int, ends: re.Pattern[str] = _ENDS) -> int:
        """The first word of the next sentence, or the number of words; at most 60 words away."""
        found = ends.search(self.codes, 2 * i + 2, 2 * i + 121)
        return found.start() // 2 if found else min(self.n_words, i + 60)

    def line_end(self, i: int) -> int:
        """The first word of the next line, likewise."""
        return self.sentence_end(i, _LINE_ENDS)

    def text(self, start: int, end: int) -> str:
        """The text from a word to before another word, with the gap before it."""
        pieces = [piece for i in range(start, end) for piece in (self.gaps[i], self.words[i])]
        return "".join(pieces).replace(" minus", "-") + (self.gaps[-1] if end == self.n_words else "")

    def is_announced(self, i: int) -> bool:
        """Whether the words before a word announce an answer: "answer", "the option for this is", "choose"."""
        return bool(_ANNOUNCED.search(self.left(i)))

    def _is_letter(self, i: int) -> bool:
        """Whether a single letter is an option's letter and not a word, initial, variable or unit."""
        word, before, after = self.words[i], self.gaps[i], self.gaps[i + 1]
        if not self.values.has(word.upper()):
            return False
        previous = self.words[i - 1] if i else ""
        following = self.words[i + 1] if i + 1 < self.n_words else ""
        if i and (before == "." or _JOINED[0].search(before)):
            return not following and previous.upper() == word.upper()
        if (_JOINED[1].match(after) and not before.endswith("'")) or (following and after == "-"):
            return False
        is_closed = not following or is_cjk(following) or _CLOSED.match(after) is not None
        if word.islower():
            return is_closed and (not i or self.is_announced(i))
        if self.is_name(i) or (word in "AI" and not is_closed and not self.is_capital(i)):
            return False
        is_variable = _VARIABLE.match(after) is not None
        if self.n_words <= SHORT:
            return not (is_variable and following.isdecimal())
        # In a longer reply, brackets, a line break, a cue or other letters of a list set off a letter from variables.
        is_set_off = not i or _SET_OFF.search(before) or _CUED.search(self.left(i))
        return not is_variable and (bool(is_set_off) or self.is_judged(i))

    def is_name(self, i: int) -> bool:
        """Whether the word before a letter says that it names something else: "image B", "3 D"."""
        return i > 0 and not self.gaps[i].strip() and (self.code(i - 1) in "nys" or self.words[i - 1].isdecimal())

    def is_capital(self, i: int) -> bool:
        """Whether an A or I before a word is neither the article nor the pronoun."""
        if self.words[i] == "I" and self.code(i + 1) != "=":
            return self.code(i - 1) == "N"
        is_joined = i > 0 and not self.gaps[i]
        has_own_text = self.words[i] in self.letters.get(i + 1, "")
        return is_joined or has_own_text or self.code(i - 1) == "N" or self.code(i + 1) in "=r&!BFGipl"

    def is_judged(self, i: int) -> bool:
        """Whether a word that names or judges options directly follows a letter: C项, A错误."""
        return not self.gaps[i + 1] and _JUDGED.match(self.right(i)) is not None

    def _is_step(self, i: int) -> bool:
        """Whether a number is part of another one, or that of a step, a heading or an item of a list."""
        option, around = (
            self.options[ascii_uppercase.index(self.letters[i][0])],
            self.gaps[i][-1:] + self.gaps[i + 1][:1],
        )
        is_part = self.code(i + 1) == "M" or any(mark in "%/^√±½" and mark not in option for mark in around)
        is_item = self.gap(i) in "\n¶" and self.gaps[i + 1].startswith((". ", ") ", ".)"))
        lines = (self.words[found.start() // 2] for found in _LINE_ENDS.finditer(self.codes))
        return is_part or is_item or (self.code(i - 1) in "snQ" if i else "2" in lines)

    def _is_label_stop(self, i: int) -> bool:
        """Whether the full stop behind a letter is that of a label, as in "B. meat"."""
        gap = self.gaps[i + 1]
        is_label = i + 1 < self.n_words and gap.startswith((".", ")", "*"))
        return is_label and (not i or self.words[i + 1][0].islower())

    def _is_asserted(self, i: int) -> bool:
        """Whether a common word, such as yes or no, is the answer."""
        # A copula that continues the word is not the answer yes: "答案是否" says no.
        is_continued = self.code(i) == "=" and i + 1 < self.n_words and not self.gaps[i + 1] and self.code(i + 1) != "o"
        is_copula = self.code(i) == "=" and self.code(i - 1) == "A" and not self.gaps[i] and i + 1 < self.n_words
        if self.code(i + 1) == "=" or is_continued or is_copula:
            return False
        left = self.left(i)
        return "/" in self.gaps[i] or _ASSERTED.search(left) is not None or self.is_announced(i)


def _find_texts(texts: list[OptionText], joined: str, gaps: list[str]) -> dict[int, tuple[int, OptionText]]:
    """The options' texts that are not inside another one: by their first word, the word after their last."""
    found = []
    for text in texts:
        length = text.phrase.count("\n") - 1
        position, start, counted = joined.find(text.phrase), 0, 0
        while position >= 0:
            # Counting from the last match keeps the search linear.
            start += joined.count("\n", counted, position)
            counted = position
            if text.has_break or not any(map(ends_sentence, gaps[start + 1 : start + length])):
                found.append((start, -start - length, text))
            position = joined.find(text.phrase, position + len(text.phrase) - 1)
    outermost, last = {}, 0
    for start, end, text in sorted(found, key=lambda entry: entry[:2]):
        if -end > last:
            last = -end
            outermost[start] = (last, text)
    return outermost
