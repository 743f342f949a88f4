"""Names on the boards: which are accepted, which are the same, and to whom each belongs."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.values import brief

OWNERS_FILE = "results/owners.json"
"""The file of the Space that says to whom each name belongs; the next build begins with it."""
CLAIM = "to update a model's rows, state the same owner in entry.json, or update the first entry's folder"
LONGEST_NAME = 160
"""Characters in a name; names on the Hub have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Combining marks on one letter; Thai needs several."""
_LATIN = "ßæœøłđþðÆŒØŁĐÞÐ"
"""Latin letters other than those of ASCII with accents."""
_EAST_ASIAN = ("CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER", "KATAKANA-HIRAGANA", "HANGUL SYLLABLE")
"""Beginnings of the Unicode names of letters that may stand in a word with Latin ones."""
_OTHERS = ("ARABIC", "BENGALI", "DEVANAGARI", "HEBREW", "TAMIL", "TELUGU", "THAI")
"""Scripts of words of their own. Cyrillic, Greek and others are not accepted: their letters look like Latin ones."""
_STROKES = "一丨丿〇へヘロニーノ"
"""East Asian letters that look like a dash, a digit or a Latin letter in a word with those."""


def shown_name(name: str) -> str:
    """The name as the boards show it: in the Unicode normal form NFKC, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def name_key(name: str) -> str:
    """Equal for the names of one model, which may differ in case and normal form."""
    return shown_name(shown_name(name).casefold())


def name_misfits(kind: str, name: str) -> Iterator[str]:
    """Why the name of a model or judge is not accepted."""
    if not name.strip() or name != name.strip():
        yield f"{kind} is {brief(name)}; expected a name without leading or trailing spaces"
    if len(name) > LONGEST_NAME:
        yield f"{kind} has a name of {len(name):,} characters; at most {LONGEST_NAME} are allowed"
        return
    words = re.split(r"[ -/:-@\[-`{-~]", unicodedata.normalize("NFKC", name))
    if character := next(filter(None, map(_misleading, words)), ""):
        yield (
            f"{kind} contains U+{ord(character):04X}, {unicodedata.name(character, 'a control character').lower()}, "
            f"which is invisible or can pass for another character: {name!a:.80}; use ASCII characters, and letters "
            "of a script such as Chinese or Arabic"
        )


def _misleading(word: str) -> str:
    """The first character by which a word looks like another one or changes the text around it; "" if there is none."""
    scripts: set[str] = set()
    marks = 0
    for character in word:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        scripts.add(script := _script(character, word))
        if not script or marks > MOST_MARKS:
            return character
        if len(scripts) > 1:
            return next(each for each in (character, *word) if not each.isascii())
    return ""


def _script(character: str, word: str) -> str:
    """The script of a letter or mark in a word, East Asian ones counted as Latin; "" for misleading characters."""
    if (unicodedata.normalize("NFD", character)[0].isascii() and character.isprintable()) or character in _LATIN:
        return "LATIN"
    if unicodedata.category(character)[0] not in "LM" or (character in _STROKES and any(map(str.isascii, word))):
        return ""
    name = unicodedata.name(character, "")
    return "LATIN" if name.startswith(_EAST_ASIAN) else name.split(" ")[0] if name.startswith(_OTHERS) else ""


@dataclass(frozen=True)
class Owner:
    """Who entered a name first."""

    name: str
    """The owner that its entry states; "" if it states none."""
    folder: str
    """The folder of its entry."""

    def __str__(self) -> str:
        """As errors name it."""
        return f"the owner {self.name}" if self.name else f"the folder {brief(self.folder)}, which names no owner"

    def is_same(self, other: "Owner") -> bool:
        """Whether an entry of the other owner may update this one's rows."""
        return self.name == other.name if self.name else self.folder == other.folder


def read_owners(out: Path) -> dict[str, Owner]:
    """The owner of each name in an earlier build, by `name_key`; raises UsageError if its file cannot be read."""
    file = out / OWNERS_FILE
    if not file.is_file():
        return {}
    try:
        return {key: Owner(**owner) for key, owner in json.loads(file.read_bytes()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{file} cannot be read as the owners of names: {error}; restore it from the Space") from error


def write_owners(owners: Mapping[str, Owner], out: Path) -> None:
    """Write the owners for the next build."""
    text = json.dumps({key: asdict(owner) for key, owner in sorted(owners.items())}, indent=1)
    (out / OWNERS_FILE).write_text(text + "\n", encoding="ascii")
