"""Winners of pairs in your own data: which of two images is better, or that they are equal."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError
from eyechart.datasets_scripts.common.files.readers import clean_text

WINNER = "winner"
QUALITIES = ("first_quality", "second_quality")
TIE = "tie"
_PLACES = (("first", "a", "left"), ("second", "b", "right"))
_TIES = (TIE, "draw", "equal", "same")


def has_winners(given: Mapping[str, Sequence[str]], columns: Collection[str]) -> bool:
    """Whether pairs have winners and not qualities: by `columns` of the user, or else by the names in the data.

    Raises:
        UsageError: The user names both.
    """
    named = [name for name in QUALITIES if name in given]
    if WINNER in given and named:
        raise UsageError(f"columns: {WINNER!r} and {named[0]!r} are both given; leave out one")
    has_qualities = bool(named) or all(name in columns for name in QUALITIES)
    return WINNER in given or (WINNER in columns and not has_qualities)


def read_winner(value: Any, names: Sequence[Sequence[str]], base: int | None, *, path: str, number: int) -> str:
    """The better image of a pair.

    Args:
        value: With a base, the number of the better image, or the number halfway between for a tie. Otherwise the
            better image's id, file or column, or first, second, a, b, left, right; or tie, draw, equal, same.
        names: For each of the two images, its id and its column.
        base: The number of the first image; None if values are texts.
        path: The file, for errors.
        number: The row's number, for errors.

    Returns:
        "first", "second" or "tie".

    Raises:
        BadAnnotationError: The value is not one of these, or means both images.
    """
    text = clean_text(str(value))
    if base is not None:
        found = _numbered(text, base)
        expected = f"{base} (the first image), {base + 1} (the second) or {base + 0.5} (a tie), as base is {base}"
    else:
        found = [
            place[0]
            for place, own in zip(_PLACES, names, strict=True)
            if text in own or text.lower() in (*place, *(name.lower() for name in own[1:]))
        ]
        found += [TIE] if text.lower() in _TIES and not found else []
        images = " or ".join(repr(one) for own in names for one in own)
        expected = f"{images}; first or second, a or b, left or right; or tie. Numbers need a base"
    if len(found) != 1:
        problem = "means both images" if len(found) > 1 else "is not allowed"
        raise BadAnnotationError(f"{WINNER} {value!r:.80} {problem}; expected {expected}", path=path, row=number)
    return found[0]


def _numbered(text: str, base: int) -> list[str]:
    try:
        place = float(text) - base
    except ValueError:
        return []
    return [name for at, name in ((0, "first"), (0.5, TIE), (1, "second")) if place == at]
