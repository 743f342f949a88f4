"""The tables of Q-Bench."""

from collections.abc import Iterator

from eyechart.evaluators.quality.averages import AVERAGE
from eyechart.evaluators.report.paper_tables.cells import QUESTION_TYPES
from eyechart.evaluators.report.paper_tables.cells import PaperTable
from eyechart.evaluators.report.paper_tables.cells import Results
from eyechart.evaluators.report.paper_tables.cells import choice_table
from eyechart.evaluators.report.paper_tables.cells import decimal
from eyechart.evaluators.report.paper_tables.cells import judges
from eyechart.evaluators.report.paper_tables.cells import percent
from eyechart.evaluators.report.paper_tables.cells import table
from eyechart.evaluators.report.runs import TaskKey
from eyechart.evaluators.results import TaskResult

_CONCERNS = {
    "distortion": "Distortion",
    "other": "Other",
    "in-context distortion": "In-context Distortion",
    "in-context other": "In-context Other",
}
_DIMENSIONS = {"completeness": "Completeness", "preciseness": "Precision", "relevance": "Relevance"}
_DATABASES = {
    "koniq10k": "KONiQ-10k",
    "spaq": "SPAQ",
    "live_fb": "LIVE-FB",
    "live_itw": "LIVE-itw",
    "cgiqa6k": "CGIQA-6K",
    "agiqa3k": "AGIQA-3K",
    "kadid10k": "KADID-10k",
}


def perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 2; Table 5 where a run has closed-set inference."""
    groups = {"question_type": QUESTION_TYPES, "concern": _CONCERNS}
    closed = any(_is_closed_set(result) for _, result in results)
    paper = "Q-Bench, Table 5: closed-set inference" if closed else "Q-Bench, Table 2: perception"
    if key.task != "q_bench/perception":
        paper += " of pairs, in the columns of single images"
    if closed:
        results = [(f"{label} ({'close-set' if _is_closed_set(r) else 'normal'})", r) for label, r in results]
    yield choice_table(key, paper, "Model (variant)", groups, results, "table_5" if closed else "table_2")


def description(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 3."""
    columns = [f"{name} {part}" for name in _DIMENSIONS.values() for part in ("P_0", "P_1", "P_2", "score")]
    rows = []
    for label, result in results:
        cells = []
        for dimension in _DIMENSIONS:
            cells += [percent(result.scores, dimension, part) for part in ("p0", "p1", "p2")]
            cells.append(decimal(2, result.scores, dimension, "score"))
        rows.append((label, *cells, decimal(2, result.scores, "sum")))
    note = judges(results)
    yield table(key, "table_3", "Q-Bench, Table 3: description", ("Model (variant)", *columns, "Sum."), rows, note)


def assessment(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 4: SRCC/PLCC. One row of all databases comes with their average."""
    if key.subset != AVERAGE:
        return
    paths: list[tuple[str, ...]] = [("by_database", name) for name in _DATABASES] + [()]
    rows = [
        (
            label,
            *("/".join(decimal(3, result.scores, *path, name) for name in ("srcc", "plcc")) for path in paths),
        )
        for label, result in results
    ]
    columns = ("Model / Dataset", *_DATABASES.values(), "Average")
    yield table(key, "table_4", "Q-Bench, Table 4: assessment, SRCC/PLCC", columns, rows)


def _is_closed_set(result: TaskResult) -> bool:
    return result.settings.get("inference") == "closed-set"
