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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from eyechart.datasets_scripts.common.errors import BadAnnotationError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.backends.predictions.parsers import Prediction
from eyechart.evaluators.requests.types import Request

NAMES, CONTENT, POSITION = "names", "question and options", "position"
READ_AS_EMPTY = frozenset(["#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
"""Options that pandas, which other tools use, reads as empty cells."""
_SPLIT = re.compile(r"(dev|test)-(?=.)", re.DOTALL)
_WHOLE = re.compile(r"(-?\d+)\.0")


def comparable(text: str) -> str:
    """A text without differences that tools introduce: white space, line breaks, Unicode form, ".0" of a number."""
    text = " ".join(clean_text(text).split())
    number = _WHOLE.fullmatch(text)
    return number[1] if number else text


@dataclass
class FileItem:
    """All rows of a file about one item."""

    passes: dict[str, Prediction] = field(default_factory=dict)
    """Predictions by name of the pass."""

    @property
    def first(self) -> Prediction:
        """The first prediction in the file."""
        return next(iter(self.passes.values()))

    @property
    def index(self) -> int:
        """The tool's number of the item, or its row in the file."""
        return self.first.row if self.first.index is None else self.first.index

    @property
    def question(self) -> str:
        """The question in comparable form; "" if the file has none."""
        return comparable(self.first.question)


def group_items(predictions: Iterable[Prediction], path: Path) -> list[FileItem]:
    """Group the rows about the same item, in file order; duplicate rows are dropped.

    Raises:
        BadAnnotationError: Two rows about the same pass over the same item differ.
    """
    items: dict[str, FileItem] = {}
    for prediction in predictions:
        passes = items.setdefault(prediction.names[0], FileItem()).passes
        earlier = passes.setdefault(prediction.pass_name, prediction)
        if replace(earlier, row=prediction.row) != prediction:
            reason = (
                f"repeats id '{prediction.names[0]}', pass '{prediction.pass_name}' of row {earlier.row} with "
                "different contents; keep one of the two rows"
            )
            raise BadAnnotationError(reason, path=path, row=prediction.row)
    return list(items.values())


@dataclass(frozen=True)
class _Target:
    """One item of the data, at an index among the requested ones."""

    id: str
    index: int
    prompt: str
    options: frozenset[str]

    def names(self) -> set[str]:
        """Possible names of the item in files."""
        bare = _SPLIT.sub("", self.id, count=1) if _SPLIT.match(self.id) else self.id
        return {self.id, bare, _file_name(bare)}


class Matcher:
    """Finds the item of a file for each item of the data.

    Args:
        items: The file's items.
        path: The file, for errors.
        has_our_ids: Whether the file names items by eyechart's ids, complete or shortened.
    """

    def __init__(self, items: Sequence[FileItem], path: Path, *, has_our_ids: bool) -> None:
        """Keep the items; nothing is matched yet."""
        self._free = list(items)
        self._path = path
        self._has_our_ids = has_our_ids
        self._known: set[str] = set()
        self.matched: dict[str, FileItem] = {}
        """The file's items by id."""
        self.ways = Counter[str]()
        """How many items were matched by each method."""
        self.doubts: dict[str, list[FileItem]] = {}
        """By id, items of the file that may be about it, if there are several."""
        self.others: dict[str, FileItem] = {}
        """By id, an item of the file with the same name and another question."""
        self.shared = ""
        """How many items have their question and options in the file, if these are too few to match by content."""

    def match(self, requests: Sequence[Request]) -> None:
        """Match the items of these requests; earlier matches do not change.

        Raises:
            BadAnnotationError: Two items of the file match the same item of the data.
        """
        requested: dict[str, Request] = {}
        for request in requests:
            requested.setdefault(request.id, request)
        targets = [
            _Target(row_id, index, _prompt(request), _options(request.options))
            for index, (row_id, request) in enumerate(requested.items())
            if row_id not in self._known
        ]
        if self._has_our_ids:
            self._match_ids(targets)
        elif targets:
            self._match_names(targets)
            self._match_content(targets)
        # Last, so that an error does not mark them as known.
        self._known.update(requested)

    def _match_ids(self, targets: Sequence[_Target]) -> None:
        ids = {target.id for target in targets}
        self._take({item.first.names[0]: item for item in self._free if item.first.names[0] in ids}, NAMES)
        counts = Counter(name for target in targets for name in target.names())
        id_of = {
            name: target.id
            for target in targets
            if target.id not in self.matched
            for name in target.names()
            # A plain number may come from another numbering.
            if counts[name] == 1 and not name.isdigit()
        }
        matched: dict[str, FileItem] = {}
        for item in self._free:
            if item.first.names[0] in id_of:
                self._claim(matched, id_of[item.first.names[0]], item)
        self._take(matched, NAMES)

    def _match_names(self, targets: Sequence[_Target]) -> None:
        by_id = {target.id: target for target in targets}
        by_name: dict[str, list[_Target]] = defaultdict(list)
        for target in targets:
            for name in target.names():
                by_name[name].append(target)
        matched: dict[str, FileItem] = {}
        for item in self._free:
            names = [form for name in item.first.names for form in (clean_text(name), _file_name(name))]
            candidates = [by_id[name] for name in names if name in by_id]
            candidates += [by_name[name][0] for name in names if len(by_name.get(name, ())) == 1]
            fitting = next((target for target in candidates if item.question in target.prompt), None)
            if fitting is not None:
                self._claim(matched, fitting.id, item)
            elif candidates:
                self.others[candidates[0].id] = item
        self._take(matched if len(matched) >= len(self.others) else {}, NAMES)

    def _match_content(self, targets: Sequence[_Target]) -> None:
        """Match by question and options, and the remaining items by position."""
        remaining = [target for target in targets if target.id not in self.matched]
        claims = self._same_content(remaining)
        claimed = sum(bool(items) for items in claims.values())
        known = len(targets) - len(remaining) + claimed
        if 2 * known < len(targets):
            self.shared = f"{known} of {len(targets)}" if claimed else ""
            return
        claimants: dict[int, list[_Target]] = defaultdict(list)
        for target in remaining:
            for item in claims[target.id]:
                claimants[id(item)].append(target)
        singles = {row_id: items[0] for row_id, items in claims.items() if len(items) == 1}
        self._take({row_id: item for row_id, item in singles.items() if len(claimants[id(item)]) == 1}, CONTENT)
        shift = _shifts({target.id: target.index for target in targets}, self.matched)
        positioned: dict[str, list[FileItem]] = defaultdict(list)
        for item in self._free:
            distance = shift(item.index)
            for target in claimants[id(item)]:
                if distance is not None and target.index == item.index + distance:
                    positioned[target.id].append(item)
        self._take({row_id: items[0] for row_id, items in positioned.items() if len(items) == 1}, POSITION)
        self.doubts |= {row_id: items for row_id, items in claims.items() if items and row_id not in self.matched}

    def _same_content(self, targets: Sequence[_Target]) -> dict[str, list[FileItem]]:
        """By id of each target, the items of the file that have its question and its options."""
        by_options: dict[frozenset[str], dict[str, list[FileItem]]] = defaultdict(lambda: defaultdict(list))
        for item in self._free:
            if item.question and (options := _options(item.first.options or ())):
                by_options[options][item.question].append(item)
        claims = {}
        for target in targets:
            questions = by_options.get(target.options, {})
            # A question may be part of a longer one.
            question = max((question for question in questions if question in target.prompt), key=len, default="")
            claims[target.id] = list(questions.get(question, ()))
        return claims

    def _claim(self, matched: dict[str, FileItem], row_id: str, item: FileItem) -> None:
        earlier = matched.setdefault(row_id, item)
        if earlier is not item:
            reason = f"matches item '{row_id}', which row {earlier.first.row} matches too"
            raise BadAnnotationError(reason, path=self._path, row=item.first.row)

    def _take(self, matched: Mapping[str, FileItem], way: str) -> None:
        self.matched.update(matched)
        self.ways[way] += len(matched)
        taken = {id(item) for item in matched.values()}
        self._free = [item for item in self._free if id(item) not in taken]


def _shifts(indices: Mapping[str, int], matched: Mapping[str, FileItem]) -> Callable[[int], int | None]:
    """The distance from an index in the file to that in the data, on which the nearest matched items agree."""
    known = sorted((item.index, indices[row_id]) for row_id, item in matched.items() if row_id in indices)
    if any(before > after for (_, before), (_, after) in pairwise(known)):
        known = []

    def shift(index: int) -> int | None:
        after = bisect(known, index, key=lambda pair: pair[0])
        distances = {ours - theirs for theirs, ours in known[max(after - 1, 0) : after + 1]}
        return distances.pop() if len(distances) == 1 else None

    return shift


def _options(options: Iterable[str]) -> frozenset[str]:
    """Options in comparable form, without those that tools lose."""
    return frozenset(text for option in options if (text := comparable(option)) and text not in READ_AS_EMPTY)


def _file_name(name: str) -> str:
    return clean_text(name).replace("\\", "/").rpartition("/")[2]


def _prompt(request: Request) -> str:
    return comparable(" ".join(part for part in request.prompt if isinstance(part, str)))
