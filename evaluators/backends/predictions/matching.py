"""Matches the rows of a predictions file to the items of the data: by ids, names, question and options, or position.

A match must be unique. An item without one has no prediction, and its error gives the reason.
"""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.backends.predictions.prediction import Prediction
from eyechart.evaluators.requests.errors import MissingPredictionError
from eyechart.evaluators.requests.types import Request

NAMES, CONTENT, POSITION = "names", "question and options", "position"
READ_AS_EMPTY = frozenset(["#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"])
"""Options that pandas, which other tools use, reads as empty cells."""
_MOST_NAMED = 3
_SPLIT = re.compile(r"^(dev|test)-(?=.)", re.DOTALL)
_WHOLE = re.compile(r"(-?\d+)\.0")


def comparable(text: str) -> str:
    """A text without differences that tools introduce: white space, line breaks, Unicode form, ".0" of a number."""
    text = " ".join(clean_text(text).split())
    number = _WHOLE.fullmatch(text)
    return number[1] if number else text


def group_items(rows: list[Prediction], path: Path) -> tuple[dict[str, Prediction], dict[str, dict[str, Prediction]]]:
    """By id, the first row about each item, and by pass, the rows about items with several; equal rows are dropped."""
    items: dict[str, Prediction] = {}
    passes: dict[str, dict[str, Prediction]] = {}
    for prediction in rows:
        first = items.setdefault(prediction.id, prediction)
        if first is prediction:
            continue
        of_item = passes.setdefault(prediction.id, {first.pass_name: first})
        earlier = of_item.setdefault(prediction.pass_name, prediction)
        fields = {*earlier.__slots__, *prediction.__slots__} - {"row"}
        if any(getattr(earlier, name) != getattr(prediction, name) for name in fields):
            reason = (
                f"repeats id '{prediction.id}', pass '{prediction.pass_name}' of row {earlier.row} with "
                "different contents; keep one of the two rows"
            )
            raise BadAnnotationError(reason, path=path, row=prediction.row)
    return items, passes


class _Target:
    """One item of the data, at a position among the requested items."""

    def __init__(self, request: Request, position: int) -> None:
        """Bring its texts into comparable form."""
        self.id, self.position = request.id, position
        self.prompt = comparable(" ".join(part for part in request.prompt if isinstance(part, str)))
        self.options = _options(request.options)


_Pair = tuple[str, Prediction]
"""The id of an item of the data, and an item of the file."""


class Matcher:
    """Finds the item of a file, which may name items by eyechart's ids, for each item of the data."""

    def __init__(self, items: Mapping[str, Prediction], path: Path, *, has_our_ids: bool) -> None:
        """Keep the items, each as its first prediction, by their ids in the file; nothing is matched yet."""
        self._items = items
        self._is_taken = bytearray(1 + max(item.row for item in items.values()))
        self._path = path
        self._has_our_ids = has_our_ids
        self.matched: dict[str, Prediction | None] = {}
        """The file's item, if there is one, for each id that was requested."""
        self.ways = Counter[str]()
        """How many items were matched by each method."""
        self.errors: dict[str, DataError] = {}
        """By id, why items without a match have none, where there is more to say than `hint`."""
        self.hint = ""
        """Why the file may be for other data; "" if most items are matched."""

    def match(self, requests: Sequence[Request]) -> None:
        """Match the items of these requests; earlier matches do not change."""
        by_id: dict[str, Request] = {}
        for request in requests:
            by_id.setdefault(request.id, request)
        new = [(request, position) for position, request in enumerate(by_id.values()) if request.id not in self.matched]
        if self._has_our_ids:
            # Complete ids come first.
            items = (self._items.get(request.id) for request, _ in new)
            self._take([(item.id, item) for item in items if item and not self._is_taken[item.row]], NAMES)
        if any(request.id not in self.matched for request, _ in new):
            targets = [_Target(request, position) for request, position in new]
            self._match_names(targets)
            self._match_content(targets)
        if not self.ways and not self.hint:
            names = [f"'{id}'" for id in islice(self._items, _MOST_NAMED + 1)]
            self.hint = f", or for any other item; ids in the file: {_some(names)}"
        # Last, so that an error does not mark them as known.
        self.matched |= {row_id: None for row_id in by_id if row_id not in self.matched}

    def _match_names(self, targets: Sequence[_Target]) -> None:
        """Match by ids and by names of images, where the question, if the file has it, is the same."""
        by_id = {target.id: target for target in targets if target.id not in self.matched}
        by_name = _by_unique_name(targets)
        if self._has_our_ids:
            # A plain number may come from another numbering.
            by_name = {name: target for name, target in by_name.items() if target.id in by_id and not name.isdigit()}
        pairs: list[_Pair] = []
        different: dict[str, DataError] = {}
        named = [self._items[name] for name in by_id.keys() | by_name if name in self._items]
        named += [item for name in by_id.keys() | by_name for item in self._by_other_name.get(name, ())]
        for _, item in sorted({item.row: item for item in named if not self._is_taken[item.row]}.items()):
            names = _names(item)
            candidates = [lookup[name] for lookup in (by_id, by_name) for name in names if name in lookup]
            same = [target for target in candidates if comparable(item.question) in target.prompt]
            if same:
                pairs.append((same[0].id, item))
            elif candidates:
                reason = f"'{item.id}' has a different question from item '{candidates[0].id}': {item.question!r}"
                different[candidates[0].id] = DataError(reason, path=self._path, row=item.row)
        self.errors |= different
        # If most questions differ, the tool has another numbering.
        pairs = pairs if len(pairs) >= len(different) else []
        first: dict[str, Prediction] = {}
        for row_id, item in pairs:
            if first.setdefault(row_id, item) is not item:
                reason = f"matches item '{row_id}', which row {first[row_id].row} matches too"
                raise BadAnnotationError(reason, path=self._path, row=item.row)
        self._take(pairs, NAMES)

    def _match_content(self, targets: Sequence[_Target]) -> None:
        """Match by question and options, and the remaining items by position."""
        remaining = [target for target in targets if target.id not in self.matched]
        pairs = self._same_content(remaining) if remaining else []
        claimed: dict[str, list[str]] = defaultdict(list)
        for row_id, item in pairs:
            claimed[row_id].append(str(item.row))
        n, known = len(targets), len(targets) - len(remaining) + len(claimed)
        # Two splits may share some questions about different images.
        if 2 * known < n:
            if claimed:
                self.hint = f"; the file has the questions of only {known} of {n} items; is it for other data?"
            return
        self._take(pairs, CONTENT)
        left = [pair for pair in pairs if not self._is_taken[pair[1].row]]
        self._take([*filter(_neighbors({t.id: t.position for t in targets}, self.matched), left)], POSITION)
        for row_id in [row_id for row_id in claimed if row_id not in self.matched]:
            reason = f"row {_some(claimed[row_id])} has its question and options, but several items match"
            self.errors[row_id] = MissingPredictionError(f"no prediction for id '{row_id}': {reason}", path=self._path)

    def _same_content(self, targets: Sequence[_Target]) -> list[_Pair]:
        """Each target with the items of the file that have its question and its options."""
        for items in chain.from_iterable(questions.values() for questions in self._by_content.values()):
            items[:] = [item for item in items if not self._is_taken[item.row]]
        pairs = []
        for target in targets:
            questions = self._by_content.get(target.options, {})
            # A question may be part of a longer one.
            fitting = (question for question, items in questions.items() if items and question in target.prompt)
            pairs += [(target.id, item) for item in questions.get(max(fitting, key=len, default=""), ())]
        return pairs

    @cached_property
    def _by_content(self) -> dict[frozenset[str], dict[str, list[Prediction]]]:
        """The items by options and question, if they have both."""
        by_options: dict[frozenset[str], dict[str, list[Prediction]]] = defaultdict(lambda: defaultdict(list))
        for item in self._items.values():
            if item.options and (question := comparable(item.question)) and (options := _options(item.options)):
                by_options[options][question].append(item)
        return by_options

    @cached_property
    def _by_other_name(self) -> dict[str, list[Prediction]]:
        """The items by names that are not their ids in the file."""
        by_name: dict[str, list[Prediction]] = defaultdict(list)
        for item in self._items.values():
            for name in {*_names(item)} - {item.id}:
                by_name[name].append(item)
        return by_name

    def _take(self, pairs: Sequence[_Pair], way: str) -> None:
        """Match the pairs whose id and item are in no other pair."""
        ids, items = Counter(row_id for row_id, _ in pairs), Counter(item for _, item in pairs)
        for row_id, item in pairs:
            if ids[row_id] == items[item] == 1:
                self.matched[row_id] = item
                self._is_taken[item.row] = True
                self.ways[way] += 1


def _neighbors(indices: Mapping[str, int], matched: Mapping[str, Prediction | None]) -> Callable[[_Pair], bool]:
    """Whether a pair's index in the file is as far from that in the data as those of the nearest matched items."""
    known = sorted((_index(item), ours) for row_id, ours in indices.items() if (item := matched.get(row_id)))
    if any(before > after for (_, before), (_, after) in pairwise(known)):
        known = []

    def agree(pair: _Pair) -> bool:
        index = _index(pair[1])
        after = bisect(known, index, key=lambda pair: pair[0])
        distances = {ours - theirs for theirs, ours in known[max(after - 1, 0) : after + 1]}
        return distances == {indices[pair[0]] - index}

    return agree


def _index(item: Prediction) -> int:
    """The tool's number of the item, or its row in the file."""
    return item.row if item.index is None else item.index


def _names(item: Prediction) -> list[str]:
    return [form for name in (item.id, item.image) if name for form in (clean_text(name), _file_name(name))]


def _by_unique_name(targets: Iterable[_Target]) -> dict[str, _Target]:
    """Targets by their possible names in files, without names that several targets have."""
    by_name: dict[str, list[_Target]] = defaultdict(list)
    for target in targets:
        bare = _SPLIT.sub("", target.id)
        for name in {target.id, bare, _file_name(bare)}:
            by_name[name].append(target)
    return {name: same[0] for name, same in by_name.items() if len(same) == 1}


def _options(options: Iterable[str]) -> frozenset[str]:
    """Options in comparable form, without those that tools lose."""
    return frozenset(text for option in options if (text := comparable(option)) and text not in READ_AS_EMPTY)


def _file_name(name: str) -> str:
    return clean_text(name).replace("\\", "/").rpartition("/")[2]


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:_MOST_NAMED], *(["..."] if len(names) > _MOST_NAMED else [])])
