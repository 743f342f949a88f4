"""How long replies may be, and what is said of those that were cut off, refused or reasoned."""

import pytest
from pyarrow import parquet

from eyechart.evaluators.requests.types import Backend, Response
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.table import score_table
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, REFUSAL, STOP
from tests.evaluators import running
from tests.evaluators.finished_runs import write
from tests.evaluators.running import notes, scores_again
from tests.evaluators.table_rows import table_rows

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


def test_one_reply_that_reasons_makes_all_longer_whatever_their_order(ask):
    texts = {"a": "B", "b": "B", "c": reason(40)}
    for ids in ("abc", "cba"):
        found = ask(Writer(texts), list(ids))
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
    # A reply of one token is as long as it was meant to be.
    assert [ask(Writer(cut), max_new_tokens=n).notes[0].code for n in (1, 2)] == ["unparsed", "cut_off"]
    # Among replies of which few ends are known, few are cut.
    texts = {f"{i}": ("B", None) for i in range(99)} | {"cut": ("so", LENGTH)}
    assert ask(Ending(texts), list(texts)).notes == []
    # What a server allowed is named.
    for context in (1, 100):
        assert cut_of(ask(Writer(reason(300), context=context))) == (1, 1, 1, 4096, context)


def test_a_description_that_is_cut_makes_the_result_incomplete(describe):
    texts = {f"{i}": "It is dark." for i in range(200)}
    assert describe(Writer(texts), list(texts)).complete
    found = describe(Writer(texts | {"7": "dark " * 600}), list(texts))
    assert not found.complete
    assert cut_of(found) == (1, 200, 0, 512, 0) and notes(found)["cut_off"]["incomplete"]
    assert found.scores["outcomes"]["cut_off"] == 1 / 200


def test_descriptions_that_are_not_whole_have_shares_in_table_and_results(describe, tmp_path):
    texts = {
        "cut": ("It is", LENGTH),
        "thinking": ("<think>It is dark.", LENGTH),
        "refused": ("I cannot help with that.", REFUSAL),
        **{f"{i}": ("It is dark.", STOP) for i in range(5)},
    }
    found = describe(Ending(texts), list(texts), max_new_tokens=512)
    shares = {"cut_off": 0.125, "unfinished_reasoning": 0.125, "refused": 0.125, "unparseable": 0.0}
    assert found.scores["outcomes"] == shares
    shown = {row["score"]: row["value"] for row in table_rows(score_table([found]))}
    labels = ("texts cut off", "texts that end in unfinished reasoning", "texts refused")
    assert {label: shown[label] for label in shown if label.startswith("texts")} == dict.fromkeys(labels, "12.50 %")
    folder = write(tmp_path, [found])
    (result,) = read_results(folder).tasks
    assert result.scores["outcomes"] == shares
    table = parquet.read_table(folder / "predictions.parquet")
    assert table["finish_reason"].to_pylist()[:4] == [LENGTH, REASONING, REFUSAL, STOP]
    assert [scores_again(folder, parse=parse)["outcomes"] for parse in (False, True)] == [shares] * 2


def test_the_note_counts_the_replies_that_the_shares_count(describe):
    class File(Ending):
        writes_replies = False

    found = describe(Ending(WRITTEN), list(WRITTEN))
    assert found.scores["outcomes"]["cut_off"] == 2 / 4
    assert cut_of(found) == (2, 4, 0, 512, 0) and notes(found)["cut_off"]["unknown"] == 1
    found = describe(Ending(WRITTEN), list(WRITTEN), private="03")
    assert found.scores["outcomes"]["cut_off"] == 1 / 2 and cut_of(found) == (1, 2, 0, 512, 0)
    # Where nothing is scored, all of them count.
    found = describe(Ending(WRITTEN), list(WRITTEN), private="0123")
    assert found.scores is None and cut_of(found) == (2, 4, 0, 512, 0)
    # Precomputed predictions have no limit that a run could change.
    assert cut_of(describe(File(WRITTEN), list(WRITTEN))) == (2, 4, 0, None, 0)
    assert describe(File({"d": ("<think>It is", LENGTH)})).settings["max_new_tokens"] == 512


@pytest.mark.parametrize(
    ("text", "reasoning"), [("", None), ("", "Dark?"), ("<think>Dark?", None), ("I would say", None)]
)
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


def test_texts_that_no_file_holds_are_whole_before_they_are_read_and_stored(ask, tmp_path):
    texts = {
        "half": "\udfff B",
        "reasoning": "<think>\ud800?</think>B",
        "pair": "\ud83d\ude00 B",
        "tags": "<think>" * 10_000 + "B",
        "long": "x" * 1_000_000,
        "control": "B\x00\x07\x1b[31m",
    }
    found = ask(Writer(texts), list(texts), max_new_tokens=32)
    lines = {line.id: line for line in found.items}
    assert [lines[name].text for name in ("half", "pair")] == ["\ufffd B", "\U0001f600 B"]
    assert lines["reasoning"].reasoning == "\ufffd?"
    assert {name: line.choice for name, line in lines.items()} == {
        **dict.fromkeys(("half", "reasoning", "pair", "control"), "B"),
        **dict.fromkeys(("tags", "long")),
    }
    table = parquet.read_table(write(tmp_path, [found]) / "predictions.parquet")
    assert table["text"].to_pylist()[-1] == "B\x00\x07\x1b[31m"
