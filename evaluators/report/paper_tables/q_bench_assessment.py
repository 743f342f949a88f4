"""The tables of Q-Bench's assessment. Each has a column per database, empty if a run lacks the database."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from eyechart.evaluators.report.paper_tables.cells import (
    Cell,
    PaperTable,
    Results,
    ResultsByKey,
    joined,
    score_cell,
    table,
    with_published,
)
from eyechart.evaluators.report.paper_tables.published import ARROW
from eyechart.evaluators.results.evaluation import AVERAGE
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks.q_bench import DATABASES, WORD_PAIRS

_FEWER = tuple(name for name in DATABASES if name != "cgiqa6k")
"""The databases of Tables 9 and 10."""
_GOOD_POOR, _HIGH_LOW = "good/poor", "high/low"
_ARGMAX = "argmax"
_OF_ONE_DATABASE = ("data", "model", "average", "databases")
"""Settings that may differ between the databases of one row."""


@dataclass
class _Row:
    """The results of a run on all databases under the same settings."""

    label: str
    words: str
    results: dict[str, TaskResult] = field(default_factory=dict)
    """By database, or `AVERAGE`."""

    def cells(self, databases: Sequence[str], way: str = "") -> tuple[str, ...]:
        """SRCC/PLCC on some databases, of the scores or of a variant."""
        return tuple(joined([self._cell(name, way, measure) for measure in ("srcc", "plcc")]) for name in databases)

    def has(self, way: str) -> bool:
        """Whether any database has this variant."""
        return any(way in result.variants for result in self.results.values())

    def way(self, words: str) -> str:
        """The variant that uses these words; "" for the scores themselves."""
        return "" if words == self.words else words

    def _cell(self, database: str, way: str, measure: str) -> Cell:
        result = self.results.get(database)
        if result is None or way:
            return score_cell(None if result is None else result.variants.get(way), measure, digits=3)
        return score_cell(result.scores, measure, digits=3, result=result)


def assessment(task: str, results: ResultsByKey) -> Iterator[PaperTable]:
    """Q-Bench, Table 4; for logits also Tables 9 to 11, other ways to pool them. All cells are SRCC/PLCC."""
    rows = _rows(results)
    if not rows:
        return
    splits = dict.fromkeys(key.split for _, of_run in results for key in of_run)
    key = TaskKey(task, AVERAGE, ", ".join(splits))
    columns = ("Model / Dataset", *DATABASES.values(), "Average")
    cells = [(row.label, *row.cells((*DATABASES, AVERAGE))) for row in rows]
    scored = [(label, result) for label, of_run in results for result in of_run.values()]
    found = table(key, "table_4", "Q-Bench, Table 4: assessment, SRCC/PLCC", columns, cells)
    yield _with_published(found, key, "table_4", scored)
    if any(row.has(_ARGMAX) for row in rows):
        yield _with_published(_strategies(key, [row for row in rows if row.has(_ARGMAX)]), key, "table_9", scored)
    both = [row for row in rows if _GOOD_POOR in _pairs(row) and _HIGH_LOW in _pairs(row)]
    if both:
        yield _with_published(_words_of_t5(key, both), key, "table_10", scored)
    pooled = [row for row in rows if len(_pairs(row)) > 1]
    if pooled:
        yield _with_published(_ensembles(key, pooled), key, "table_11", scored)


def _with_published(found: PaperTable, key: TaskKey, number_of: str, results: Results) -> PaperTable:
    if found.columns[-1] == "Average":
        found = replace(found, headline=len(found.columns) - 1)
    return with_published(found, key, number_of, results, [3] * (len(found.columns) - found.labels))


def _strategies(key: TaskKey, rows: Sequence[_Row]) -> PaperTable:
    """Q-Bench, Table 9: argmax and softmax of the words that the scores come from."""
    columns = ("Model / Dataset", "Strategy", *(DATABASES[name] for name in _FEWER))
    cells = [
        (row.label, strategy, *row.cells(_FEWER, way))
        for row in rows
        for strategy, way in ((_ARGMAX, _ARGMAX), ("softmax", ""))
    ]
    words = ", ".join(dict.fromkeys(_arrow(row.words) for row in rows))
    title = "Q-Bench, Table 9: argmax and softmax, SRCC/PLCC"
    return table(key, "table_9", title, columns, cells, f"From the logits of {words}.", labels=2)


def _words_of_t5(key: TaskKey, rows: Sequence[_Row]) -> PaperTable:
    """Q-Bench, Table 10: good/poor, and the words that T5 is more likely to say."""
    columns = ("Model / Dataset", "tokens", *(DATABASES[name] for name in _FEWER))
    cells = [
        (row.label, _arrow(words), *row.cells(_FEWER, row.way(words)))
        for row in rows
        for words in (_GOOD_POOR, _HIGH_LOW)
    ]
    title = f"Q-Bench, Table 10: {_arrow(_HIGH_LOW)} and {_arrow(_GOOD_POOR)}, SRCC/PLCC"
    return table(key, "table_10", title, columns, cells, "The paper has only InstructBLIP (Flan-T5-XL).", labels=2)


def _ensembles(key: TaskKey, rows: Sequence[_Row]) -> PaperTable:
    """Q-Bench, Table 11: ensembles of synonyms, Eq. 4."""
    columns = ("Model", "Prompt / Dataset", *DATABASES.values(), "Average")
    cells = [
        (row.label, _arrow(pair.name), *row.cells((*DATABASES, AVERAGE), row.way(pair.name)))
        for row in rows
        for pair in WORD_PAIRS
    ]
    title = "Q-Bench, Table 11: ensembles of synonyms, SRCC/PLCC"
    return table(
        key, "table_11", title, columns, cells, "The paper's headings CGIQA-6K and AGIQA-3K are swapped.", labels=2
    )


def _rows(results: ResultsByKey) -> list[_Row]:
    """One row per run and settings, over the databases in the paper."""
    found: list[_Row] = []
    for label, of_run in results:
        rows: dict[str, _Row] = {}
        for key, result in of_run.items():
            if key.dataset in (*DATABASES, AVERAGE):
                shared = {name: value for name, value in result.settings.items() if name not in _OF_ONE_DATABASE}
                row = rows.setdefault(json.dumps([key.split, shared], sort_keys=True), _Row(label, _words(result)))
                row.results.setdefault(key.dataset, result)
        if len(rows) > 1:
            for row in rows.values():
                row.label = f"{label}, {_arrow(row.words)}" if row.words else label
        found += rows.values()
    return found


def _words(result: TaskResult) -> str:
    """The word pair that the scores come from; "" if scores are numbers."""
    words = result.settings.get("word_pair")
    return words if isinstance(words, str) else ""


def _pairs(row: _Row) -> set[str]:
    """The word pairs that have scores."""
    return {pair.name for pair in WORD_PAIRS if pair.name == row.words or row.has(pair.name)}


def _arrow(words: str) -> str:
    """The name of a pair of words as the paper prints it."""
    return words.replace("/", ARROW)
