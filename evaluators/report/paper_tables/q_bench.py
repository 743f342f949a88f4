"""The tables of Q-Bench's perception and description."""

import math
from collections.abc import Iterator
from dataclasses import replace

from eyechart.evaluators.report.paper_tables.cells import (
    QUESTION_TYPES,
    UNDEFINED,
    Column,
    PaperTable,
    Results,
    choice_table,
    parts,
    score_table,
    table,
    with_published,
)
from eyechart.evaluators.report.scores import judged_by, number
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult

_SINGLE = "q_bench/perception"
_CORNER = "Model (variant)"
_CONCERNS = {
    "distortion": "Distortion",
    "other": "Other",
    "in-context distortion": "In-context Distortion",
    "in-context other": "In-context Other",
}
_DIMENSIONS = {"completeness": "Completeness", "preciseness": "Precision", "relevance": "Relevance"}


def perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 2 (test) or 7 (dev); Table 5 if a run has closed-set inference; Table 8."""
    groups = {
        ("question_type", "Question Types"): QUESTION_TYPES,
        ("concern", "Quadrants of Low-level Concerns"): _CONCERNS,
    }
    pairs = _of_pairs(key)
    normal = [(label, result) for label, result in results if not _is_closed_set(result)]
    if normal:
        place, number_of = ("Table 2", "table_2") if key.split == "test" else ("Table 7", "table_7")
        yield choice_table(key, number_of, f"Q-Bench, {place}: perception{pairs}", _CORNER, groups, normal)
    if len(normal) < len(results):
        results = [(f"{label} ({'close-set' if _is_closed_set(r) else 'normal'})", r) for label, r in results]
        title = f"Q-Bench, Table 5: closed-set inference{pairs}"
        yield choice_table(key, "table_5", title, _CORNER, groups, results)
    if any(parts(result.scores, "yes_no") for _, result in results):
        yield _yes_or_no(key, results)


def _yes_or_no(key: TaskKey, results: Results) -> PaperTable:
    """Q-Bench, Table 8: questions whose correct answer is yes or no."""
    # Questions on single images have two options; one question on pairs has a single option.
    rows: list[tuple[str, ...]] = [("chance level", *["50.00"] * 4, UNDEFINED)] if key.task == _SINGLE else []
    means = [number(parts(result.scores, "yes_no"), "mean") for _, result in results]
    for (label, result), own in zip(results, means, strict=True):
        cells = [Column(name, ("yes_no", name), 2).cell(result) for name in ("all", "yes", "no", "mean")]
        rank = UNDEFINED if math.isnan(own) else str(1 + sum(mean > own for mean in means))
        rows.append((label, *cells, rank))
    columns = (_CORNER, "all (%)", "correct answer: Yes (%)", "correct answer: No (%)", "mean (%)", "de-biased #")
    title = f"Q-Bench, Table 8: yes/no questions{_of_pairs(key)}"
    made = table(key, "table_8", title, columns, rows)
    # The paper ranks only its own models.
    printed = with_published(replace(made, columns=columns[:-1]), key, "table_8", results, [2] * 4)
    published = tuple((*row, UNDEFINED) for row in printed.published)
    return replace(printed, columns=columns, published=published, unranked=(5,))


def description(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 3."""
    columns = []
    for name, head in _DIMENSIONS.items():
        columns += [Column(f"P_{score}", (name, f"p{score}"), 2, head) for score in range(3)]
        columns.append(Column("score", (name, "score"), 2, head))
    columns.append(Column("Sum.", ("sum",), 2))
    yield score_table(key, "table_3", "Q-Bench, Table 3: description", _CORNER, columns, results, judged_by(results))


def _of_pairs(key: TaskKey) -> str:
    """Added to the title of a table on pairs, which the paper does not have."""
    return "" if key.task == _SINGLE else ", for image pairs"


def _is_closed_set(result: TaskResult) -> bool:
    return result.settings.get("inference") == "closed-set"
