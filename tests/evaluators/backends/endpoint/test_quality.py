"""Quality assessment on a server: what each way of asking sends and gives."""

import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators import evaluator
from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.tasks import get_task

TASK = "q_bench/assessment"


@pytest.fixture
def run(backend):
    def ask(limit=12, server=None, **options):
        request = DataRequest(dataset="kadis700k", data_dir=mini.release("kadis700k"), limit=limit)
        return evaluator(TASK, settings=options).run(server or backend(), load_data(get_task(TASK), request))

    return ask


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.SmallSampleWarning")
def test_one_request_an_image_gives_all_words_that_are_likely_enough(model_server, run):
    found = run()
    assert found.scores["srcc"] > 0.5 and found.scores["n"] == 12
    # Two try out whether the server goes on with the beginning of a reply, and some how long words are.
    sent = [body for body in model_server.asked if body["messages"][-1]["content"] == "The quality of the image is"]
    assert len(sent) == 12
    assert found.diagnostics.get("words_missing") is None
    assert set(found.predictions[0]["logits"]) == {"good", "poor", "fine", "bad", "high", "low"}
    upper_bound_words = [word for record in found.predictions for word in record["upper_bound_words"] or []]
    assert found.settings["model"].get("upper_bound_words", {}) == {
        word: upper_bound_words.count(word) for word in set(upper_bound_words)
    }


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.SmallSampleWarning")
def test_the_numerical_instruction_is_a_question_like_any_other(model_server, run):
    found = run(prompt="numerical")
    assert [len(body["messages"]) for body in model_server.asked] == [1] * 12
    assert found.diagnostics["unread"] == 0 and found.scores["srcc"] > 0.5


def test_the_likeliest_token_goes_on_with_the_beginning_of_the_reply(model_server, run):
    found = run(inference="top-token")
    sent = [body for body in model_server.asked if body["messages"][-1]["content"] == "The quality of the image is"]
    assert len(sent) == 12
    assert {body.get("max_tokens") or body["max_completion_tokens"] for body in sent} == {1}
    assert found.diagnostics["suggested_word_pair"] == "good/poor"
    assert found.diagnostics["top_tokens"].keys() <= {"good", "poor"}
