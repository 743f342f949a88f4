"""Notes below the tables of a comparison: tests, intervals, and runs that do not record clusters."""

from collections.abc import Iterator, Mapping, Sequence

from eyechart.evaluators.comparison.compare import Comparison
from eyechart.evaluators.comparison.difference import INTERVALS, TESTS, Difference

_Places = dict[str, dict[str, None]]
"""Scores by the title of their task, without duplicates."""


def method_lines(differences: Sequence[Difference]) -> Iterator[str]:
    """The test of each p-value, and the kind of each interval or why it is missing.

    Args:
        differences: All that the tables show; those with a note have neither, and the note says why.
    """
    found: dict[str, _Places] = {}
    for one in differences:
        if one.has_test:
            found.setdefault(f"p: {TESTS[one.test]}", {}).setdefault(one.title, {})[one.score] = None
    for one in differences:
        if not one.note:
            words = INTERVALS[one.interval_kind]
            kind = f"N{words[1:]}" if words.startswith("no interval") else f"95 % interval: {words}"
            found.setdefault(kind, {}).setdefault(one.title, {})[f"{one.score} ({one.unit_words})"] = None
    for words, places in found.items():
        yield f"{words}: {_listed(places)}."
    if any(one.has_test and one.interval_kind.startswith("student") for one in differences):
        yield "A Student's t interval can exclude 0 even if p is above 0.05, because p is never below McNemar's p."
    if any(not one.note for one in differences):
        yield "Overlapping intervals of A and B do not mean a tie: use the interval and p of the difference."


def _listed(places: Mapping[str, Mapping[str, None]]) -> str:
    return "; ".join(f"{title}: {' / '.join(scores)}" for title, scores in places.items())


def unread_lines(pairs: Sequence[Comparison]) -> Iterator[str]:
    """Name the runs that do not record what their items share, by task and scores, and what that means."""
    names: dict[tuple[str, int, int], dict[str, None]] = {}
    scores: dict[tuple[str, int, int], dict[str, None]] = {}
    for pair in pairs:
        for one in pair.differences:
            if one.n_unread:
                place = (one.title, one.n_unread, one.n)
                names.setdefault(place, {}).update(dict.fromkeys((pair.first, pair.second)))
                scores.setdefault(place, {})[one.score] = None
    for (title, n_unread, n), (*runs, last) in names.items():
        yield (
            f"{title}: {' / '.join(scores[title, n_unread, n])}: {', '.join(runs)} and {last} do not record which "
            f"items share an image, as is normal for older runs and runs without images. {n_unread:,} of {n:,} items "
            "count as independent: intervals may be too narrow and p-values too small."
        )
