"""The limit on what a judge may cost, and the prices it goes by."""

import threading
import time

import pytest

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.evaluators.judging import prices
from eyechart.evaluators.judging.prices import Price, find_price
from eyechart.evaluators.judging.server import most_tokens
from eyechart.evaluators.judging.spending import Spending
from eyechart.metrics.scoring.errors import LostRoundsWarning
from tests.evaluators.scripted_server import always, refusal

# A dollar per token of either kind, so that costs are numbers of tokens.
DOLLAR = "input = 1_000_000\noutput = 1_000_000\n"
CONVERSATIONS = [[{"role": "user", "content": f"picture {i}"}] for i in range(8)]
# 9 bytes, 128 for a chat template, and two replies of five tokens.
WORST = 9 + 128 + 2 * 5


@pytest.fixture
def limited(judge, tmp_path):
    """Makes a judge at a dollar a token that may spend so much."""
    table = tmp_path / "dollar.toml"
    table.write_text(f"[judge]\n{DOLLAR}")

    def make(max_cost, store=None, **settings):
        return judge(store, max_cost=max_cost, prices=table, max_tokens=5, **settings)

    return make


def test_it_stops_before_the_request_that_might_pass_the_limit(script, limited):
    assert most_tokens(CONVERSATIONS[0]) + 2 * 5 == WORST
    script.say(always(prompt_tokens=20, completion_tokens=10))
    # After three requests 90 are spent, and the fourth might cost 147.
    asked = limited(3 * 30 + WORST - 1, concurrency=1)
    with pytest.warns(LostRoundsWarning, match="in 10 rounds; .*might pass the limit of 236 US dollars"):
        replies = asked.ask_all(CONVERSATIONS, 2)
    assert replies == [["Score: 2"] * 2] * 3 + [[None] * 2] * 5 and len(script.bodies) == 3
    told = asked.settings()
    assert (told["cost"], told["max_cost"], told["incomplete"], told["lost_rounds"]) == (90, 236, True, 10)
    assert asked.timings()["judge_cost"] == 90
    asked = limited(3 * 30 + WORST, concurrency=1)
    with pytest.warns(LostRoundsWarning, match="in 8 rounds"):
        asked.ask_all(CONVERSATIONS, 2)
    assert asked.settings()["cost"] == 120


def test_many_at_once_do_not_pass_the_limit_together_nor_stop_early(script, limited):
    def answer(request):
        time.sleep(0.05)
        return always(prompt_tokens=20, completion_tokens=10)(request)

    script.say(answer)
    for concurrency in (1, 8):
        asked = limited(3 * 30 + WORST, concurrency=concurrency)
        with pytest.warns(LostRoundsWarning, match="in 8 rounds"):
            asked.ask_all(CONVERSATIONS, 2)
        assert asked.settings()["cost"] == 120, "only where no request is under way is the limit reached"


def test_nothing_is_asked_where_the_first_request_might_pass_the_limit(script, limited):
    script.say(always())
    with pytest.warns(LostRoundsWarning):
        assert limited(WORST - 1).ask_all(CONVERSATIONS, 2) == [[None] * 2] * 8
    assert not script.bodies


def test_stored_replies_are_within_any_limit(script, judge, limited, store):
    script.say(always())
    judge(store, max_tokens=5).ask_all(CONVERSATIONS, 2)
    asked = limited(0, store)
    assert asked.ask_all(CONVERSATIONS, 2) == [["Score: 2"] * 2] * 8
    assert len(script.bodies) == 8 and asked.timings()["judge_cost"] == 0 and asked.settings()["cost"] == 8 * 110


def test_tasks_share_the_limit(script, limited):
    script.say(always(prompt_tokens=20, completion_tokens=10))
    whole = limited(2 * 30 + WORST)
    assert whole.for_task().ask_all(CONVERSATIONS[:2], 2) == [["Score: 2"] * 2] * 2
    with pytest.warns(LostRoundsWarning, match="in 2 rounds"):
        assert whole.for_task().ask_all(CONVERSATIONS[2:4], 2).count([None] * 2) == 1


def test_a_long_text_is_in_the_estimate(script, limited):
    script.say(always())
    long = [{"role": "user", "content": "\u6697" * 10_000}]
    with pytest.warns(LostRoundsWarning, match="might pass the limit"):
        limited(30_000)(long, 1)
    assert not script.bodies


def test_refusals_cost_nothing_and_what_was_not_read_its_most(script, limited):
    script.say(refusal(500), {"choices": "?"}, always(prompt_tokens=20, completion_tokens=10))
    asked = limited(10_000, concurrency=1)
    with pytest.warns(LostRoundsWarning, match="in 4 rounds"):
        asked.ask_all(CONVERSATIONS[:3], 2)
    assert asked.timings()["judge_cost"] == WORST + 30 and asked.settings()["cost"] == 30


def test_what_is_sent_again_after_a_timeout_may_be_charged_each_time(script, limited):
    def late(request):
        time.sleep(3)
        return refusal(500)

    read = always(prompt_tokens=20, completion_tokens=10)
    script.say(late, read)
    asked = limited(2 * WORST, concurrency=1, timeout=1.5, max_retries=1)
    assert asked.ask_all(CONVERSATIONS[:1], 2) == [["Score: 2"] * 2]
    assert asked.timings()["judge_cost"] == WORST + 30 and asked.settings()["cost"] == 30
    script.say(read, late)
    asked = limited(30 + 2 * WORST, concurrency=1, timeout=1.5, max_retries=1)
    with pytest.warns(LostRoundsWarning, match="in 4 rounds"):
        asked.ask_all(CONVERSATIONS[:3], 2)
    assert asked.timings()["judge_cost"] == 30 + 2 * WORST, "so the third is not asked"
    script.bodies.clear()
    with pytest.warns(LostRoundsWarning, match="might pass the limit"):
        limited(2 * WORST - 1, max_retries=1).ask_all(CONVERSATIONS, 2)
    assert not script.bodies


def test_what_is_sent_again_after_a_refusal_is_charged_once(script, limited):
    script.say(refusal(429), always(prompt_tokens=20, completion_tokens=10))
    asked = limited(10_000, max_retries=1)
    asked.ask_all(CONVERSATIONS[:1], 2)
    assert asked.timings()["judge_cost"] == 30


def test_a_limit_without_a_price_is_refused(judge, monkeypatch, tmp_path):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r'no price of the judge \'my/judge\' is known.*prices\.toml.*\["my/judge"\]'):
        judge(model="my/judge", max_cost=1.0)
    (tmp_path / "prices.toml").write_text('["my/judge"]\ninput = 0.0\noutput = 0.0\n')
    assert judge(model="my/judge", max_cost=0.0).settings()["price"] == {"input": 0, "output": 0}


def test_the_bundled_table_is_sound():
    table = prices.read_prices(prices._BUNDLED)
    assert table["gpt-4o"] == Price(2.5, 10.0) and len(table) >= 10
    assert all(0 < price.input < price.output for price in table.values())
    text = prices._BUNDLED.read_text()
    assert "Source: https://" in text and "2026" in text
    assert "a cost is at least what is charged" in text.replace("\n# ", " ")


def test_the_nearest_table_counts(monkeypatch, tmp_path):
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    assert find_price("gpt-4o") == Price(2.5, 10.0) and find_price("gpt-9") is None
    (tmp_path / "prices.toml").write_text("[gpt-4o]\ninput = 1\noutput = 2\n[gpt-9]\ninput = 3\noutput = 4\n")
    assert find_price("gpt-4o") == Price(1, 2) and find_price("gpt-4o-mini") == Price(0.15, 0.6)
    given = tmp_path / "given.toml"
    given.write_text("[gpt-4o]\ninput = 5\noutput = 6\n")
    assert find_price("gpt-4o", given) == Price(5, 6) and find_price("gpt-9", given) == Price(3, 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a\n", "is no TOML file"),
        ("[a]\ninput = 1\n", "expected the numbers input and output"),
        ("[a]\ninput = 1\noutput = -1\n", "at least 0"),
        ("[a]\ninput = 1\noutput = 'x'\n", "expected the numbers"),
        ("[a]\ninput = 1\noutput = inf\n", "expected the numbers"),
        ("[gpt-4.1]\ninput = 1\noutput = 2\n", "A name with a dot is written in quotes"),
        (b"\xff", "is no TOML file"),
    ],
    ids=["TOML", "half", "negative", "text", "infinite", "dot", "bytes"],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, message):
    table = tmp_path / "prices.toml"
    table.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError, match=message):
        find_price("a", table)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        find_price("a", tmp_path / "absent.toml")


def test_what_waits_for_leave_goes_on_when_others_are_settled():
    spending, order = Spending(10.0), []
    assert spending.reserve(8.0)

    def wait():
        order.append(spending.reserve(5.0))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.1)
    assert not order, "8 and 5 are above 10, but the 8 may turn out less"
    spending.settle(8.0, 2.0)
    thread.join(5)
    assert order == [True] and spending.spent == 2.0
    spending.settle(5.0, 5.0)
    assert not spending.reserve(3.5) and spending.reserve(3.0)
