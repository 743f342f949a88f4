"""Repeats, and how long replies may be: what is asked, stored, written, and said of those that were cut off."""

import statistics

import pytest
from pyarrow import parquet

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.evaluators.backends.chat import ChatOptions, Sampling
from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.evaluation.findings import judge_notes
from eyechart.evaluators.requests.errors import EndpointError
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.types import Backend, Response
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, REFUSAL, STOP
from tests.evaluators import running
from tests.evaluators.finished_runs import write
from tests.evaluators.running import notes, predictions, scores_again, written_and_scored_again
from tests.evaluators.scripted_server import completion

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
    shown = []
    found = run(Drawn(scripted), loaded, progress=lambda done, total: shown.append((done, total)))
    assert shown == [(done, 12) for done in range(1, 13)], "all repeats"
    assert found.timings.keys() == {"model_seconds", "metric_seconds", "items_per_second", "answers_from_store"}
    assert found.scores["accuracy"] == 0.5, "that of the first repeat"
    together = found.diagnostics["repeats"]
    assert together["count"] == 3
    assert together["mean"]["accuracy"] == pytest.approx(5 / 12)
    assert together["standard_deviation"]["accuracy"] == pytest.approx(statistics.stdev([0.5, 0.25, 0.5]))


def test_answers_are_written_by_repeat_and_scored_again_from_the_first(loaded, tmp_path):
    found = run(Drawn(scripted), loaded)
    write(tmp_path / "run", [found])
    rows = parquet.read_table(tmp_path / "run" / "predictions.parquet").to_pylist()
    assert {(row["id"], row["repeat"]): row["text"] for row in rows} == {
        (id, number): text for id, texts in REPLIES.items() for number, text in enumerate(texts, 1)
    }
    assert found.settings["repeats"] == 3
    assert written_and_scored_again(tmp_path / "again", found) == found.scores


def test_stored_repeats_are_found_again_and_only_further_ones_are_asked(loaded, tmp_path):
    with ResponseStore.open(tmp_path / "responses.sqlite") as store:
        first = Drawn(scripted)
        run(StoredBackend(first, store), loaded, 2)
        assert len(first.asked) == 8
        again, more = Drawn(scripted), Drawn(scripted)
        assert run(StoredBackend(again, store), loaded, 2).timings["answers_from_store"] == 8
        whole = run(StoredBackend(more, store), loaded, 3)
    assert again.asked == []
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


def test_repeats_that_would_be_equal_are_refused(loaded, photographs, tmp_path):
    model = Drawn(scripted)
    model.samples = False
    with pytest.raises(UsageError, match="repeats=3 is not allowed for q_bench/assessment: it asks for next-token log"):
        run(model, photographs, task="q_bench/assessment")
    with pytest.raises(UsageError, match="it asks for losses of given continuations"):
        run(model, loaded, inference="closed-set")
    with pytest.raises(UsageError, match="repeats=0 is not allowed; it must be at least 1"):
        run(model, loaded, 0)
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


QUESTION = {"id": "q", "question": "How is it?", "options": ["Blurry", "Sharp"], "answer": "B"}


class Writer(Backend):
    """Writes the same words to every request, as many as are allowed.

    Args:
        text: The words by row id, or for all.
        context: The most words that it can write.
    """

    name = "writer"

    def __init__(self, text, context=10_000):
        self.texts, self.context, self.lengths = text, context, []

    def settings(self):
        return {}

    def answer(self, requests):
        for request in requests:
            self.lengths.append(request.max_new_tokens)
            words = (self.texts if isinstance(self.texts, str) else self.texts[request.id]).split(" ")
            said = words[: min(request.max_new_tokens, self.context)]
            ended = STOP if len(said) == len(words) else LENGTH
            usage = {"completion_tokens": len(said)}
            yield Response(request, text=" ".join(said), finish_reason=ended, usage=usage)


def cut_of(result):
    """Replies that were cut off, of all, during reasoning; the limit, and the lower one of the server."""
    values = notes(result)["cut_off"]
    return tuple(values[key] for key in ("cut", "of", "reasoning", "limit", "allowed"))


WRITTEN = {"0": ("It is", LENGTH), "1": ("It is", LENGTH), "2": ("It is dark.", STOP), "3": ("It is dark.", None)}


class Ending(Writer):
    """Writes texts that end as given, some of them with reasoning."""

    def answer(self, requests):
        for request in requests:
            text, ended, *reasoning = self.texts[request.id]
            yield Response(request, text=text, reasoning=reasoning[0] if reasoning else None, finish_reason=ended)


def reason(words):
    return f"<think>{'hmm ' * words}Option A? </think>B"


@pytest.fixture
def ask(make_picture):
    """Runs a task on some rows of a question."""

    def run(model, ids=("q",), **settings):
        rows = [QUESTION | {"id": id, "images": [make_picture(1)]} for id in ids]
        return running.run("q_bench/perception", model, running.dataset(rows), **settings)

    return run


@pytest.fixture
def describe(make_picture):
    def run(model, ids=("d",), private="", **settings):
        texts = {id: "" if id in private else "It is dark." for id in ids}
        rows = [{"id": id, "image": make_picture(1), "description": text} for id, text in texts.items()]
        return running.run("q_bench/description", model, running.dataset(rows), **settings)

    return run


def test_a_model_that_reasons_is_asked_for_4096_tokens_by_itself(ask):
    model = Writer(reason(300))
    found = ask(model, [str(i) for i in range(5)])
    assert model.lengths == [32] + [4096] * 5
    assert (found.scores["accuracy"], found.settings["max_new_tokens"]) == (1.0, 4096)
    assert notes(found) == {"reasons": {"limit": 4096, "usual": 32}}
    line = found.items[0]
    assert (line.text, line.finish_reason) == ("B", STOP)
    assert line.reasoning.startswith("hmm hmm") and line.reasoning.endswith("Option A?")
    # One such reply makes all longer, whatever their order.
    for ids in ("abc", "cba"):
        found = ask(Writer({"a": "B", "b": "B", "c": reason(40)}), list(ids))
        assert (found.settings["max_new_tokens"], found.scores["accuracy"]) == (4096, 1.0)


@pytest.mark.parametrize("text", [reason(3), "<think></think>" + "so " * 40 + "B", "B"])
def test_replies_that_fit_or_do_not_reason_keep_the_usual_length(ask, text):
    model = Writer(text)
    assert ask(model).settings["max_new_tokens"] == 32
    assert model.lengths == [32]


def test_a_length_that_is_set_is_kept_and_the_reader_hears_of_replies_that_were_cut(ask):
    model = Writer(reason(300))
    found = ask(model, max_new_tokens=32)
    assert model.lengths == [32]
    assert found.scores["accuracy"] == 0.0, "Option A stands in unfinished reasoning"
    assert found.items[0].finish_reason == REASONING
    assert cut_of(found) == (1, 1, 1, 32, 0)


def test_one_cut_reply_in_a_hundred_needs_no_caveat_and_two_do(ask):
    texts, cut = {f"{i}": "B" for i in range(100)}, "so " * 40
    ids = list(texts)
    assert ask(Writer(texts | {"0": cut}), ids).notes == []
    assert cut_of(ask(Writer(texts | {"0": cut, "1": cut}), ids)) == (2, 100, 0, 32, 0)
    # What a server allowed is named.
    for context in (1, 100):
        assert cut_of(ask(Writer(reason(300), context=context))) == (1, 1, 1, 4096, context)


def test_descriptions_that_are_not_whole_have_shares_by_reason(describe, tmp_path):
    texts = {
        "cut": ("It is", LENGTH),
        "thinking": ("<think>It is dark.", LENGTH),
        "refused": ("I cannot help with that.", REFUSAL),
        **{f"{i}": ("It is dark.", STOP) for i in range(5)},
    }
    found = describe(Ending(texts), list(texts), max_new_tokens=512)
    shares = {"cut_off": 0.125, "unfinished_reasoning": 0.125, "refused": 0.125, "unparseable": 0.0}
    assert found.scores["outcomes"] == shares and not found.complete
    folder = write(tmp_path, [found])
    table = parquet.read_table(folder / "predictions.parquet")
    assert table["finish_reason"].to_pylist()[:4] == [LENGTH, REASONING, REFUSAL, STOP]
    assert [scores_again(folder, parse=parse)["outcomes"] for parse in (False, True)] == [shares] * 2


def test_the_note_counts_the_replies_that_the_shares_count(describe):
    class File(Ending):
        writes_replies = False

    found = describe(Ending(WRITTEN), list(WRITTEN))
    assert found.scores["outcomes"]["cut_off"] == 2 / 4
    assert cut_of(found) == (2, 4, 0, 512, 0) and notes(found)["cut_off"]["unknown"] == 1
    # Where nothing is scored, all of them count.
    found = describe(Ending(WRITTEN), list(WRITTEN), private="0123")
    assert found.scores is None and cut_of(found) == (2, 4, 0, 512, 0)
    # Precomputed predictions have no limit that a run could change.
    assert cut_of(describe(File(WRITTEN), list(WRITTEN))) == (2, 4, 0, None, 0)
    assert describe(File({"d": ("<think>It is", LENGTH)})).settings["max_new_tokens"] == 512


@pytest.mark.parametrize(("text", "reasoning"), [("", "Dark?"), ("<think>Dark?", None), ("I would say", None)])
def test_what_a_filter_stops_counts_as_refused(ask, text, reasoning):
    found = ask(Ending({"q": (text, CONTENT_FILTER, reasoning)}))
    assert (found.scores["extraction"]["refused"], found.items[0].finish_reason) == (1.0, CONTENT_FILTER)
    assert found.settings["max_new_tokens"] == 32, "a longer reply would help nothing"


def test_a_model_that_reasons_though_it_was_not_to_is_named(ask):
    class Deaf(Writer):
        def settings(self):
            return {"thinking": False}

    assert ask(Deaf("B")).notes == []
    assert notes(ask(Deaf(reason(3)))) == {"still_reasons": {"reasoning": 1, "of": 1}}
