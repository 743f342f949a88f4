import datasets
import numpy as np
import pytest
from pyarrow import parquet

from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.evaluation.rescoring import rescore
from eyechart.evaluators.requests.types import Backend, Response
from eyechart.evaluators.results.results_file import read_results
from eyechart.evaluators.runs.table import score_table
from eyechart.evaluators.tasks import get_task
from eyechart.metrics.scoring.reasoning import CONTENT_FILTER, LENGTH, REASONING, REFUSAL, STOP
from tests.evaluators.finished_runs import write
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


WRITTEN = {"0": ("It is", LENGTH), "1": ("It is", LENGTH), "2": ("It is dark.", STOP), "3": ("It is dark.", None)}


class Ending(Writer):
    """Writes texts that end as given."""

    def answer(self, requests):
        for request in requests:
            text, ended = self.texts[request.id]
            yield Response(request, text=text, finish_reason=ended)


def reason(words):
    return f"<think>{'hmm ' * words}Option A? </think>B"


@pytest.fixture
def ask(make_picture):
    """Runs a task on some rows of a question."""

    def run(model, ids=("q",), **settings):
        rows = [QUESTION | {"id": id, "images": [make_picture(1)]} for id in ids]
        data = datasets.Dataset.from_list(rows).cast_column("images", datasets.List(datasets.Image()))
        made = evaluator("q_bench/perception", settings=settings)
        return made.run(model, LoadedData(data, "own data", "given", "given"))

    return run


@pytest.fixture
def describe(make_picture):
    def run(model, ids=("d",), private="", **settings):
        texts = {id: "" if id in private else "It is dark." for id in ids}
        rows = [{"id": id, "image": make_picture(1), "description": text} for id, text in texts.items()]
        data = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
        made = evaluator("q_bench/description", settings=settings)
        return made.run(model, LoadedData(data, "own data", "given", "given"))

    return run


def test_a_model_that_reasons_is_asked_for_4096_tokens_by_itself(ask):
    model = Writer(reason(300))
    found = ask(model, [str(i) for i in range(5)])
    assert model.lengths == [32] + [4096] * 5
    assert (found.scores["accuracy"], found.settings["max_new_tokens"]) == (1.0, 4096)
    assert found.caveats == [
        "The model reasons before it answers, so its replies may be 4,096 tokens long instead of 32; "
        "--max-new-tokens changes this limit."
    ]
    line = found.items[0]
    assert (line["text"], line["finish_reason"]) == ("B", STOP)
    assert line["reasoning"].startswith("hmm hmm") and line["reasoning"].endswith("Option A?")


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
    assert found.caveats[0] == (
        "1 of 1 replies were cut off, 1 of them during reasoning. Use --max-new-tokens above 32 to let them end."
    )


def test_one_cut_reply_in_a_hundred_needs_no_caveat_and_two_do(ask):
    texts = {f"{i}": "B" for i in range(100)}
    cut = "so " * 40
    ids = list(texts)
    assert ask(Writer(texts | {"0": cut}), ids).caveats == []
    found = ask(Writer(texts | {"0": cut, "1": cut}), ids)
    assert found.caveats == ["2 of 100 replies were cut off. Use --max-new-tokens above 32 to let them end."]


def test_what_a_server_allowed_is_named(ask):
    found = ask(Writer(reason(300), context=100))
    assert found.settings["max_new_tokens"] == 4096
    assert found.caveats[1] == (
        "1 of 1 replies were cut off, 1 of them during reasoning. The server allowed 100 tokens instead of "
        "4,096: its context may be too small."
    )


def test_a_description_that_is_cut_makes_the_result_incomplete(describe):
    texts = {f"{i}": "It is dark." for i in range(200)}
    assert describe(Writer(texts), list(texts)).complete
    found = describe(Writer(texts | {"7": "dark " * 600}), list(texts))
    assert not found.complete
    assert found.caveats == [
        "Incomplete: 1 of 200 replies were cut off. Use --max-new-tokens above 512 to let them end."
    ]
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
    labels, values = zip(*((row["score"], row["value"]) for row in table_rows(score_table([found]))), strict=True)
    shown = dict(zip(labels, values, strict=True))
    assert {label: shown[label] for label in shown if label.startswith("texts")} == dict.fromkeys(
        ("texts cut off", "texts that end in unfinished reasoning", "texts refused"), "12.50 %"
    )
    folder = write(tmp_path, [found])
    (result,) = read_results(folder).tasks
    assert result.scores["outcomes"] == shares
    rows = parquet.read_table(folder / "predictions.parquet").to_pylist()
    assert [row["finish_reason"] for row in rows[:4]] == [LENGTH, REASONING, REFUSAL, STOP]
    for read_again in (False, True):
        assert rescore(get_task(result.task), result, rows, read_again=read_again)["outcomes"] == shares
        # An earlier version kept none.
        unknown = [row | {"finish_reason": None} for row in rows]
        again = rescore(get_task(result.task), result, unknown, read_again=read_again)
        np.testing.assert_equal(again, {name: value for name, value in found.scores.items() if name != "outcomes"})


def test_the_caveat_counts_the_replies_that_the_shares_count(describe):
    found = describe(Ending(WRITTEN), list(WRITTEN))
    assert found.scores["outcomes"]["cut_off"] == 2 / 4
    assert found.caveats == [
        "Incomplete: 2 of 4 replies were cut off; it is unknown how 1 other ended. Use --max-new-tokens above 512 "
        "to let them end."
    ]
    found = describe(Ending(WRITTEN), list(WRITTEN), private="03")
    assert found.scores["outcomes"]["cut_off"] == 1 / 2
    assert "Incomplete: 1 of 2 replies were cut off. Use --max" in found.caveats[0]
    # Where nothing is scored, all of them count.
    found = describe(Ending(WRITTEN), list(WRITTEN), private="0123")
    assert found.scores is None and "2 of 4 replies were cut off" in found.caveats[0]


def test_few_cut_replies_among_those_whose_end_is_known_are_few_of_all(ask):
    texts = {f"{i}": ("B", None) for i in range(99)} | {"cut": ("so", LENGTH)}
    assert ask(Ending(texts), list(texts)).caveats == []


def test_predictions_that_were_cut_off_are_not_written_again_by_a_longer_reply(describe):
    class File(Ending):
        writes_replies = False

    found = describe(File(WRITTEN), list(WRITTEN))
    assert found.caveats == [
        "Incomplete: 2 of 4 replies were cut off; it is unknown how 1 other ended. Generate these predictions "
        "again with a higher token limit."
    ]


@pytest.mark.parametrize(
    ("text", "reasoning"), [("", None), ("", "Dark?"), ("<think>Dark?", None), ("I would say", None)]
)
def test_what_a_filter_stops_counts_as_refused(ask, text, reasoning):
    class Filtered(Writer):
        def answer(self, requests):
            for request in requests:
                yield Response(request, text=text, reasoning=reasoning, finish_reason=CONTENT_FILTER)

    found = ask(Filtered(""))
    assert (found.scores["extraction"]["refused"], found.items[0].finish_reason) == (1.0, CONTENT_FILTER)
    assert found.settings["max_new_tokens"] == 32, "a longer reply would help nothing"


def test_a_refusal_that_the_server_tells_apart_is_kept(ask):
    class Refusing(Writer):
        def answer(self, requests):
            for request in requests:
                yield Response(request, text="I cannot help with that.", finish_reason=REFUSAL)

    assert ask(Refusing("")).items[0].finish_reason == REFUSAL


def test_a_model_that_reasons_though_it_was_not_to_is_named(ask):
    class Deaf(Writer):
        def settings(self):
            return {"thinking": False}

    assert ask(Deaf("B")).caveats == []
    assert ask(Deaf(reason(3))).caveats == [
        "1 of 1 replies contain reasoning: the setting thinking=False had no effect."
    ]


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
    assert [lines[name]["text"] for name in ("half", "pair")] == ["\ufffd B", "\U0001f600 B"]
    assert lines["reasoning"]["reasoning"] == "\ufffd?"
    assert {name: line.choice for name, line in lines.items()} == {
        **dict.fromkeys(("half", "reasoning", "pair", "control"), "B"),
        **dict.fromkeys(("tags", "long")),
    }
    assert rows_of(write(tmp_path, [found]))["control"] == "B\x00\x07\x1b[31m"


def rows_of(folder):
    table = parquet.read_table(folder / "predictions.parquet")
    return dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
