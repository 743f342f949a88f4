"""Empty, endless and nonsensical replies: each protocol counts them, and keeps them as they are."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.evaluators.evaluation.data import DataRequest, load_data
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.evaluators.tasks import get_task
from tests.evaluators import running

N = 6
REPLIES = {
    "nothing": "",
    "blanks": " \n\t",
    "10,000 tokens": "noise " * 10_000,
    "control characters": "\x00\x07\x1b[2J\u202e",
    "another language": "画面偏暗,噪点很多。",
    "JSON": '{"answer": null}',
    "a letter beyond the options": "X",
}
UNREAD: dict[str, tuple[dict[str, Any], Callable[[TaskResult], Any]]] = {
    "q_bench/perception": ({}, lambda result: result.scores["extraction"]["unmatched"] * N),
    "mmbench/en": ({}, lambda result: result.scores["choice_distribution"]["predicted"]["none"] * N),
    "ql_bench/single": ({}, lambda result: result.scores["unmatched"]),
    "q_bench/assessment": ({"prompt": "numerical"}, lambda result: result.diagnostics["unread"]),
    "two_afc/coarse": ({}, lambda result: result.scores["draw_rate"] * N),
}


@pytest.mark.filterwarnings("ignore::eyechart.metrics.scoring.errors.ScoringWarning")
@pytest.mark.parametrize("task", UNREAD)
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_reply_that_says_nothing_is_counted_and_kept(task: str, reply: str) -> None:
    settings, unread = UNREAD[task]
    data = load_data(get_task(task), DataRequest(is_mini=True, limit=N))
    result = running.run(task, lambda messages: reply, data, **settings)
    assert unread(result) == pytest.approx(N)
    assert {(item.text, getattr(item, "choice", None)) for item in result.items} == {(reply, None)}
    if task == "q_bench/assessment":
        assert result.scores is None and not result.complete and len(result.left_out) == N
    else:
        scores = result.scores or {}
        right = [scores[key] for key in ("accuracy", "circular_accuracy", "score_cc", "accuracy_all") if key in scores]
        assert right == [0.0]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_description_is_judged_as_the_text_that_it_is(reply: str) -> None:
    data = load_data(get_task("q_bench/description"), DataRequest(is_mini=True, limit=N))
    result = running.run("q_bench/description", lambda messages: reply, data)
    assert result.scores is not None and {item.text for item in result.items} == {reply}
    assert (result.scores["n"], result.scores["failed_rounds"]) == (N, 0)
    is_empty = not reply.strip()
    assert result.scores["empty_predictions"] == N * is_empty
    assert result.scores["sum"] == 0 if is_empty else 0 <= result.scores["sum"] <= 6


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_top_tokens_choose_no_words_that_they_do_not_say(reply: str) -> None:
    data = load_data(get_task("q_bench/assessment"), DataRequest(is_mini=True, limit=N))
    result = running.run("q_bench/assessment", lambda messages: reply, data, inference="top-token")
    ((token, share),) = result.diagnostics["top_tokens"].items()
    assert share == 1.0 and len(token) <= 40 and result.diagnostics["suggested_word_pair"] is None
