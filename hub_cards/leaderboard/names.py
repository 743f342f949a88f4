"""Names on the boards: which are accepted, which are the same, and to whom each belongs."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.values import brief

ENTRY_FILE = "entry.json"
OWNERS_FILE = "results/owners.json"
"""The file of the Space that says to whom each name belongs; the next build begins with it."""
LONGEST_NAME = 160
"""Characters in a name; names on the Hub have at most 96 on each side of the slash."""
MOST_MARKS = 3
"""Combining marks on one letter; Thai needs several."""
_LATIN = "ßæœøłÆŒØŁ"
"""Latin letters other than those of ASCII with accents."""
_JAPANESE = ("CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER", "KATAKANA-HIRAGANA")
"""Beginnings of the Unicode names of letters that stand together in a word."""
_SCRIPTS = ("ARABIC", "BENGALI", "DEVANAGARI", "HANGUL SYLLABLE", "HEBREW", "TAMIL", "TELUGU", "THAI")
"""The same for words of one script; not Cyrillic, Greek and others, whose letters look like Latin ones."""


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
    if (length := len(shown_name(name))) > LONGEST_NAME:
        yield f"{kind} has a name of {length:,} characters; at most {LONGEST_NAME} are allowed"
        return
    words = re.split(r"[ -/:-@\[-`{-~]", unicodedata.normalize("NFKC", name))
    if character := next(filter(None, map(_misleading, words)), ""):
        yield (
            f"{kind} contains U+{ord(character):04X}, {unicodedata.name(character, 'a control character').lower()}, "
            f"which is invisible or can pass for another character: {name!a:.80}; use ASCII characters, or words of "
            "at least two letters of a script such as Chinese or Arabic"
        )


def _misleading(word: str) -> str:
    """The first character by which a word looks like another one or changes the text around it; "" if there is none."""
    scripts, is_word = set(), len(word) > 1 and unicodedata.category(word[0])[0] == "L"
    marks = 0
    for character in word:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        scripts.add(script := _script(character))
        if not script or len(scripts) > 1 or marks > MOST_MARKS or (script != "LATIN" and not is_word):
            return next((each for each in (character, *word) if not each.isascii()), character)
    return ""


def _script(character: str) -> str:
    """The script of a letter, a mark or an ASCII digit; "" for others."""
    if (unicodedata.normalize("NFD", character)[0].isascii() and character.isprintable()) or character in _LATIN:
        return "LATIN"
    name = unicodedata.name(character, "")
    if unicodedata.category(character)[0] not in "LM" or not name.startswith((*_JAPANESE, *_SCRIPTS)):
        return ""
    return "JAPANESE" if name.startswith(_JAPANESE) else name.split(" ")[0]


@dataclass(frozen=True)
class Owner:
    """Who entered a name first."""

    name: str
    """The owner that its entry states; "" if it states none."""
    folder: str
    """The folder of its entry."""
    is_ranked: bool = False
    """Whether it entered replies that were scored; others give way to the first who does."""

    def is_same(self, other: "Owner") -> bool:
        """Whether an entry of the other owner may update this one's rows."""
        return self.name == other.name if self.name else self.folder == other.folder


def owner_of(recorded: Owner | None, claims: Sequence[Owner]) -> Owner | None:
    """The owner of a name that entries claim; None if several claim it for the first time."""
    if recorded is None or (not recorded.is_ranked and any(claim.is_ranked for claim in claims)):
        first = [claim for claim in claims if claim.is_ranked] or claims
        recorded = first[0] if all(first[0].is_same(claim) for claim in first) else None
    if recorded is not None and not recorded.name:
        # A folder may come to name its owner.
        named = next((claim.name for claim in claims if recorded.is_same(claim)), "")
        return replace(recorded, name=named)
    return recorded


def refused_claim(holder: Owner | None) -> str:
    """Why an entry of a name is not shown, and how to go on."""
    if holder is None:
        return (
            "is entered for the first time from several folders without the same owner, of which none is shown; state "
            f"one owner in the {ENTRY_FILE} of each, or remove all but one"
        )
    owner = f"the owner {holder.name}" if holder.name else f"the folder {brief(holder.folder)}, which names no owner"
    return (
        f"belongs to {owner}; to update its rows, state the same owner in {ENTRY_FILE}, or update that folder. If the "
        f"owner has changed, correct {OWNERS_FILE}"
    )


_OWNERS = TypeAdapter(dict[str, Owner])


def read_owners(out: Path) -> dict[str, Owner]:
    """The owner of each name in an earlier build, by `name_key`; raises UsageError if its file cannot be read."""
    file = out / OWNERS_FILE
    if not file.with_name("index.json").exists():
        return {}
    try:
        return _OWNERS.validate_json(file.read_bytes(), strict=True)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"{file} cannot be read as the owners of names: {reason}; restore it from the Space"
        ) from error


def write_owners(owners: Mapping[str, Owner], out: Path) -> None:
    """Write the owners for the next build."""
    text = json.dumps({key: asdict(owner) for key, owner in sorted(owners.items())}, indent=1)
    (out / OWNERS_FILE).write_text(text + "\n", encoding="ascii")
