"""The tables of a user-defined task, which is in no paper."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import PaperTable, Results, table
from eyechart.evaluators.report.scores import group_values, interval, number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import with_nan
from eyechart.metrics.scores import specs_in


def scores(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """All scores with their intervals, then the headline score by group; one row per model."""
    specs = [spec for spec in specs_in(with_nan(results[0][1].scores)) if spec.in_table]
    columns = [head for spec in specs for head in (spec.label, "95 % interval")[: 2 if spec.interval else 1]]
    rows = []
    for label, result in results:
        cells = []
        for spec in specs:
            own = result.scores or {}
            cells.append(spec.shown(number(own, *spec.key.split("."))))
            if spec.interval:
                bounds = interval(own, *spec.interval.split("."))
                cells.append("" if bounds is None else " to ".join(map(spec.shown, bounds)))
        rows.append((label, *cells))
    yield table(key, "scores", "Scores", ("Model", *columns), rows)
    headline = results[0][1].headline_spec()
    if headline is None:
        return
    for group, names in group_values(results).items():
        path = headline.key.split(".")
        cells_by_run = [
            (label, *(headline.shown(number(result.scores, f"by_{group}", name, *path)) for name in names))
            for label, result in results
        ]
        title = f"{headline.label} by {group}"
        yield table(key, f"scores_by_{group}", title, ("Model", *names), cells_by_run)
