"""The verdict on a run, printed below its table: which scores are better than chance."""

from collections.abc import Iterator, Sequence

from eyechart.evaluators.results.evaluation import AVERAGE, Evaluation
from eyechart.evaluators.results.results_file import headline_spec
from eyechart.evaluators.results.score_rows import is_above_chance, labels_at_chance

_MOST_NAMED = 3
"""Most scores above chance that the verdict names; it counts more than these."""


def verdict_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Whether the headline scores are better than chance, and which other scores are not.

    Scores without interval or chance level are not counted. An average counts in place of the scores it averages.

    Args:
        evaluations: The tasks that finished.
    """
    headlines = list(_headlines(evaluations))
    above = [name for name, is_above in headlines if is_above]
    below = [name for name, is_above in headlines if not is_above]
    lines = []
    if above:
        few = "; ".join(above) if len(above) <= _MOST_NAMED else f"all {len(above)} headline scores with a chance level"
        some = f"{len(above)} of {len(headlines)} headline scores with a chance level; not: {'; '.join(below)}"
        lines.append(f"Better than chance, by the 95 % interval: {some if below else few}.")
    elif below:
        lines.append(f"No better than chance, by the 95 % interval: {'; '.join(below)}.")
    others = []
    for evaluation in evaluations:
        scores = evaluation.scores or {}
        headline = headline_spec(scores, evaluation.headline)
        labels = [label for label in labels_at_chance(scores) if headline is None or label != headline.label]
        if labels:
            others.append(f"{_place(evaluation, evaluations)}: {' / '.join(labels)}")
    if others:
        lines.append(f"{'Other scores no' if headlines else 'No'} better than chance: {'; '.join(others)}.")
    return lines


def _headlines(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, bool]]:
    """The headline scores with an interval and a chance level, and whether each is above it."""
    averaged = {evaluation.task for evaluation in evaluations if evaluation.dataset == AVERAGE}
    for evaluation in evaluations:
        if evaluation.task in averaged and evaluation.dataset != AVERAGE:
            continue
        scores = evaluation.scores or {}
        spec = headline_spec(scores, evaluation.headline)
        if spec and (is_above := is_above_chance(spec, scores)) is not None:
            yield f"{_place(evaluation, evaluations)}: {spec.label}", is_above


def _place(evaluation: Evaluation, evaluations: Sequence[Evaluation]) -> str:
    """The task, and its dataset if the task ran on several."""
    if evaluation.dataset == AVERAGE:
        return f"{evaluation.task} (average)"
    is_only = sum(other.task == evaluation.task for other in evaluations) == 1
    return evaluation.task if is_only else f"{evaluation.task} on {evaluation.dataset}"
