"""Conclusions of a reply that declares no answer, such as "Therefore, the second image is more similar".

- A sentence can draw a conclusion ("Therefore, ...") or give a verdict ("Option B is correct"). All such sentences
  must name the same option.
- If there are none, the first and the last sentence are read in the same way.
- A refusal cancels all conclusions before it. A reply that was cut off has no conclusion.
"""

import re

from eyechart.metrics.scoring.choices.sentences import is_cut, refuses, split_sentences
from eyechart.metrics.scoring.choices.values import FIT, Values

_CONCLUDES = re.compile(
    r"\W*(?:so|thus|hence|therefore|consequently|overall|accordingly|in conclusion|in summary|to conclude|based on"
    r"|given (?:this|that|these|the))\b|.{0,200}[,;]\s(?:so|thus|hence|therefore)\b|\W*故|.{0,200}(?:所以|因此|综上)",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    # "Option B is correct", "the second image would be a more appropriate fit"
    r"\b(?:is|are|be|seems?|appears?|looks?|fits|matches)\b(?:\s[a-z]+){0,3}?\s(?:(?:more|most)\s)?"
    rf"(?:{FIT}|answer|best|better)\b"
    # "Box B more accurately encloses the dog", "which best matches the colour"
    r"|\b(?:more|most) [a-z]+ly\b|\bbest (?:fits|matches)\b"
    # "The missing shape is (D)."
    r"|\b(?:is|be|corresponds to)\b[\s*:]{1,4}\([A-Z]\)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|Not|never|cannot|neither)\b|n't\b")
# "To tell which option is correct", "whether it is darker"
_ASKED = re.compile(r"\b(?:which(?! (?:is|are)\b)|whether|(?-i:if))\b", re.IGNORECASE)
# "(B) The second image is similar to the first": an item where options are discussed one by one
_ITEM = re.compile(r"\W{0,6}[A-Z][)\].:]\s")
# "It is hard to say, but image B is sharper"
_BUT = re.compile(r"\b(?:but|however)\b", re.IGNORECASE)


def concluded_letters(text: str, values: Values) -> str:
    """Letters of the one option that the conclusions of a reply name.

    Args:
        text: A reply without declarations.
        values: Its options.

    Returns:
        As `declared_letters`.

    Examples:
        >>> reply = "The first image is dark. The second image is more suitable. The first lacks colour."
        >>> concluded_letters(reply, Values(["The first image", "The second image"]))
        'B'
    """
    sentences = split_sentences(text)
    if is_cut(text, sentences):
        return ""
    last = len(sentences) - 1
    discusses = sum(map(bool, map(_ITEM.match, sentences))) > 1
    concluded: set[str] = set()
    outer: set[str] = set()
    for number, sentence in enumerate(sentences):
        *_, said = _BUT.split(sentence) if refuses(sentence) else (sentence,)
        ends = number == last
        if refuses(said):
            concluded, outer = ({values.none_option()} if ends or not number else set()), set()
            continue
        concludes = bool(_CONCLUDES.match(sentence))
        if discusses and _ITEM.match(sentence):
            continue
        gives_verdict = concludes or bool(_VERDICT.search(said))
        if gives_verdict or ends or not number:
            letters = values.concluded(said, bool(_DENIED.search(said)), takes_number=ends and concludes)
            (concluded if gives_verdict else outer).add("" if _ASKED.search(said) else letters)
    named = (concluded - {""}) or (outer - {""})
    return named.pop() if len(named) == 1 else ""
