"""The notes of a run: what readers of its scores need to know, the most important first, each said once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eyechart.datasets_scripts.official import in_official_terms
from eyechart.evaluators.evaluation.sampling import SAMPLE
from eyechart.evaluators.results.results_file import TaskResult, task_folder
from eyechart.evaluators.results.sources import MINI, official_items, scored_items
from eyechart.metrics.scores import GAIN
from eyechart.metrics.scoring.judging.lexical import LEXICAL

_SYNTHETIC = f"{MINI.capitalize()}: not comparable with papers. Name a --model for real data."


@dataclass
class Note:
    """One sentence, or a few, about some tasks."""

    text: str
    tasks: set[str] = field(default_factory=set)


def notes_of(evaluations: Sequence[TaskResult]) -> list[Note]:
    """The notes on finished tasks; those with the same text become one."""
    found: dict[str, Note] = {}
    for evaluation in evaluations:
        for text in _texts(evaluation):
            found.setdefault(text, Note(text)).tasks.add(evaluation.task)
    # Python's sort keeps the order of equals.
    return sorted(found.values(), key=lambda note: (not note.text.startswith("Incomplete"), note.text != _SYNTHETIC))


def extent(evaluations: Sequence[TaskResult]) -> str:
    """How many of the official items the results cover together, or which part of other data; "" if that is unknown."""
    settings = [evaluation.settings for evaluation in evaluations]
    counts = [scored_items(one.scores) if one.scores is not None else asked_items(one) for one in evaluations]
    count = sum(filter(None, counts))
    official = [official_items(evaluation) for evaluation in evaluations]
    sampled = " (random sample)" if any(SAMPLE in one for one in settings) else ""
    if all(official):
        total = official[0] if len(official) == 1 else (sum(known[0] for known in official),)
        return in_official_terms(count, total) + sampled
    rows = sum(one["data"].get("rows") or 0 for one in settings)
    is_part = sampled or any(one.get("limit") is not None for one in settings)
    return f"{count:,} of {rows:,} items{sampled}" if is_part and count < rows else ""


def asked_items(evaluation: TaskResult) -> int:
    """Number of items that were asked."""
    return len({item.id for item in evaluation.items})


def _texts(evaluation: TaskResult) -> Iterator[str]:
    """The notes on one task."""
    scores = (evaluation.scores or {}, *evaluation.variants.values())
    if evaluation.settings["data"]["is_mini"]:
        yield _SYNTHETIC
    yield from evaluation.caveats
    for name in evaluation.files:
        yield f"Answer file: {task_folder(evaluation) / name}{_not_to_be_submitted(evaluation)}."
    if any(one.get("judge") == LEXICAL for one in scores):
        yield "Scored by word overlap, not by a --judge: not comparable with papers."
    if count := len(evaluation.left_out):
        first = evaluation.left_out[0]
        yield f"{count} item{'s' if count > 1 else ''} left out; the first: '{first.id}': {first.reason}."
    agreement = evaluation.diagnostics.get("extractor_agreement", {}).get("all")
    if agreement:
        share = f"{100 * agreement['agreement']:.2f} %"
        yield f"The parsed letter agrees with the human label in {share} of {agreement['n']} replies."
    blind = evaluation.diagnostics.get(GAIN, {}).get("model", evaluation.model)
    if blind != evaluation.model:
        yield f"The blind run is of the model {blind}, so the gain compares two models."


def _not_to_be_submitted(evaluation: TaskResult) -> str:
    """Why an answer file should not be submitted; "" if it can be."""
    data = evaluation.settings["data"]
    if data["is_mini"]:
        return "; do not submit it: the data are synthetic"
    if part := extent([evaluation]):
        return "" if part.startswith("all") else f"; do not submit it: it covers {part}"
    return "; do not submit it: items were left out" if evaluation.left_out else ""
