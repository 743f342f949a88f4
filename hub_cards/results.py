"""What model cards and boards show of a result, and why neither takes one."""

from collections.abc import Iterator

from eyechart.datasets_scripts import mini
from eyechart.evaluators.requests.values import brief
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.results.sources import unconfirmed_names
from eyechart.metrics.score_spec import ScoreSpec, value_at
from eyechart.metrics.scores import specs_in


def result_scores(result: TaskResult) -> list[ScoreSpec]:
    """The scores of the printed table, the headline first; empty if the result has no headline."""
    first, specs = result.headline_spec(), specs_in(result.scores or {})
    return [] if first is None else [first, *(spec for spec in specs if spec.in_table and spec != first)]


def judge_of(result: TaskResult) -> str:
    """The name of a result's judge; "" if there was none."""
    names = (value_at(result.settings, "judge.name"), (result.scores or {}).get("judge"))
    return next((name for name in names if isinstance(name, str)), "")


def refusals(result: TaskResult) -> Iterator[str]:
    """Why neither a model card nor a board takes a result, and what to do."""
    settings = result.settings
    if value_at(settings, "data.is_mini") is not False or mini.is_release(str(value_at(settings, "data.source"))):
        yield "the data are synthetic demo data, or the settings do not say; run it on the real data, without --mini"
    if (limit := settings.get("limit")) is not None:
        yield f"run used --limit {brief(limit)}; repeat the run without --limit"
    if settings.get("blind") is True:
        yield "the questions were asked without the images; repeat the run without --blind"
    if not result.scores:
        yield f"no score: {' '.join(result.caveats) or 'the answers of this split are private'}"
    elif not result.complete:
        yield f"incomplete: {' '.join(result.caveats) or 'the scores are based on fewer requests than planned'}"
    if names := unconfirmed_names(settings):
        yield (
            f"the server answered as {', '.join(map(brief, names))}, but {brief(value_at(settings, 'model.name'))} was "
            "requested; if that is the same model, repeat the run with --model-arg served_name=NAME (stored replies "
            "are reused)"
        )
