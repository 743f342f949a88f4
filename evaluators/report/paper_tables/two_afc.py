"""The tables of 2AFC."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eyechart.evaluators.published import PublishedTable, published_tables
from eyechart.evaluators.report.paper_tables.cells import (
    GROUP,
    UNDEFINED,
    Cell,
    PaperTable,
    Results,
    formatted,
    parts,
    score_cell,
    table,
)
from eyechart.evaluators.report.paper_tables.published import are_comparable, source_of
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult

_PAIR_NAMES = {
    "CSIQ": "CSIQ",
    "kadid10k": "KADID-10k",
    "MM21": "MM21",
    "LIVEC": "CLIVE",
    "koniq10k": "KonIQ-10k",
    "spaq": "SPAQ",
    "kadis700k": "KADIS-700k",
    "SQAD": "SQAD",
    "mixed": "Mixed",
    "AWGN": "AWGN",
    "JPEG": "JPEG",
    "jpeg2000": "JP2K",
    "fnoise": "Pink",
    "BLUR": "Blur",
    **{f"level {level}": f"Level-{level}" for level in range(1, 6)},
    "interval_1_25": "[0,25)",
    "interval_25_50": "[25,50)",
    "interval_50_75": "[50,75)",
    "interval_75_100": "[75,100]",
}
"""Parts of 2AFC's data, with names and order of Tables II to V."""
_PRINTED = {"consistency": "consistency", "accuracy_all": "accuracy", "plcc_fitted": "correlation"}
"""Names of scores in the files of the paper's tables."""
_FILES = {
    ("two_afc/coarse", "table_II"): "two_afc_table_2",
    **{
        (f"two_afc/fine_{part}", number_of): f"two_afc_table_{file}_{part}"
        for part in ("levels", "types", "mos")
        for number_of, file in (("table_III", 3), ("table_IV", 4))
    },
}
"""Files of the paper's tables by task and table number."""
_AGGREGATORS = {
    "mle": "MLE",
    "mle_ridge": "MLE, ridge {ridge}",
    "perron": "Perron",
    "trueskill": "TrueSkill",
    "map": "MAP",
}
_PAIR_SCORES = {
    "consistency": "\N{GREEK SMALL LETTER KAPPA}",
    "accuracy_all": "\N{GREEK SMALL LETTER ALPHA}",
    "plcc_fitted": "\N{GREEK SMALL LETTER RHO}",
}


def coarse(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """2AFC, Tables II and V."""
    title = "2AFC, Table II: consistency, accuracy and correlation, coarse-grained"
    yield _pairs_table(key, "table_II", title, "Dataset", _PAIR_SCORES, results)
    for place, (label, result) in enumerate(results, start=1):
        by_method = _by_aggregator(result)
        found = dict.fromkeys(name for pools in by_method.values() for name in pools)
        databases = sorted(found, key=_place_in_paper)
        rows = [
            (method, *(score_cell(pools, name, "plcc_fitted", digits=3) for name in databases))
            for method, pools in by_method.items()
        ]
        title = f"2AFC, Table V: ranking methods, PLCC, of {label}"
        if rows:
            number_of = "table_V" if len(results) == 1 else f"table_V_run_{place}"
            yield table(key, number_of, title, ("Method", *(_PAIR_NAMES.get(name, name) for name in databases)), rows)


def fine(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """2AFC, Tables III and IV; each fine-grained task fills a part of them."""
    first = {name: text for name, text in _PAIR_SCORES.items() if name != "plcc_fitted"}
    title = "2AFC, Table III: consistency and accuracy, fine-grained"
    yield _pairs_table(key, "table_III", title, "Type", first, results)
    second = {"plcc_fitted": _PAIR_SCORES["plcc_fitted"]}
    yield _pairs_table(key, "table_IV", "2AFC, Table IV: correlation, fine-grained", "Type", second, results)


def _pairs_table(
    key: TaskKey, number_of: str, title: str, corner: str, scores: Mapping[str, str], results: Results
) -> PaperTable:
    """One row per part of the data, one column group per model; an average follows the parts it covers."""
    found = dict.fromkeys(name for _, result in results for name in parts(result.diagnostics, "table"))
    names = sorted(found, key=_place_in_paper)
    below = {
        tuple(average["over"]): average["weights"]
        for _, result in results
        for average in result.diagnostics.get("averages", ())
        if set(average["over"]) <= found.keys()
    }
    rows = []
    for name in names:
        shown = _PAIR_NAMES.get(name, name)
        own = [parts(result.diagnostics, "table") for _, result in results]
        rows.append((shown, *_cells([parts(found, name) for found in own], scores)))
        for over, weights in below.items():
            if name == max(over, key=names.index, default=None):
                own = [_average_over(result, over) for _, result in results]
                text = "Weighted average" if weights == "n_images" else "Average"
                rows.append(
                    (text, *(score_cell(average, s, digits=3, is_share=True) for average in own for s in scores))
                )
    printed = published_tables().get(_FILES.get((key.task, number_of), ""))
    models = [] if printed is None else [row.model for row in printed.rows]
    head = [
        f"{label}{GROUP}{symbol}" for label in (*(label for label, _ in results), *models) for symbol in scores.values()
    ]
    if printed is not None:
        heads = [column.label.replace(" ", "") for column in printed.columns]
        named = list(zip(rows, _averaged(rows), strict=True))
        rows = [(*row, *_printed(printed, heads, name, tuple(scores))) for row, name in named]
    made = table(key, number_of, title, (corner, *head), rows)
    if printed is None:
        return replace(made, across=len(scores))
    return replace(
        made,
        across=len(scores),
        published_columns=len(models) * len(scores),
        source=source_of(printed, key),
        is_comparable=are_comparable(key, printed, results),
    )


def _cells(of_runs: Sequence[Mapping[str, Any]], scores: Iterable[str]) -> list[Cell]:
    return [score_cell(own, score, digits=3, is_share=True) for own in of_runs for score in scores]


def _averaged(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The paper's row names: it has two weighted averages, over six and over three databases."""
    names, weighted = [], iter(("Weighted average of six", "Weighted average of three"))
    for row in rows:
        names.append(next(weighted, "") if row[0] == "Weighted average" else row[0])
    return names


def _printed(table: PublishedTable, heads: list[str], name: str, scores: tuple[str, ...]) -> Iterator[str]:
    """The paper's cells of one row, model by model; the columns of Table IV do not name its only score."""
    for row in table.rows:
        for score in scores:
            head = f"{name}{'' if len(scores) == 1 else _PRINTED[score]}".replace(" ", "")
            value = row.values[heads.index(head)] if head in heads else None
            yield UNDEFINED if value is None else formatted(value, 3)


def _place_in_paper(part: str) -> int:
    """The position of a part of the data in Tables II to V; unknown parts come last."""
    return list(_PAIR_NAMES).index(part) if part in _PAIR_NAMES else len(_PAIR_NAMES)


def _by_aggregator(result: TaskResult) -> dict[str, Any]:
    """Scores by pool, for each ranking method under its name in the table."""
    own = str((result.scores or {}).get("aggregator"))
    # A variant's name contains its settings, for example "mle_ridge=0.01".
    ways = {name.partition("=")[0]: scores for name, scores in result.variants.items()} | {own: result.scores or {}}
    return {
        label.format(ridge=ways[name].get("ridge")): ways[name].get("by_pool") or {}
        for name, label in _AGGREGATORS.items()
        if name in ways
    }


def _average_over(result: TaskResult, over: tuple[str, ...]) -> dict[str, Any]:
    averages = result.diagnostics.get("averages", ())
    return next((average for average in averages if tuple(average["over"]) == over), {})
