"""Matches the rows of a predictions file to the items of the data: by ids, names, question and options, or position.

A match must be unique. An item without one has no prediction, and its error gives the reason.
"""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from eyechart.datasets_scripts.common.errors import BadAnnotationError, DataError, MissingPredictionError
from eyechart.datasets_scripts.common.files.readers import clean_text
from eyechart.evaluators.backends.predictions.formats import Prediction
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


@dataclass(eq=False)
class FileItem:
    """All rows of a file about one item; `passes` are its predictions by name of the pass."""

    passes: dict[str, Prediction] = field(default_factory=dict)

    @property
    def first(self) -> Prediction:
        """The first prediction in the file."""
        return next(iter(self.passes.values()))

    @property
    def index(self) -> int:
        """The tool's number of the item, or its row in the file."""
        return self.first.row if self.first.index is None else self.first.index


def group_items(predictions: Iterable[Prediction], path: Path) -> list[FileItem]:
    """Group the rows about the same item, in file order; equal rows of a pass are dropped, different ones refused."""
    items: dict[str, FileItem] = {}
    for prediction in predictions:
        passes = items.setdefault(prediction.id, FileItem()).passes
        earlier = passes.setdefault(prediction.pass_name, prediction)
        if earlier.model_copy(update={"row": prediction.row}) != prediction:
            reason = (
                f"repeats id '{prediction.id}', pass '{prediction.pass_name}' of row {earlier.row} with "
                "different contents; keep one of the two rows"
            )
            raise BadAnnotationError(reason, path=path, row=prediction.row)
    return list(items.values())


class _Target:
    """One item of the data, at a position among the requested items."""

    def __init__(self, request: Request, position: int) -> None:
        """Bring its texts into comparable form."""
        self.id, self.position = request.id, position
        self.prompt = comparable(" ".join(part for part in request.prompt if isinstance(part, str)))
        self.options = _options(request.options)


_Pair = tuple[_Target, FileItem]


class Matcher:
    """Finds the item of a file, which may name items by eyechart's ids, for each item of the data."""

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
        self.errors: dict[str, DataError] = {}
        """By id, why items without a match have none, where there is more to say than `hint`."""
        self.hint = ""
        """Why the file may be for other data; "" if most items are matched."""

    def match(self, requests: Sequence[Request]) -> None:
        """Match the items of these requests; earlier matches do not change."""
        by_id: dict[str, Request] = {}
        for request in requests:
            by_id.setdefault(request.id, request)
        requested = enumerate(by_id.values())
        targets = [_Target(request, position) for position, request in requested if request.id not in self._known]
        self._match_names(targets)
        self._match_content(targets)
        if not self.matched and not self.hint:
            names = [f"'{item.first.id}'" for item in self._free]
            self.hint = f", or for any other item; ids in the file: {_some(names)}"
        # Last, so that an error does not mark them as known.
        self._known.update(by_id)

    def _match_names(self, targets: Sequence[_Target]) -> None:
        """Match by ids and by names of images, where the question, if the file has it, is the same."""
        by_id, by_name = {target.id: target for target in targets}, _by_unique_name(targets)
        if self._has_our_ids:
            # Complete ids come first. A plain number may come from another numbering.
            self._take([(by_id.pop(item.first.id), item) for item in self._free if item.first.id in by_id], NAMES)
            by_name = {name: target for name, target in by_name.items() if target.id in by_id and not name.isdigit()}
        pairs: list[_Pair] = []
        different: dict[str, DataError] = {}
        for item in self._free:
            first = item.first
            names = [form for name in (first.id, first.image) for form in (clean_text(name), _file_name(name))]
            candidates = [lookup[name] for lookup in (by_id, by_name) for name in names if name in lookup]
            same = [target for target in candidates if comparable(first.question) in target.prompt]
            if same:
                pairs.append((same[0], item))
            elif candidates:
                reason = f"'{first.id}' has a different question from item '{candidates[0].id}': {first.question!r}"
                different[candidates[0].id] = DataError(reason, path=self._path, row=first.row)
        self.errors |= different
        # If most questions differ, the tool has another numbering.
        self._take(pairs if len(pairs) >= len(different) else [], NAMES)

    def _match_content(self, targets: Sequence[_Target]) -> None:
        """Match by question and options, and the remaining items by position."""
        remaining = [target for target in targets if target.id not in self.matched]
        pairs = self._same_content(remaining)
        claimed = {target.id for target, _ in pairs}
        known = len(targets) - len(remaining) + len(claimed)
        # Two splits may share some questions about different images.
        if 2 * known < len(targets):
            if claimed:
                self.hint = (
                    f"; the file has the questions of only {known} of {len(targets)} items; is it for other data?"
                )
            return
        self._take(pairs, CONTENT)
        shift = _shifts({target.id: target.position for target in targets}, self.matched)
        free = set(self._free)
        left = [(target, item) for target, item in pairs if item in free]
        self._take([pair for pair in left if shift(pair[1].index) == pair[0].position - pair[1].index], POSITION)
        for row_id in claimed:
            rows = _some([str(item.first.row) for target, item in pairs if target.id == row_id])
            reason = f"row {rows} has its question and options, but several items match"
            self.errors[row_id] = MissingPredictionError(f"no prediction for id '{row_id}': {reason}", path=self._path)

    def _same_content(self, targets: Sequence[_Target]) -> list[_Pair]:
        """Each target with the items of the file that have its question and its options."""
        by_options: dict[frozenset[str], dict[str, list[FileItem]]] = defaultdict(lambda: defaultdict(list))
        for item in self._free:
            question, options = comparable(item.first.question), _options(item.first.options or ())
            if question and options:
                by_options[options][question].append(item)
        pairs = []
        for target in targets:
            questions = by_options.get(target.options, {})
            # A question may be part of a longer one.
            longest = max((question for question in questions if question in target.prompt), key=len, default="")
            pairs += [(target, item) for item in questions.get(longest, ())]
        return pairs

    def _take(self, pairs: Sequence[_Pair], way: str) -> None:
        """Match the pairs whose target and item are in no other pair; by names, another pair is an error."""
        targets, items = Counter(target.id for target, _ in pairs), Counter(item for _, item in pairs)
        first: dict[str, FileItem] = {}
        for target, item in pairs:
            if targets[target.id] == items[item] == 1:
                self.matched[target.id] = item
                self.ways[way] += 1
            elif way == NAMES and first.setdefault(target.id, item) is not item:
                reason = f"matches item '{target.id}', which row {first[target.id].first.row} matches too"
                raise BadAnnotationError(reason, path=self._path, row=item.first.row)
        taken = set(self.matched.values())
        self._free = [item for item in self._free if item not in taken]


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
