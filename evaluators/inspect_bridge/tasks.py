"""Our tasks as tasks of inspect-ai: `inspect eval eyechart/q_bench_perception --model PROVIDER/MODEL`.

inspect-ai finds this module by its entry point. A row is a sample, however often it is asked: a solver asks for all
passes over it, and a metric computes the scores of `eyechart run`, with their intervals.
"""

import logging
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.logger import warn_once
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig, get_model, model_roles
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import store

from eyechart.datasets_scripts.common.errors import DataError, EyechartError, UsageError
from eyechart.evaluators.backends.endpoint.backend import data_url
from eyechart.evaluators.evaluation.data import Rows, load_data
from eyechart.evaluators.evaluation.loop import protocol_for, usable_rows
from eyechart.evaluators.evaluation.options import DataRequest, RunOptions
from eyechart.evaluators.evaluation.waves import ask_rows
from eyechart.evaluators.inspect_bridge.backend import InspectBackend, InspectJudge, to_inspect
from eyechart.evaluators.inspect_bridge.providers import check_output_type
from eyechart.evaluators.protocols.description import Description
from eyechart.evaluators.protocols.protocol import Protocol
from eyechart.evaluators.requests.types import Row
from eyechart.evaluators.results.items import MAIN, Item, PackedItems
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import TASKS, find_task, headline_of, more_tasks
from eyechart.evaluators.tasks.task import Task
from eyechart.metrics.score_spec import ScoreSpec
from eyechart.metrics.scores import specs_in
from eyechart.metrics.scoring.errors import ScoringError

ITEMS = "items"
"""Key, in the metadata of a sample's score, of its items as rows of `predictions.parquet`."""
SCORER = "eyechart"
_LOGGER = logging.getLogger(__name__)
JUDGE = "judge"
"""The model role of a judge."""


def make_task(task: Task, request: DataRequest, options: RunOptions) -> InspectTask:
    """A task of inspect-ai; raises as `Evaluator.run`."""
    # Before any download.
    check_output_type(options.protocol(task).output_type)
    loaded = load_data(task, request)
    protocol = protocol_for(task, options, loaded, is_billed=True)
    rows, malformed = usable_rows(task, protocol, loaded.dataset, None, needs_images=True)
    left_out = [*loaded.left_out, *(item.model_dump() for item in malformed)]
    if not len(rows):
        raise DataError("no rows to evaluate", path=loaded.source)
    rows = replace(rows, cluster_of=loaded.cluster_of or rows.cluster_of)
    samples = [_sample(protocol, row) for block in rows.blocks() for row in block]
    places = {str(sample.id): place for place, sample in enumerate(samples)}
    return InspectTask(
        dataset=MemoryDataset(samples, name=f"{loaded.name} ({loaded.split})", location=loaded.source),
        solver=_asking(protocol, rows, places),
        scorer=_scoring(protocol, headline_of(task), places),
        # As in `eyechart run`; inspect-ai's --temperature replaces it.
        config=GenerateConfig(temperature=0.0),
        metadata={
            "task": task.name,
            # Which judge there is, only the run knows.
            **{name: value for name, value in protocol.settings(rows.texts()).items() if name != JUDGE},
            "data": loaded.describe(),
            "left_out": left_out,
        },
        display_name=task.name,
    )


def _sample(protocol: Protocol, row: Row) -> Sample:
    request, label = protocol.requests(row)[0], row[protocol.columns[2]]
    # Images that are files are not held in memory.
    encoded = [source.read() for source in request.images]
    images = [data_url(image) if image["bytes"] else image["path"] for image in encoded]
    groups = {name: row[name] for name in protocol.groups if name in row}
    return Sample(
        to_inspect(request, images=images),
        choices=list(request.options) or None,
        target="" if label is None else str(label),
        id=row["id"],
        metadata=groups,
    )


def _asking(protocol: Protocol, rows: Rows, places: Mapping[str, int]) -> Solver:
    @solver(name=f"{SCORER}_passes")
    def asking() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            if state.epoch > 1:
                reason = "the scores of several replies to an item are not defined; use `eyechart run --repeats`"
                raise UsageError(f"epochs is not allowed: {reason}")
            judge = model_roles().get(JUDGE)
            if judge is None and isinstance(protocol, Description) and protocol.is_judged:
                warn_once(
                    _LOGGER, f"{SCORER}: descriptions are scored by word overlap; name a judge: --model-role judge="
                )
            judged = protocol if judge is None else replace(protocol, judge=InspectJudge(get_model(role=JUDGE)))
            backend = InspectBackend(get_model())
            row = replace(rows, dataset=rows.dataset.select([places[str(state.sample_id)]]))
            ask = partial(ask_rows, judged, backend, row)
            # A thread of its own: inspect-ai limits how many samples are asked at once.
            answers = await anyio.to_thread.run_sync(ask, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
            state.messages, state.output = backend.messages, backend.outputs[0]
            store().set(ITEMS, [item.record() for item in answers.repeats[0]])
            return state

        return solve

    return asking()


def _scoring(protocol: Protocol, headline: ScoreSpec, places: Mapping[str, int]) -> Scorer:
    @metric(name="scores")
    def with_intervals() -> Metric:
        def compute(scores: list[SampleScore]) -> Value:
            # In the order of the data, on which random intervals depend.
            ordered = sorted(scores, key=lambda sample: places[str(sample.sample_id)])
            records = [record for sample in ordered for record in (sample.score.metadata or {}).get(ITEMS, ())]
            # Also called for the first samples of a run.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = protocol.score(PackedItems(_items(protocol, records))) if records else TaskResult()
            return metric_values(result.scores or {}, headline)

        return compute

    @scorer(metrics=[with_intervals()], name=SCORER)
    def scoring() -> Scorer:
        async def score(state: TaskState, target: Target) -> Score:
            records: list[dict[str, Any]] = store().get(ITEMS, [])
            if not records:
                raise UsageError("--solver is not allowed: the task's own solver asks for what its scorer needs")
            return sample_score(_scored_alone(protocol, records), records, headline)

        return score

    return scoring()


def _items(protocol: Protocol, records: Sequence[Mapping[str, Any]]) -> Iterable[Item]:
    columns = protocol.item_type.columns()
    return protocol.item_type.of_columns({name: [record.get(name) for record in records] for name in columns})


def _scored_alone(protocol: Protocol, records: Sequence[Mapping[str, Any]]) -> list[Item]:
    """The items of one row, with the columns that scoring adds."""
    items = list(_items(protocol, records))
    # A correlation of one item is undefined.
    with warnings.catch_warnings(), suppress(DataError, ScoringError):
        warnings.simplefilter("ignore")
        return list(protocol.score(items).items)
    return items


def sample_score(items: Sequence[Item], records: Sequence[Mapping[str, Any]], headline: ScoreSpec | None) -> Score:
    """What inspect-ai shows for a row: the mean of the columns of its headline score, nan if it has none."""
    main = next((item for item in items if item.pass_name == MAIN), items[0])
    columns = headline.of if headline else ()
    values = [float(value) for name in columns if (value := getattr(main, name, None)) is not None]
    return Score(
        value=math.fsum(values) / len(values) if values else math.nan,
        answer=getattr(main, "choice", None) or main.text,
        explanation=main.text,
        metadata={ITEMS: list(records)},
    )


def metric_values(scores: Mapping[str, Any], headline: ScoreSpec | None) -> dict[str, float]:
    """The scores of a metric, the headline first with its number of items, and the ends of their 95 % intervals."""
    values: dict[str, float] = {}
    for spec in sorted(specs_in(scores), key=lambda spec: spec != headline):
        if spec.in_table and isinstance(value := spec.value(scores), int | float):
            ends = zip((f"{spec.key}_low", f"{spec.key}_high"), spec.bounds(scores) or (), strict=False)
            numbers = {spec.key: value, **dict(ends), **({"n": spec.n(scores)} if spec == headline else {})}
            known = {name: float(number) for name, number in numbers.items() if number is not None}
            values |= {name: number for name, number in known.items() if name == spec.key or not math.isnan(number)}
    return values


def _register(name: str, known: str, text: str) -> Any:
    def inspected(
        data: str | None = None,
        dataset: str | None = None,
        split: str | None = None,
        as_published: bool = False,
        seed: int = 0,
        skip_bad: bool = False,
        **settings: Any,
    ) -> InspectTask:
        # inspect-ai gives the model to tasks that take any argument.
        settings.pop("model", None)
        try:
            if not (known or "file" in settings):
                raise UsageError(f"{name} needs a file with one task: -T file=PATH")
            task = find_task(known or str(settings.pop("file")))
            request = DataRequest(data, dataset, split, skip_bad=skip_bad)
            return make_task(task, request, RunOptions(settings, as_published=as_published, seed=seed))
        except EyechartError as error:
            # inspect-ai shows it without a traceback.
            text = error.explain().replace("command line: --data-dir", "-T data=")
            raise PrerequisiteError(text.replace("command line: --skip-bad", "-T skip_bad=true")) from error
        # A dataset that cannot be found, and wrong arguments of tasks.
        except (OSError, ValueError) as error:
            raise PrerequisiteError(f"{name}: {error}") from error

    inspected.__doc__ = text
    return inspect_task(name=name)(inspected)


for _task in (*TASKS, *more_tasks().values()):
    globals()[_task.name.replace("/", "_")] = _register(
        _task.name.replace("/", "_"), _task.name, f"{_task.title} ({_task.name})."
    )
task_file = _register("task_file", "", "The task of a YAML or Python file: `-T file=PATH`.")
