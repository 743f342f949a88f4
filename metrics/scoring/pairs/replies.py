r"""The preference of a free-text reply between two images.

Protocol: 2AFC, Sec. III-A (https://arxiv.org/abs/2402.01162), asks "Which image has better visual quality?" and offers
"A. The first image. B. The second image.". The released code reads any reply with a capital A as the first image.
Here a reply is parsed as strictly as a multiple-choice answer (`choices`), with additional rules for this question:

- A letter is read by the rules of `extract_choice`.
- An image may have other names: "Image 1", "the second picture", "Image A", "the first one"; as the complete reply also
  "first" or "2".
- A named image counts only if the reply prefers it: the name as the complete sentence, "... is better", "... has higher
  visual quality", "I would choose ...". "The second image is blurrier than the first" does not say which is better.
- If the reply prefers neither image or both, or if a letter and a sentence disagree, there is no preference. Parsing
  never guesses.
- A reply that was cut off might have continued with the other image, so only its first sentence counts.
"""

import re
from typing import Literal

from eyechart.metrics.scoring.choices.extraction import extract_choice
from eyechart.metrics.scoring.choices.text import explicit_answers, normalise
from eyechart.metrics.scoring.reasoning import STOPPED_EARLY, split_reasoning

Preference = Literal["first", "second"]

OPTIONS = ("The first image.", "The second image.")

# Each name of an image is replaced by one character that no reply contains, so that a pattern can refer to it.
_FIRST, _SECOND = "\ue000", "\ue001"
_PREFERENCES: dict[str, Preference] = {_FIRST: "first", _SECOND: "second"}
_NAMED = f"[{_FIRST}{_SECOND}]"
_MARKS = rf"[^\w{_FIRST}{_SECOND}]*"

_NOUN = r"(?:image|picture|photo|photograph)"
_NAME = re.compile(
    rf"\b(?:the )?(?:(first|1st)|(?:second|2nd)) (?:{_NOUN}|one|option)\b"
    rf"|\b(?:the )?{_NOUN} ?#?(?:(1|one|(?-i:A))|(?:2|two|(?-i:B)))\b"
    r"|\bthe (?:(first)|second)(?= (?:is|has|looks|appears|seems)\b)",
    re.IGNORECASE,
)
_WHOLE_REPLY = re.compile(r"\W*(?:the )?(?:(first|1st|1)|(?:second|2nd|2))(?: one)?\W*", re.IGNORECASE)

_BLANKS = re.compile(r"[^\S\n]+")
_MARKDOWN = re.compile(r"[*_`#>]+")
_SENTENCE_END = re.compile(r"[.!?;\n]+")
# Not the full stop of "A. The first image."
_FIRST_SENTENCE = re.compile(r"(?<=\w{2})[.!?;]+(?=\s)|\n+")

_VERB = (
    r"(?:(?:is|looks|appears|seems|has|offers|exhibits|displays|shows|provides|possesses)"
    r"(?: to (?:be|have))?(?: of)?)"
)
_DEGREE = r"(?:(?:a|the|much|far|clearly|slightly|significantly|noticeably|overall|generally) )*"
_BETTER = r"(?:better|best|superior|higher|highest)"
_QUALITY = r"(?:(?:overall|visual|image|perceptual|perceived|technical) )*quality\b"
# What may follow "better" if it is about the entire image, not about "better colours".
_GENERAL = (
    r"(?= ?(?:$|[,:)]|(?:than|because|since|as|due|overall|over|compared|one|image|choice)\b"
    rf"|in (?:terms of )?{_QUALITY}))"
)
# A sentence that prefers an image: only its name, or the image as better, as of better quality, or as the choice.
_PREFERRED = re.compile(
    rf"^(?:\W?[A-Z]\W{{1,2}})?(?:it is |it's )?{_MARKS}({_NAMED}){_MARKS}$"
    rf"|({_NAMED}) {_VERB} {_DEGREE}{_BETTER}(?: {_QUALITY}|{_GENERAL})"
    rf"|(?:quality of ({_NAMED})|({_NAMED})'s {_QUALITY}) {_VERB} {_DEGREE}{_BETTER}{_GENERAL}"
    rf"|\b(?:choose|select|pick|prefer) ({_NAMED})"
    rf"|\b(?:answer|choice|{_BETTER} (?:one|image|choice|{_QUALITY}))(?: is)?:? ({_NAMED}){_MARKS}$",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    rf"\b(?:not|no|never|neither|nor|cannot|without|unless|whether|hardly|both|either)\b|n't\b|\bif {_NAMED}",
    re.IGNORECASE,
)


def read_preference(text: str, finish_reason: str | None = None) -> Preference | None:
    r"""The image that a reply prefers.

    Args:
        text: The model's reply to the question which of two images has better visual quality, any string.
        finish_reason: How the reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.

    Returns:
        "first" or "second", in the order in which the images were shown; None if the reply prefers neither or both.

    Examples:
        >>> read_preference("B. The second image.")
        'second'
        >>> read_preference("Image 1 has better visual quality than image 2.")
        'first'
        >>> read_preference("The second image is blurrier than the first image.") is None
        True
        >>> read_preference("Both images are of similar quality.") is None
        True
        >>> read_preference("The light is poor. The first image is better at", finish_reason="length") is None
        True
    """
    text = split_reasoning(text).answer
    contained = explicit_answers(text)
    found = {_one_preferred(content) for content in contained or [text]}
    preferred = found.pop() if len(found) == 1 else None
    if finish_reason in STOPPED_EARLY and not contained:
        first, *_ = _FIRST_SENTENCE.split(text.strip(), maxsplit=1)
        return preferred if _one_preferred(first) == preferred else None
    return preferred


def _one_preferred(text: str) -> Preference | None:
    """The image preferred by a text without reasoning blocks and answer containers."""
    text = _BLANKS.sub(" ", _MARKDOWN.sub("", normalise(text).replace(_FIRST, "").replace(_SECOND, "")))
    if len(text) < 32 and (whole := _WHOLE_REPLY.fullmatch(text)):
        return "first" if whole[1] else "second"
    text = _NAME.sub(lambda name: _FIRST if any(name.groups()) else _SECOND, text)
    preferred = {preference for sentence in _SENTENCE_END.split(text) for preference in _preferred_in(sentence.strip())}
    # Without the names of the images, the reply can only be matched by letter.
    letter = extract_choice(re.sub(_NAMED, "it", text), OPTIONS)
    if letter is not None:
        preferred.add("first" if letter == "A" else "second")
    return preferred.pop() if len(preferred) == 1 else None


def _preferred_in(sentence: str) -> set[Preference]:
    """Images that a sentence prefers, unless a denial or question comes before the preference."""
    denial = _DENIAL.search(sentence)
    return {
        _PREFERENCES[next(name for name in match.groups() if name)]
        for match in _PREFERRED.finditer(sentence)
        if denial is None or match.end() < denial.end()
    }
