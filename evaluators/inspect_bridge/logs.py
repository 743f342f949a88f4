"""Finished runs as logs of inspect-ai, which `inspect view` shows: a file a result, with images and replies."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
)

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.whole import writing
from eyechart.evaluators.backends.endpoint.backend import data_url
from eyechart.evaluators.evaluation.data import data_of_run, read_rows, without_progress_bars
from eyechart.evaluators.evaluation.scoring import item_type
from eyechart.evaluators.inspect_bridge.tasks import SCORER, metric_values, sample_score
from eyechart.evaluators.results.finished_runs import Run, TaskKey, read_runs
from eyechart.evaluators.results.items import MAIN, Item
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import known_task

_PLACE = "<image>"
_REVERSED = "reversed"
_SECONDS = ("model_seconds", "metric_seconds")


def write_logs(folder: Path, log_dir: Path) -> list[Path]:
    """Write the logs of a finished run, without those of averages; return their paths.

    A log has the first repeat, which gave the scores. Images are read from the data of the run; without these, the logs
    have none. Raises as `read_runs`.
    """
    (run,) = read_runs([folder])
    written = []
    with writing(f"the log folder {log_dir}"):
        log_dir.mkdir(parents=True, exist_ok=True)
        for key, result in run.tasks.items():
            answers = run.answers(key)
            if answers is None:
                continue
            items = answers.items(item_type(known_task(key.task), result))
            log = _log(run, result, list(_samples(key, result, items)))
            # The form of inspect-ai's own names, by which its viewer sorts.
            started, name = log.eval.created.replace(":", "-").replace("+", "-"), key.title.replace(" ", "_")
            plain = "".join(letter if letter.isalnum() else "-" for letter in name)
            path = log_dir / f"{started}_{plain}_{log.eval.task_id}.eval"
            write_eval_log(log, path)
            written.append(path)
    return written


def _log(run: Run, result: TaskResult, samples: list[EvalSample]) -> EvalLog:
    started, id = run.results.environment["started"], _id(run, result)
    ended = datetime.fromisoformat(started) + timedelta(seconds=sum(map(result.timings.get, _SECONDS, (0.0, 0.0))))
    values = metric_values(result.scores or {}, result.headline_spec())
    metrics = {name: EvalMetric(name=name, value=value) for name, value in values.items()}
    scored = EvalScore(name=SCORER, scorer=SCORER, metrics=metrics)
    return EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id=id,
            run_id=id,
            task_id=id,
            created=started,
            task=result.task,
            dataset=EvalDataset(name=f"{result.dataset} ({result.split})", samples=len(samples)),
            model=result.model,
            config=EvalConfig(),
            packages={"eyechart": metadata.version("eyechart")},
            metadata=result.settings,
        ),
        stats=EvalStats(started_at=started, completed_at=ended.isoformat(timespec="seconds")),
        results=EvalResults(total_samples=len(samples), completed_samples=len(samples), scores=[scored]),
        samples=samples,
    )


def _id(run: Run, result: TaskResult) -> str:
    content = f"{run.results.predictions_sha256} {result.task} {result.dataset} {result.split}"
    return hashlib.sha256(content.encode()).hexdigest()[:22]


def _samples(key: TaskKey, result: TaskResult, items: Sequence[Item]) -> Iterator[EvalSample]:
    images, headline = _images(key, result), result.headline_spec()
    by_row: dict[str, list[Item]] = {}
    for item in items:
        by_row.setdefault(item.id, []).append(item)
    for id, of_row in by_row.items():
        turns = [_turns(result.model, item, images.get(id, [])) for item in of_row]
        messages: list[ChatMessage] = [message for question, output in turns for message in (question, output.message)]
        first = next((item for item in of_row if item.pass_name == MAIN), of_row[0])
        score = sample_score(of_row, [item.record() for item in of_row], headline)
        yield EvalSample(
            id=id,
            epoch=1,
            input=messages[:1],
            choices=list(getattr(first, "options", ())) or None,
            target=str(getattr(first, "answer", "") or first.label or ""),
            messages=messages,
            output=turns[of_row.index(first)][1],
            events=[
                ModelEvent(
                    model=result.model,
                    role=item.pass_name,
                    input=[question],
                    tools=[],
                    tool_choice="none",
                    config=GenerateConfig(),
                    output=output,
                )
                for item, (question, output) in zip(of_row, turns, strict=True)
            ],
            scores={SCORER: score},
            metadata=dict(first.groups),
        )


def _turns(model: str, item: Item, images: Sequence[str]) -> tuple[ChatMessageUser, ModelOutput]:
    """A pass: the prompt with its images, and the reply with the reasoning before it."""
    texts = (item.prompt or item.question or "").split(_PLACE)
    # Of other chat templates, the places of images are not known.
    texts = texts if len(texts) == len(images) + 1 else ["" for _ in images] + [_PLACE.join(texts)]
    shown = images[::-1] if item.pass_name == _REVERSED else images
    content = [part for text, image in zip(texts, [*shown, ""], strict=True) for part in _parts(text, image)]
    thoughts = [ContentReasoning(reasoning=item.reasoning)] if item.reasoning else []
    reply = ChatMessageAssistant(content=[*thoughts, ContentText(text=item.text or "")])
    output = ModelOutput(model=model, choices=[ChatCompletionChoice(message=reply)], error=item.error)
    return ChatMessageUser(content=content), output


def _parts(text: str, image: str) -> list[Any]:
    return ([ContentText(text=text)] if text else []) + ([ContentImage(image=image)] if image else [])


def _images(key: TaskKey, result: TaskResult) -> Mapping[str, list[str]]:
    """Data URLs of the images of each row; empty if the model saw none, or the data are not there any more."""
    if result.settings.get("blind"):
        return {}
    # Whatever happened to the data since the run, the replies are still worth showing.
    with without_progress_bars(), suppress(Exception):
        rows = read_rows(data_of_run(key, result.settings["data"]))
        return {row["id"]: list(_readable(row["images"] if "images" in row else [row["image"]])) for row in rows}
    return {}


def _readable(images: Sequence[Any]) -> Iterator[str]:
    for image in images:
        with suppress(DataError):
            yield data_url(image)
