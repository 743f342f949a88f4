"""The limit on what a judge may cost."""

import pytest

from eyechart.metrics.scoring.errors import LostRoundsWarning
from tests.evaluators.scripted_server import always, completion, refusal

CONVERSATIONS = [[{"role": "user", "content": f"the picture {i}"}] for i in range(8)]
# At a dollar a token: 13 bytes of prompt are 4 tokens, and there are two replies of five tokens.
ESTIMATE = 4 + 2 * 5


@pytest.fixture
def limited(judge):
    """Makes a judge at a dollar a token that may spend so much."""

    def make(max_cost, store=None, **settings):
        return judge(store, max_cost=max_cost, price=(1e6, 1e6), max_tokens=5, **settings)

    return make


@pytest.mark.parametrize(("limit", "answered"), [(3 * 30 + ESTIMATE - 1, 3), (3 * 30 + ESTIMATE, 4)])
def test_it_stops_before_the_request_that_would_pass_the_limit(script, limited, limit, answered):
    script.say(always(prompt_tokens=20, completion_tokens=10))
    asked = limited(limit, concurrency=1)
    lost = 8 - answered
    with pytest.warns(LostRoundsWarning, match=f"in {2 * lost} rounds; .* exceed the limit of {limit} US") as caught:
        replies = asked.ask_all(CONVERSATIONS, 2)
    assert replies == [["Score: 2"] * 2] * answered + [[None] * 2] * lost and len(script.bodies) == answered
    settings = asked.settings()
    assert (settings["cost"], settings["max_cost"]) == (30 * answered, limit)
    assert (settings["incomplete"], settings["lost_rounds"], caught[0].filename) == (True, 2 * lost, __file__)
    assert settings["price"] == {"input": 1e6, "output": 1e6} and asked.timings()["judge_cost"] == 30 * answered


def test_many_at_once_do_not_pass_the_limit_together(script, limited):
    script.say(always(prompt_tokens=3, completion_tokens=10))
    asked = limited(3 * ESTIMATE, concurrency=8)
    with pytest.warns(LostRoundsWarning):
        asked.ask_all(CONVERSATIONS, 2)
    assert asked.settings()["cost"] <= 3 * ESTIMATE


def test_a_long_text_is_in_the_estimate(script, limited):
    asked = limited(10_000)
    with pytest.warns(LostRoundsWarning, match="in 1 rounds; .*might exceed the limit"):
        asked([{"role": "user", "content": "\u6697" * 10_000}], 1)
    assert asked.settings()["incomplete"] and not script.bodies


def test_stored_replies_are_within_any_limit(script, judge, limited, store):
    script.say(always())
    judge(store, max_tokens=5).ask_all(CONVERSATIONS, 2)
    asked = limited(0, store)
    assert asked.ask_all(CONVERSATIONS, 2) == [["Score: 2"] * 2] * 8
    assert len(script.bodies) == 8 and asked.timings()["judge_cost"] == 0 and asked.settings()["cost"] == 8 * 110


def test_tasks_share_the_limit_and_have_totals_of_their_own(script, limited):
    script.say(always(prompt_tokens=20, completion_tokens=10))
    asked = limited(2 * 30 + ESTIMATE, concurrency=1)
    first, second = asked.for_task(), asked.for_task()
    assert first.ask_all(CONVERSATIONS[:2], 2) == [["Score: 2"] * 2] * 2
    with pytest.warns(LostRoundsWarning, match="in 2 rounds"):
        assert second.ask_all(CONVERSATIONS[2:4], 2) == [["Score: 2"] * 2, [None] * 2]
    assert (first.settings()["requests"], second.settings()["requests"]) == (2, 1)


@pytest.mark.parametrize(
    ("prompt", "reply", "guesses"), [(18, 8, 1), (19, 2, 0), (19, 1, 1), (41200, 96, 0), (41201, 96, 1), (41200, 97, 1)]
)
def test_counts_of_tokens_that_cannot_be_are_estimated(script, judge, prompt, reply, guesses):
    # For a prompt of 300 bytes, and four replies of 8 bytes and at most 16 tokens.
    script.say(completion(*["Score: 2"] * 4, prompt_tokens=prompt, completion_tokens=reply))
    asked = judge(max_tokens=16)
    asked([{"role": "user", "content": "x" * 300}], 4)
    assert asked.settings()["requests_without_usage"] == guesses


def test_refusals_cost_nothing_and_what_cannot_be_read_its_estimate(script, limited):
    counts = {"prompt_tokens": 20, "completion_tokens": 10}
    script.say(refusal(500), {"choices": "?"}, completion("Score: 2", **counts), {"choices": "?"}, always(**counts))
    asked = limited(10_000, concurrency=1)
    with pytest.warns(LostRoundsWarning, match="in 5 rounds"):
        asked.ask_all(CONVERSATIONS[:4], 2)
    # The third has one of its two replies, and the fourth has them one by one.
    assert asked.timings()["judge_cost"] == ESTIMATE + (30 + 4 + 5) + 2 * 30 and asked.settings()["cost"] == 3 * 30
