"""Repeats: what is asked, stored and written, and what all of them say together."""

import statistics
from types import SimpleNamespace

import pytest
from pyarrow import parquet

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.findings import judge_notes
from eyechart.evaluators.evaluation.scoring import summarize_repeats
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Backend, Response
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.runs.table import interval_lines, score_table
from eyechart.metrics.scoring.reasoning import LENGTH, STOP
from tests.evaluators import running
from tests.evaluators.finished_runs import write
from tests.evaluators.running import notes, predictions, written_and_scored_again
from tests.evaluators.scripted_server import completion
from tests.evaluators.table_rows import table_rows

# Right answers: A, B, C, A. By repeat: 2, 1 and 2 of 4 are right.
REPLIES = {"q0": "ABA", "q1": "BBC", "q2": "AAB", "q3": "??A"}
SAMPLING = {"temperature": 0.7, "top_p": 1.0, "seed": 0}


class Drawn(Backend):
    """Replies to the repeats of a question as a text says, letter by letter."""

    name, samples = "drawn", True

    def __init__(self, say):
        self.say, self.asked = say, []

    def settings(self):
        return {"decoding": "sampling", "sampling": SAMPLING}

    def identity(self):
        return self.settings()

    def answer(self, requests):
        for request in requests:
            self.asked.append((request.id, request.pass_name, request.repeat))
            said = self.say(request)
            failed = isinstance(said, Exception)
            yield Response(request, error=said) if failed else Response(request, text=said, finish_reason=STOP)


def scripted(request):
    return REPLIES[request.id][request.repeat - 1]


@pytest.fixture
def loaded(make_picture):
    question = {"options": ["Good", "Fair", "Poor"], "question_type": "how"}
    rows = ({"id": f"q{i}", "question": f"How is {i}?", "images": [make_picture(i)]} for i in range(4))
    return running.dataset({**question, **row, "answer": answer} for row, answer in zip(rows, "ABCA", strict=True))


def run(model, data, repeats=3, task="q_bench/perception", progress=None, **given):
    return running.run(task, model, data, progress, repeats=repeats, **given)


def test_mean_and_spread_are_those_computed_by_hand(loaded):
    found = run(Drawn(scripted), loaded)
    assert found.scores["accuracy"] == 0.5, "that of the first repeat"
    together = found.diagnostics["repeats"]
    assert together["count"] == 3
    assert together["mean"]["accuracy"] == pytest.approx(5 / 12)
    assert together["standard_deviation"]["accuracy"] == pytest.approx(statistics.stdev([0.5, 0.25, 0.5]))
    one, partial = (TaskResult(scores={"srcc": 0.5, "n": 9, **plcc}) for plcc in ({"plcc": 0.4}, {}))
    assert summarize_repeats([one]) == summarize_repeats([one, TaskResult()]) == {}
    assert summarize_repeats([one, partial])["repeats"]["mean"].keys() == {"srcc"}


def test_timings_are_those_of_the_clock_and_progress_counts_all_repeats(loaded, monkeypatch):
    clock = SimpleNamespace(perf_counter=iter([2.0, 7.0, 15.0]).__next__)
    monkeypatch.setattr("eyechart.evaluators.evaluation.loop.time", clock)
    seconds = {"model_seconds": 5.0, "metric_seconds": 8.0}
    rates = {"items_per_second": 4 * 3 / 5, "answers_from_store": 0.0}
    shown = []
    found = run(Drawn(scripted), loaded, progress=lambda done, total: shown.append((done, total)))
    assert found.timings == seconds | rates
    assert shown == [(done, 12) for done in range(1, 13)]


def test_answers_are_written_by_repeat_and_scored_again_from_the_first(loaded, tmp_path):
    found = run(Drawn(scripted), loaded)
    write(tmp_path / "run", [found])
    rows = parquet.read_table(tmp_path / "run" / "predictions.parquet").to_pylist()
    assert {(row["id"], row["repeat"]): row["text"] for row in rows} == {
        (id, number): text for id, texts in REPLIES.items() for number, text in enumerate(texts, 1)
    }
    assert found.settings["repeats"] == 3
    assert written_and_scored_again(tmp_path / "again", found) == found.scores


def test_the_table_shows_them_below_the_scores(loaded):
    found = run(Drawn(scripted), loaded)
    shown = {row["score"]: row["value"] for row in table_rows(score_table([found]))}
    labels = list(shown)
    assert shown["accuracy, mean ± SD of 3 repeats"] == "41.67 % ± 14.43 %"
    assert labels.index("accuracy") < labels.index("accuracy, mean ± SD of 3 repeats")
    assert any("mean ± SD, which describes how repeats" in line for line in interval_lines([found]))
    assert (notes(found)["sampled"], notes(found)["repeats"]) == ({"sampling": SAMPLING}, {"repeats": 3})


def test_stored_repeats_are_found_again_and_only_further_ones_are_asked(loaded, tmp_path):
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        first = Drawn(scripted)
        run(StoredBackend(first, store), loaded, 2)
        assert len(first.asked) == 8
        again, more, fewer = Drawn(scripted), Drawn(scripted), Drawn(scripted)
        assert run(StoredBackend(again, store), loaded, 2).timings["answers_from_store"] == 8
        whole = run(StoredBackend(more, store), loaded, 3)
        run(StoredBackend(fewer, store), loaded, 1)
    assert again.asked == fewer.asked == []
    assert {repeat for *_, repeat in more.asked} == {3} and len(more.asked) == 4
    assert whole.diagnostics == run(Drawn(scripted), loaded).diagnostics


def test_an_item_that_fails_in_one_repeat_is_left_out_of_all(loaded):
    def say(request):
        failed = request.id == "q1" and request.repeat == 2
        return EndpointError("no answer") if failed else scripted(request)

    found = run(Drawn(say), loaded, skip_bad=True)
    assert [item.id for item in found.left_out] == ["q1"] and found.scores["n"] == 3
    assert {line.id for line in found.items} == {"q0", "q2", "q3"}
    # A server that has answered nothing may refuse everything.
    for ids, message in ((("q0",), "'q0': no answer$"), (("q1",), r"'q1': no answer\. Use skip_bad")):
        with pytest.raises(DataError, match=message):
            run(Drawn(lambda request, ids=ids: EndpointError("no answer") if request.id in ids else "A"), loaded)
    with pytest.raises(DataError, match="none of the 4 items could be evaluated; the first: 'q0': no answer to q0"):
        run(Drawn(lambda request: EndpointError(f"no answer to {request.id}")), loaded, skip_bad=True)


def test_a_repeat_that_needs_longer_replies_makes_those_of_all_longer(loaded):
    lengths = []

    class Reasoning(Drawn):
        def answer(self, requests):
            for request in requests:
                lengths.append(request.max_new_tokens)
                is_cut = request.repeat == 2 and request.max_new_tokens == 32
                text = "<think>hmm" if is_cut else "A"
                yield Response(request, text=text, finish_reason=LENGTH if is_cut else STOP)

    found = run(Reasoning(None), loaded, 2)
    assert (found.settings["max_new_tokens"], found.settings["repeats"]) == (4096, 2)
    assert notes(found)["repeats"] == {"repeats": 2} and lengths == [32] * 5 + [4096] * 8


def test_a_server_is_asked_for_each_repeat_with_a_seed_of_its_own(script, http, loaded):
    script.say(completion("A"))
    chat = ChatOptions(sampling=Sampling(0.7, seed=10))
    found = run(OpenAIBackend("m", EndpointOptions(http.url_for("/v1"), chat=chat)), loaded, 2)
    assert len({body["seed"] for body in script.bodies}) == len(script.bodies) == 8
    assert [line.repeat for line in found.items] == [1] * 4 + [2] * 4


@pytest.mark.parametrize("samples", [True, False])
def test_repeats_that_would_be_equal_are_refused(loaded, photographs, samples, tmp_path):
    model = Drawn(scripted)
    model.samples = samples
    with pytest.raises(UsageError, match="repeats=3 is not allowed for q_bench/assessment: it asks for next-token log"):
        run(model, photographs, task="q_bench/assessment")
    with pytest.raises(UsageError, match="it asks for losses of given continuations"):
        run(model, loaded, inference="closed-set")
    with pytest.raises(UsageError, match="repeats=0 is not allowed; it must be at least 1"):
        run(model, loaded, 0)
    if not samples:
        with pytest.raises(UsageError, match=r"drawn replies at temperature 0 .*, so all repeats would be equal"):
            run(model, loaded)
    with pytest.raises(UsageError, match="are precomputed, so all repeats would be equal"):
        run(predictions(tmp_path, ({"id": f"q{i}", "text": "A"} for i in range(4))), loaded)
    assert model.asked == []


def test_failed_rounds_of_a_judge_are_those_of_all_repeats():
    read = {"judge": "strict", "judge_asked": 2, "judge_failed_rounds": 4, "judge_unscored": 1, "rounds": 5}
    other = read | {"judge": "other", "judge_asked": 3, "judge_unscored": 0}
    counted = {"cut_off_rounds": 3, "refused_rounds": 2}
    judge = {"name": "strict", "reason": "no line", "lost_rounds": 1, "max_tokens": 64}
    counts = {"judge": "strict", "failed": 8, "rounds": 25, "without_score": 1, "asked": 2}
    for known, malformed in ((counted, 2), (counted | {"cut_off_rounds": 8}, 0), ({}, 0)):
        lost, failed = judge_notes([TaskResult(scores=read), TaskResult(scores=other)], judge | known)
        assert (lost.code, lost.values["rounds"], failed.code) == ("judge_lost", 1, "judge_failed")
        expected = [known.get("cut_off_rounds", 0), known.get("refused_rounds", 0), malformed, 64]
        assert [failed.values[key] for key in ("cut_off", "refused", "malformed", "max_tokens")] == expected
        assert counts.items() <= failed.values.items()
