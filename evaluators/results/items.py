"""Items, the rows of `predictions.parquet`: what one response gave, with its row's label; they alone give scores."""

import hashlib
import pickle
import types
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import chain, compress, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Union, get_args, get_origin, get_type_hints

from typing_extensions import override

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.requests.errors import BadResultsError

if TYPE_CHECKING:
    from pyarrow import DataType, Schema, Table

    from eyechart.evaluators.results.results_file import TaskResult

PREDICTIONS_FILE = "predictions.parquet"
_ITEMS_PER_PART = 10_000
MAIN = "main"
"""The first pass over a row."""
UNKNOWN = "unknown"
"""Group of items for which the release gives none."""
RESULT_COLUMNS = ("task", "dataset", "split", "model")
"""Columns of the file that say which result an item belongs to."""


@dataclass(frozen=True)
class Item:
    """What one response gave."""

    id: str
    """The row's id."""
    pass_name: str = MAIN
    """The pass over the row that the response answers; the column "pass"."""
    repeat: int = 1
    """Which of several replies to the same request it is."""
    question: str | None = None
    prompt: str | None = None
    """What the model was asked: a local model's rendered chat template, otherwise the text sent to it."""
    text: str | None = None
    """The reply, without the reasoning before it."""
    reasoning: str | None = None
    finish_reason: str | None = None
    error: str | None = None
    """Why there is no reply."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The row's value of each group by which scores are broken down; "" if the release gives none."""
    cluster: str | None = None
    """What the row shares with others: its image, or the column that a task file names."""
    label: str | None = None
    """The row's label as a text that does not depend on how it was asked, such as the right option; None if private."""
    own_score: float | None = None
    """In the first pass: the row's score from the task's scoring function, or from a protocol without a metric."""

    @classmethod
    @cache
    def columns(cls) -> dict[str, str]:
        """The field of each column; `pass` cannot name a field."""
        return {"pass" if part.name == "pass_name" else part.name: part.name for part in fields(cls)}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> Iterator[Self]:
        """The items of rows of the file; columns that are missing, or null in a row, have their defaults."""
        defaults = vars(cls(""))
        by_field = {name: columns[column] for column, name in cls.columns().items() if column in columns}
        for row in zip(*by_field.values(), strict=True):
            given = ((name, value) for name, value in zip(by_field, row, strict=True) if value is not None)
            yield _item(cls, defaults, given)

    def record(self) -> dict[str, Any]:
        """The item as a row of the file."""
        return {column: getattr(self, name) for column, name in self.columns().items()}


class PackedItems(Sequence[Any]):
    """Many items of one type in a tenth of their memory: compressed columns, in parts that are read when needed."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        """Pack the items."""
        self._parts: list[tuple[type[Item], dict[str, bytes]]] = []
        self._open: list[Item] = []
        self.extend(items)

    def extend(self, items: Iterable[Item]) -> None:
        """Append items; the last ones are packed when their part is complete."""
        for item in items:
            self._open.append(item)
            if len(self._open) == _ITEMS_PER_PART:
                kind = type(self._open[0])
                columns = columns_of(self._open, *kind.columns().values())
                self._parts.append((kind, {name: _packed(column) for name, column in columns.items()}))
                self._open = []

    def parts(self) -> Iterator[tuple[type[Item], dict[str, list[Any]]]]:
        """The items as columns, by field, with the type of those of each part."""
        for kind, part in self._parts:
            yield kind, {name: _unpacked(column) for name, column in part.items()}
        for kind, items in groupby(self._open, type):
            yield kind, columns_of(list(items), *kind.columns().values())

    def kinds(self) -> list[type[Item]]:
        """The types of the items, in their order."""
        return [*dict.fromkeys([*(kind for kind, _ in self._parts), *map(type, self._open)])]

    def with_columns(self, columns: Mapping[str, Sequence[Any]]) -> "PackedItems":
        """The items with fields from columns; the other columns are not packed again."""
        copied = PackedItems()
        for number, (kind, part) in enumerate(self._parts):
            rows = slice(number * _ITEMS_PER_PART, (number + 1) * _ITEMS_PER_PART)
            copied._parts.append((kind, part | {name: _packed(values[rows]) for name, values in columns.items()}))
        rest = {name: values[len(self._parts) * _ITEMS_PER_PART :] for name, values in columns.items()}
        copied._open = list(with_columns(self._open, rest))
        return copied

    def column(self, name: str) -> "PackedColumn":
        """One field of all items."""
        return PackedColumn([part[name] for _, part in self._parts], [getattr(item, name) for item in self._open])

    @override
    def __len__(self) -> int:
        return len(self._parts) * _ITEMS_PER_PART + len(self._open)

    @override
    def __iter__(self) -> Iterator[Any]:
        for kind, part in self._parts:
            for values in zip(*map(_unpacked, part.values()), strict=True):
                yield _item(kind, zip(part, values, strict=True))
        yield from self._open

    @override
    def __getitem__(self, index: Any) -> Any:
        return list(self)[index] if isinstance(index, slice) else next(islice(self, range(len(self))[index], None))

    @override
    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented


class PackedColumn(Sequence[Any]):
    """One field of packed items; the part that was read last is kept."""

    def __init__(self, parts: Sequence[bytes], others: Sequence[Any]) -> None:
        """Unpack nothing yet."""
        self._parts, self._others = parts, others
        self._number, self._values = -1, list[Any]()

    @override
    def __len__(self) -> int:
        return len(self._parts) * _ITEMS_PER_PART + len(self._others)

    @override
    def __iter__(self) -> Iterator[Any]:
        return chain(chain.from_iterable(map(_unpacked, self._parts)), self._others)

    @override
    def __getitem__(self, index: Any) -> Any:
        part, place = divmod(range(len(self))[index], _ITEMS_PER_PART)
        if part == len(self._parts):
            return self._others[place]
        if part != self._number:
            self._number, self._values = part, _unpacked(self._parts[part])
        return self._values[place]


def _item(kind: type[Any], *fields: Any) -> Any:
    """An item with all its fields, from mappings or pairs, in a tenth of the time that a frozen dataclass takes."""
    item = object.__new__(kind)
    for part in fields:
        vars(item).update(part)
    return item


def _packed(column: Sequence[Any]) -> bytes:
    return zlib.compress(pickle.dumps(column), 1)


def _unpacked(column: bytes) -> list[Any]:
    # This process packed it itself: nothing that comes from a file is unpickled.
    values: list[Any] = pickle.loads(zlib.decompress(column))
    return values


def by_row(items: Iterable[Any]) -> list[dict[str, Any]]:
    """The items of each row by pass, in the order of the rows."""
    rows: dict[str, dict[str, Any]] = {}
    for item in items:
        rows.setdefault(item.id, {})[item.pass_name] = item
    return list(rows.values())


def columns_of(items: Sequence[Item], *names: str) -> dict[str, list[Any]]:
    """Some fields of items as columns, the form that the functions of `metrics/scoring` take."""
    return {name: list(column_of(items, name)) for name in names}


def column_of(items: Sequence[Item], name: str) -> Sequence[Any]:
    """One field of items, for large values that are unpacked only as they are read."""
    return items.column(name) if isinstance(items, PackedItems) else [getattr(item, name) for item in items]


def with_columns(items: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> Iterator[Any]:
    """The items with fields from columns, as those functions return them."""
    for item, row in zip(items, zip(*columns.values(), strict=True), strict=True):
        yield changed(item, zip(columns, row, strict=True))


def changed(item: Any, fields: Any) -> Any:
    """An item with other values of some fields, from a mapping or pairs."""
    return _item(type(item), vars(item), fields)


def where(items: Sequence[Any], mask: Sequence[bool]) -> Sequence[Any]:
    """The items for which a mask is True; all of them, which may be millions, are not copied."""
    return items if all(mask) else PackedItems(compress(items, mask))


def table_of(results: Sequence["TaskResult"]) -> "Table":
    """One row for each item, as in the file; raises as `schema_of`."""
    import pyarrow

    schema, parts = _parts_of(results)
    return pyarrow.concat_tables([schema.empty_table(), *parts])


def write_predictions(path: Path, results: Sequence["TaskResult"]) -> None:
    """Write one row for each item; the file is replaced. Raises as `schema_of`."""
    from pyarrow import parquet

    schema, parts = _parts_of(results)
    # Opened here: pyarrow rejects paths that are not valid text, and reads some paths as URLs.
    with path.open("wb") as file, parquet.ParquetWriter(file, schema) as writer:
        for part in parts:
            writer.write_table(part)


def _parts_of(results: Sequence["TaskResult"]) -> tuple["Schema", Iterator["Table"]]:
    """The schema of the rows, and the rows in parts, because those of all items need more memory than the items."""
    import pyarrow

    stored = [(result, packed(result.items)) for result in results]
    schema = schema_of(dict.fromkeys(kind for _, items in stored for kind in items.kinds()))

    def table(result: "TaskResult", kind: type[Item], fields: Mapping[str, list[Any]]) -> "Table":
        n = len(fields["id"])
        columns = {name: [getattr(result, name)] * n for name in RESULT_COLUMNS}
        columns |= {column: fields[name] for column, name in kind.columns().items()}
        arrays = [pyarrow.array(columns.get(part.name, [None] * n), part.type) for part in schema]
        return pyarrow.Table.from_arrays(arrays, schema=schema)

    return schema, (table(result, *part) for result, items in stored for part in items.parts())


def packed(items: Sequence[Item]) -> PackedItems:
    """The items, packed."""
    return items if isinstance(items, PackedItems) else PackedItems(items)


def column_types(kind: type[Item]) -> dict[str, "DataType"]:
    """The columns of a type of items."""
    hints = get_type_hints(kind)
    return {column: arrow_type(hints[name]) for column, name in kind.columns().items()}


def schema_of(kinds: Iterable[type[Item]]) -> "Schema":
    """The columns of a file with items of some types; raises `UsageError` if two give a column different types."""
    import pyarrow

    every: list[type[Item]] = [Item, *kinds]
    columns = dict.fromkeys(RESULT_COLUMNS, pyarrow.string())
    for kind in every:
        for name, column in column_types(kind).items():
            if columns.setdefault(name, column) != column:
                reason = f"is {column} in {kind.__name__} and {columns[name]} in another type of items of this run"
                raise UsageError(f"the column {name!r} of predictions {reason}; rename the field in one of them")
    return pyarrow.schema(columns)


def read_predictions(path: Path, sha256: str | None = None) -> "Table | None":
    """The rows of a file, None if there is none.

    Raises `BadResultsError` if it cannot be read, lacks a column, or has another checksum than its results name.
    """
    from pyarrow import ArrowException, parquet

    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            if sha256 is not None and hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                reason = "does not belong to the results in its folder: one of the two was replaced or edited"
                raise BadResultsError(f"{reason}; repeat the run (stored answers are reused)", path=path)
            # Threads that read a file of Python can abort the process at its exit (apache/arrow, issue 50482).
            table = parquet.ParquetFile(file, pre_buffer=False).read(use_threads=False)
        table.validate(full=True)
        # Raises for two columns of one name.
        table = table.select(table.column_names)
    # Damaged names in a file raise the last two.
    except (ArrowException, OSError, ValueError, LookupError) as error:
        raise BadResultsError(f"cannot be read as predictions: {error}", path=path) from error
    for name in (*RESULT_COLUMNS[:3], "id", "pass", "repeat"):
        if name not in table.column_names or table[name].null_count:
            reason = f"some or all rows have no {name}; expected a file written by `eyechart run`"
            raise BadResultsError(reason, path=path)
    schema = schema_of([])
    check_types(table, dict(zip(schema.names, schema.types, strict=True)), path)
    return table


def check_types(table: "Table", expected: Mapping[str, "DataType"], path: Path) -> None:
    """Raise `BadResultsError` if a column of the table has another type than expected."""
    for name, column in expected.items():
        if name in table.column_names and (given := table[name].type) != column:
            reason = f"its column {name} has type {given}; expected {column}, as written by `eyechart run`"
            raise BadResultsError(reason, path=path)


def arrow_type(hint: Any) -> "DataType":
    """The type of a column for the type of a field, which may be None."""
    import pyarrow

    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    plain = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    if hint in plain:
        return plain[hint]
    first, *others = map(arrow_type, get_args(hint))
    return pyarrow.map_(first, others[0]) if others else pyarrow.list_(first)
