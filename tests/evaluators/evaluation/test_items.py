"""Every task on made-up answers: scores come from the stored columns alone, and are those of the evaluate module."""

import functools
import random
from collections import Counter

import numpy as np
import pytest
from pyarrow import parquet

from eyechart import metrics
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.evaluation.loop import evaluate_rows
from eyechart.evaluators.evaluation.options import RunOptions
from eyechart.evaluators.evaluation.rescoring import rescore
from eyechart.evaluators.protocols.choice import questions
from eyechart.evaluators.requests.types import Backend, Loss, OutputType, Response
from eyechart.evaluators.results.results_file import collect, read_results
from eyechart.evaluators.runs.folder import write_run
from eyechart.evaluators.tasks import TASKS, get_task

pytestmark = pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")

TEXTS = ("The image is dark and noisy.", "A sharp image with vivid colors, well composed.", "blurry", "")
UNREADABLE = ("hard to say", "", "the second or the third")


class Answers(Backend):
    """A backend that answers by chance, but the same request always alike."""

    name = "chance"
    needs_images = False

    def __init__(self, *, billed_per_request=False):
        self.billed_per_request = billed_per_request
        self.asked = []

    def check(self, output_type):
        pass

    def for_data(self, dataset):
        return self

    def identity(self):
        return None

    def settings(self):
        return {}

    def answer(self, requests):
        for request in requests:
            self.asked.append((request.id, request.pass_name))
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
    return loaded.with_dataset(loaded.dataset.select(range(min(40, len(loaded.dataset)))))


@functools.cache
def answered(task, judge=None, **settings):
    """A protocol, what it made of the answers, and the answers."""
    protocol = evaluator(task, seed=3, judge=judge, settings=settings).protocol
    return protocol, *evaluate_rows(get_task(task), protocol, Answers(), data(task), RunOptions())


def check_stored(folder, task, done):
    """Compare the scores with those of the files that a run writes."""
    write_run(folder, collect([done], [], "2026-01-01"), [done])
    (result,) = read_results(folder).tasks
    rows = parquet.read_table(folder / "predictions.parquet").to_pylist()
    assert done.scores is not None
    for read_again in (False, True):
        np.testing.assert_equal(rescore(get_task(task), result, rows, read_again=read_again), done.scores)


# One for each protocol and judge's template.
JUDGED = ("q_bench/perception", "mmbench/cn", "ql_bench/pair", "q_bench/description", "aes_bench/interpretation")
TASKS_AND_JUDGES = [
    *(pytest.param(task.name, None, id=task.name) for task in TASKS),
    *(pytest.param(name, judge, id=f"{name}-judged") for name in JUDGED),
]
SETTINGS = [
    ("q_bench/perception", {"fallback": "random", "shuffle_seed": 4}),
    ("q_bench/perception", {"inference": "closed-set", "loss": "sum"}),
    *((task, {"extraction": "strict"}) for task in ("q_bench/perception", "mmbench/en", "ql_bench/single")),
    ("mmbench/en", {"fallback": "random", "grade_open_answers": True, "early_stop": True}),
    ("ql_bench/single", {"fallback": "random", "unreadable_forced": "wrong", "shuffle_seed": 1}),
    ("ql_bench/pair", {"shuffle_seed": 2}),
    ("q_bench/assessment", {"word_pair": "good+fine/poor+bad", "temperature": 1.0, "ties": "paper-code"}),
    ("q_bench/description", {"rounds": 1}),
    ("two_afc/coarse", {"aggregator": "perron", "undefined_pools": "zero"}),
]


@pytest.mark.parametrize(("task", "judge"), TASKS_AND_JUDGES)
def test_the_stored_columns_give_the_scores_exactly(tmp_path, task, judge):
    check_stored(tmp_path, task, answered(task, judge)[1])


@pytest.mark.parametrize(("task", "settings"), SETTINGS, ids=str)
def test_so_they_do_with_other_settings(tmp_path, task, settings):
    check_stored(tmp_path, task, answered(task, **settings)[1])


@pytest.mark.parametrize(
    ("task", "judge", "settings"),
    [
        *(pytest.param(*one.values, {}, id=one.id) for one in TASKS_AND_JUDGES),
        # Without ids, the other modules draw by the number of the row.
        *(
            pytest.param(task, None, settings, id=f"{task}-{settings}")
            for task, settings in SETTINGS
            if task == "mmbench/en" or "fallback" not in settings
        ),
    ],
)
def test_the_evaluate_module_gives_the_same_scores(task, judge, settings):
    protocol, done, rows = answered(task, judge, **settings)
    inputs = protocol.metric_inputs([one for one in rows if not protocol.is_private(one.row)])
    np.testing.assert_equal(metrics.load(get_task(task).metric).compute(**inputs), done.scores)


@pytest.mark.parametrize("task", ["mmbench/en", "ql_bench/single", "q_bench/perception"])
def test_each_reply_is_read_once_when_it_arrives(task, monkeypatch):
    read, real = Counter(), questions.read_choices

    def counting(texts, *arguments, ids, rotations=None, **how):
        read.update(zip(ids, rotations or [0] * len(texts), strict=True))
        return real(texts, *arguments, ids=ids, rotations=rotations, **how)

    monkeypatch.setattr(questions, "read_choices", counting)
    backend = Answers(billed_per_request=True)
    # At a length of its own, nothing is asked again for longer replies.
    done = evaluator(task, settings={"max_new_tokens": 32}).run(backend, data(task))
    # Second answers to refused questions are read together with the first, in the end.
    of_choices = [one for one in backend.asked if one[1] != "forced"]
    assert read.total() == len(read) == len(of_choices) and done.scores is not None
    if task == "mmbench/en":
        # Early stop asked some questions further, wave by wave.
        assert {"main", "rotation:1", "rotation:2"} <= {name for _, name in backend.asked}
        assert len(backend.asked) < sum(len(row["options"]) for row in data(task).dataset)
