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

from eyechart.metrics.scoring.choices.claims import Claims
from eyechart.metrics.scoring.choices.containers import take_containers
from eyechart.metrics.scoring.choices.lexer import GAP, INSIDE
from eyechart.metrics.scoring.choices.replies import extract_choice
from eyechart.metrics.scoring.choices.text import ends, normalise
from eyechart.metrics.scoring.reasoning import STOPPED_EARLY, split_reasoning

Preference = Literal["first", "second"]

OPTIONS = ("The first image.", "The second image.")

# Each name of an image is replaced by one word, so that rules can refer to it.
_WORDS = ("firstimage", "secondimage")
_PREFERENCES: tuple[Preference, ...] = ("first", "second")
_NOUN = r"(?:image|picture|photo|photograph)"
_NAME = re.compile(
    rf"\b(?:the )?(?:(first|1st)|(?:second|2nd)) (?:{_NOUN}|one|option)\b(?:'s)?"
    rf"|\b(?:the )?{_NOUN} ?#?(?:(1|one|(?-i:A))|(?:2|two|(?-i:B)))\b(?:'s)?"
    r"|\bthe (?:(first)|second)(?= (?:is|has|looks|appears|seems)\b)"
    r"|(?:第(?:(一)|二)[张幅个]|[图](?:(一|1|A)|(?:二|2|B)))(?:图像|图片|图|照片)?",
    re.IGNORECASE,
)
_WHOLE_REPLY = re.compile(r"\W*(?:the )?(?:(first|1st|1)|(?:second|2nd|2))(?: one)?\W*", re.IGNORECASE)
_BLANKS, _MARKDOWN = re.compile(r"[^\S\n]+"), re.compile(r"[*_`#>]+")
# Not the full stop of "A. The first image."
_FIRST_SENTENCE = re.compile(r"(?<=\w{2})[.!?;]+(?=\s)|\n+")
# An image is the whole sentence, is chosen, or is named as the better one.
_CHOSEN = re.compile(rf"(?:(?:\A|(?=[.?\n¶]))(?:{GAP}[L=p])*|[CK]|[AGN][^.?\n¶]*(?:=|(?=:)))(?:{GAP}t)?{GAP}\Z")
# What may stand between an image and "better", and behind "better", if it is about the entire image.
_ALL = "L=pdSDtmrNn"
_BETTER = re.compile(rf"(?:{INSIDE}[{_ALL}]){{0,20}}{INSIDE}G(?:[,:;.?\n¶@]|{GAP}[{_ALL}]|.\Z)")
_JOINED = re.compile(r" & O|,O"), re.compile(r"O(?: & |,)\Z")


def read_preference(text: str, finish_reason: str | None = None) -> Preference | None:
    """The image that a reply prefers, in the order shown; None if it prefers neither or both.

    `finish_reason` says how the reply ended, one of `reasoning.FINISH_REASONS`; None if that is not known.

    Examples:
        >>> read_preference("B. The second image."), read_preference("The second image is blurrier than the first.")
        ('second', None)
    """
    text, contained = take_containers(ends(split_reasoning(text).answer, 20_000))
    found = {_one_preferred(content) for content in contained or [text]}
    preferred = found.pop() if len(found) == 1 else None
    if finish_reason in STOPPED_EARLY and not contained:
        first, *_ = _FIRST_SENTENCE.split(text.strip(), maxsplit=1)
        return preferred if _one_preferred(first) == preferred else None
    return preferred


def _one_preferred(text: str) -> Preference | None:
    """The image preferred by a text without reasoning blocks and answer containers."""
    text = _BLANKS.sub(" ", _MARKDOWN.sub("", normalise(text)))
    if len(text) < 32 and (whole := _WHOLE_REPLY.fullmatch(text)):
        return "first" if whole[1] else "second"
    claims = Claims(_NAME.sub(lambda name: f" {_WORDS[not any(name.groups())]} ", text), _WORDS)
    names = [i for i in claims.named if claims.code(i) == "O"]
    preferred = {claims.letters[i] for i in names if _is_preferred(claims, i)}
    # Without the names of the images, the reply can only be matched by letter.
    letter = extract_choice(_NAME.sub("it", text), OPTIONS)
    preferred.update(letter or "")
    return _PREFERENCES["AB".index(preferred.pop())] if len(preferred) == 1 else None


def _is_preferred(claims: Claims, name: int) -> bool:
    """Whether a sentence prefers the image that it names: as better, as the choice, or by its name alone."""
    left, right = claims.left(name, 20), claims.right(name, 25)
    if claims.is_denied(name) or _JOINED[0].match(right) or _JOINED[1].search(left):
        return False
    is_last = claims.sentence_end(name) == name + 1
    chosen = _CHOSEN.search(left)
    return bool((chosen and (is_last or chosen[0][0] in "CK")) or _BETTER.match(right))
