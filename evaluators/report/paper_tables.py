"""Scores laid out as the papers' tables are: the same columns in the same order, so that rows can be set beside them.

Left out are columns that compare with models that are no part of a report: ranks, and marks of improvement.
"""

import math
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from eyechart.datasets_scripts.common.abilities import ABILITIES
from eyechart.datasets_scripts.common.abilities import L2_CODES
from eyechart.evaluators.averages import AVERAGE
from eyechart.evaluators.report.runs import Run
from eyechart.evaluators.report.runs import TaskKey
from eyechart.evaluators.report.runs import merged_keys
from eyechart.evaluators.report.runs import number
from eyechart.evaluators.results import TaskResult

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
"""Parts of 2AFC's data as Tables II to V name them, in their order."""
UNDEFINED = "\N{EN DASH}"
"""Stands where there is no score."""


@dataclass(frozen=True)
class PaperTable:
    """One table."""

    key: str
    """File name without ending."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


Results = list[tuple[str, TaskResult]]
"""The scored results of one task, each with the label of its run."""
_QUESTION_TYPES = {"yes-or-no": "Yes-or-No", "what": "What", "how": "How"}
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
_PERCEPTUAL = {
    "technical quality": "Tec. Qua.",
    "color and light": "Col. Lig.",
    "composition": "Comp.",
    "content": "Content",
}
_EMPATHIC = {"emotion": "Emotion", "interest": "Interest", "uniqueness": "Uniqueness", "vibe": "Vibe"}
_SOURCES = {"natural": "NIs", "artistic": "AIs", "AI-generated": "AGIs"}
_AES_TYPES = {"yes-or-no": "Yes-No", "what": "What", "how": "How", "why": "Why"}
_AGGREGATORS = {"mle": "MLE", "perron": "Perron", "trueskill": "TrueSkill", "map": "MAP"}
_PAIR_SCORES = {
    "consistency": "\N{GREEK SMALL LETTER KAPPA}",
    "accuracy_all": "\N{GREEK SMALL LETTER ALPHA}",
    "plcc_fitted": "\N{GREEK SMALL LETTER RHO}",
}


def paper_tables(runs: Sequence[Run]) -> list[PaperTable]:
    """The tables that the results of some runs fill, in the order of the runs' tasks.

    Args:
        runs: Each gives a row, or a group of columns where the paper has models side by side.
    """
    tables = []
    for key in merged_keys(runs):
        scored = [(run.label, run.tasks[key]) for run in runs if key in run.tasks and run.tasks[key].scores]
        if scored:
            tables += [table for make in _MAKERS.get(key.task, ()) for table in make(key, scored)]
    return tables


def _perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 2; Table 5 where a run has closed-set inference."""
    groups = {"question_type": _QUESTION_TYPES, "concern": _CONCERNS}
    closed = any(_is_closed_set(result) for _, result in results)
    paper = "Q-Bench, Table 5: closed-set inference" if closed else "Q-Bench, Table 2: perception"
    if key.task != "q_bench/perception":
        paper += " of pairs, in the columns of single images"
    if closed:
        results = [(f"{label} ({'close-set' if _is_closed_set(r) else 'normal'})", r) for label, r in results]
    yield _choice_table(key, paper, "Model (variant)", groups, results, "table_5" if closed else "table_2")


def _aes_perception(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    groups = {"dimension": _PERCEPTUAL, "image_source": _SOURCES, "question_type": _AES_TYPES}
    yield _choice_table(key, "AesBench, Table 2: aesthetic perception", "MLLM", groups, results, "table_2")


def _aes_empathy(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    groups = {"dimension": _EMPATHIC, "image_source": _SOURCES, "question_type": _AES_TYPES}
    yield _choice_table(key, "AesBench, Table 3: aesthetic empathy", "MLLM", groups, results, "table_3")


def _aes_assessment(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    groups = {"image_source": _SOURCES}
    yield _choice_table(key, "AesBench, Table 4: aesthetic assessment", "MLLM", groups, results, "table_4")


def _choice_table(
    key: TaskKey, paper: str, corner: str, groups: Mapping[str, Mapping[str, str]], results: Results, number_of: str
) -> PaperTable:
    """Accuracy by groups and overall, the random-guess level first."""
    paths: list[tuple[str, ...]] = [(f"by_{group}", value) for group, names in groups.items() for value in names]
    paths.append(())
    head = [name for names in groups.values() for name in names.values()]
    guesses = {tuple(_percent(result.scores, *path, "random_guess") for path in paths) for _, result in results}
    rows = [("random guess", *guess) for guess in guesses] if len(guesses) == 1 else []
    for label, result in results:
        rows.append((label, *(_percent(result.scores, *path, "accuracy") for path in paths)))
    return _table(key, number_of, paper, (corner, *head, "Overall"), rows)


def _description(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    columns = [f"{name} {part}" for name in _DIMENSIONS.values() for part in ("P_0", "P_1", "P_2", "score")]
    rows = []
    for label, result in results:
        cells = []
        for dimension in _DIMENSIONS:
            cells += [_percent(result.scores, dimension, part) for part in ("p0", "p1", "p2")]
            cells.append(_decimal(2, result.scores, dimension, "score"))
        rows.append((label, *cells, _decimal(2, result.scores, "sum")))
    note = _judges(results)
    yield _table(key, "table_3", "Q-Bench, Table 3: description", ("Model (variant)", *columns, "Sum."), rows, note)


def _assessment(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Q-Bench, Table 4: SRCC/PLCC. One row of all databases comes with their average."""
    if key.subset != AVERAGE:
        return
    paths: list[tuple[str, ...]] = [("by_database", name) for name in _DATABASES] + [()]
    rows = [
        (
            label,
            *("/".join(_decimal(3, result.scores, *path, name) for name in ("srcc", "plcc")) for path in paths),
        )
        for label, result in results
    ]
    columns = ("Model / Dataset", *_DATABASES.values(), "Average")
    yield _table(key, "table_4", "Q-Bench, Table 4: assessment, SRCC/PLCC", columns, rows)


def _mmbench(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    labels = [label for label, _ in results]
    both = {"VanillaEval": "vanilla_accuracy", "CircularEval": "circular_accuracy"}
    rows = [
        (name, *(_percent(result.scores, score, digits=1) for _, result in results)) for name, score in both.items()
    ]
    differences = [
        _formatted(100 * (number(r.scores, "circular_accuracy") - number(r.scores, "vanilla_accuracy")), 1, "%")
        for _, r in results
    ]
    rows.append(("\N{GREEK CAPITAL LETTER DELTA}", *differences))
    title = "MMBench, Table 2: CircularEval and VanillaEval"
    yield _table(key, "table_2", title, ("Eval \\ VLM", *labels), rows)
    if not any(_parts(result, "by_l2_category") for _, result in results):
        return
    place = "Table 3 (test)" if key.split == "test" else "Table 8 (dev)"
    rows = [
        (
            label,
            _percent(result.scores, "circular_accuracy", digits=1),
            *(_percent(result.scores, "by_l2_category", name, "circular_accuracy", digits=1) for name in L2_CODES),
        )
        for label, result in results
    ]
    columns = ("VLM", "Overall", *L2_CODES.values())
    number_of = "table_3" if key.split == "test" else "table_8"
    yield _table(key, number_of, f"MMBench, {place}: L-2 abilities, CircularEval", columns, rows)
    leaves = groupby(ABILITIES.values(), lambda ability: ability.l2_category)
    tables = dict(zip(L2_CODES, range(9, 15), strict=True))
    for l2_category, abilities in leaves:
        names = [ability.category for ability in abilities]
        paths = [("by_l2_category", l2_category), *(("by_category", name) for name in names)]
        rows = [
            (
                key.split.upper(),
                label,
                *(_percent(result.scores, *path, "circular_accuracy", digits=1) for path in paths),
            )
            for label, result in results
        ]
        code, place_of = L2_CODES[l2_category], tables[l2_category]
        columns = ("Split", "VLM", code, *(name if name.isupper() else name.title() for name in names))
        title = f"MMBench, Table {place_of}: leaf abilities of {code}, CircularEval"
        yield _table(key, f"table_{place_of}", title, columns, rows)


def _self_awareness(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """QL-Bench, Tables I and III for single images, II and IV for pairs."""
    first, second = ("I", "III") if key.task == "ql_bench/single" else ("II", "IV")
    paths: list[tuple[str, ...]] = [("by_question_type", name) for name in _QUESTION_TYPES]
    columns = [f"{name} score_{part}" for name in (*_QUESTION_TYPES.values(), "Total") for part in ("cc", "rc")]
    rows = [
        (
            label,
            *(_decimal(3, r.scores, *path, name) for path in (*paths, ()) for name in ("score_cc", "score_rc")),
            _decimal(3, r.scores, "score_sa"),
        )
        for label, r in results
    ]
    note = "The papers' tables also count the private test answers." if key.split == "dev" else ""
    title = f"QL-Bench, Table {first}: self-awareness"
    yield _table(key, f"table_{first}", title, ("QL-Bench", *columns, "Total score_sa"), rows, note)
    columns = [f"{name} {part}" for name in _QUESTION_TYPES.values() for part in ("Answer Acc", "Answer Rate")]
    rows = [
        (
            label,
            *(
                _percent(r.scores, *path, name, digits=3)
                for path in paths
                for name in ("answer_accuracy", "answer_rate")
            ),
        )
        for label, r in results
    ]
    title = f"QL-Bench, Table {second}: answer accuracy and answer rate"
    yield _table(key, f"table_{second}", title, ("QL-Bench", *columns), rows, note)


def _interpretation(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    names = ("relevance", "precision", "completeness")
    rows = [
        (label, *(_decimal(3, r.scores, name, "score") for name in names), _decimal(3, r.scores, "mean"))
        for label, r in results
    ]
    columns = ("MLLM", "Rele.", "Prec.", "Comp.", "Overall")
    title = "AesBench, Table 5: aesthetic interpretation"
    yield _table(key, "table_5", title, columns, rows, _judges(results))


def _coarse(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """2AFC, Tables II and V."""
    title = "2AFC, Table II: consistency, accuracy and correlation, coarse-grained"
    yield _pairs_table(key, "table_II", title, "Dataset", _PAIR_SCORES, results)
    for label, result in results:
        by_method = _by_aggregator(result)
        found = dict.fromkeys(name for pools in by_method.values() for name in pools)
        databases = sorted(found, key=_place_in_paper)
        rows = [
            (_AGGREGATORS[method], *(_decimal(3, pools, name, "plcc_fitted") for name in databases))
            for method, pools in by_method.items()
        ]
        title = f"2AFC, Table V: ranking methods, PLCC, of {label}"
        if rows:
            yield _table(key, "table_V", title, ("Method", *(_PAIR_NAMES.get(name, name) for name in databases)), rows)


def _fine(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """2AFC, Tables III and IV, of which each fine-grained task gives a part."""
    first = {name: text for name, text in _PAIR_SCORES.items() if name != "plcc_fitted"}
    title = "2AFC, Table III: consistency and accuracy, fine-grained"
    yield _pairs_table(key, "table_III", title, "Type", first, results)
    second = {"plcc_fitted": _PAIR_SCORES["plcc_fitted"]}
    yield _pairs_table(key, "table_IV", "2AFC, Table IV: correlation, fine-grained", "Type", second, results)


def _pairs_table(
    key: TaskKey, number_of: str, title: str, corner: str, scores: Mapping[str, str], results: Results
) -> PaperTable:
    """Parts of the data down, models across; each average below the parts that it is of."""
    found = dict.fromkeys(name for _, result in results for name in _parts(result, "table", extras=True))
    names = sorted(found, key=_place_in_paper)
    below = {
        tuple(map(str, average["over"])): average["weights"]
        for _, result in results
        for average in _averages(result)
        if set(average["over"]) <= found.keys()
    }
    rows = []
    for name in names:
        shown = _PAIR_NAMES.get(name, name)
        rows.append((shown, *(_decimal(3, result.extras, "table", name, s) for _, result in results for s in scores)))
        for over, weights in below.items():
            if name == max(over, key=names.index, default=None):
                own = [_average_over(result, over) for _, result in results]
                text = "Weighted average" if weights == "n_images" else "Average"
                rows.append((text, *(_decimal(3, average, s) for average in own for s in scores)))
    head = [f"{label} {symbol}" for label, _ in results for symbol in scores.values()]
    return _table(key, number_of, title, (corner, *head), rows)


def _place_in_paper(part: str) -> int:
    """Where Tables II to V have a part of the data; parts of other data come last, in their own order."""
    return list(_PAIR_NAMES).index(part) if part in _PAIR_NAMES else len(_PAIR_NAMES)


def _by_aggregator(result: TaskResult) -> dict[str, Any]:
    own = str((result.scores or {}).get("aggregator"))
    ways = {**result.variants, own: result.scores or {}}
    return {name: ways[name].get("by_pool") or {} for name in _AGGREGATORS if name in ways}


def _averages(result: TaskResult) -> list[dict[str, Any]]:
    found = result.extras.get("averages")
    rows = found if isinstance(found, list) else []
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("over"), list) and "weights" in row]


def _average_over(result: TaskResult, over: tuple[str, ...]) -> dict[str, Any]:
    return next((row for row in _averages(result) if tuple(map(str, row["over"])) == over), {})


def _parts(result: TaskResult, name: str, *, extras: bool = False) -> Mapping[str, Any]:
    found = (result.extras if extras else result.scores or {}).get(name)
    return found if isinstance(found, Mapping) else {}


def _is_closed_set(result: TaskResult) -> bool:
    return result.settings.get("inference") == "closed-set"


def _judges(results: Results) -> str:
    return f"Judged by {', '.join(sorted({str((r.scores or {}).get('judge')) for _, r in results}))}."


def _table(
    key: TaskKey,
    number_of: str,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    note: str = "",
) -> PaperTable:
    return PaperTable(key.file_name(number_of), f"{title} ({key.title})", tuple(columns), tuple(rows), note)


def _percent(scores: Mapping[str, Any] | None, *path: str, digits: int = 2) -> str:
    return _formatted(100 * number(scores, *path), digits, "%")


def _decimal(digits: int, scores: Mapping[str, Any] | None, *path: str) -> str:
    return _formatted(number(scores, *path), digits)


def _formatted(value: float, digits: int, unit: str = "") -> str:
    return f"{value:.{digits}f}{unit}" if math.isfinite(value) else UNDEFINED


_MAKERS: Mapping[str, tuple[Callable[[TaskKey, Results], Iterator[PaperTable]], ...]] = {
    "q_bench/perception": (_perception,),
    "q_bench/perception_pairs": (_perception,),
    "q_bench/description": (_description,),
    "q_bench/assessment": (_assessment,),
    **{f"mmbench/{name}": (_mmbench,) for name in ("en", "cn", "en_v11", "cn_v11", "cc")},
    "ql_bench/single": (_self_awareness,),
    "ql_bench/pair": (_self_awareness,),
    "aes_bench/perception": (_aes_perception,),
    "aes_bench/empathy": (_aes_empathy,),
    "aes_bench/assessment": (_aes_assessment,),
    "aes_bench/interpretation": (_interpretation,),
    "two_afc/coarse": (_coarse,),
    **{f"two_afc/{name}": (_fine,) for name in ("fine_levels", "fine_types", "fine_mos")},
}
"""Which tables each task fills."""
