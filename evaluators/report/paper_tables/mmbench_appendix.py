"""The two tables of MMBench's Appendix B: runs without images, and scores without the questions solved blind."""

from collections.abc import Iterator, Mapping
from typing import Any

from eyechart.datasets_scripts.common.choice.abilities import L2_CODES
from eyechart.evaluators.protocols.choice.circular_eval import WITHOUT_BLIND
from eyechart.evaluators.report.paper_tables.cells import (
    PaperTable,
    Results,
    ResultsByKey,
    formatted,
    table,
    with_published,
)
from eyechart.evaluators.report.scores import number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult

_SPLITS = {"dev": "Dev", "test": "Test"}


def is_blind(result: TaskResult) -> bool:
    """Whether the questions were asked without their images."""
    return result.settings.get("blind") is True


def blind_runs(key: TaskKey, results: Results) -> PaperTable:
    """The first table: models without images, by L-2 ability."""
    heads = {"Overall": (), **{code: ("by_l2_category", name) for name, code in L2_CODES.items()}}
    rows = [(label, *(_points(result.scores, *path) for path in heads.values())) for label, result in results]
    title = "MMBench, Appendix B, first table: without images, CircularEval"
    found = table(key, "appendix_b_blind", title, ("Model", *(f"{head} (%)" for head in heads)), rows)
    return with_published(found, key, "appendix_b_blind", results, [2] * len(heads))


def without_blind_solved(task: str, results: ResultsByKey) -> Iterator[PaperTable]:
    """The second table, for runs that also score without the questions a blind run solved; one row has dev and test."""
    rows: dict[tuple[str, str, int], dict[str, TaskResult]] = {}
    for label, of_run in results:
        for key, result in of_run.items():
            if key.split in _SPLITS and not is_blind(result):
                rows.setdefault((key.dataset, label, key.repeat), {})[key.split] = result
    for dataset in dict.fromkeys(dataset for dataset, _, _ in rows):
        own = [(label, by_split) for (of, label, _), by_split in rows.items() if of == dataset]
        found = [result for _, by_split in own for result in by_split.values() if WITHOUT_BLIND in result.variants]
        if found:
            splits = dict.fromkeys(split for split in _SPLITS for _, by_split in own if split in by_split)
            models = list(
                dict.fromkeys(str(result.diagnostics.get("exclude_blind_solved", {}).get("model")) for result in found)
            )
            cells = [(label, *_both_ways(by_split)) for label, by_split in own]
            blind = models[0] if len(models) == 1 else "blind"
            columns = [head for name in _SPLITS.values() for head in (f"{name} (%)", f"{name} w/o {blind} (%)")]
            note = f"Left out: questions that {' or '.join(models)} solved without images."
            title = "MMBench, Appendix B, second table: questions solved without images left out, CircularEval"
            key = TaskKey(task, dataset, ", ".join(splits))
            made = table(key, "appendix_b_without", title, ("Model", *columns), cells, note)
            yield with_published(made, key, "appendix_b_without", [], [2] * len(columns))


def _both_ways(by_split: Mapping[str, TaskResult]) -> Iterator[str]:
    """On each split, the score on all questions and on those that need the image."""
    for split in _SPLITS:
        result = by_split.get(split)
        yield _points(None if result is None else result.scores)
        yield _points(None if result is None else result.variants.get(WITHOUT_BLIND))


def _points(scores: Mapping[str, Any] | None, *path: str) -> str:
    return formatted(100 * number(scores, *path, "circular_accuracy"), 2)
