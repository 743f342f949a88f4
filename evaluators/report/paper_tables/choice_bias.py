"""Two tables of multiple-choice tasks: the multimodal gain, and position bias."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from eyechart.evaluators.protocols.choice.blind import GAIN
from eyechart.evaluators.report.paper_tables.cells import GROUP, UNDEFINED, PaperTable, Results, parts, percent, table
from eyechart.evaluators.report.paper_tables.mmbench_appendix import is_blind
from eyechart.evaluators.report.scores import interval
from eyechart.evaluators.results.finished_runs import TaskKey
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scores import SCORES

_LABELS = {one.key: one.label for one in SCORES}
_GAINS = {"blind_score": "Without images", "gain": "Gain", "leak": "Leak"}


def label_of(label: str, result: TaskResult) -> str:
    """A run's label, marked if the run showed no images."""
    return f"{label} (without images)" if is_blind(result) else label


def gains(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Score without images, multimodal gain and leak of runs that name their blind run."""
    found = [(label, parts(result.diagnostics, GAIN)) for label, result in results if GAIN in result.diagnostics]
    if not found:
        return
    heads = [head for name in _GAINS.values() for head in (f"{name} (%)", "95 % interval")]
    rows = []
    for label, own in found:
        cells = [cell for name in _GAINS for cell in (percent(own, name), _ends(own, name))]
        rows.append((label, str(own.get("model")), *cells, percent(own, "random_guess")))
    score = _LABELS.get(str(found[0][1].get("score")), "score")
    title = f"Multimodal gain and leak, as in MMStar, Sec. 4.3: {score}"
    note = "Gain: score with images minus score without images. Leak: score without images minus chance level."
    made = table(key, "gain", title, ("Model", "Blind run", *heads, "Chance level (%)"), rows, note, labels=2)
    yield replace(made, unranked=tuple(range(len(made.columns))))


def positions(key: TaskKey, results: Results) -> Iterator[PaperTable]:
    """Recall by position of the correct option with its spread; flip rate and majority of passes if available."""
    found = [(label, result.scores or {}) for label, result in results if parts(result.scores, "position_bias")]
    if not found:
        return
    letters = sorted({letter for _, scores in found for letter in parts(scores["position_bias"], "recall")})
    columns = {
        **{f"Recall at{GROUP}{letter} (%)": ("position_bias", "recall", letter) for letter in letters},
        "Spread (%)": ("position_bias", "spread"),
        "Spread by chance (%)": ("position_bias", "spread_by_chance"),
    }
    if any("flip_rate" in scores for _, scores in found):
        columns |= {"Flip rate (%)": ("flip_rate",), "Majority of passes (%)": ("position_free_accuracy",)}
    rows = [(label, *(percent(scores, *path) for path in columns.values())) for label, scores in found]
    note = (
        "Recall: share of correct answers among questions whose correct option is at that position. Spread: standard "
        "deviation of the recall over positions, among questions with the same number of options. A spread no larger "
        "than the spread by chance is no evidence of bias."
    )
    made = table(key, "positions", "Position bias", ("Model", *columns), rows, note)
    yield replace(made, unranked=tuple(range(len(made.columns))))


def _ends(scores: Mapping[str, Any], name: str) -> str:
    ends = interval(scores, name)
    return UNDEFINED if ends is None else f"{100 * ends[0]:.2f} to {100 * ends[1]:.2f}"
