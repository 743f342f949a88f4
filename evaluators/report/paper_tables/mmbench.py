"""The tables of MMBench, except those of its Appendix B."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, L2_CODES
from eyechart.evaluators.protocols.choice.circular_eval import GRADES
from eyechart.evaluators.report.paper_tables.cells import (
    DELTA,
    Column,
    PaperTable,
    Results,
    formatted,
    group_columns,
    parts,
    percent,
    score_cell,
    score_table,
    table,
)
from eyechart.evaluators.report.paper_tables.mmbench_appendix import blind_runs, is_blind
from eyechart.evaluators.report.paper_tables.published import are_comparable, published_table, source_of
from eyechart.evaluators.report.scores import number
from eyechart.evaluators.results.finished_runs import TaskKey


def circular(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """MMBench, Tables 1 and 2; 4 for open answers; 3 or 8 and 9 to 14 by ability; Appendix B for blind runs."""
    sighted = [(label, result) for label, result in results if not is_blind(result)]
    if sighted:
        yield _extraction_steps(key, sighted)
        yield _both_evals(key, sighted)
    graded = [(label, result) for label, result in sighted if GRADES in result.variants]
    if graded:
        yield _grades(key, graded)
    if any(parts(result.scores, "by_l2_category") for _, result in sighted):
        yield _l2_abilities(key, sighted)
        yield from _leaf_abilities(key, sighted)
    if len(sighted) < len(results):
        yield blind_runs(key, [(label, result) for label, result in results if is_blind(result)])


def _extraction_steps(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 1: share of replies with a choice after exact matching, and after the judge."""
    rows = []
    for label, result in results:
        shares = parts(result.scores, "extraction")
        left = number(shares, "random") + number(shares, "unmatched")
        # If the rules parse every reply, nothing is left for a judge.
        second = 100 * (1 - left) if "judge" in (result.scores or {}) or not left else math.nan
        rows.append((label, percent(shares, "exact", digits=1), formatted(second, 1)))
    over = ", ".join(dict.fromkeys(str((result.scores or {}).get("distribution_over")) for _, result in results))
    note = (
        f"Computed over {over}. Step-2: replies parsed by exact matching, as declared answers or by the judge; the "
        "judge's X (no option) counts as parsed."
    )
    title = "MMBench, Table 1: success rate of each step of choice extraction"
    return table(key, "table_1", title, ("Model Name", "Step-1 (%)", "Step-2 (%)"), rows, note)


def _both_evals(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 2: one column per model."""
    both = {"VanillaEval (%)": "vanilla_accuracy", "CircularEval (%)": "circular_accuracy"}
    rows = [(name, *(Column("", (score,), 1).cell(result) for _, result in results)) for name, score in both.items()]
    differences = [
        formatted(100 * (number(r.scores, "circular_accuracy") - number(r.scores, "vanilla_accuracy")), 1)
        for _, r in results
    ]
    rows.append((f"{DELTA} (points)", *differences))
    columns = ("Eval \\ VLM", *(label for label, _ in results))
    title = "MMBench, Table 2: CircularEval and VanillaEval"
    printed = published_table(key, "table_2")
    if printed is None:
        return replace(table(key, "table_2", title, columns, rows), across=1)
    values = [[math.nan if value is None else value for value in row.values] for row in printed.rows]
    across = zip(*((vanilla, circular, circular - vanilla) for vanilla, circular in values), strict=True)
    rows = [(*row, *(formatted(value, 1) for value in more)) for row, more in zip(rows, across, strict=True)]
    columns = (*columns, *(row.model for row in printed.rows))
    found = table(key, "table_2", title, columns, rows)
    return replace(
        found,
        across=1,
        published_columns=len(values),
        source=source_of(printed, key),
        is_comparable=are_comparable(key, printed, results),
    )


def _grades(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 4: one column per model. The paper's table is on GQA, OK-VQA and Text-VQA."""
    scores = [result.variants[GRADES] for _, result in results]
    rows = [
        ("Accuracy (%)", *(score_cell(of_run, "exact_match", digits=1) for of_run in scores)),
        ("Average score (1 to 5)", *(score_cell(of_run, "mean_score", digits=2) for of_run in scores)),
    ]
    judges = ", ".join(dict.fromkeys(str(of_run.get("judge")) for of_run in scores))
    note = f"Open questions of this task; the paper's table is on three other datasets. Graded by {judges}."
    title = "MMBench, Table 4: grades of open answers and exact matching"
    found = table(key, "table_4", title, ("Model", *(label for label, _ in results)), rows, note)
    return replace(found, across=1)


def _l2_abilities(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 3 for the test split, Table 8 for other splits."""
    place, number_of = ("Table 3 (test)", "table_3") if key.split == "test" else ("Table 8 (dev)", "table_8")
    columns = group_columns({("l2_category", ""): L2_CODES}, "circular_accuracy", 1, overall=0)
    title = f"MMBench, {place}: L-2 abilities, CircularEval"
    names = "; ".join(f"{code}: {name}" for name, code in L2_CODES.items())
    return score_table(key, number_of, title, "VLM", columns, results, f"{names}.")


def _leaf_abilities(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """MMBench, Tables 9 to 14, one per L-2 ability."""
    by_l2 = groupby(ABILITIES.values(), lambda ability: ability.l2_category)
    for place, (l2_category, abilities) in enumerate(by_l2, start=9):
        names = [ability.category for ability in abilities]
        heads = {name: name if name.isupper() else name.title() for name in names}
        code = L2_CODES[l2_category]
        groups = {("l2_category", ""): {l2_category: code}, ("category", ""): heads}
        *columns, _ = group_columns(groups, "circular_accuracy", 1)
        title = f"MMBench, Table {place}: leaf abilities of {code}, CircularEval"
        found = score_table(key, f"table_{place}", title, "VLM", columns, results, f"{code}: {l2_category}.")
        rows = tuple((key.split.upper(), *row) for row in found.rows)
        yield replace(found, columns=("Split", *found.columns), rows=rows, labels=2)
