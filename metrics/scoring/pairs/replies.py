r"""Which of two images a reply prefers, from a model's free text.

Protocol: 2AFC, Sec. III-A (https://arxiv.org/abs/2402.01162), asks "Which image has better visual quality?" and offers
"A. The first image. B. The second image.". The released code takes any reply that holds a capital A for the first
image; here a reply is read as strictly as a multiple-choice answer (`choices`), with what this question adds:

- A letter is read by the rules of `extract_choice`.
- An image may go by other names: "Image 1", "the second picture", "Image A", "the first one"; alone also "first", "2".
- An image that is named counts where the reply prefers it: the name alone, "... is better", "... has higher visual
  quality", "I would choose ...". "The second image is blurrier than the first" does not say which is better.
- Nothing preferred, both preferred, or a letter and a sentence that disagree: no preference. Parsing never guesses.
- A reply that was cut off may have gone on to the other image: it prefers one only if its first sentence does.
"""

import re
from typing import Literal

from eyechart.metrics.scoring.choices.extraction import extract_choice
from eyechart.metrics.scoring.choices.text import explicit_answers, normalise
from eyechart.metrics.scoring.reasoning import STOPPED_EARLY, split_reasoning

Preference = Literal["first", "second"]

OPTIONS = ("The first image.", "The second image.")

# Each name of an image becomes one character that no reply holds, so that a pattern can refer to it.
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
# What may follow "better" where it speaks of the whole image, and not of "better colours".
_GENERAL = (
    r"(?= ?(?:$|[,:)]|(?:than|because|since|as|due|overall|over|compared|one|image|choice)\b"
    rf"|in (?:terms of )?{_QUALITY}))"
)
# An image preferred by a sentence: by its name alone, as the better one, as the one of better quality, or as a pick.
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
        finish_reason: How the reply ended, one of `reasoning.FINISH_REASONS`; None where that is not known.

    Returns:
        "first" or "second", in the order the images were shown; None where the reply prefers neither or both.

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
    # With its names taken out, a reply can only be matched by letter.
    letter = extract_choice(re.sub(_NAMED, "it", text), OPTIONS)
    if letter is not None:
        preferred.add("first" if letter == "A" else "second")
    return preferred.pop() if len(preferred) == 1 else None


def _preferred_in(sentence: str) -> set[Preference]:
    """Images that a sentence prefers, unless it denies or questions something before it does."""
    denial = _DENIAL.search(sentence)
    return {
        _PREFERENCES[next(name for name in match.groups() if name)]
        for match in _PREFERRED.finditer(sentence)
        if denial is None or match.end() < denial.end()
    }
