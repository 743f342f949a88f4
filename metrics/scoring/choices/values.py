r"""Values that a reply declares: a letter, an option's text, or a number with or without its unit.

A letter may be a word ("I cannot"), a variable ("x = 5"), or one of several ("B or C", "A through E"). The text of a
value may be written differently from the option: "\frac{1}{2}" and "1/2", "25 cm²" and "25", "65 degrees" and "65°".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.mentions import find_mentions
from eyechart.metrics.scoring.choices.sentences import split_sentences
from eyechart.metrics.scoring.choices.text import compose, normalise, option_phrase, split_words

REACH = 300
"""Maximum number of characters after a cue that may belong to its value."""
FIT = (
    r"(?:final|correct|best|true|proper|appropriate|closest|nearest|likely|suitable|accurate|logical|similar|reasonable"
    r"|plausible|probable|fitting|valid|optimal|remaining)"
)
"""Adjectives for the option that is the answer."""

_BEFORE = r"[\s*_`\"'$(\[{<:#>~\\-]*+"
# "(C)", "**C**", "option C", "the letter (c)", "选项C"
_LETTER = re.compile(
    rf"{_BEFORE}(?:(?:the\s)?(?:option|choice|letter|answer|选项|選項)(?![a-z]){_BEFORE}){{0,3}}"
    r"(?P<letter>[A-Za-z])(?![+#])(?P<close>[)\]}*$\"'`_]*+)",
    re.IGNORECASE,
)
# After the first of several: "(A) and (E)", "A, B", "B/C", "(A) through (E)", "B、C"
_SEVERAL = re.compile(
    r"[\s*_)\]}$,]{0,6}(?:(?:and|or|to|through|vs\.?|versus)\s|[,/&~、和或与與及-])[\s*_([{$]{0,6}"
    r"(?:(?:or|and)\s)?(?:option\s|choice\s)?[(*]{0,3}[A-Z](?![A-Za-z'])"
)
# After "A" or "I" that is not an article or pronoun: "A because ..."
_AFTER_LETTER = re.compile(r"\s+(?:is|because|since|as|and|or|with|for|due|based|in|which|from|but|that)\b")
# "x = 5", "C° 3", "A-frame"
_VARIABLE = re.compile(r"\s{0,2}(?:[=^_+°'/]|-[^\s-])")
_LETTERS = re.compile(r"[\W_]*[A-Z]{2,}[\W_]*")
_NONE = re.compile(
    r"\W*(?:none|neither|nothing|no\b|not\b|n/?a\b|un\w+|cannot|can't|impossible|indeterminate|missing|both|either"
    r"|all of|无|無|不)",
    re.IGNORECASE,
)
_NONE_OPTION = re.compile(r"\W*(?:none of|no correct)\b", re.IGNORECASE)
_ROUNDED = re.compile(r"\W{0,4}(?:about|approximately|roughly|around|closest to|close to|≈)\s", re.IGNORECASE)
# "(C)", "**C**", "option C", "选项C", "C选项" inside a sentence
_MARKED = re.compile(
    r"(?:\(|\[|\*\*\(?|\b(?:[Oo]ption|[Cc]hoice)\s?[(*\"]{0,3}|选项\s?)([A-Z])(?=[)\]*\"]|(?![\w'+#])\W|[^\x00-\xff])"
    r"|([A-Z])(?=选项|項)"
)
# Such options may differ only in punctuation.
_FORMULA = re.compile(r"[=≡⊃~<>+\\^∧\u2228]")
_LAST_VALUE = re.compile(r".*(?:\b(?:is|are|be|equals?|approximately|about)\b|[=:≈])(.*)", re.DOTALL)

_LATEX = re.compile(r"\\(?:left|right|displaystyle|quad|text\w*|math\w+|circ|degree|[,;:! ])")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]*)\}\s?\{([^{}]*)\}")
_SYMBOLS = (
    *(("\\neg", "~"), ("\\lnot", "~"), ("\\vee", "\u2228"), ("\\lor", "\u2228"), ("\\supset", "⊃"), ("\\equiv", "≡")),
    *(("\\pi", "π"), ("\\times", "\u00d7"), ("\\cdot", "·"), ("\\sqrt", "√"), ("¬", "~")),
)
_LAYOUT = re.compile(r"[\s${}()\[\]\\^°*`]|degrees?\b")
# A name, a number, a unit: "x=25cm2", "$4.50", "65"
_NUMBER = re.compile(r"(?:[a-z\u03b1-\u03c9]{1,12}=)?([-+]?\d[\d.,]*)([^\d.,+*/=√-][^+*/=]{0,15})?")


class Values:
    """The options of a question, to compare values with.

    Args:
        options: Option texts, at most 26.
    """

    def __init__(self, options: Sequence[str]) -> None:
        """See above."""
        self._options = [option.replace("&", " and ") for option in options]
        self._keys = list(map(_key, self._options))
        self._phrases = list(map(option_phrase, self._options))
        self._is_text = [
            len(key) > 1 and not _NUMBER.fullmatch(key) and not _FORMULA.search(option)
            for key, option in zip(self._keys, self._options, strict=True)
        ]
        # A cache, because long replies repeat themselves.
        self._read: dict[tuple[str, bool], str | None] = {}

    def letter(self, letter: str) -> str:
        """The letter in upper case; "" if no option has it."""
        return letter.upper() if letter.upper() in ascii_uppercase[: len(self._options)] else ""

    def is_own(self, letter: str, text: str) -> bool:
        """Whether a text is empty, or is the text of the option with this letter."""
        return _key(text) in ("", self._keys[ascii_uppercase.index(letter)])

    def none_option(self) -> str:
        """Letter of the one option that says that no option is correct; "" if missing."""
        places = [place for place, option in enumerate(self._options) if _NONE_OPTION.match(option)]
        return ascii_uppercase[places[0]] if len(places) == 1 else ""

    def agreeing(self, letter: str, rest: str) -> str:
        """The letter, or "" if the text after it is that of another option."""
        place = ascii_uppercase.index(letter)
        line = rest.lstrip(" \t*_)]}.:$,\"'").split("\n", 1)[0]
        key, joined = _key(line), split_words(line).joined
        if key == self._keys[place] or joined.startswith(self._phrases[place]):
            return letter
        others = zip(self._options, self._keys, self._phrases, strict=True)
        equal = [
            text for text, own, phrase in others if own and (own == key or (phrase[4:] and joined.startswith(phrase)))
        ]
        return letter if not equal or self._options[place] in equal else ""

    def read(self, segment: str, is_whole: bool = False) -> str | None:
        """Letters of the option that a value names.

        Args:
            segment: The text after a cue.
            is_whole: Whether the complete text is the value.

        Returns:
            As `declared_letters`; None if the text is not a value, so that the cue does not count.

        Examples:
            >>> values = Values(["Bright", "Dark", "It's not possible"])
            >>> values.read("(B). It is dim."), values.read("B or C"), values.read("what matters")
            ('B', '', None)
        """
        if (segment, is_whole) not in self._read:
            self._read[segment, is_whole] = self._value(normalise(segment), is_whole)
        return self._read[segment, is_whole]

    def concluded(self, sentence: str, denied: bool, takes_number: bool) -> str:
        """Letters of the one option that a sentence names, by a marked letter or by its text.

        Args:
            sentence: A conclusion.
            denied: Whether the sentence has a negation, which may apply to a letter in it.
            takes_number: Whether a number at the end of the sentence is a value.
        """
        marked = list(_MARKED.finditer(sentence))
        letters = {found[1] or found[2] for found in marked}
        if len(letters) > 1 or any(_SEVERAL.match(sentence, found.end()) for found in marked):
            return ""
        text = self._mentioned(normalise(sentence))
        if letters:
            letter = "" if denied else self.letter(letters.pop())
            return letter if not text or letter in text else ""
        value = _LAST_VALUE.match(sentence) if takes_number and not text else None
        return self._equal(value[1]) if value else text

    def _value(self, segment: str, is_whole: bool) -> str | None:
        if not segment.strip():
            return ""
        letter = self._opening_letter(segment, is_whole)
        if letter is not None:
            return letter
        line = _ROUNDED.sub("", segment.lstrip(" \t\n*_:`#>-").rstrip(" \t\n*_:`>-").split("\n", 1)[0], count=1)
        sentence = next(iter(split_sentences(line)), "")
        letters = self._equal(line) or self._equal(sentence) or self._opening_text(sentence)
        if letters:
            return letters
        if _NONE.match(sentence):
            return self.none_option()
        return "" if is_whole or _LETTERS.fullmatch(sentence) else self._mentioned(sentence) or None

    def _opening_letter(self, segment: str, is_whole: bool) -> str | None:
        """The letter with which a value begins; "" if no option has it or there are several; None if it is a word."""
        found = _LETTER.match(segment)
        if not found:
            return None
        letter, rest = found["letter"], segment[found.end() :]
        if not found["close"]:
            if rest[:1].isascii() and rest[:1].isalnum():
                return None
            alone = not rest.strip(" \t\n.*_!<") or rest.startswith("\n")
            if (letter.islower() and not alone) or (_VARIABLE.match(rest) and not is_whole):
                return None
            if letter in "AI" and re.match(r"\s+[a-z0-9]", rest) and not _AFTER_LETTER.match(rest):
                own = self._phrases[ascii_uppercase.index(letter)] if self.letter(letter) else ""
                if not own or not split_words(rest).joined.startswith(own):
                    return None
        letter = self.letter(letter)
        if not letter or _SEVERAL.match(segment, found.end("letter")) or _is_listed(letter, rest):
            return ""
        return self.agreeing(letter, rest)

    def _equal(self, value: str) -> str:
        """Letters of the option that equals a value, or of the only option with the same number."""
        key = _key(value)
        if equal := self._one([place for place, own in enumerate(self._keys) if key and own == key]):
            return equal
        number = _NUMBER.fullmatch(key)
        numbers = [_NUMBER.fullmatch(own) if number else None for own in self._keys]
        same = [place for place, own in enumerate(numbers) if own and number and _is_same_amount(own, number)]
        return self._one(same)

    def _opening_text(self, sentence: str) -> str:
        """Letters of the longest option whose text begins a sentence, except numbers and formulas."""
        joined = split_words(sentence).joined
        lengths = [len(phrase) if phrase[3:] and joined.startswith(phrase) else 0 for phrase in self._phrases]
        longest = max(lengths, default=0)
        places = [place for place, length in enumerate(lengths) if length == longest > 0]
        if not all(self._is_text[place] for place in places):
            return ""
        joiner, _, behind = joined[longest:].partition("\n")
        one_of_two = joiner in ("or", "and") and any(f"\n{behind}".startswith(phrase) for phrase in self._phrases)
        return "" if one_of_two else self._one(places)

    def _mentioned(self, sentence: str) -> str:
        """Letters of the one option whose text a sentence mentions, except numbers, letters and formulas."""
        places = list(map(ascii_uppercase.index, find_mentions(split_words(sentence), self._options).texts))
        return self._one(sorted(places)) if all(self._is_text[place] for place in places) else ""

    def _one(self, places: Sequence[int]) -> str:
        """The letters of places if all of them have the same option text; else ""."""
        one = len({self._options[place] for place in places}) == 1
        return "".join(ascii_uppercase[place] for place in places) if one else ""


def _is_listed(letter: str, rest: str) -> bool:
    """Whether the next option follows with its letter, as in "A) Bright B) Dark": a list of options."""
    following = chr(ord(letter) + 1)
    return bool(re.match(rf"[^\n]{{0,80}}(?:\n{{1,2}}\W{{0,4}}|[.\s]\(?){following}[).:]\s{{1,2}}[A-Z0-9$]", rest))


def _is_same_amount(one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two numbers are equal, and also their units if both have one."""
    same_unit = not one[2] or not other[2] or one[2] == other[2]
    return same_unit and _amount(one[1]) == _amount(other[1])


def _amount(number: str) -> str:
    digits = number.rstrip(".").removeprefix("+")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


@lru_cache(maxsize=8192)
def _key(text: str) -> str:
    """A key that is equal for values that differ only in case, blanks, LaTeX, brackets and final punctuation."""
    text = compose(text[: 4 * REACH])
    if "\\" in text or "¬" in text:
        # "~" is a blank at the beginning of a group, as in "\mathrm{~cm}", and elsewhere a negation.
        text = _FRACTION.sub(r"\1/\2", text).replace("{~", "{")
        for name, symbol in _SYMBOLS:
            text = text.replace(name, symbol)
        text = _LATEX.sub("", text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lstrip(" *_`#\n").rstrip(" *_`\n").replace("&", "and"))
    return _LAYOUT.sub("", text).rstrip(".!?。,;").casefold()
