"""Statements of a text about the look of an image, such as (sharpness, bad), read with an attribute lexicon.

This is a deterministic baseline of our own, not from a paper, and for English only. A word of the lexicon states an
attribute by itself ("blurry", "vivid"), names an attribute ("lighting") that the nearest judgement in its clause
("poor") rates, or reverses a statement ("not", "free of"). Irony, comparisons between images and reasoning are not
recognised.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from eyechart.metrics.scoring.choices.text import Words, ends_sentence, normalise, split_words

# An attribute and 1 (good), -1 (bad) or 0 (mentioned without a judgement).
Statement = tuple[str, int]
Kind = Literal["state", "name", "value", "little", "negate", "copula", "pass"]

# Attribute: words that name it, words that state it as good, and as bad. Phrases are written without hyphens.
_ATTRIBUTES = {
    "sharpness": (
        "clarity, sharpness, focus, focusing, definition, resolution",
        "clear, clearly, sharp, crisp, focused, in focus, in sharp focus, well focused",
        "blur, blurry, blurred, blurriness, blurring, unclear, fuzzy, unsharp, defocused, unfocused, out of focus",
    ),
    "detail": (
        "detail, texture",
        "detailed, intricate, well defined",
        "featureless, smeared, smudged",
    ),
    "noise": (
        "",
        "clean, noiseless",
        "noise, noisy, grain, grainy, graininess, speckle, speckled",
    ),
    "artifacts": (
        "",
        "undistorted",
        "artifact, compression, compressed, blocky, blocking, blockiness, pixelated, pixelation, banding, aliasing, "
        "ringing, distortion, distorted, moire, ghosting, watermark",
    ),
    "brightness": (
        "brightness, luminance",
        "bright, brightly, brightly lit, well lit, luminous, sunny, illuminated",
        "dark, darkness, dim, dimly, dimly lit, poorly lit, underexposed, underexposure, under exposed",
    ),
    "exposure": (
        "exposure",
        "well exposed, properly exposed",
        "overexposed, overexposure, over exposed, underexposed, underexposure, under exposed, blown out",
    ),
    "lighting": (
        "lighting, light, illumination",
        "well lit, brightly lit",
        "backlit, backlight, backlighting, poorly lit, dimly lit",
    ),
    "contrast": (
        "contrast",
        "contrasting, contrasty",
        "flat, low contrast",
    ),
    "color": (
        "color, hue, saturation, palette, tint",
        "colorful, vivid, vibrant, saturated, colored",
        "monotonous, monotone, dull, faded, desaturated, muted, monochrome, colorless, drab, washed out, pale",
    ),
    "composition": (
        "composition, framing, layout, arrangement",
        "balanced, symmetrical, symmetric, centered, in the center, harmonious, well composed, well framed",
        "unbalanced, imbalanced, cluttered, incomplete, cropped, cut off, messy, chaotic, tilted, crooked, off center",
    ),
    "depth": (
        "depth, perspective, depth of field",
        "layered, three dimensional",
        "two dimensional",
    ),
    "quality": (
        "quality, fidelity",
        "high quality, good quality",
        "low quality, poor quality",
    ),
    "appeal": (
        "aesthetic, aesthetically, appeal, beauty",
        "beautiful, appealing, attractive, pleasing, stunning, picturesque, charming, elegant, gorgeous, captivating",
        "ugly, unappealing, unattractive, bland, plain, unpleasant",
    ),
    "emotion": (
        "mood, atmosphere, emotion, feeling, vibe, ambiance",
        "peaceful, serene, calm, joyful, cheerful, happy, lively, inviting, pleasant, cozy, romantic, tranquil",
        "gloomy, sad, eerie, oppressive, depressing, lonely, melancholy, tense, dreary, desolate",
    ),
    "interest": (
        "interest, curiosity",
        "interesting, intriguing, engaging, eye catching, fascinating, striking",
        "uninteresting, boring, tedious",
    ),
    "originality": (
        "uniqueness, originality, creativity",
        "unique, original, creative, novel, innovative, imaginative, distinctive",
        "ordinary, cliched, unoriginal, mundane, commonplace",
    ),
}
# Attributes of aesthetics that are not low-level appearance.
AESTHETIC = frozenset({"emotion", "interest", "originality"})

_GOOD = (
    "good, high, excellent, great, strong, rich, adequate, sufficient, appropriate, proper, nice, fine, perfect, "
    "superb, decent, well, ample, accurate, ideal, outstanding, reasonable, impressive, remarkable"
)
_BAD = "poor, poorly, bad, badly, weak, terrible, improper, inappropriate, inaccurate, mediocre, awful, unsatisfactory"
# Little of a named attribute is bad, and little of something bad is good.
_LITTLE = (
    "low, little, few, minimal, insufficient, inadequate, lack, lacks, lacking, lack of, lacks of, limited, less, "
    "free, absence of, devoid of"
)
_NEGATORS = (
    "not, no, never, without, neither, nor, cannot, hardly, barely, isn't, aren't, doesn't, don't, wasn't, weren't, "
    "free of, free from"
)
# These contain a negator but negate nothing.
_NO_NEGATORS = "not only, not just, not merely, no doubt"
_COPULAS = "is, are, was, were, remains, seems, appears"
_BREAKS = frozenset({"but", "however", "although", "though", "while", "whereas", "yet", "because", "since", "despite"})
_CLAUSE_MARKS = frozenset(".,;:!?()[]\n\u3002\u2014\u2013")
# Maximum number of words between a name and its judgement.
_REACH = 6


@dataclass(frozen=True)
class _Entry:
    """An entry of the lexicon.

    Attributes:
        kind: The function of the phrase.
        statements: The statements that it makes.
        names: The attributes that it names.
        value: 1 or -1, the value that it states or judges.
    """

    kind: Kind
    statements: tuple[Statement, ...] = ()
    names: tuple[str, ...] = ()
    value: int = 0


@dataclass(frozen=True)
class Clause:
    """A clause of a text.

    Attributes:
        statements: Its statements about the look of an image.
        last: Whether it is the last clause of a sentence.
    """

    statements: frozenset[Statement]
    last: bool


@lru_cache(maxsize=4096)
def read_clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text, each with its statements.

    Examples:
        >>> [sorted(clause.statements) for clause in read_clauses("The lighting is poor, but the colors are vivid.")]
        [[('lighting', -1)], [('color', 1)]]
    """
    words = split_words(normalise(text).replace("colour", "color"))
    clauses: list[Clause] = []
    start = 0
    for end in range(1, len(words.words) + 1):
        gap = words.gaps[end]
        if end == len(words.words) or words.folded[end] in _BREAKS or not _CLAUSE_MARKS.isdisjoint(gap):
            clauses.append(Clause(_clause_statements(_entries(words, start, end)), ends_sentence(gap)))
            start = end
    return tuple(clauses)


def read_statements(text: str) -> frozenset[Statement]:
    """The statements of a text about the look of an image.

    Args:
        text: Any string.

    Returns:
        Attributes with 1 (good), -1 (bad), or 0 (only mentioned). An attribute may be good in one clause and bad in
        another.

    Examples:
        >>> sorted(read_statements("It is not blurry and free of noise. The composition is shown."))
        [('composition', 0), ('noise', 1), ('sharpness', 1)]
    """
    made = frozenset().union(*(clause.statements for clause in read_clauses(text)))
    judged = {attribute for attribute, value in made if value}
    return frozenset((attribute, value) for attribute, value in made if value or attribute not in judged)


def _entries(words: Words, start: int, end: int) -> list[tuple[int, _Entry]]:
    """The lexicon's phrases between two words, with their positions; the longest phrase at each place."""
    lexicon = _lexicon()
    found, position = [], start
    while position < end:
        length = 1
        for size in range(min(_LONGEST, end - position), 0, -1):
            phrase = " ".join(words.folded[position : position + size])
            entry = lexicon.get(phrase) or lexicon.get(phrase.removesuffix("s"))
            if entry:
                found.append((position, entry))
                length = size
                break
        position += length
    return found


def _clause_statements(entries: list[tuple[int, _Entry]]) -> frozenset[Statement]:
    """The statements of one clause."""
    negated_from = next((position for position, entry in entries if entry.kind == "negate"), None)
    judgements = [(position, entry.value) for position, entry in entries if entry.kind in ("value", "little")]

    def sign(position: int) -> int:
        return 1 if negated_from is None or position < negated_from else -1

    stated: set[Statement] = set()
    for index, (position, entry) in enumerate(entries):
        if entry.kind == "state":
            turned = -1 if entry.value < 0 and _is_little(index, entries) else 1
            stated.update((attribute, value * sign(position) * turned) for attribute, value in entry.statements)
    names = [(position, attribute) for position, entry in entries if entry.kind == "name" for attribute in entry.names]
    for position, attribute in names:
        if (attribute, 1) in stated or (attribute, -1) in stated:
            continue
        place, value = _nearest(position, judgements)
        # "No detail" is bad; any other bare mention is neither good nor bad.
        stated.add((attribute, value * sign(max(position, place)) if value else min(sign(position), 0)))
    return frozenset(stated)


def _nearest(position: int, judgements: list[tuple[int, int]]) -> tuple[int, int]:
    """Place and value of the judgement that belongs to a name; value 0 if none is near enough."""
    first = bisect_left(judgements, (position - _REACH, -1))
    last = bisect_right(judgements, (position + _REACH, 1))
    # Of two equally near judgements, the later one: "clarity is low and lighting is good".
    near = judgements[first:last]
    return min(near, key=lambda judgement: (abs(judgement[0] - position), -judgement[0]), default=(position, 0))


def _is_little(index: int, entries: list[tuple[int, _Entry]]) -> bool:
    """Whether an entry is stated to be little: "low noise", "noise-free", "the noise level is low"."""
    place = entries[index][0]
    before = entries[index - 1] if index else None
    if before is not None and before[1].kind == "little" and place - before[0] <= 2:
        return True
    behind = entries[index + 1 : index + 3]
    if len(behind) == 2 and behind[0][1].kind == "copula":
        return behind[1][1].kind == "little" and behind[1][0] - place <= _REACH
    return bool(behind) and behind[0][1].kind == "little" and behind[0][0] == place + 1


def phrases(listed: str) -> list[str]:
    """The entries of a comma-separated list.

    Examples:
        >>> phrases("dark, dimly lit")
        ['dark', 'dimly lit']
    """
    return [phrase for phrase in listed.split(", ") if phrase]


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, _Entry]:
    """All phrases with their entries."""
    stated: dict[str, list[Statement]] = {}
    names: dict[str, list[str]] = {}
    for attribute, (name, good, bad) in _ATTRIBUTES.items():
        for phrase in phrases(name):
            names.setdefault(phrase, []).append(attribute)
        for value, listed in ((1, good), (-1, bad)):
            for phrase in phrases(listed):
                stated.setdefault(phrase, []).append((attribute, value))
    entries = {phrase: _Entry("name", names=tuple(made)) for phrase, made in names.items()}
    entries |= {phrase: _Entry("state", tuple(made), value=made[0][1]) for phrase, made in stated.items()}
    entries |= {phrase: _Entry("value", value=1) for phrase in phrases(_GOOD)}
    entries |= {phrase: _Entry("value", value=-1) for phrase in phrases(_BAD)}
    entries |= {phrase: _Entry("little", value=-1) for phrase in phrases(_LITTLE)}
    kinds: tuple[tuple[Kind, str], ...] = (("negate", _NEGATORS), ("pass", _NO_NEGATORS), ("copula", _COPULAS))
    return entries | {phrase: _Entry(kind) for kind, listed in kinds for phrase in phrases(listed)}


NEGATORS = frozenset(phrases(_NEGATORS))
_LONGEST = max(len(phrase.split()) for phrase in _lexicon())
