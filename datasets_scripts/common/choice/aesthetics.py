"""The groups of AesBench's questions."""

import re

from eyechart.datasets_scripts.common.choice.tables import Categories, lookup
from eyechart.datasets_scripts.common.files.readers import ROW_ERROR, Row, clean_text

DIMENSIONS = {
    "AesP": ("technical quality", "color and light", "composition", "content"),
    "AesE": ("emotion", "interest", "uniqueness", "vibe"),
}
"""Dimensions of perception and empathy (Sec. 3.1 and 3.2 of the paper), as the columns of its Tables 2 and 3."""
PARTS = {"perception": "AesP", "empathy": "AesE", "assessment": "AesA1", "interpretation": "AesI"}
"""The release's name of each configuration's part, in some copies with "_data" added."""
_SOURCES = lookup(("natural", "artistic", "AI-generated"))
_TYPES = lookup(("yes-or-no", "what", "how", "why"), {"yes-no": "yes-or-no"})
_INDEX = re.compile(r"(aes[pei]|aesa1?)(?![a-z0-9])", re.IGNORECASE)
# The question of assessment, the same in all 2,800 rows of the release.
_ASSESSMENT = "how is the aesthetic quality of this image?"
_SOURCE_NAMES = {
    # Names begin with that of the dataset: AADB, PARA, TAD66K, LITE (Unsplash), Impressions, SPAQ, KonIQ-10k.
    "natural": re.compile(r"(aadb|para|tad66k|lite|impression|spaq|koniq)_", re.IGNORECASE),
    # DiffusionDB names its images by version-4 UUIDs, the AGIQA datasets by the generator. "fuchun" is neither, but is
    # the only image left that can complete Table 1's number of generated images.
    "AI-generated": re.compile(
        r"[0-9a-f]{8}[-_][0-9a-f]{4}[-_]4[0-9a-f]{3}[-_][89ab][0-9a-f]{3}[-_][0-9a-f]{12}\.\w+$"
        r"|(attngan|dalle2|deepai|dreamstudio|glide|midjourney|sd1\.5|xl2\.2)_|fuchun\d",
        re.IGNORECASE,
    ),
    # BAID (also plain numbers), CAD (also "44296041_77.jpg"), ArtEmis (also WikiArt's "artist-name_title.jpg").
    "artistic": re.compile(r"(baid|artemis|cad)_|\d+(_\d+)?\.jpg$|[a-z][a-z.-]*_[a-z].*\.jpg$"),
}


def image_source(name: str) -> str:
    """The source of an image, read from its name; "" if that is not certain.

    For the release's 2,800 names, this gives 1,246 natural, 802 artistic and 752 AI-generated images, as in the paper's
    Table 1.

    Examples:
        >>> image_source("baid_131430.jpg"), image_source("midjourney_normal_231.jpg"), image_source("55168.png")
        ('artistic', 'AI-generated', '')
    """
    return next((source for source, pattern in _SOURCE_NAMES.items() if pattern.match(name)), "")


def comparable(text: str) -> str:
    """Return an option or answer for comparison: without case, outer blanks and a final full stop."""
    return clean_text(text).rstrip(".").casefold()


def question_type(question: str, options: list[str]) -> str:
    """The type of a question, read from its wording; "" if that is not certain.

    Examples:
        >>> question_type("Does the image look calm?", ["Yes", "No"]), question_type("Which is it?", ["Red", "Blue"])
        ('yes-or-no', '')
    """
    # One question of the release is in quotation marks.
    first = question.lstrip("\"'").partition(" ")[0].casefold()
    # Two questions of the release have "Yes" as their only option.
    yes_no = {comparable(option) for option in options if option} <= {"yes", "no"}
    if first in ("what", "how", "why"):
        return "" if yes_no else first
    return "yes-or-no" if yes_no else ""


def add_table_groups(rows: list[Row], path: str) -> None:
    """Add to the rows of a table their `part`, "" if unknown, and their other groups under `_groups`."""
    spellings = {"AesA": "AesA1"} | PARTS | {f"aesthetic {name}": part for name, part in PARTS.items()}
    categories = Categories(
        "dimension",
        part=lookup(PARTS.values(), spellings),
        dimension=lookup(name for names in DIMENSIONS.values() for name in names),
        image_source=_SOURCES,
        question_type=_TYPES,
    )
    for _, raw in rows:
        if ROW_ERROR in raw:
            continue
        columns, numbered = raw["columns"], _INDEX.match(raw["index"])
        texts = [columns.get(name, "") for name in ("task", "category", "l2-category", "dimension")]
        # Other toolkits' columns of these names may have other meanings.
        hints = [columns.get(name, "") for name in ("split", "source", "type")]
        groups = categories.sort([numbered[1] if numbered else "", *texts], hints)
        implied = next((part for part, names in DIMENSIONS.items() if groups.get("dimension") in names), "")
        part = groups.pop("part", implied)
        raw |= {"part": "AesA1" if raw["question"].casefold() == _ASSESSMENT else part, "_groups": groups}
    categories.warn(path)
