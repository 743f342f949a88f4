"""Every task on made-up answers: scores come from the stored items alone, and are those of the evaluate module."""

import functools
import hashlib
import json
import random
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.loop import evaluate_rows
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Response
from eyechart.evaluators.results.results_file import TaskResult, read_results
from eyechart.evaluators.tasks import TASKS, get_task
from eyechart.metrics.scoring.errors import ScoringError
from eyechart.metrics.scoring.statistics.shares import Clusters, share_interval
from tests.evaluators import running
from tests.evaluators.conftest import picture
from tests.evaluators.finished_runs import write
from tests.evaluators.running import scores_again
from tests.evaluators.tasks.doors import write_questions

pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")

TEXTS = ("The image is dark and noisy.", "A sharp image with vivid colors, well composed.", "blurry", "")
UNREADABLE = ("hard to say", "", "the second or the third")


class Answers(Backend):
    """A backend that answers by chance, but the same request always alike."""

    name = "chance"
    needs_images = False

    def settings(self):
        return {}

    def answer(self, requests):
        for request in requests:
            chance = random.Random(f"{request.id} {request.pass_name}")
            if request.output_type is OutputType.LOGITS:
                yield Response(request, logits={word: chance.gauss() for word in request.all_words})
            elif request.output_type is OutputType.LOSSES:
                losses = tuple(Loss(chance.choice((2.0, 3.0, 4.0)), 2) for _ in request.continuations)
                yield Response(request, losses=losses)
            else:
                text, ended = self._text(request, chance), chance.choice((None, "stop", "length", "refusal"))
                reasons = ended == "stop" and chance.random() < 0.3
                yield Response(request, text=f"<think>A?</think>{text}" if reasons else text, finish_reason=ended)

    def _text(self, request, chance):
        if request.image_ids:
            # Mostly the same preference in both orders, by a score of each image.
            first, second = (random.Random(name).random() for name in request.image_ids)
            return "hm" if chance.random() < 0.1 else "AB"[first < second]
        if not request.options:
            return chance.choice(TEXTS)
        # The same option in all passes, so that some questions are right in several.
        option = sorted(request.options)[random.Random(request.id).randrange(len(request.options))]
        letter = "ABCDEFGH"[request.options.index(option)]
        declared = f"(A) is too much and (B) too little. The answer is ({letter})."
        return chance.choice((letter, letter, option, option, declared, *UNREADABLE))


def judge(messages, n):
    """Gives letters, votes and scores by chance, some of them unusable."""
    chance = random.Random(messages[-1]["content"])
    return [chance.choice(("A", "B", "X", "Score: 1", "Score: 0", "Score: 2", "well")) for _ in range(n)]


@functools.cache
def data(task):
    loaded = load_data(get_task(task), DataRequest(is_mini=True, images="skip"))
    return replace(loaded, dataset=loaded.dataset.select(range(min(20, len(loaded.dataset)))))


def strict(messages, n):
    """The same judge by a name that comes after that of the judge by words."""
    return judge(messages, n)


# Of these, a task with another prompt or split is there.
ALIKE = ("mmbench/cn", "mmbench/cn_v11", "ql_bench/pair", "aes_bench/empathy", "two_afc/fine_levels")
# One for each protocol and judge's template.
JUDGED = ("q_bench/perception", "mmbench/cn", "ql_bench/pair", "q_bench/description", "aes_bench/interpretation")
SETTINGS = [
    ("q_bench/perception", {"fallback": "random", "shuffle_seed": 4}),
    ("q_bench/perception", {"inference": "closed-set"}),
    *((task, {"extraction": "strict"}) for task in ("q_bench/perception", "mmbench/en", "ql_bench/single")),
    ("mmbench/en", {"fallback": "random", "grade_open_answers": True, "early_stop": True}),
    ("ql_bench/single", {"fallback": "random", "unreadable_forced": "wrong", "shuffle_seed": 1}),
    ("ql_bench/pair", {"shuffle_seed": 2}),
    ("q_bench/assessment", {"word_pair": "good+fine/poor+bad", "temperature": 1.0, "ties": "paper-code"}),
    ("q_bench/description", {"rounds": 1}),
    ("two_afc/coarse", {"aggregator": "perron", "undefined_pools": "zero"}),
]
CASES = [
    *(pytest.param(task.name, None, {}, id=task.name) for task in TASKS if task.name not in ALIKE),
    *(pytest.param(name, strict if name == "mmbench/cn" else judge, {}, id=f"{name}-judged") for name in JUDGED),
    *(pytest.param(task, None, settings, id=f"{task}-{settings}") for task, settings in SETTINGS),
]


@pytest.mark.parametrize(("task", "judge", "settings"), CASES)
def test_the_written_items_and_the_evaluate_module_give_the_same_scores(tmp_path, task, judge, settings):
    result = running.run(task, Answers(), data(task), seed=3, judge=judge, **settings)
    assert result.scores is not None
    write(tmp_path, [result])
    for parse in (False, True):
        np.testing.assert_equal(scores_again(tmp_path, parse=parse), result.scores)
    protocol = evaluator(task, seed=3, judge=judge, settings=settings).protocol
    # Without ids, the evaluate modules draw by the number of the row.
    has_module_scores = task == "mmbench/en" or "fallback" not in settings
    if has_module_scores and protocol.name in INPUTS:
        public = [item for item in result.items if item.label is not None]
        module = metrics.load(get_task(task).metric)
        np.testing.assert_equal(module.compute(**INPUTS[protocol.name](protocol, public)), result.scores)


# Later answers may change which rows have a score in these, and nobody asks a judge twice.
UNWATCHED = ("ql_bench", "judged", "early_stop")


@pytest.mark.parametrize(("task", "judge", "settings"), CASES)
def test_the_rows_so_far_are_scored_while_a_run_goes_and_change_nothing(request, task, judge, settings):
    options = RunOptions(seed=3, judge=judge, settings=settings)
    watched, definition = [], get_task(task)

    def watch(response, score):
        with suppress(ScoringError, UsageError):
            watched.append(score())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = evaluate_rows(definition, options, Answers(), data(task), watch=watch)
        scoring = [each.message for each in caught]
        caught.clear()
        alone = evaluate_rows(definition, options, Answers(), data(task))
        assert list(map(str, scoring)) == [str(each.message) for each in caught]
    np.testing.assert_equal(result.scores, alone.scores)
    assert result.items == alone.items and result.notes == alone.notes
    if any(name in request.node.callspec.id for name in UNWATCHED):
        assert watched[-1] is None
    else:
        np.testing.assert_equal(watched[-1].scores, result.scores)
        assert len(watched[len(watched) // 2].items) < len(result.items)


def test_many_rows_are_asked_and_kept_in_parts(tmp_path, monkeypatch):
    task = "mmbench/en"
    whole = running.run(task, Answers(), data(task))
    monkeypatch.setattr("eyechart.evaluators.evaluation.data._ROWS_PER_BLOCK", 7)
    monkeypatch.setattr("eyechart.evaluators.results.items._ITEMS_PER_PART", 3)
    steps = []
    parts = running.run(task, Answers(), data(task), lambda *step: steps.append(step))
    np.testing.assert_equal(parts.scores, whole.scores)
    assert parts.items == whole.items and len(parts.items) == len(whole.items)
    assert [parts.items[place] for place in (0, 4, -1)] == [whole.items[place] for place in (0, 4, -1)]
    np.testing.assert_equal(parts.diagnostics, whole.diagnostics)
    assert (parts.settings, parts.notes) == (whole.settings, whole.notes)
    assert steps[-1] == (len(whole.items),) * 2
    np.testing.assert_equal(running.written_and_scored_again(tmp_path, parts), whole.scores)


def columns(items, **fields):
    return {name: [getattr(item, field) for item in items] for name, field in fields.items()}


def choice_inputs(protocol, items):
    reading = protocol.reading
    names = ("judge_template", "rounds", "fallback", "seed", "extraction")
    ends = columns(items, references="answer", choices="options", questions="question", finish_reasons="finish_reason")
    return {
        "predictions": [protocol.reply(item) for item in items],
        **ends,
        **columns(items, clusters="cluster"),
        "judge": protocol.judge if protocol.is_judged else None,
        "groups": protocol.groups_of(items) or None,
        **{name: getattr(reading, name) for name in names},
    }


def multiple_choice_inputs(protocol, items):
    inputs = choice_inputs(protocol, items)
    groups = dict(inputs["groups"] or {})
    for one, other in protocol.crossed:
        if groups.keys() >= {one, other}:
            pairs = zip(groups[one], groups[other], strict=True)
            groups[f"{one}_by_{other}"] = [", ".join(pair) for pair in pairs]
    if protocol.by_response:
        groups["response"] = ["explicit" if protocol.named_letters(item) else "ambiguous" for item in items]
    return inputs | {"groups": groups or None, "judge_reads": protocol.judge_reads}


def circular_inputs(protocol, items):
    items = [item for item in items if item.pass_name != "open"]
    return {
        **choice_inputs(protocol, items),
        "question_ids": [item.id for item in items],
        "rotations": [int(item.pass_name.removeprefix("rotation:").replace("main", "0")) for item in items],
        "pass_counts": [item.pass_count for item in items],
        "missing": "error",
    }


def awareness_inputs(protocol, items):
    main = [item for item in items if item.pass_name == "main"]
    forced = {item.id: item for item in items if item.pass_name == "forced"}
    second = [forced.get(item.id) for item in main]
    return {
        **choice_inputs(protocol, main),
        "refusals": [item.refusal for item in main],
        # "" is a reply that is missing, so an empty one is a blank.
        "forced_predictions": [item and (item.text or " ") for item in second],
        "forced_finish_reasons": [item and item.finish_reason for item in second],
        "unreadable_forced": protocol.unreadable_forced,
    }


INPUTS = {
    "multiple_choice": multiple_choice_inputs,
    "circular_eval": circular_inputs,
    "self_awareness": awareness_inputs,
}
"""The arguments of the evaluate modules for choices, made of the items with public labels."""


def reply(messages: list[dict[str, Any]]) -> str:
    """A letter, the same whenever the same is asked."""
    return "ABC"[hashlib.sha256(json.dumps(messages, default=lambda _: "image").encode()).digest()[0] % 3]


def run(task: str, folder: Path, **data: Any) -> tuple[TaskResult, TaskResult]:
    """A run with images that are read, and what it leaves."""
    bound = evaluator(task)
    result = bound.run(bound.prepare_pipeline(reply), load_data(bound.definition, DataRequest(**data)))
    return result, read_results(write(folder, [result])).tasks[0]


def clusters_of(folder: Path) -> dict[str, str | None]:
    rows = parquet.read_table(folder / "predictions.parquet", columns=["id", "cluster"]).to_pylist()
    return {row["id"]: row["cluster"] for row in rows}


@pytest.mark.parametrize("task", ["mmbench/en", "q_bench/perception"])
def test_questions_about_one_image_are_a_cluster_in_the_results(task: str, tmp_path: Path) -> None:
    made, result = run(task, tmp_path, is_mini=True)
    loaded = load_data(get_task(task), DataRequest(is_mini=True)).dataset
    found = clusters_of(tmp_path)
    # One name for each image, and another one for another image.
    pairs = {(row["images"][0].convert("RGB").tobytes(), found[row["id"]]) for row in loaded}
    n_images = len({image for image, _ in pairs})
    assert len(pairs) == len({name for _, name in pairs}) == n_images and None not in found.values()
    spec, scores = result.headline_spec(), result.scores
    assert spec is not None and scores is not None
    shares = spec.n(scores) != n_images
    assert shares == (task == "mmbench/en"), "only questions of the mini MMBench share images"
    about = scores["intervals"][spec.key]
    assert about["units"] == n_images and (about["kind"] == "wilson") == (not shares)
    for part in next(value for name, value in scores.items() if name.startswith("by_")).values():
        assert part["intervals"][spec.key]["units"] <= n_images
    # The interval is that of the items, from which the scores are computed again.
    main = [item for item in made.items if item.pass_name == "main"]
    right = [getattr(item, spec.of[0]) for item in main]
    expected = share_interval(right, Clusters.of([item.cluster for item in main], len(main)))
    assert scores[f"{spec.key}_ci95"] == pytest.approx([expected.low, expected.high])
    np.testing.assert_equal(scores_again(tmp_path), made.scores)


OWN = """name: my_questions
protocol: multiple_choice
data: {path: my_questions.tsv}
columns: {id: index, images: image, options: [A, B, C, D]}
prompt: "{images}\\n{question}\\n{options}"
"""


def test_an_own_benchmark_shares_its_images_or_the_column_that_it_names(tmp_path: Path) -> None:
    write_questions(tmp_path)
    (tmp_path / "task.yaml").write_text(OWN, encoding="utf-8")
    _, result = run(str(tmp_path / "task.yaml"), tmp_path / "images")
    # Twelve questions about ten pictures.
    assert result.scores["intervals"]["accuracy"] == {"kind": "wilson-clustered", "units": 10}
    (tmp_path / "task.yaml").write_text(OWN + "cluster: category\n", encoding="utf-8")
    _, result = run(str(tmp_path / "task.yaml"), tmp_path / "out")
    assert result.scores["intervals"]["accuracy"] == {"kind": "wilson-clustered", "units": 2}
    assert set(clusters_of(tmp_path / "out").values()) == {"hue", "tone"}


def test_rows_share_a_cluster_if_they_show_the_same_images_in_the_same_order() -> None:
    first, second = picture(1), picture(2)
    images = [[first, second], [picture(1), picture(2)], [second, first]]
    rows = [
        {"id": f"q{row}", "images": shown, "question": "Which?", "options": ["First", "Second"], "answer": "A"}
        for row, shown in enumerate(images)
    ]
    data = running.dataset(rows)
    one, same, other = (item.cluster for item in running.run("q_bench/perception_pairs", reply, data).items)
    assert one == same is not None and one != other and len(one) == 16
