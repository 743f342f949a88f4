"""The notes of a run: what readers of its scores need to know, the most important first, each said once."""

from collections.abc import Iterator, Sequence

from eyechart.datasets_scripts.official import in_official_terms
from eyechart.evaluators.results.finished_runs import MINI, official_items, scored_items
from eyechart.evaluators.results.results_file import SAMPLE, TaskResult, task_folder
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_SYNTHETIC = f"{MINI.capitalize()}: not comparable with papers. Name a --model for real data."


def notes_of(results: Sequence[TaskResult]) -> list[tuple[str, set[str]]]:
    """The notes on finished tasks, each with the names of its tasks."""
    tasks: dict[str, set[str]] = {}
    for result in results:
        for text in _texts(result):
            tasks.setdefault(text, set()).add(result.task)
    # Python's sort keeps the order of equals.
    return sorted(tasks.items(), key=lambda note: (not note[0].startswith("Incomplete"), note[0] != _SYNTHETIC))


def extent(results: Sequence[TaskResult]) -> str:
    """How many of the official items the results cover together, or which part of other data; "" if that is unknown."""
    settings = [result.settings for result in results]
    counts = [asked_items(result) if result.scores is None else scored_items(result.scores) for result in results]
    count = sum(filter(None, counts))
    official = [official_items(result) for result in results]
    sampled = " (random sample)" if any(SAMPLE in setting for setting in settings) else ""
    if all(official):
        totals = official[0] if len(official) == 1 else (sum(known[0] for known in official),)
        return in_official_terms(count, totals) + sampled
    rows = sum(setting["data"].get("rows") or 0 for setting in settings)
    is_part = sampled or any(setting.get("limit") is not None for setting in settings)
    return f"{count:,} of {rows:,} items{sampled}" if is_part and count < rows else ""


def asked_items(result: TaskResult) -> int:
    """Number of items that were asked."""
    return len({item.id for item in result.items})


def _texts(result: TaskResult) -> Iterator[str]:
    """The notes on one task."""
    if result.settings["data"]["is_mini"]:
        yield _SYNTHETIC
    yield from result.caveats
    for name in result.files:
        yield f"Answer file: {task_folder(result) / name}{_not_to_be_submitted(result)}."
    if any(scores.get("judge") == LEXICAL for scores in (result.scores or {}, *result.variants.values())):
        yield "Scored by word overlap, not by a --judge: not comparable with papers."
    if count := len(result.left_out):
        first = result.left_out[0]
        yield f"{count} item{'s' if count > 1 else ''} left out; the first: '{first.id}': {first.reason}."
    if agreement := result.diagnostics.get("extractor_agreement", {}).get("all"):
        share = f"{100 * agreement['agreement']:.2f} %"
        yield f"The parsed letter agrees with the human label in {share} of {agreement['n']} replies."


def _not_to_be_submitted(result: TaskResult) -> str:
    """Why an answer file should not be submitted; "" if it can be."""
    part = extent([result])
    if result.settings["data"]["is_mini"]:
        return "; do not submit it: the data are synthetic"
    if part and not part.startswith("all"):
        return f"; do not submit it: it covers {part}"
    return "; do not submit it: items were left out" if result.left_out and not part else ""
