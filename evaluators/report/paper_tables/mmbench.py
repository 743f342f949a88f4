"""The tables of MMBench."""

from collections.abc import Iterator
from collections.abc import Sequence
from itertools import groupby

from eyechart.datasets_scripts.common.abilities import ABILITIES
from eyechart.datasets_scripts.common.abilities import L2_CODES
from eyechart.evaluators.report.paper_tables.cells import PaperTable
from eyechart.evaluators.report.paper_tables.cells import Results
from eyechart.evaluators.report.paper_tables.cells import formatted
from eyechart.evaluators.report.paper_tables.cells import parts
from eyechart.evaluators.report.paper_tables.cells import percent
from eyechart.evaluators.report.paper_tables.cells import table
from eyechart.evaluators.report.runs import TaskKey
from eyechart.evaluators.report.runs import number
from eyechart.evaluators.results import TaskResult


def circular(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """MMBench, Table 2; Table 3 or 8 and Tables 9 to 14 where the results are broken down by ability."""
    yield _both_evals(key, results)
    if any(parts(result, "by_l2_category") for _, result in results):
        yield _l2_abilities(key, results)
        yield from _leaf_abilities(key, results)


def _both_evals(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 2: models across."""
    both = {"VanillaEval": "vanilla_accuracy", "CircularEval": "circular_accuracy"}
    rows = [(name, *(percent(result.scores, score, digits=1) for _, result in results)) for name, score in both.items()]
    differences = [
        formatted(100 * (number(r.scores, "circular_accuracy") - number(r.scores, "vanilla_accuracy")), 1, "%")
        for _, r in results
    ]
    rows.append(("\N{GREEK CAPITAL LETTER DELTA}", *differences))
    columns = ("Eval \\ VLM", *(label for label, _ in results))
    return table(key, "table_2", "MMBench, Table 2: CircularEval and VanillaEval", columns, rows)


def _l2_abilities(key: TaskKey, results: Results) -> PaperTable:
    """MMBench, Table 3 for the test split, Table 8 for the others."""
    place, number_of = ("Table 3 (test)", "table_3") if key.split == "test" else ("Table 8 (dev)", "table_8")
    paths = [(), *(("by_l2_category", name) for name in L2_CODES)]
    rows = [(label, *_accuracies(result, paths)) for label, result in results]
    title = f"MMBench, {place}: L-2 abilities, CircularEval"
    return table(key, number_of, title, ("VLM", "Overall", *L2_CODES.values()), rows)


def _leaf_abilities(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """MMBench, Tables 9 to 14, one for each L-2 ability."""
    places = dict(zip(L2_CODES, range(9, 15), strict=True))
    for l2_category, abilities in groupby(ABILITIES.values(), lambda ability: ability.l2_category):
        names = [ability.category for ability in abilities]
        paths = [("by_l2_category", l2_category), *(("by_category", name) for name in names)]
        rows = [(key.split.upper(), label, *_accuracies(result, paths)) for label, result in results]
        code, place = L2_CODES[l2_category], places[l2_category]
        columns = ("Split", "VLM", code, *(name if name.isupper() else name.title() for name in names))
        title = f"MMBench, Table {place}: leaf abilities of {code}, CircularEval"
        yield table(key, f"table_{place}", title, columns, rows)


def _accuracies(result: TaskResult, paths: Sequence[tuple[str, ...]]) -> list[str]:
    return [percent(result.scores, *path, "circular_accuracy", digits=1) for path in paths]
