r"""Declared answers: the option that a verbose reply commits to if exact matching finds none.

A departure from MMBench, Sec. 3.2, where a judge reads such replies. A reply that reasons mentions many options and
then declares one: "Therefore, the correct answer is (C)". The rules:

- A declaration is a cue ("the answer is", "Answer:", `\boxed{...}`, "I would choose") and the value after it. A label
  at the beginning of the reply, or as its last line, is a declaration too.
- A value is a letter, an option's text, or a number that only one option contains, with or without its unit. No option
  is declared by two letters ("B or C", "(A) through (E)"), by a letter with another option's text, by "none of these",
  or by an empty value where the reply was cut off.
- The last declaration counts. Two different declarations count as none, unless there is a correction ("Wait",
  "However") between them.
- If a reply has no declarations, its conclusions are read; see `conclusions`.
- Reasoning is not read, nor are further questions that a model adds after its answer. A reply that ends in unfinished
  reasoning declares nothing.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from eyechart.metrics.scoring.choices.conclusions import concluded_letters
from eyechart.metrics.scoring.choices.sentences import refuses, split_sentences
from eyechart.metrics.scoring.choices.text import compose
from eyechart.metrics.scoring.choices.values import FIT, REACH, Values
from eyechart.metrics.scoring.reasoning import split_reasoning

_NOUN = r"(?:options?|choices?|responses?|match(?:es)?|solutions?|letters?|selections?|statements?)"
# "is", "would be", ":", "is therefore most likely:". "May be" declares nothing.
_IS = (
    r"(?:\s{0,4}[:=]|\s{1,4}(?:is|are|was|(?:would|should|must|will)\s(?:then\s|therefore\s)?be|becomes|remains)\b"
    r"(?:\s(?:therefore|thus|then|most likely|likely|probably|clearly|indeed|still|hence|simply|to be|actually|now))?"
    r"\s{0,4}:?)"
)
# Between noun and verb: "the answer to the question is", "the correct option letter for the year 2003 is".
_ABOUT = r"(?:[ *_(][^.,\n:=?!;]{0,90}?)??[*_\"]{0,3}"
_CUE = re.compile(
    # \boxed{C}, <answer>C</answer>, <CONCLUSION> B </CONCLUSION>
    r"(?P<box>\\f?boxed\s{0,8}\{)|(?P<tag><(?:final_?)?(?:answer|conclusion|choice)>|<\|begin_of_box\|>)|(?P<final>"
    # "the answer is", "Answer:"; but "answer choices:" lists them
    rf"\banswer\b(?!\s(?:choices|options)\b){_ABOUT}{_IS}|\banswers{_IS}"
    # "## Final Answer" on a line of its own
    r"|(?:^|\n)[\W_]{0,8}(?:(?:final|correct|my)\s)?answer[\W_]{0,8}\n"
    # 答案是, 【答案】, 正确的选项应该是
    r"|(?:答案|正确的?选项|正確的?選項)[^\n。,;:A-Z]{0,12}?(?:[应應][该該当當]?[是为為]|[为為是选選:】])[:】]?"
    # 故选, 所以我选; but 所以选项A starts a statement about an option
    r"|(?:[故应應][该該]?|因此|所以|我)[选選][择擇]?(?![项項])[是:]?"
    # "the correct option is", "the closest match would be"
    rf")|(?P<choice>\b(?:{FIT}|right)\s(?:[a-z]+\s)?{_NOUN}\b{_ABOUT}{_IS}"
    # "the one that fits is:", and a label on the next line
    r"|\b(?:is|be)\s?:[*_]{0,3}\s{0,4}\n(?=\W{0,6}[A-Z][)\].:*])"
    # "I would choose", "we go with"
    r"|\b(?:I|we)(?:'d|'ll|\s(?:would|will|should|must|can))?\s(?:(?:have to|therefore|thus|then)\s)?"
    r"(?:choose|select|pick|go (?:with|for)|opt for|lean towards?|answer)\b\s{0,4}:?)",
    re.IGNORECASE,
)
# Cues that declare nothing: "if the answer is", "if it is on the left, we choose", "the answer is not",
# "answer choice A is". But "if I had to guess, I would choose" is a choice.
_SUPPOSED = re.compile(r"\b(?:if|whether|when|unless|what|suppose)\s[^.\n,;:]{0,40}$", re.IGNORECASE)
_IF = re.compile(r"\bif\s(?!(?:I|we)\s(?:had|have|must|were)|forced|pressed)[^.\n;:]{0,80}$", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|Not|never|cannot|whether|depends?|if)\b|n't\b")
_OF_OPTION = re.compile(r"(?:choice|option|answer)\s[(*]{0,3}[A-Z][)*]{0,3}\s")

# "B", "(B) text", "B. text", "**B**" at the beginning of a reply or line
_LABEL = re.compile(r"[\s*_(\[]{0,6}([A-Z])(?:[)\]*]{1,4}[.:]?|[.:])(?=\s|$)|\s{0,4}([A-Z])\s{0,4}(?:\n|$)")
# After a label that is the subject of a sentence: "(A) is too bright"
_SUBJECT = re.compile(
    r"\s+(?:is|are|was|were|has|have|does|can|cannot|could|may|and|or|seems?|shows?|looks?|appears?|means?)\b"
)
# After a label, further labels: the options, or statements I and II, are repeated or discussed.
_NEXT_LABEL = re.compile(r"\n\W{0,6}(?:[A-Z]|[IVX]{2,4})(?:[)\]*]{1,4}[.:]?|[.:])\s")

# Words between two declarations that withdraw the first: "Wait", "Let me recheck".
_CORRECTION = re.compile(
    r"\b(?:wait|actually|correct(?:ion|ing|ed)|mistakes?|errors?|let me|let's|oops|hmm|sorry|apolog\w+|instead"
    r"|on second thought|re-?(?:check|evaluat|calculat|consider|examin|think|read|visit|assess)\w*)\b"
    r"|不对|重新|更正|错了",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:however|but|though|although|upon)\b|不过|但是|然而", re.IGNORECASE)
# After its answer, a model continues: "Question: ...", "Options: ...", "Now, let's summarize all the answers".
_RUN_ON = re.compile(
    r"\n\W{0,6}(?:Questions?|Options|Choices|Problem|Hint|Q)\b[^\n]{0,12}:"
    r"|\n\W{0,4}Now,? [^\n]{0,60}(?:\banswers?\b|\ball\b|总结|答案)",
    re.IGNORECASE,
)
_BRACE = re.compile(r"[{}]")


class _Declaration(NamedTuple):
    """A place where a reply commits itself to an option.

    Attributes:
        start: Where it begins.
        end: Where its value begins, or where the value ends if that is known.
        letters: Letters of the option; "" if it declares none.
        is_final: Whether it is about the answer, and not only about an option that is best or chosen.
    """

    start: int
    end: int
    letters: str
    is_final: bool


def declared_letters(text: str, options: Sequence[str], *, is_cut: bool = False) -> str:
    r"""Letters of the one option that a reply declares to be its answer.

    Args:
        text: The model's reply, any string.
        options: Option texts, checked by `check_options`.
        is_cut: Whether the reply is known to be cut off, so that it has no conclusion.

    Returns:
        As `named_letters`: one letter, several for a repeated option text, "" for none.

    Examples:
        >>> options = ["Bright", "Dark", "Medium"]
        >>> declared_letters("(A) is too much, (C) too little. Therefore, the correct answer is (B).", options)
        'B'
        >>> declared_letters("The answer is A. Wait, I see shadows. Answer: dark", options)
        'B'
        >>> declared_letters("The answer is A. The answer is B.", options)
        ''
        >>> declared_letters(r"5 m or 6 m. So $x = \boxed{6}$", ["5 m", "6 m"])
        'B'
    """
    text = compose(split_reasoning(text).answer)
    values = Values(options)
    found = list(_declarations(text, values))
    if found or is_cut:
        return _settled(text, found) if found else ""
    return concluded_letters(text, values)


def _settled(text: str, found: Sequence[_Declaration]) -> str:
    """The letters of the last declaration, if no other declaration contradicts it."""
    contradicted = False
    for before, after in pairwise([one for one in found if one.letters]):
        if before.letters != after.letters:
            replaced = after.is_final and not before.is_final
            # A declaration at the very beginning does not result from reasoning, so a "however" does not withdraw it.
            turned = before.start and _TURN.search(text, before.end, after.start)
            contradicted = not (replaced or turned or _CORRECTION.search(text, before.end, after.start))
    last = found[-1]
    # "Option B fits best. Without more information, it is not possible to tell."
    withdrawn = not last.is_final and any(map(refuses, split_sentences(text[last.end :])[-1:]))
    return "" if contradicted or withdrawn else last.letters


def _declarations(text: str, values: Values) -> Iterator[_Declaration]:
    """All declarations, in order."""
    end, position, answered = len(text), 0, False
    opening = _LABEL.match(text)
    if opening and (letter := values.letter(opening[1] or opening[2])):
        after = opening.end()
        end = _answer_end(text, after)
        if not (_NEXT_LABEL.search(text, after, end) or _SUBJECT.match(text, after)):
            yield _Declaration(0, after, values.agreeing(letter, text[after : after + REACH]), True)
    while (cue := _CUE.search(text, position, end)) is not None:
        position = cue.end()
        if cue["box"] or cue["tag"]:
            content, position = _contained(text, cue)
            letters = values.read(content, is_whole=True)
        elif _declares_nothing(text, cue):
            continue
        else:
            letters = values.read(text[position : min(end, position + REACH)])
        if letters is not None:
            if letters and not answered:
                end, answered = min(end, _answer_end(text, position)), True
            yield _Declaration(cue.start(), position, letters, not cue["choice"])
    yield from _closing(text[:end], values)


def _declares_nothing(text: str, cue: re.Match[str]) -> bool:
    supposed = (_IF if cue["choice"] else _SUPPOSED).search(text, max(0, cue.start() - 90), cue.start())
    return bool(supposed or _DENIED.search(cue[0]) or _OF_OPTION.search(cue[0]))


def _answer_end(text: str, position: int) -> int:
    """Where a reply that has declared an answer before `position` continues with further questions."""
    run_on = _RUN_ON.search(text, position)
    return run_on.start() if run_on else len(text)


def _contained(text: str, cue: re.Match[str]) -> tuple[str, int]:
    """The content of an answer container, and where it ends; "" if it is not closed."""
    start, limit = cue.end(), min(len(text), cue.end() + REACH)
    if cue["tag"]:
        end = text.find("<", start, limit)
        return (text[start:end], end) if end >= 0 else ("", start)
    depth = 1
    for brace in _BRACE.finditer(text, start, limit):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start : brace.start()], brace.end()
    return "", start


def _closing(text: str, values: Values) -> Iterator[_Declaration]:
    """A last line that is a label, with or without its option's text, but not the end of a list of options."""
    body, _, last = text.rstrip().rpartition("\n")
    label = _LABEL.match(last)
    if not label or not body.strip() or _LABEL.match(body.rstrip().rpartition("\n")[2]):
        return
    letter = values.letter(label[1] or label[2])
    if letter and values.is_own(letter, last[label.end() :]):
        yield _Declaration(len(body), len(text), letter, True)
