r"""Values of options: texts and numbers that are equal although they are written differently.

"\frac{1}{2}" and "1/2", "25 cm²" and "25", "65 degrees" and "65°", "97.3\%" and "97.3 per cent", "1,000" and "1000".
"""

import re
from functools import lru_cache
from string import ascii_uppercase

from eyechart.metrics.scoring.choices.text import compose

_LATEX = re.compile(r"\\(?:left|right|displaystyle|quad|text\w*|math\w+|circ|degree|[,;:! ])")
_FRACTION = re.compile(r"\\[dt]?frac\s?(?:\{([^{}]*)\}\s?\{([^{}]*)\}|(\d)(\d))")
_SYMBOLS = (
    *(("\\neg", "~"), ("\\lnot", "~"), ("\\vee", "\u2228"), ("\\lor", "\u2228"), ("\\supset", "⊃"), ("\\equiv", "≡")),
    *(("\\pi", "π"), ("\\times", "\u00d7"), ("\\cdot", "·"), ("\\sqrt", "√"), ("¬", "~"), ("\\%", "%")),
)
_LAYOUT = re.compile(r"[\s${}()\[\]\\^°*`]|degrees?\b")
_PERCENT = re.compile(r"\s?\bper\s?cent\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
# A name, a number, a unit: "x=25cm2", "$4.50", "65"; "2x", "2π" and "2 million" are other numbers.
_NUMBER = re.compile(
    r"(?:[a-z\u03b1-\u03c9]{1,12}=)?([-+]?\d*\.?\d[\d.,]*)"
    r"(%|[mgslnjwvakhcftb]|(?!(?:hundred|thousand|million|billion|dozen|or|and|to)|[百千万亿])"
    r"[^\d.,+*/=√<>!:\u00d7·^π-][^\d+*/=<>]{1,15}\d?)?"
)
# Such options may differ only in punctuation.
_FORMULA = re.compile(r"[=≡⊃~<>+\\^∧\u2228]")
_LONGEST = 1200


class Values:
    r"""The options of a question, to compare values with.

    Args:
        options: Option texts, at most 26.

    Examples:
        >>> Values(("1/2", "1,000 cm", "97.3 per cent")).equal("\\frac{1}{2}")
        'A'
    """

    def __init__(self, options: tuple[str, ...]) -> None:
        """See above."""
        self.options, self._keys = options, list(map(value_key, options))
        self._letters = frozenset(ascii_uppercase[: len(options)])
        self._numbers = list(map(_NUMBER.fullmatch, self._keys))

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(options: tuple[str, ...]) -> "Values":
        """The values of options, kept for further replies."""
        return Values(options)

    def has(self, letter: str) -> bool:
        """Whether an option has a letter."""
        return letter in self._letters

    def is_text(self, letter: str) -> bool:
        """Whether an option is neither a number, a letter nor a formula, which a reply may mention on its way."""
        place = ascii_uppercase.index(letter)
        return len(self._keys[place]) > 1 and not self._numbers[place] and not _FORMULA.search(self.options[place])

    def same(self, text: str) -> str:
        """Letters of the option that equals a text; "" if none does."""
        key = value_key(text)
        return self.one(
            "".join(letter for letter, own in zip(ascii_uppercase, self._keys, strict=False) if key and own == key)
        )

    def equal(self, text: str) -> str:
        """Letters of the option that equals a text, or of the only option with the same number; "" if none does."""
        letters, number = self.same(text), _NUMBER.fullmatch(value_key(text))
        if letters or not number:
            return letters
        numbers = zip(ascii_uppercase, self._numbers, strict=False)
        return self.one("".join(letter for letter, own in numbers if own and _is_same_amount(own, number)))

    def one(self, letters: str) -> str:
        """Letters, without repetition and in order, if all of them have the same option text; else ""."""
        texts = {self.options[ascii_uppercase.index(letter)] for letter in letters}
        return "".join(sorted(set(letters))) if len(texts) == 1 else ""


def _is_same_amount(one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether the number of an option equals another one, and also their units if both have one."""
    same_unit = one[2] == other[2] or not other[2] or (not one[2] and other[2] != "%")
    return same_unit and _amount(one[1]) == _amount(other[1])


def _amount(number: str) -> str:
    digits = number.rstrip(".").removeprefix("+")
    return "0" * digits.startswith(".") + (digits.rstrip("0").rstrip(".") if "." in digits else digits)


@lru_cache(maxsize=8192)
def value_key(text: str) -> str:
    """A key that is equal for values that differ only in case, blanks, LaTeX, brackets and final punctuation."""
    # "~" is a blank at the beginning of a group, as in "\mathrm{~cm}", and elsewhere a negation.
    text = compose(text[:_LONGEST]).replace("{~", "{")
    if "\\" in text or "¬" in text:
        text = _FRACTION.sub(r"\1\3/\2\4", text)
        for name, symbol in _SYMBOLS:
            text = text.replace(name, symbol)
        text = _LATEX.sub("", text)
    text = _PERCENT.sub("%", text.lstrip(" *_`#\n").rstrip(" *_`\n").replace("&", "and"))
    return _LAYOUT.sub("", _THOUSANDS.sub("", text)).rstrip(".!?。,;").casefold()
