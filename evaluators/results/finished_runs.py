"""Finished runs: results by task, with the answers they were computed from, and where data and answers came from."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, NamedTuple

from eyechart.datasets_scripts.common.errors import MissingFileError, UsageError
from eyechart.datasets_scripts.common.pairs import MIXED_POOL
from eyechart.datasets_scripts.official import in_official_terms, official_counts
from eyechart.evaluators.requests.errors import BadResultsError
from eyechart.evaluators.results.agreement import check_agreement
from eyechart.evaluators.results.items import (
    PREDICTIONS_FILE,
    RESULT_COLUMNS,
    Item,
    arrow_type,
    check_types,
    column_types,
    read_predictions,
)
from eyechart.evaluators.results.notes import Note, note
from eyechart.evaluators.results.results_file import (
    AVERAGE,
    SAMPLE,
    Results,
    TaskResult,
    check_unedited,
    read_results,
    task_folder,
)
from eyechart.metrics.score_spec import value_at
from eyechart.metrics.scores import DROPPED, specs_in
from eyechart.metrics.scoring.judging.lexical import LEXICAL

if TYPE_CHECKING:
    from pyarrow import Table


MINI = "synthetic demo data"
"""A value of `data.source`: synthetic demo data, the default without `--model`, or asked for by `--mini`."""
OFFICIAL = "official release"
"""The same for a release that was downloaded from its authors. Any other value is a folder or the id of a dataset."""
GIVEN = "given"
"""The same for a `Dataset` object."""
_ROWS_PER_BATCH = 10_000
_DATED = re.compile(r"[-@:](\d{4}-\d{2}-\d{2}|\d{8}|\d{4,6})")
"""Suffix of a dated version: `gpt-4o-2024-11-20`, `gpt-4-0613`, `mistral-large-2411`."""


class TaskKey(NamedTuple):
    """Identifies a result within a run; the results of runs with the same key are compared."""

    task: str
    dataset: str
    split: str

    @property
    def title(self) -> str:
        """The key for display; data with the task's own name, as of a task file, are not named again."""
        data = "" if self.dataset == self.task else f" on {self.dataset}"
        return f"{self.task}{data} ({self.split})"

    def file_name(self, what: str) -> str:
        """Name of a file about this result, without extension; untrusted texts cannot add a folder to it."""
        return "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") or "x" for word in (*self, what))


@dataclass(frozen=True)
class Answers:
    """The answers to one task, by column. A column that the file lacks is None."""

    table: "Table"
    path: Path
    """The file that it is from."""

    def items(self, kind: type[Item] = Item) -> list[Any]:
        """The items, of the protocol's type; raises `BadResultsError` if a column has another type than theirs."""
        columns = column_types(kind)
        check_types(self.table, columns, self.path)
        return list(chain.from_iterable(map(kind.of_columns, self.select(columns)._batches())))

    def __len__(self) -> int:
        """Number of answers."""
        return self.table.num_rows

    def column(self, name: str, kind: Any = None) -> list[Any]:
        """One column; with the type of a field, a column of another type is an error."""
        if name not in self.table.column_names:
            return [None] * len(self)
        if kind is not None:
            check_types(self.table, {name: arrow_type(kind)}, self.path)
        values: list[Any] = self.table[name].to_pylist()
        return values

    def where(self, mask: Sequence[bool]) -> "Answers":
        """The answers for which a mask is True."""
        import pyarrow

        return replace(self, table=_filtered(self.table, pyarrow.array(mask, pyarrow.bool_())))

    def take(self, rows: Sequence[int]) -> "Answers":
        """Some of the answers, by their place."""
        return replace(self, table=self.table.take(rows))

    def select(self, names: Iterable[str]) -> "Answers":
        """Some columns, if the file has them."""
        return replace(self, table=self.table.select([name for name in names if name in self.table.column_names]))

    def rows(self) -> list[dict[str, Any]]:
        """All columns, by row."""
        return list(self.iterate())

    def iterate(self) -> Iterator[dict[str, Any]]:
        """The same, without all rows in memory."""
        for columns in self._batches():
            yield from (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def _batches(self) -> Iterator[dict[str, list[Any]]]:
        """The columns of some rows after the other."""
        try:
            for batch in self.table.to_batches(max_chunksize=_ROWS_PER_BATCH):
                yield batch.to_pydict(maps_as_pydicts="strict")
        # A mapping has a key twice.
        except KeyError as error:
            raise BadResultsError(f"cannot be read as predictions: {error}", path=self.path) from error


@dataclass(frozen=True)
class Run:
    """One finished run."""

    folder: Path
    label: str
    """Label in reports and comparisons: the model, for a local path its last component; with the folder if needed."""
    results: Results
    predictions: "Table | None"
    """All answers; None if the file is missing."""

    @cached_property
    def tasks(self) -> Mapping[TaskKey, TaskResult]:
        """Results by key, in the order of the run."""
        return {TaskKey(result.task, result.dataset, result.split): result for result in self.results.tasks}

    def answers(self, key: TaskKey) -> Answers | None:
        """The answers in a task's first repeat, which gave its scores; None if missing."""
        if self.predictions is None:
            return None
        import pyarrow.compute

        mask = pyarrow.compute.equal(self.predictions["repeat"], 1)
        for name in RESULT_COLUMNS[:3]:
            mask = pyarrow.compute.and_(mask, pyarrow.compute.equal(self.predictions[name], getattr(key, name)))
        table = _filtered(self.predictions, mask)
        return Answers(table, self.folder / PREDICTIONS_FILE) if table.num_rows else None


def _filtered(table: "Table", mask: Any) -> "Table":
    """The rows for which a mask is True; all of them, which may be millions, are not copied."""
    import pyarrow.compute

    return table if pyarrow.compute.all(mask, skip_nulls=False, min_count=0).as_py() else table.filter(mask)


def read_runs(folders: Sequence[str | Path]) -> list[Run]:
    """Read finished runs whose scores agree with their predictions; as `load_runs`."""
    runs = load_runs(folders)
    for run in runs:
        check_unedited(run.folder)
        check_agreement(run)
    return runs


def load_runs(folders: Sequence[str | Path]) -> list[Run]:
    """Read finished runs whose scores are computed again, from their folders or the `results.json` in each.

    Raises `UsageError` if no run is given, or one twice, and `DataError` for files that are missing or cannot be read.
    """
    paths = [Path(folder) for folder in folders]
    # A results file stands for its folder.
    paths = [path.parent if path.is_file() else path for path in paths]
    if not paths:
        raise UsageError("no run is given; name at least one folder written by `eyechart run`")
    resolved = [path.resolve() for path in paths]
    for path in paths:
        if resolved.count(path.resolve()) > 1:
            raise UsageError(f"the run {path} is given twice; name different runs")
        if not path.exists():
            raise MissingFileError("does not exist; expected the folder of a finished run", path=path)
    results = [read_results(path) for path in paths]
    predictions = [
        read_predictions(path / PREDICTIONS_FILE, result.predictions_sha256)
        for path, result in zip(paths, results, strict=True)
    ]
    return list(map(Run, paths, _labels(paths, results), results, predictions))


def merged_keys(runs: Sequence[Run]) -> list[TaskKey]:
    """The keys of all runs without duplicates, each in the order of the first run that has it."""
    return list(dict.fromkeys(key for run in runs for key in run.tasks))


def _labels(paths: Sequence[Path], results: Sequence[Results]) -> list[str]:
    models = [
        ", ".join(dict.fromkeys(model_label(task.model) for task in result.tasks)) or "no model" for result in results
    ]
    named = [
        f"{model} ({path.resolve().name})" if models.count(model) > 1 else model
        for model, path in zip(models, paths, strict=True)
    ]
    return [f"{name}, run {number}" if named.count(name) > 1 else name for number, name in enumerate(named, 1)]


def model_label(model: str) -> str:
    """The last component of a local path; other names are unchanged."""
    return PureWindowsPath(model).name or model if re.match(r"/|~|\.\.?[/\\]|[A-Za-z]:[/\\]", model) else model


def is_mini_data(settings: Mapping[str, Any]) -> bool:
    """Whether a result with these settings is on synthetic demo data."""
    return bool(value_at(settings, "data.is_mini") or value_at(settings, "data.source") == MINI)


def official_items(result: TaskResult) -> tuple[int, ...]:
    """Items of the split in each official release, newest first, or of an average's databases; empty if unknown."""
    settings = result.settings
    if value_at(settings, "data.is_mini") is not False or value_at(settings, "data.source") == GIVEN:
        return ()
    if result.dataset == AVERAGE:
        names = settings.get("databases")
        counts = [official_counts(str(name), None, result.split) for name in names] if isinstance(names, list) else []
        return (sum(count[0] for count in counts),) if counts and all(counts) else ()
    data = settings["data"]
    return official_counts(result.dataset, data.get("config"), result.split, data.get("options"))


def scored_items(scores: Mapping[str, Any]) -> int | None:
    """Number of items that the scores cover; None if they do not record it."""
    n = next((spec.n(scores) for spec in specs_in(scores) if spec.headline), None)
    return n if isinstance(n, int) and not isinstance(n, bool) else None


def asked_items(result: TaskResult) -> int:
    """Number of items that were asked."""
    return len({item.id for item in result.items})


def data_words(results: Sequence[TaskResult]) -> str:
    """Whether the data are synthetic, and the part of them that was used; "" for all of real data."""
    is_mini = all(is_mini_data(result.settings) for result in results)
    return ", ".join(filter(None, (MINI if is_mini else "", extent(results))))


def extent(results: Sequence[TaskResult]) -> str:
    """How many of the official items the results cover together, or which part of other data; "" if that is unknown."""
    settings = [result.settings for result in results]
    counts = [asked_items(result) if result.scores is None else scored_items(result.scores) for result in results]
    count = sum(filter(None, counts))
    official = [official_items(result) for result in results]
    sampled = " (random sample)" if any(SAMPLE in setting for setting in settings) else ""
    if all(official):
        totals = official[0] if len(official) == 1 else (sum(known[0] for known in official),)
        if words := in_official_terms(count, totals):
            return words + sampled
    rows = sum(setting["data"].get("rows") or 0 for setting in settings)
    return f"{count:,} of {rows:,} items{sampled}" if any(map(is_part, results)) and count < rows else ""


def is_part(result: TaskResult) -> bool:
    """Whether a result is on a part of its data, as its settings say or its counts show."""
    settings, scores, pool = result.settings, result.scores or {}, result.variants.get(MIXED_POOL) or {}
    if SAMPLE in settings or settings.get("limit") is not None:
        return True
    counts = scored_items(scores), scored_items(pool), scores.get(DROPPED), len(result.left_out)
    return counts[0] is not None and sum(filter(None, counts)) < (value_at(settings, "data.rows") or 0)


def all_notes(result: TaskResult) -> Iterator[Note]:
    """The notes of a result's evaluation, and those that follow from its data, its judge and what else it records."""
    if is_mini_data(result.settings):
        yield note("synthetic", tasks=[])
    yield from result.notes
    if result.scores is None and not result.notes:
        yield note("no_score")
    if not (result.complete or any(each.is_incomplete for each in result.notes)):
        yield note("incomplete")
    for name in result.files:
        yield note("answer_file", file=str(task_folder(result) / name), problem=_submission_problem(result))
    if any(scores.get("judge") == LEXICAL for scores in (result.scores or {}, *result.variants.values())):
        yield note("by_words")
    if left_out := result.left_out:
        yield note("left_out", n=len(left_out), id=left_out[0].id, reason=left_out[0].reason)
    if agreement := result.diagnostics.get("extractor_agreement", {}).get("all"):
        yield note("agreement", share=f"{100 * agreement['agreement']:.2f} %", n=agreement["n"])


def _submission_problem(result: TaskResult) -> str:
    """Why an answer file should not be submitted; "" if it can be."""
    part = extent([result])
    if is_mini_data(result.settings):
        return "the data are synthetic"
    if part and not part.startswith("all"):
        return f"it covers {part}"
    return "items were left out" if result.left_out and not part else ""


def is_served_name(asked: str, served: str) -> bool:
    """Whether a server's model name is the requested one, a dated version of it, or its revision.

    Examples:
        >>> is_served_name("gpt-4o", "gpt-4o-2024-11-20"), is_served_name("gpt-4o", "gpt-4o-mini")
        (True, False)
    """
    name, other = asked.casefold(), served.casefold()
    rest = other.removeprefix(name.removesuffix("-latest"))
    return name == other or (rest != other and (rest.startswith("@") or _DATED.fullmatch(rest) is not None))


def unconfirmed_names(settings: Mapping[str, Any], of: str = "model") -> list[str]:
    """The names under which a server answered that were neither requested nor confirmed, from untrusted settings."""
    served = value_at(settings, f"{of}.served")
    expected = [value_at(settings, f"{of}.{key}") for key in ("name", "served_name")]
    return [
        str(name)
        for name in (served if isinstance(served, list) else [])
        if not any(isinstance(asked, str) and is_served_name(asked, str(name)) for asked in expected)
    ]


def served_notes(settings: Mapping[str, Any]) -> Iterator[Note]:
    """Notes about servers, of the model and of the judge, that answered under other names."""
    for code, of in (("served", "model"), ("judge_served", "judge")):
        if names := unconfirmed_names(settings, of):
            yield note(code, served=names, **{of: value_at(settings, f"{of}.name")})
