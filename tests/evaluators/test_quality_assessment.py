import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.data import LoadedData

pytestmark = pytest.mark.datasets36


def by_order():
    """A model whose good logit rises by one with every image."""
    calls = iter(range(10_000))
    return lambda messages, words: {words[0]: float(next(calls)), words[1]: 0.0}


def test_the_reply_is_prefilled_and_two_words_are_asked_for(photographs):
    seen = []

    def model(messages, words):
        seen.append((messages, words))
        return {"good": float(len(seen)), "poor": 0.0}

    evaluator("q_bench/assessment").compute(model, photographs)
    messages, words = seen[0]
    assert words == ("good", "poor", "fine", "bad", "high", "low")
    assert messages[0]["content"][0]["text"] == "Rate the quality of the image.\n"
    assert messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "The quality of the image is"}]}


def test_perfect_logits_give_perfect_correlations(photographs):
    result = evaluator("q_bench/assessment").compute(by_order(), photographs)
    assert result["srcc"] == pytest.approx(1.0)
    assert result["n"] == 40
    assert result["temperature"] == 100.0
    assert result["srcc_ci95"] == pytest.approx([1.0, 1.0])


def test_positive_is_the_first_word(photographs):
    calls = iter(range(40))
    reversed_words = lambda messages, words: {"good": 0.0, "poor": float(next(calls))}  # noqa: E731
    assert evaluator("q_bench/assessment").compute(reversed_words, photographs)["srcc"] == pytest.approx(-1.0)


def test_rows_without_a_score_are_private(photographs):
    scores = [None, *[float(i) for i in range(1, 40)]]
    mixed = photographs.remove_columns("quality").add_column("quality", scores)
    run = evaluator("q_bench/assessment").run(FunctionBackend(by_order()), LoadedData(mixed, "own", "given", "given"))
    assert run.scores["n"] == 39
    assert [item["id"] for item in run.left_out] == ["p0"]


def test_settings_name_prompt_prefill_and_words(photographs):
    run = evaluator("q_bench/assessment").run(
        FunctionBackend(by_order()), LoadedData(photographs, "own", "given", "given")
    )
    assert run.settings["prefill"] == "The quality of the image is"
    assert run.settings["words"] == "good/poor"
    assert run.settings["prompt_id"]


@pytest.mark.parametrize("answer", ["good", {"good": 1.0}, None], ids=repr)
def test_a_function_that_returns_no_logits_is_refused(photographs, answer):
    with pytest.raises(ModelError, match="item 'p0'; expected a dict"):
        evaluator("q_bench/assessment").compute(lambda messages, words: answer, photographs)


def test_a_bad_image_stops_the_run_or_is_left_out_and_counted(photographs):
    rows = [{"bytes": b"", "path": "empty.png"}, *[row["image"] for row in _encoded(photographs)][1:]]
    broken = photographs.remove_columns("image").add_column("image", rows, feature=photographs.features["image"])
    loaded = LoadedData(broken, "own", "given", "given")
    with pytest.raises(DataError, match=r"item 'p0'.*empty\.png.*skip_bad"):
        evaluator("q_bench/assessment").run(FunctionBackend(by_order()), loaded)
    run = evaluator("q_bench/assessment").run(FunctionBackend(by_order()), loaded, skip_bad=True)
    assert run.scores["n"] == 39
    assert [(item["id"], item["path"]) for item in run.left_out] == [("p0", "empty.png")]


def _encoded(dataset):
    import datasets

    return dataset.cast_column("image", datasets.Image(decode=False))
