"""Quality assessment by the bundled model, on mini data."""

from dataclasses import replace

import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends import resolve_backend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.tasks import get_task

TASK = "q_bench/assessment"
N = 40


@pytest.fixture(scope="module")
def tiny():
    return resolve_backend(None)


@pytest.fixture(scope="module")
def photographs():
    return load_data(get_task(TASK), DataRequest(dataset="kadis700k", data_dir=mini.release("kadis700k")))


def run(backend, loaded, **options):
    return evaluator(TASK, settings=options).run(backend, replace(loaded, limit=N))


def test_all_words_are_asked_once_and_every_pair_is_scored_from_the_store(tiny, photographs, tmp_path):
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        first = run(StoredBackend(tiny, store), photographs)
        assert first.timings["answers_from_store"] == 0
        for words in ("high/low", "good+high+fine/poor+low+bad"):
            again = run(StoredBackend(tiny, store), photographs, word_pair=words)
            assert again.timings["answers_from_store"] == N
            assert again.scores["srcc"] == first.variants[words]["srcc"]
            assert again.variants["good/poor"]["srcc"] == first.scores["srcc"]
    for name, scores in {"good/poor": first.scores, **first.variants}.items():
        assert scores["srcc"] > 0.6, name


def test_its_numbers_and_likeliest_tokens_are_read(tiny, photographs):
    numerical = run(tiny, photographs, prompt="numerical")
    assert numerical.diagnostics["unread"] == 0 and numerical.scores["srcc"] > 0.6
    top = run(tiny, photographs, inference="top-token")
    assert top.diagnostics["suggested_word_pair"] == "good/poor" and top.diagnostics["other_tokens"] == 0
