"""Matches the rows of a predictions file to the items of the data.

eyechart's own files name items by eyechart's ids. An id may be shortened (without the split, or without folders, such
as the name of an image) if it is still unique. Other tools number items differently, so three methods are tried in
turn; each is used only if the match is unique:

1. names: the tool's id or the image's name equals eyechart's id, the id without the split, or the part after its last
   "/", and the question is the same. If most questions differ, the tool has another numbering, and names are not used;
2. question and options: exactly one item of the file and one of the data have them, and the file has the questions and
   options of at least half of the requested items, because two splits may share some questions about different images;
3. position: several items have the same question and options. All items matched so far are in the same order in the
   file and in the data, and the nearest matched items before and after have the same distance in both, which leaves one
   position in the data.

An item that cannot be matched by any of these has no prediction, and its error gives the reason.
"""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.backends.predictions.prediction import Prediction
from eyechart.evaluators.requests.types import Request

NAMES = "names"
CONTENT = "question and options"
PLACE = "place"
READ_AS_EMPTY = frozenset(["#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
"""Options that pandas, which other tools use, reads as empty cells."""
_SPLIT = re.compile(r"(dev|test)-(.+)", re.DOTALL)
_WHOLE = re.compile(r"(-?\d+)\.0")


def option_set(options: Iterable[str]) -> frozenset[str]:
    """Options in comparable form, without those that tools lose."""
    return frozenset(text for option in options if (text := comparable(option)) and text not in READ_AS_EMPTY)


def comparable(text: str) -> str:
    """A text without differences that tools introduce: white space, line breaks, Unicode form, ".0" of a number."""
    text = " ".join(clean_text(text).split())
    number = _WHOLE.fullmatch(text)
    return number[1] if number else text


@dataclass
class Item:
    """All rows of a file about one item."""

    passes: dict[str, Prediction] = field(default_factory=dict)
    """Predictions by name of the pass."""

    @property
    def first(self) -> Prediction:
        """The first prediction in the file."""
        return next(iter(self.passes.values()))

    @property
    def place(self) -> int:
        """The tool's number of the item, or its row in the file."""
        return self.first.row if self.first.place is None else self.first.place

    @property
    def question(self) -> str:
        """The question in comparable form; "" if the file has none."""
        return comparable(self.first.question)

    @property
    def options(self) -> frozenset[str] | None:
        """The options in comparable form; None if the file has none."""
        shown = self.first.options
        return None if shown is None else option_set(shown)


def group_items(predictions: Iterable[Prediction], path: Path) -> list[Item]:
    """Group the rows about the same item, in file order; duplicate rows are dropped.

    Raises:
        BadAnnotationError: Two rows about the same pass over the same item differ.
    """
    items: dict[str, Item] = {}
    for prediction in predictions:
        passes = items.setdefault(prediction.names[0], Item()).passes
        earlier = passes.setdefault(prediction.pass_name, prediction)
        if replace(earlier, row=prediction.row) != prediction:
            reason = (
                f"repeats id '{prediction.names[0]}', pass '{prediction.pass_name}' of row {earlier.row} with "
                "different contents; keep one of the two rows"
            )
            raise BadAnnotationError(reason, path=path, row=prediction.row)
    return list(items.values())


@dataclass(frozen=True)
class _Asked:
    """One item of the data."""

    id: str
    place: int
    prompt: str
    options: frozenset[str]

    def asks(self, item: Item) -> bool:
        """Whether the item's prompt contains the question in the file."""
        return item.question in self.prompt

    def forms(self) -> set[str]:
        """Possible names of the item in other tools' files."""
        split = _SPLIT.fullmatch(self.id)
        bare = split[2] if split else self.id
        return {self.id, bare, _file_name(bare)}


class Matcher:
    """Finds the item of a file for each item of the data.

    Args:
        items: The file's items.
        path: The file, for errors.
        has_our_ids: Whether the file names items by eyechart's ids, complete or shortened.
    """

    def __init__(self, items: Sequence[Item], path: Path, *, has_our_ids: bool) -> None:
        """Keep the items; nothing is matched yet."""
        self._free = list(items)
        self._path = path
        self._has_our_ids = has_our_ids
        self._known: set[str] = set()
        self.found: dict[str, Item] = {}
        """The file's items by id."""
        self.ways = Counter[str]()
        """How many items were matched by each method."""
        self.doubts: dict[str, list[Item]] = {}
        """By id, items of the file that may be about it, if there are several."""
        self.others: dict[str, Item] = {}
        """By id, an item of the file with the same name and another question."""
        self.shared = ""
        """How many items have their question and options in the file, if these are too few to match by content."""

    def match(self, requests: Sequence[Request]) -> None:
        """Match the items of these requests; earlier matches do not change.

        Raises:
            BadAnnotationError: Two items of the file match the same item of the data.
        """
        asked = [item for item in _asked_items(requests) if item.id not in self._known]
        if self._has_our_ids:
            self._match_ids(asked)
        elif asked:
            self._match_names(asked)
            self._match_content(asked)
        # Last, so that an error does not mark them as known.
        self._known.update(item.id for item in asked)

    def _match_ids(self, asked: Sequence[_Asked]) -> None:
        ids = {target.id for target in asked}
        self._take({item.first.names[0]: item for item in self._free if item.first.names[0] in ids}, NAMES)
        counts = Counter(form for target in asked for form in target.forms())
        by_form = {
            form: target.id
            for target in asked
            if target.id not in self.found
            for form in target.forms()
            # A plain number may come from another numbering.
            if counts[form] == 1 and not form.isdigit()
        }
        found: dict[str, Item] = {}
        for item in self._free:
            if item.first.names[0] in by_form:
                self._claim(found, by_form[item.first.names[0]], item)
        self._take(found, NAMES)

    def _match_names(self, asked: Sequence[_Asked]) -> None:
        by_id = {target.id: target for target in asked}
        by_form: dict[str, list[_Asked]] = defaultdict(list)
        for target in asked:
            for form in target.forms():
                by_form[form].append(target)
        found: dict[str, Item] = {}
        for item in self._free:
            names = [form for name in item.first.names for form in (clean_text(name), _file_name(name))]
            exact = [by_id[name] for name in names if name in by_id]
            alike = [by_form[name][0] for name in names if len(by_form.get(name, ())) == 1]
            fitting = next((target for target in (*exact, *alike) if target.asks(item)), None)
            if fitting is not None:
                self._claim(found, fitting.id, item)
            elif exact or alike:
                self.others[(*exact, *alike)[0].id] = item
        self._take(found if len(found) >= len(self.others) else {}, NAMES)

    def _match_content(self, asked: Sequence[_Asked]) -> None:
        """Match by question and options, and the remaining items by position."""
        open_items = [item for item in asked if item.id not in self.found]
        claims = _claims(self._free, open_items)
        claimed = sum(bool(items) for items in claims)
        known = len(asked) - len(open_items) + claimed
        if 2 * known < len(asked):
            self.shared = f"{known} of {len(asked)}" if claimed else ""
            return
        candidates: dict[int, list[_Asked]] = defaultdict(list)
        for target, items in zip(open_items, claims, strict=True):
            for item in items:
                candidates[id(item)].append(target)
        unique = {
            target.id: items[0]
            for target, items in zip(open_items, claims, strict=True)
            if len(items) == 1 and len(candidates[id(items[0])]) == 1
        }
        self._take(unique, CONTENT)
        anchors = _Anchors({item.id: item.place for item in asked}, self.found)
        placed: dict[str, list[Item]] = defaultdict(list)
        for item in self._free:
            place = anchors.place_of(item.place)
            for target in candidates[id(item)]:
                if target.place == place:
                    placed[target.id].append(item)
        self._take({row_id: items[0] for row_id, items in placed.items() if len(items) == 1}, PLACE)
        for target, items in zip(open_items, claims, strict=True):
            if items and target.id not in self.found:
                self.doubts[target.id] = items

    def _claim(self, found: dict[str, Item], row_id: str, item: Item) -> None:
        earlier = found.setdefault(row_id, item)
        if earlier is not item:
            reason = f"matches item '{row_id}', which row {earlier.first.row} matches too"
            raise BadAnnotationError(reason, path=self._path, row=item.first.row)

    def _take(self, found: Mapping[str, Item], way: str) -> None:
        self.found.update(found)
        self.ways[way] += len(found)
        taken = {id(item) for item in found.values()}
        self._free = [item for item in self._free if id(item) not in taken]


class _Anchors:
    """Matched items with their positions in the tool's numbering and in the data; none if the orders differ."""

    def __init__(self, places: Mapping[str, int], found: Mapping[str, Item]) -> None:
        known = sorted((item.place, places[id]) for id, item in found.items() if id in places)
        if any(before > after for (_, before), (_, after) in pairwise(known)):
            known = []
        self._theirs = [theirs for theirs, _ in known]
        self._shifts = [ours - theirs for theirs, ours in known]

    def place_of(self, theirs: int) -> int | None:
        """The position in the data according to the nearest anchors before and after; None if they disagree."""
        after = bisect(self._theirs, theirs)
        shifts = set(self._shifts[max(after - 1, 0) : after + 1])
        return theirs + shifts.pop() if len(shifts) == 1 else None


def _file_name(name: str) -> str:
    return clean_text(name).replace("\\", "/").rpartition("/")[2]


def _asked_items(requests: Sequence[Request]) -> list[_Asked]:
    asked: dict[str, _Asked] = {}
    for request in requests:
        if request.id not in asked:
            prompt = comparable(" ".join(part for part in request.prompt if isinstance(part, str)))
            asked[request.id] = _Asked(request.id, len(asked), prompt, option_set(request.options))
    return list(asked.values())


def _claims(items: Sequence[Item], asked: Sequence[_Asked]) -> list[list[Item]]:
    """For each item of the data, the items of the file that have its question and its options."""
    by_options: dict[frozenset[str], dict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.question and item.options:
            by_options[item.options][item.question].append(item)
    claims = []
    for target in asked:
        questions = by_options.get(target.options, {})
        # A question may be part of a longer one.
        question = max((question for question in questions if question in target.prompt), key=len, default=None)
        claims.append([] if question is None else questions[question])
    return claims
