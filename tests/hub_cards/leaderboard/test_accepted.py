import datetime

import pytest

from eyechart.datasets_scripts.common.errors import DataError
from eyechart.evaluators.results.results_file import TaskResult
from eyechart.hub_cards.leaderboard.build import misfits, score_misfits, started_at
from eyechart.hub_cards.leaderboard.entries import BoardRow
from eyechart.hub_cards.recomputing import refusals
from tests.hub_cards.leaderboard.handed_in import board_named, put, result_on

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
LEFT_OUT = {"id": "7", "reason": "no image"}


def reasons_for(board, result):
    read = TaskResult.model_validate(result)
    row = BoardRow(board, read, None, NOW, stated="there are no predictions")
    return [*refusals(read), *misfits(board, read), *score_misfits(row)]


@pytest.mark.parametrize(
    ("board", "keys", "value", "reason"),
    [
        ("q_bench/perception", "scores", None, "no score: the answers of this split are private"),
        ("q_bench/perception", "settings.limit", 100, "run used --limit 100; repeat the run without --limit"),
        ("q_bench/perception", "settings.sample", {"n": 300, "of": 1495}, "repeat the run without --sample"),
        ("q_bench/perception", "settings.as_published", {"prompt": "x"}, "repeat the run without --as-published"),
        ("q_bench/perception", "settings.prompt_id", "q_bench_a1/2/answer-mark", "default settings"),
        ("q_bench/perception", "settings.prompt_id", None, "settings.prompt_id is None; this board requires 'q_bench_"),
        ("q_bench/perception", "settings.max_new_tokens", 64, "this board requires 32 or 4096"),
        ("q_bench/perception", "settings.shuffle_seed", 3, "settings.shuffle_seed is 3"),
        ("two_afc/coarse", "settings.data.options.rounds", 3, "settings.data.options.rounds is 3"),
        ("two_afc/coarse", "settings.data.options.seed", False, "options.seed is False; this board requires 0:"),
        ("q_bench/perception", "settings.model.sampling", {"temperature": 0.7}, "repeat the run without --temperature"),
        ("q_bench/perception", "settings.repeats", 3, "repeat the run without --repeats"),
        ("q_bench/perception", "settings.data.options", {"rounds": 3}, "settings.data.options is {'rounds': 3}; the"),
        ("q_bench/perception", "scores.accuracy", None, "scores.accuracy, the ranking score, is missing or undefined"),
        ("q_bench/perception", "scores.n", 1494, "this board requires all 1,495 items"),
        ("q_bench/assessment/spaq", "settings.word_pair", "high/low", "settings.word_pair is 'high/low'"),
        ("q_bench/assessment/spaq", "settings.temperature", 1.0, "settings.temperature is 1.0"),
        ("q_bench/assessment", "settings.databases", ["spaq"], "settings.databases is ['spaq']"),
        ("q_bench/description", "settings.judge.name", "lexical", "the judge is 'lexical'"),
        ("mmbench/en", "settings.data.config", "cn", "settings.data.config is 'cn'; this board requires 'en'"),
        ("mmbench/en_v11", "scores.n_questions", 0, "at least 1 item"),
        ("mmbench/cc", "scores.n_questions", 509, "this board requires all 510 items"),
        ("two_afc/coarse", "scores.n_pairs", 6348, "this board requires all 5,148 items"),
        ("mmbench/en_v11", "left_out", [LEFT_OUT, LEFT_OUT | {"id": "8"}], "2 items were left out; first: '7'"),
        ("mmbench/cc", "model", "x" * 161, "model has a name of 161 characters; at most 160"),
        ("mmbench/cc", "model", "padded ", "expected a name without leading or trailing spaces"),
        ("mmbench/cc", "model", "g\u0440t", "contains U+0440, cyrillic small letter er, which"),
        ("ql_bench/single", "settings.data.options.refusal_position", "first", "this board requires 'last'"),
        ("two_afc/coarse", "settings.data.options.balance", 1, "options.balance is 1; this board requires True:"),
        ("two_afc/coarse", "settings.orders", ["main"], "settings.orders is ['main']"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(board, keys, value, reason):
    board = board_named(board)
    result = result_on(board, "some/model")
    put(result, tuple(keys.split(".")), value)
    reasons = reasons_for(board, result)
    assert any(reason in text for text in reasons), reasons
    assert all(len(text) < 400 for text in reasons)


def test_all_reasons_are_given_at_once():
    board = board_named("q_bench/perception")
    result = result_on(board, "\N{RIGHT-TO-LEFT OVERRIDE}ledom") | {"complete": False}
    result["settings"]["seed"], result["settings"]["repeats"] = 7, 3
    assert len(reasons_for(board, result)) == 3


@pytest.mark.parametrize(
    "name",
    [
        *("<script>alert(1)</script>", 'a" onload="x', '<a onload="x">', "模型/视觉", "نموذج", "O'Neil & Söhne"),
        *("e\u0301", "Qwen-\u4e2d\u6587\u7248", "\u0e44\u0e17\u0e49\u0e49", "x" * 160),
    ],
)
def test_names_that_are_only_text_are_taken(name):
    board = board_named("q_bench/perception")
    assert reasons_for(board, result_on(board, name)) == []


def test_times_of_all_zones_can_be_compared_and_be_at_most_a_day_ahead():
    assert started_at({"started": "2026-06-02T02:00:00+02:00"}, NOW) == NOW + datetime.timedelta(days=1)
    with pytest.raises(DataError, match="which is in the future"):
        started_at({"started": "2026-06-02T02:00:01+02:00"}, NOW)


def test_where_the_number_of_items_is_not_known_the_board_takes_downloads_alone():
    board = board_named("mmbench/en_v11")
    result = result_on(board, "some/model")
    result["scores"]["n_questions"] = 1
    for source in ("/data", "s3://data"):
        result["settings"]["data"]["source"] = source
        reasons = reasons_for(board, result)
        assert any(f"settings.data.source is {source!r}; this board requires" in reason for reason in reasons)
