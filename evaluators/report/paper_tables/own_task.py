"""The tables of a user-defined task, which is in no paper."""

from collections.abc import Iterator

from eyechart.evaluators.report.paper_tables.cells import Column, PaperTable, Results, score_table
from eyechart.evaluators.report.scores import group_values
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import with_nan
from eyechart.metrics.score_spec import Unit
from eyechart.metrics.scores import specs_in


def scores(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """All scores, then the headline score by group; one row per model."""
    specs = [spec for spec in specs_in(with_nan(results[0][1].scores)) if spec.in_table]
    columns = [Column(spec.label, tuple(spec.key.split(".")), _digits(spec.unit)) for spec in specs]
    yield score_table(key, "scores", "Scores", "Model", columns, results)
    headline = results[0][1].headline_spec()
    if headline is None:
        return
    path = headline.key.split(".")
    for group, names in group_values(results).items():
        columns = [Column(name, (f"by_{group}", name, *path), _digits(headline.unit)) for name in names]
        yield score_table(key, f"scores_by_{group}", f"{headline.label} by {group}", "Model", columns, results)


def _digits(unit: Unit) -> int:
    return 2 if unit in (Unit.FRACTION, Unit.PERCENT) else 3
