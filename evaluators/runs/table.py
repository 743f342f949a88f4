"""The table that a run prints, with value, interval, chance level and n of each score, and the caveats below it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from eyechart.datasets_scripts.official import in_official_terms
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.protocols.choice.blind import GAIN
from eyechart.evaluators.protocols.choice.calibration import CALIBRATION, abstention_line, calibration_line
from eyechart.evaluators.protocols.choice.circular_eval import GRADES, WITHOUT_BLIND
from eyechart.evaluators.results.evaluation import VARIANT_WARNING, Evaluation
from eyechart.evaluators.results.official import official_items, scored_items
from eyechart.evaluators.results.results_file import FailedTask, task_folder
from eyechart.evaluators.results.score_rows import COLUMNS, interval_lists, plain_interval_note, repeat_rows, score_rows
from eyechart.evaluators.results.sources import MINI
from eyechart.evaluators.runs.layout import add_heading, add_scores, scores_table
from eyechart.evaluators.runs.verdict import verdict_lines
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_WITH_BREAKDOWN = 3
"""Most results for which the table also shows breakdowns by group."""
_ASKED_FOR = (WITHOUT_BLIND, GRADES)
"""Variants that the user requests by a setting; the table shows them below the scores."""


def score_table(evaluations: Sequence[Evaluation], failed: Sequence[FailedTask]) -> Table:
    """Lay out the results of a run: a heading with task and data, and below it a line for each score.

    Args:
        evaluations: The tasks that finished.
        failed: Those that did not.
    """
    table = scores_table(_title(evaluations), COLUMNS[0], [name.replace(" level", "") for name in COLUMNS[1:]])
    groups = len(evaluations) <= _WITH_BREAKDOWN
    for evaluation in evaluations:
        data = f"{evaluation.dataset} ({', '.join([evaluation.split, *_extent(evaluation)])})"
        add_heading(table, evaluation.task, data)
        for cells in _rows(evaluation, groups):
            add_scores(table, *cells)
    for failure in failed:
        add_heading(table, failure.task, failure.dataset)
        table.add_row("  [red]failed: see above[/red]")
    return table


def _extent(evaluation: Evaluation) -> Iterator[str]:
    """Whether the data are synthetic, and which part of them or how many of the official items were used, if known."""
    if evaluation.settings["data"]["is_mini"]:
        yield "synthetic"
    if (sample := evaluation.settings.get(SAMPLE)) is not None:
        yield f"sample of {sample['n']:,} from {sample['of']:,}"
        return
    limit, rows = evaluation.settings.get("limit"), evaluation.settings["data"].get("rows")
    if limit is not None and rows is not None and limit < rows:
        yield f"first {limit:,} of {rows:,} items"
        return
    count = _asked(evaluation) if evaluation.scores is None else scored_items(evaluation.scores)
    official = in_official_terms(count or 0, official_items(evaluation))
    if official:
        yield official


def _asked(evaluation: Evaluation) -> int:
    return len({answer["id"] for answer in evaluation.predictions})


def caveat_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """What readers of the table need to know: caveats, then the verdict, which stays in sight above the prompt."""
    lines = [f"{e.task}: {caveat}" for e in evaluations for caveat in e.caveats]
    for evaluation in evaluations:
        lines += _task_lines(evaluation)
    lexical = [e.task for e in evaluations if _is_lexical(e)]
    if lexical:
        lines.append(
            f"{', '.join(lexical)}: scored by `{LEXICAL}`, a comparison of words that replaces the judge if none is "
            "named; such scores are not comparable with published ones."
        )
    lines += _other_ways(evaluations)
    if undefined := [e.task for e in evaluations if any(text.startswith(VARIANT_WARNING) for text in e.warnings)]:
        tasks = ", ".join(dict.fromkeys(undefined))
        lines.append(f"{tasks}: some alternative scorings could not be computed: see `warnings` in results.json.")
    if len(evaluations) > _WITH_BREAKDOWN:
        lines.append("Breakdowns by group are in results.json; the table shows them for at most three results.")
    elif any(_is_crossed(key) for e in evaluations for key in e.scores or {}):
        lines.append("Breakdowns by two groups at once are in results.json.")
    if any(e.settings["data"]["is_mini"] for e in evaluations):
        lines.append(
            f"The data are {MINI}, so these scores are not comparable with published ones. To run on the real data, "
            "name a --model and leave out --mini."
        )
    return [*lines, *verdict_lines(evaluations)]


def interval_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """How the interval of each number in the table was computed, or why there is none; below each head, a list."""
    whole = [(e.task, part) for e in evaluations for part in _shown_whole(e)]
    has_groups = len(evaluations) <= _WITH_BREAKDOWN
    groups = [(e.task, dict(_asked_for(e))) for e in evaluations]
    groups += [(e.task, dict(_parts(e))) for e in evaluations if has_groups]
    kinds, reasons = interval_lists(whole, groups)
    of_groups = [part for _, parts in groups for part in parts.values()]
    if plain := plain_interval_note([part for _, part in whole], of_groups):
        kinds.append(f"{'all others: ' if kinds else ''}{plain}")
    if repeated := [e.task for e in evaluations if "repeats" in e.diagnostics]:
        reasons.append(f"mean ± SD describes how repeats of the same items differ: {', '.join(repeated)}")
    if has_groups and (averaged := [e.task for e in evaluations if _averages(e)]):
        reasons.append(f"averages are over parts that may share images: {', '.join(averaged)}")
    lines = ["95 % intervals:", *(f"  {kind}" for kind in kinds)] if kinds else []
    return [*lines, "No interval, because:", *(f"  {reason}" for reason in reasons)] if reasons else lines


def _task_lines(evaluation: Evaluation) -> list[str]:
    """Caveats and files of one task."""
    lines = []
    agreement = evaluation.diagnostics.get("extractor_agreement", {}).get("all")
    if agreement:
        share = f"{100 * agreement['agreement']:.2f} %"
        lines.append(
            f"{evaluation.task}: the parsed letter agrees with the human label in {share} of {agreement['n']} replies."
        )
    blind = evaluation.diagnostics.get(GAIN, {}).get("model", evaluation.model)
    if blind != evaluation.model:
        lines.append(f"{evaluation.task}: the blind run is of the model {blind}, so the gain compares two models.")
    if calibration := evaluation.diagnostics.get(CALIBRATION):
        lines.append(f"{evaluation.task}: calibration: {calibration_line(calibration)}")
        if "abstention" in calibration:
            lines.append(f"{evaluation.task}: {abstention_line(calibration['abstention'])}")
    for name in evaluation.files:
        place = task_folder(evaluation) / name
        lines.append(f"{evaluation.task}: the answer file is {place}{_not_to_be_submitted(evaluation)}")
    count = len(evaluation.left_out)
    if count:
        first = evaluation.left_out[0]
        lines.append(
            f"{evaluation.task}: {count} item{'s' if count > 1 else ''} left out, listed in the results; "
            f"the first: '{first['id']}': {first['reason']}"
        )
    return lines


def _not_to_be_submitted(evaluation: Evaluation) -> str:
    """Why an answer file should not be submitted; "" if it can be."""
    data, limit = evaluation.settings["data"], evaluation.settings.get("limit")
    if data["is_mini"]:
        return "; do not submit it: the data are synthetic"
    if (sample := evaluation.settings.get(SAMPLE)) is not None:
        return f"; do not submit it: run used --sample {sample['n']} of {sample['of']:,} items"
    if limit is not None:
        return f"; do not submit it: run used --limit {limit} of {data['rows']:,} items"
    if evaluation.left_out:
        return "; do not submit it: items were left out"
    return ""


def _other_ways(evaluations: Sequence[Evaluation]) -> list[str]:
    """Names of the variants that the table does not show; tasks with the same variants share a line."""
    names: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        others = [name for name in evaluation.variants if name not in _ASKED_FOR]
        names.setdefault(evaluation.task, {}).update(dict.fromkeys(others))
    tasks: dict[str, list[str]] = {}
    for task, ways in names.items():
        tasks.setdefault(", ".join(ways), []).append(task)
    return [
        f"{', '.join(alike)}: alternative scorings ({ways}): see results.json." for ways, alike in tasks.items() if ways
    ]


def _is_lexical(evaluation: Evaluation) -> bool:
    return any(scores.get("judge") == LEXICAL for scores in (evaluation.scores or {}, *evaluation.variants.values()))


def _title(evaluations: Sequence[Evaluation]) -> str:
    models = sorted({e.model for e in evaluations})
    return f"model: {', '.join(models)}" if models else ""


def _rows(evaluation: Evaluation, groups: bool) -> Iterator[tuple[str, str, str, str, str]]:
    scores = evaluation.scores
    if scores is None:
        items = _asked(evaluation)
        yield ("no score, see below", "", "", "", f"{items:,}" if items else "")
        return
    yield from score_rows(scores)
    yield from repeat_rows(evaluation.diagnostics.get("repeats", {}), scores)
    yield from score_rows(evaluation.diagnostics.get(GAIN, {}))
    for name, part in _asked_for(evaluation):
        yield from score_rows(part, name)
    if groups:
        for name, part in _parts(evaluation):
            yield from score_rows(part, name)
        for average in _averages(evaluation):
            first, *_, last = average["over"]
            yield from score_rows(average, f"average of {len(average['over'])}, {first} to {last}")


def _shown_whole(evaluation: Evaluation) -> Iterator[Mapping[str, Any]]:
    """The scores over all items that the table shows."""
    if evaluation.scores is not None:
        yield evaluation.scores
        yield evaluation.diagnostics.get("repeats", {}).get("choices", {})
        yield evaluation.diagnostics.get(GAIN, {})


def _asked_for(evaluation: Evaluation) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The variants that the table shows."""
    if evaluation.scores is not None:
        yield from ((name, evaluation.variants[name]) for name in _ASKED_FOR if name in evaluation.variants)


def _parts(evaluation: Evaluation) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Parts of the data with their scores: those of the benchmark's own table, if it has one, or else all groups."""
    if "table" in evaluation.diagnostics:
        yield from evaluation.diagnostics["table"].items()
        return
    for key, values in (evaluation.scores or {}).items():
        if key.startswith("by_") and not _is_crossed(key) and isinstance(values, Mapping):
            yield from ((f"{value}", part) for value, part in values.items())


def _averages(evaluation: Evaluation) -> Sequence[Mapping[str, Any]]:
    """The averages of the paper's table, each over several parts."""
    found: Sequence[Mapping[str, Any]] = evaluation.diagnostics.get("averages", ())
    return found


def _is_crossed(key: str) -> bool:
    """Whether a key is a breakdown by two groups at once, which would be too long for the table."""
    return key.startswith("by_") and "_by_" in key
