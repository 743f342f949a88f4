"""Whether cards and boards show a result: why it is refused, and whether its scores follow from its predictions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.evaluation.scoring import item_type, score_again
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.results.agreement import average_differences, differences, disagreements
from eyechart.evaluators.results.finished_runs import Run, TaskKey, unconfirmed_names
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import AVERAGE, TaskResult
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.score_spec import value_at

LOCAL_OPTIONS = ("mm21_scores", "mm21_dir", "image_dir")
"""Dataset options that name files on one machine; the result's `mm21_quality` says which scores MM21 has."""


def plain(name: str) -> str:
    """A name without case, blanks and signs, so that two that look alike are equal."""
    return "".join(filter(str.isalnum, name.casefold()))


def judge_of(result: TaskResult) -> str:
    """The name of a result's judge; "" if there was none."""
    names = (value_at(result.settings, "judge.name"), (result.scores or {}).get("judge"))
    return next((name for name in names if isinstance(name, str)), "")


def refusals(result: TaskResult) -> Iterator[str]:
    """Why neither a model card nor a board takes a result, and what to do."""
    settings = result.settings
    if value_at(settings, "data.is_mini") is not False:
        yield "the data are synthetic demo data, or the settings do not say; run it on the real data, without --mini"
    if (limit := settings.get("limit")) is not None:
        yield f"run used --limit {brief(limit)}; repeat the run without --limit"
    if settings.get("blind"):
        yield "the questions were asked without the images; repeat the run without --blind"
    if not result.scores:
        yield f"no score: {' '.join(result.caveats) or 'the answers of this split are private'}"
    elif not result.complete:
        yield f"incomplete: {' '.join(result.caveats) or 'the scores are based on fewer requests than planned'}"
    if names := unconfirmed_names(settings):
        served, model = [brief(name)[1:-1] for name in names], brief(str(value_at(settings, "model.name")))[1:-1]
        yield note("served", served=served, model=model).text


@dataclass(frozen=True)
class Recomputing:
    """How the results of a run differ from their predictions."""

    run: Run
    known: dict[TaskKey, tuple[str, ...]] = field(default_factory=dict)
    """What was found so far; averages need that of their databases."""

    def differences(self, key: TaskKey, task: Task | None) -> tuple[str, ...]:
        """How a result differs from its predictions, if there are any; the task is None if it is not at hand."""
        if key not in self.known:
            self.known[key] = self._average(key, task) if task and key.dataset == AVERAGE else self._single(key, task)
        return self.known[key]

    def _single(self, key: TaskKey, task: Task | None) -> tuple[str, ...]:
        result, answers = self.run.tasks[key], self.run.answers(key)
        if answers is None:
            is_missing = self.run.predictions is None and self.run.results.predictions_sha256
            return ("its predictions are missing; repeat the run (stored answers are reused)",) if is_missing else ()
        # A protocol or scoring function of the user's own is known only to the task.
        if task is None and ("score" in result.settings or item_type(None, result) is Item):
            return first_few(disagreements(self.run, key))
        try:
            items = answers.items(item_type(task, result))
            expected = score_again(task, result, items)
        except DataError as error:
            return (error.reason,)
        again = expected.scores or {}
        # The same holds for groups that are not columns.
        stated = {name: of for name, of in (result.scores or {}).items() if task or name in again or "by_" not in name}
        return first_few([*differences("scores", stated, again), *_item_differences(items, expected.items)])

    def _average(self, key: TaskKey, task: Task) -> tuple[str, ...]:
        """An average is recomputed from the results on its databases, which are checked too."""
        keys = [key._replace(dataset=name) for name in task.data.run_on]
        if wrong := [part.dataset for part in keys if part in self.run.tasks and self.differences(part, task)]:
            return (f"the averaged results differ from their predictions: {', '.join(wrong)}",)
        return first_few(average_differences(self.run, key, task.data.run_on))


def first_few(texts: Iterable[str], most: int = 5) -> tuple[str, ...]:
    """The first texts, and the number of further ones, such as "3 more"."""
    listed = tuple(texts)
    return (*listed[:most], f"{len(listed) - most:,} more") if len(listed) > most else listed


def _item_differences(items: Sequence[Item], expected: Sequence[Item]) -> Iterator[str]:
    """Where items differ from what their replies give; paired tests use it."""
    for item, again in zip(items, expected, strict=True):
        if item != again:
            yield from differences(f"item {brief(item.id)} ({brief(item.pass_name)})", vars(item), vars(again))
