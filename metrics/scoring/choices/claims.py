r"""Rules that read a reply as claims: which option it names, how firmly, and where.

- A mention is a letter or an option's text that is not denied (see `mentions`).
- A verdict is a sentence that concludes ("Therefore, ...") or judges ("Option B is correct").
- A cue and the value behind it: "the closest option is", "I would choose" (a choice); "the answer is" (an answer). A
  value is a letter, an option's text, or a number that only one option has. "B or C" and "none of these" are values
  without letters.
- A label begins the reply, or is its last line: "B. Dark".
- A container holds the answer alone: `\boxed{B}`, `<answer>B</answer>`, {"answer": "B"}, 【答案】B.

The rules are regular expressions over `Reply.codes`, whose characters `lexicon.WORDS` and `lexer.GAPS` explain.
"""

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum, auto
from functools import cached_property
from itertools import pairwise
from string import ascii_uppercase
from typing import NamedTuple

from eyechart.metrics.scoring.choices.containers import CONTAINER_MARK, take_containers
from eyechart.metrics.scoring.choices.lexer import GAP, INSIDE, SHORT, WORD, Reply
from eyechart.metrics.scoring.choices.mentions import Mentions, denies
from eyechart.metrics.scoring.choices.text import compose, normalise, option_phrase, strip_markdown


class Rank(IntEnum):
    """How firmly a claim names its option."""

    MENTION = auto()
    VERDICT = auto()
    CHOICE = auto()
    LABEL = auto()
    ANSWER = auto()
    CONTAINER = auto()


class Claim(NamedTuple):
    """A claim, from word `start` to before word `end`. Without letters, it names several options or none of them."""

    rank: Rank
    start: int
    end: int
    letters: str


# From a cue to its value: a colon or copula within 15 words, or the letter itself.
_ANNOUNCES = rf"(?:[ (;][^=KLB!xiP (,、;:.?\n¶@]){{0,15}}(?:[:¶]|[ (;][=K]{GAP})|[ (;](?=L)"
# What precedes a cue, its word, and what follows up to its value; an example.
_CUES = {
    "answer": ("", "A", _ANNOUNCES),  # the answer to this question is B
    "heading": (rf"(?:\A{GAP}|[\n¶@])(?:[FG] )*\Z", "A", "\n"),  # Final answer (end of the line) B
    "choice": (rf"(?:[FG][ (](?:{WORD}{INSIDE})?|o[ (])\Z", "N", _ANNOUNCES),  # the closest option is B
    "field": (rf"(?:\A{GAP}|[\n¶@])(?:{WORD}{INSIDE})?\Z", "N", "[:¶](?=L)"),  # Choice: B
    "of": (r"o[ (]\Z", "=", "[ (:¶](?=[LO])"),  # 不正确的是B
    "list": (r"(?<![NP])[ (]\Z", "=", r"¶(?=L[\n.;:¶])"),  # The one that fits is: (end of the line) B. Dark
    "own": ("", "=", rf"{INSIDE}(?=L{GAP}O|O[(]L)"),  # it is B. dark
    "choose": (rf"u{GAP}(?:{WORD}{INSIDE}){{0,3}}\Z", "C", GAP),  # I would go with B
    "choose directly": ("", "K", GAP),  # 故选B
}
_CUE_RULES = {
    word: [
        (name, re.compile(before), re.compile(behind)) for name, (before, head, behind) in _CUES.items() if head == word
    ]
    for word in "AN=CK"
}
_SO, _DENIAL = re.compile("S"), re.compile("[X!x]")
_JUDGING, _MAY_JUDGE = re.compile(rf"=(?:{GAP}{WORD}){{0,4}}{GAP}[FG]|[LO][;:.]F"), re.compile(rf"[FGm]|={GAP}(?=L)")
# A copula behind the subject, and before a value.
_SUBJECT_BEHIND, _JOINT_BEFORE = re.compile(rf"{GAP}(?:d{GAP})?="), re.compile(rf"=(?:{GAP}d)?{GAP}\Z")
_REFUSES = re.compile(rf"[R0]|[!x~X](?:{GAP}{WORD}){{0,3}}{GAP}b")
_MARKS = {
    ord(CONTAINER_MARK): "",
    **dict.fromkeys(map(ord, "✅✔☑"), " correct "),
    **dict.fromkeys(map(ord, "❌✗✘"), " wrong "),
}
# Behind it, a model speaks for the user.
_TURN_END = re.compile(r"<\|(?:im_end|eot_id|end_of_turn|endof\w{4,12})\|>|</s>|<eo[sa]>")
# Another question, or the options once more.
_RUN_ON = re.compile(rf"[\n¶]Q(?:[ (]{WORD}){{0,2}}[:;¶\n]|[\n¶?]L[.;:][^\n¶@]{{0,200}}[\n¶]L[.;:]")
# Behind a letter in the place of a value: what makes it an expression, as in "B = 5".
_EXPRESSION = re.compile(r"[)\]]?\s{0,2}(?:[=^_+°'/]|-[^\s-])")


class Claims(Mentions):
    """The claims of a reply.

    Args:
        text: The reply without its reasoning.
        options: Option texts, at most 26.

    Attributes:
        stripped: The reply without containers and surrounding marks.
        contents: The contents of its answer containers.
    """

    def __init__(self, text: str, options: Sequence[str]) -> None:
        """See above."""
        turns = filter(str.strip, _TURN_END.split(compose(text).translate(_MARKS)))
        text, self.contents = take_containers(next(turns, ""))
        self.stripped = strip_markdown(normalise(text))
        super().__init__(self.stripped, options)

    @property
    def breaks_off(self) -> bool:
        """Whether the reply ends with a word that begins something: "but", "because", 但是."""
        return self.code(self.n_words - 1) in tuple("Br&i") and not self.gaps[-1].strip(" ,*")

    @property
    def last(self) -> int:
        """The first word of the last sentence."""
        return max(i for i in self.starts if i < self.end or not i)

    @cached_property
    def unanimous(self) -> str:
        """Letters of the one option that all mentions name."""
        mentions = self.mentions(0, self.end)
        letters = [i for i in mentions if self.code(i) == "L"]
        texts = {option_phrase(self.words[i]): self.letters[i] for i in mentions if self.code(i) == "O"}
        if not letters:
            outermost = (
                own for text, own in texts.items() if not any(text in other for other in texts.keys() - {text})
            )
            return "" if self.rejected else self.values.one("".join(outermost))
        letter = self.letters[letters[0]]
        others = [self.letters[i] for i in letters if self.letters[i] != letter or self.is_several(i)]
        return letter if not others and all(self.is_same(letter, own) for own in texts.values()) else ""

    @cached_property
    def containers(self) -> list[Claim]:
        """The claims of the answer containers."""
        if not self.contents:
            return []
        read = {content: Claims(content, self.options).whole() for content in self.contents}
        marked = (i for i, gap in enumerate(self.gaps) for _ in range(gap.count(CONTAINER_MARK)))
        places = [
            (i, "" if self.code(i - 1) in tuple("!x") else read[content])
            for i, content in zip(marked, self.contents, strict=False)
        ]
        return [Claim(Rank.CONTAINER, i, i, letters) for i, letters in places]

    @cached_property
    def firm(self) -> list[Claim]:
        """The claims that declare an answer, in order, up to where the reply runs on into another question."""
        claims = sorted([*self.containers, *self._opening_label(), *self.cued()], key=lambda claim: claim.start)
        self.end = min(self.end, self._run_on(2 * next((claim.end for claim in claims if claim.letters), self.end) + 1))
        return [claim for claim in claims if claim.start <= self.end] + list(self._closing_label())

    def whole(self) -> str:
        """Letters of the option that the complete text names as a value."""
        return self.value(0) or self.values.equal(self.stripped)

    @cached_property
    def end(self) -> int:
        """The number of words that belong to the reply; behind them, it runs on into another question."""
        first = self.affirmed[0] if self.affirmed else self.n_words
        return self._run_on(2 * first + 2, is_answer=not first)

    def _run_on(self, place: int, is_answer: bool = True) -> int:
        """Where a reply that has answered before a place in its characters continues with another question."""
        found = (found.start() // 2 for found in _RUN_ON.finditer(self.codes, place))
        return next((i for i in found if self.code(i) == "Q" or (is_answer and self.words[i] == "A")), self.n_words)

    def cued(self) -> Iterator[Claim]:
        """Cues such as "the answer is", and their values."""
        end = 0
        for found in re.finditer("[AN=CK]", self.codes):
            start = found.start() // 2
            for name, before, behind in _CUE_RULES[found[0]] if start >= end else ():
                announced = behind.match(self.codes, found.end())
                value = announced.end() // 2 if announced else 0
                if announced and before.search(self.left(start)) and not self._is_void(name, start, value):
                    letters = self.value(self._skip(value, "dFGmS", 9))
                    if letters is not None:
                        end = max(value, start + 1)
                        yield Claim(Rank.ANSWER if found[0] == "A" else Rank.CHOICE, start, end, letters)
                        break

    def _is_void(self, name: str, start: int, value: int) -> bool:
        """Whether a cue announces nothing: denied, supposed or in a question."""
        is_several = name == "own" and self.is_several(value if self.code(value) == "L" else value + 1)
        is_void = is_several or self.gap(value) == "@" or self.code(start - 1) == "X"
        return is_void or denies(self.clause(start)) or self.gap(self.sentence_end(start)) == "?"

    def _skip(self, i: int, codes: str, most: int) -> int:
        """The first word from a word on that does not have one of the characters."""
        return next(
            (k for k in range(i, min(i + most, self.n_words)) if self.code(k) not in codes), min(i + most, self.n_words)
        )

    def value(self, start: int) -> str | None:
        """Letters of the option that the words from `start` on name; None if they are no value."""
        if start >= self.n_words:
            return None
        i = self._skip(start, "ANPnyt", 4)
        letter = self._letter_value(i) if i < self.n_words else None
        if letter is not None:
            return letter
        line = self.line_end(start)
        end = min(line, self.sentence_end(start))
        for text in dict.fromkeys((self.text(start, line), self.text(start, end))):
            if letters := self.values.equal(text.lstrip(" \t\n*_:`#>").removeprefix("- ").rstrip(" \t\n*_:`>-")):
                return letters
        return self.texts_named(start, end) or None

    def _letter_value(self, i: int) -> str | None:
        """The letter at which a value begins; "" if no option has it or there are several; None if it is a word."""
        word, after = self.words[i], self.gaps[i + 1]
        if not (word.isascii() and word.isalpha()) or self.is_rejected(i):
            return None
        if len(word) > 1:
            return "" if all(map(self.values.has, word)) else None
        is_one = self.values.has(word.upper()) and not self.is_several(i) and not self._begins_list(i)
        if is_one and _EXPRESSION.match(after):
            return None
        return self._agreeing(word.upper(), i + 1) if is_one else ""

    def _begins_list(self, i: int) -> bool:
        """Whether a label at the start of a line is followed by that of the next option on a later line."""
        labels = (self.label(k) for k in self.starts if k > i and self.label(k)) if self.gap(i) in "\n¶" else iter(())
        return next(labels, "") == chr(ord(self.words[i].upper()) + 1)

    def _agreeing(self, letter: str, start: int) -> str:
        """The letter, or "" if the text after it is that of another option."""
        if any(mark in self.gaps[start] for mark in (CONTAINER_MARK, "\n", ";")):
            return letter
        named = self.values.equal(self.text(start, self.line_end(start)).lstrip(" \t*_)]}.:$,\"'"))
        if self.code(start) == "O":
            named = self.letters[start]
        return letter if not named or self.is_same(letter, named) else ""

    def texts_named(self, start: int, end: int) -> str:
        """Letters of the one option whose text stands between two words; numbers and formulas do not count."""
        texts = [
            self.letters[i]
            for i in self.mentions(start, end)
            if self.code(i) == "O" and self.values.is_text(self.letters[i][0])
        ]
        return self.values.one("".join(texts))

    def none_option(self) -> str:
        """Letter of the one option that says that no option is correct; "" if there is none."""
        letters = zip(ascii_uppercase, self.options, strict=False)
        found = [letter for letter, option in letters if Reply(normalise(option), ()).code(0) == "0"]
        return found[0] if len(found) == 1 else ""

    def _opening_label(self) -> Iterator[Claim]:
        """A label at the beginning of the reply that is neither the first of a list of options nor a subject."""
        letter = self.label(0)
        if letter and not self.is_rejected(0):
            starts = [i for i in self.starts if 0 < i < self.end]
            if "\n" in self.gaps[1]:
                # A letter alone on its line is the first of a list only if the next line is another one.
                starts = [i for i in starts[:1] if self.sentence_end(i) == i + 1]
            is_list = any(self.label(i) for i in starts)
            if not is_list and self.code(1) not in tuple("=&p") and not self.is_several(0):
                yield Claim(Rank.LABEL, 0, 1, self._agreeing(letter, 1))

    def _closing_label(self) -> Iterator[Claim]:
        """A last line that is a label, a letter or an option's text, and not the end of a list of options."""
        lines = (i for i in self.starts if 0 < i < self.end and "\n" in self.gaps[i])
        before, start = [0, 0, *lines][-2:]
        if not start or self.label(before):
            return
        line, word, letter = self.text(start, self.end).rpartition("\n")[2], self.words[start], self.label(start)
        own = self.values.equal(self.text(start + 1, self.end).lstrip(")]*.: ").strip(" *_.\n"))
        if letter or word == own.lower() != "":
            letters = letter or own if start + 1 == self.end or self.is_same(letter or own, own) else ""
        elif self.values.has(line.strip(" *_.()[]`$").upper()):
            letters = word.upper()
        else:
            letters = self.values.equal(line)
            # A number alone is an answer only where it is emphasised: "#### 18".
            letters = letters if line.startswith(("#", "**")) or all(map(self.values.is_text, letters)) else ""
        if letters:
            yield Claim(Rank.LABEL, start, self.end, letters)

    @cached_property
    def verdicts(self) -> list[Claim]:
        """Verdicts; without any, the first and last sentence in the same way. A refusal cancels those before it."""
        concluded: list[Claim] = []
        outer: list[Claim] = []
        for start, end in pairwise([*(i for i in self.starts if i < self.end), self.end]):
            contrast = self.codes.rfind("B", 2 * start + 2, 2 * end) // 2
            if self.refuses(max(start, contrast), end):
                is_none = "0" in self.codes[2 * max(start, contrast) : 2 * end]
                concluded, outer = [Claim(Rank.VERDICT, start, end, self.none_option() if is_none else "")], []
                continue
            conclusion = self._conclusion(start, end)
            said = contrast if contrast > start and self._judges(contrast, end) else start
            said = max(said, conclusion)
            is_verdict = conclusion >= 0 or self._judges(said, end)
            if is_verdict or end == self.end or not start:
                letters = self._verdict(said, end, is_verdict)
                letters = letters or (
                    self._amount(said, end) if is_verdict else self.unanimous if self.mentions(start, end) else ""
                )
                rank = Rank.VERDICT if is_verdict else Rank.MENTION
                (concluded if is_verdict else outer).append(Claim(rank, start, end, letters))
        verdicts = [claim for claim in concluded if claim.letters]
        return verdicts or [claim for claim in outer if claim.letters and not self.wavers()]

    def wavers(self) -> bool:
        """Whether a reply discusses option after option, or corrects itself, so that a mention is no answer."""
        texts = [i for i in self.named if self.code(i) == "O"]
        starts = {0, *self.starts}
        starts |= {start + 1 for start in starts if self.code(start) in tuple("nyL")}
        listed = {self.letters[i] for i in texts if i in starts}
        subjects = {
            self.letters[i] for i in self.named if self.codes[2 * i - 1 : 2 * i + 4 : 2] == "N" + self.code(i) + "="
        }
        alone = {self.letters[i] for i in self.named if i in starts and self.sentence_end(i) == i + 1}
        return max(len(listed), len(subjects), len(alone)) > 1

    def refuses(self, start: int, end: int) -> bool:
        """Whether a sentence says that no option is the answer, or that the question cannot be answered."""
        return _REFUSES.search(self.codes, 2 * start, 2 * end) is not None

    def _conclusion(self, start: int, end: int) -> int:
        """Where a sentence draws a conclusion: "Therefore, ..."; "..., so ..."; -1 if it does not."""
        places = (found.start() // 2 for found in _SO.finditer(self.codes, 2 * start, 2 * end))
        return next((i for i in places if i == start or self.gap(i) in ",;、" or self.words[i].casefold() != "so"), -1)

    def _judges(self, start: int, end: int) -> bool:
        """Whether a sentence judges: "Option B is correct", "the second image more closely matches it", "It is (B)"."""
        sentence = self.codes[2 * start : 2 * end]
        if _JUDGING.search(sentence):
            return True
        for found in _MAY_JUDGE.finditer(sentence):
            i = start + found.start() // 2
            if found[0] == "m":
                judges = i + 1 < end and self.words[i + 1].endswith("ly")
            elif found[0][0] == "=":
                judges = self._is_marked(i + 1)
            else:
                judges = not self.words[i].isascii()
            if judges:
                return True
        return False

    def _verdict(self, start: int, end: int, is_verdict: bool) -> str:
        """Letters of the one option that a sentence names, by a marked letter or by its text."""
        named = self.named_between(start, end)
        marked = [i for i in named if self.code(i) == "L" and self._is_marked(i)]
        text = self.texts_named(start, end)
        if not marked:
            return text
        letters = {
            self.letters[i] for i in (marked if is_verdict else self.mentions(start, end)) if self.code(i) == "L"
        }
        is_denied = is_verdict and _DENIAL.search(self.codes, 2 * marked[0], 2 * end)
        is_listed = any(self.list_before(i) or self.is_several(i) for i in marked)
        if len(letters) > 1 or is_denied or is_listed or any(map(self.is_denied, marked)):
            return ""
        letter = self.letters[marked[0]]
        return letter if not text or letter in text else ""

    def _amount(self, start: int, end: int) -> str:
        """Letters of the option that equals the number with which a conclusion ends."""
        joints = [start + found.end() // 2 for found in re.finditer("=|:", self.codes[2 * start : 2 * end])]
        if joints:
            return self.values.equal(self.text(joints[-1], end))
        numbers = [i for i in range(start, end) if self.words[i][0].isdigit()]
        named = self.mentions(numbers[0], numbers[0] + 1) if len(numbers) == 1 else []
        return self.values.one("".join(self.letters[i] for i in named))

    def _is_marked(self, i: int) -> bool:
        """Whether a letter is rather an option than a variable or a point."""
        left, right, before, after = self.left(i), self.right(i), self.gaps[i], self.gaps[i + 1]
        is_label = (after.startswith(")") or self.sentence_end(i) == i + 1) and self.gap(i) in ".?\n¶@"
        is_subject = _SUBJECT_BEHIND.match(right) is not None and (
            not i or left[-1:] not in tuple(" (") or left[-2:-1] == "B"
        )
        is_value = _JOINT_BEFORE.search(left) is not None and self.n_words <= SHORT
        if is_label or is_subject or is_value or before.endswith(("(", "[", "*")):
            return not _EXPRESSION.match(after)
        is_judged = (right[:1] in tuple(";:.") and right[1:2] == "F") or self.is_judged(i)
        return left[-2:-1] in tuple("SNPc") or right[1:2] in tuple("NP") or is_judged
