"""Every number of the printed table has an interval of a kind that is stated, or a reason for none."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.scoring import with_averages
from eyechart.evaluators.requests.types import Backend, OutputType, Response
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.runs.table import interval_lines, score_table
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.metrics.scoring.statistics.intervals import KINDS, PLAIN
from tests.evaluators.finished_runs import write
from tests.evaluators.table_rows import table_rows

NAMES = [task.name for task in TASKS]
CHOICES = [task.name for task in TASKS if task.protocol.kind == "multiple choice"]
TEXTS = [task.name for task in TASKS if task.protocol.output_type is OutputType.TEXT]
# Pools of synthetic data are small.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")


def drawn(text: str) -> float:
    """A number in [0, 1) that a text alone decides."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def reply(messages: Any, words: Any = None) -> Any:
    """Letters and logits that depend on the question and its images, and mean nothing."""
    parts = [part for message in messages for part in message["content"]]
    asked = str([part["image"].tobytes()[::97] if part["type"] == "image" else part["text"] for part in parts])
    return {word: drawn(asked + word) for word in words} if words else "AB"[drawn(asked) < 0.3]


class Drawn(Backend):
    """Another letter in each repeat."""

    name, samples = "drawn", True

    def settings(self) -> dict[str, Any]:
        return {"sampling": {"temperature": 0.7}}

    def identity(self) -> dict[str, Any]:
        return self.settings()

    def answer(self, requests: Sequence[Any]) -> Any:
        for request in requests:
            asked = f"{request.id} {request.pass_name} {request.repeat}"
            yield Response(request, text="AB"[drawn(asked) < 0.3])


@cache
def results_of(name: str) -> list[TaskResult]:
    """A task on synthetic data, on each of its datasets."""
    task = get_task(name)
    requests = [DataRequest(dataset=one, is_mini=True) for one in task.data.run_on or (None,)]
    return with_averages([evaluator(name).run(FunctionBackend(reply), load_data(task, one)) for one in requests])


def names(line: str, task: str, score: str) -> bool:
    """Whether a line is about a score of a task, or of a group, as the table calls it."""
    group, _, label = score.strip().rpartition(": ")
    for about in re.findall(rf"(?:: |; ){re.escape(task)}: (.*?)(?=; \w+/\w+: |$)", line):
        labels, _, groups = about.partition(" in ") if group else (re.sub(r" \([\d,]+ \w+\)$", "", about), "", "")
        if label.strip() in labels.split(" / ") and (
            not group or groups == "all groups" or group in groups.split(", ")
        ):
            return True
    return False


def check(evaluations: Sequence[TaskResult]) -> None:
    lines, missing, checked = [line.removesuffix(".") for line in interval_lines(evaluations)], [], 0
    reasons = [line for line in lines if line.startswith("No interval")]
    kinds = [line for line in lines if line not in reasons]
    rest = next((line for line in kinds if line.startswith("All other")), "")
    words = tuple(text.casefold() for text in KINDS.values())
    assert not [line for line in kinds if line != rest and not line.removeprefix("95 % ").casefold().startswith(words)]
    for row in table_rows(score_table(evaluations)):
        task, score, has_interval = row["task"], row["score"], bool(row["95 % interval"])
        if not re.match(r"-?[\d.]+", row["value"]):
            continue
        checked += 1
        if "mean ± SD" in score or "average of" in score:
            what = "mean ± SD, which describes" if "±" in score else "averages are over parts"
            if has_interval or not any(what in line and task in line for line in reasons):
                missing.append((task, score, "no reason"))
            continue
        if has_interval and not (any(names(line, task, score) for line in kinds) or rest):
            missing.append((task, score, "no kind"))
        if not has_interval and not any(names(line, task, score) for line in reasons):
            missing.append((task, score, "no reason"))
    assert checked and not missing, "\n".join(map(str, [*missing, *lines]))
    # The line about all others names those kinds alone that are plain and shown.
    shown = {about["kind"] for e in evaluations for about in (e.scores or {}).get("intervals", {}).values()}
    assert all(KINDS[kind] in rest for kind in shown & set(PLAIN)), (shown, rest)


@pytest.mark.parametrize("task", NAMES)
def test_every_task(task: str) -> None:
    check(results_of(task)[:3])


def test_all_tasks_at_once() -> None:
    check([one for task in NAMES for one in results_of(task)])


@pytest.mark.parametrize("task", TEXTS)
def test_repeats(task: str) -> None:
    result = evaluator(task, repeats=3).run(Drawn(), load_data(get_task(task), DataRequest(is_mini=True)))
    assert any("mean ± SD" in row["score"] for row in table_rows(score_table([result])))
    check([result])


@pytest.mark.parametrize("task", CHOICES)
def test_blind_runs_and_what_they_exclude(task: str, tmp_path: Any) -> None:
    data = load_data(get_task(task), DataRequest(is_mini=True))
    blind = evaluator(task, settings={"blind": True}).run(FunctionBackend(reply), data)
    check([blind])
    if task.startswith("mmbench"):
        settings = {"exclude_blind_solved": str(write(tmp_path, [blind]))}
        check([evaluator(task, settings=settings).run(FunctionBackend(reply), data)])
