"""A judge on a server: what is asked, stored and counted, and the limit on what it may cost."""

import json
import time

import pytest
from werkzeug import Response

from eyechart.evaluators.judging import EndpointJudge
from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.metrics.scoring.errors import LostRoundsWarning
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.replies import JudgeSettings
from tests.evaluators import providers
from tests.evaluators.backends.logging_model import in_processes
from tests.evaluators.providers import provider
from tests.evaluators.scripted_server import always, completion, refusal

DARK, NOISY = ([{"role": "user", "content": text}] for text in ("Is it dark?", "Is it noisy?"))


@pytest.mark.parametrize(
    ("answers", "replies", "sent", "again"),
    [
        ([completion("1")], ["1"], [None], [None]),
        ([completion("1", "2"), completion("3"), completion("4")], ["1", "2", "3", "4"], [4, None, None], [4]),
        ([completion("1")], ["1"] * 3, [3, None, None], [None] * 3),
        ([Response("n must be 1", 400), completion("1")], ["1"] * 2, [2, None, None], [None] * 2),
    ],
    ids=["one", "too few", "n is ignored", "n is refused"],
)
def test_asks_one_by_one_for_what_a_server_leaves_out(script, judge, answers, replies, sent, again):
    script.say(*answers)
    asked = judge(max_retries=0)
    assert asked(DARK, len(replies)) == replies and [body.get("n") for body in script.bodies] == sent
    assert all((body["model"], body["messages"]) == ("judge", DARK) for body in script.bodies)
    script.say(completion(*replies[: again[0] or 1]))
    assert asked(NOISY, len(replies)) == replies
    assert [body.get("n") for body in script.bodies][len(sent) :] == again, "what a server cannot is not tried again"


@pytest.mark.parametrize("answer", [Response("too long", 400), completion("1", "2", "3")], ids=["refused", "too many"])
def test_a_failure_for_another_reason_does_not_stop_asking_at_once(script, judge, answer):
    asked = judge(max_retries=0)
    script.say(answer)
    with pytest.warns(LostRoundsWarning):
        assert asked(DARK, 2) == [None] * 2
    script.say(completion("1", "2"))
    assert asked(DARK, 2) == ["1", "2"]
    assert script.bodies[-1] | {"n": 2, "temperature": 1, "max_tokens": 64} == script.bodies[-1]


def test_replies_come_in_the_order_of_the_conversations_and_are_counted(script, judge):
    def answer(request):
        text = json.loads(request.data)["messages"][0]["content"]
        time.sleep(0.02 * (text in "02"))
        return completion(text, text)

    script.say(answer)
    done = []
    asked = judge(concurrency=3).for_task(progress=lambda *counts: done.append(counts))
    conversations = [[{"role": "user", "content": str(i)}] for i in range(9)]
    assert asked.ask_all(conversations, 2) == [[str(i)] * 2 for i in range(9)]
    assert done == [(i, 9) for i in range(1, 10)]


def test_equal_conversations_are_asked_once(script, judge):
    script.say(completion("1", "0"))
    asked = judge()
    assert asked.ask_all([DARK, NOISY, DARK], 2) == [["1", "0"]] * 3
    assert len(script.bodies) == 2 and asked.settings()["replies"] == 4
    assert asked.settings()["cost"] is None and "judge_cost" not in asked.timings(), "without a price"


def test_a_repeated_run_asks_nothing_and_gives_the_same(script, judge, store):
    script.say(always())
    conversations = [DARK, NOISY]
    first = judge(store, price=(0.152, 0.6))
    replies = first.ask_all(conversations, 5)
    assert len(script.bodies) == 2
    again = judge(store, price=(0.152, 0.6))
    assert again.ask_all(conversations, 5) == replies == [["Score: 2"] * 5] * 2
    assert len(script.bodies) == 2
    assert again.settings() == first.settings()
    settings = first.settings()
    # 200 * 0.152 + 20 * 0.6 US dollars per million tokens, rounded.
    counted = {"requests": 2, "prompt_tokens": 200, "completion_tokens": 20, "cost": 0.000042, "replies": 10}
    named = {"price": {"input": 0.152, "output": 0.6}, "served": ["judge@main"]}
    assert settings.items() >= (counted | named | {"lost_rounds": 0, "incomplete": False, "reason": None}).items()
    counts = ("judge_cost", "judge_requests", "judge_replies_from_store")
    spent = [asked.timings()[name] for asked in (first, again) for name in counts]
    assert spent == [0.000042, 2, 0, 0, 0, 10]
    assert [(model.name, model.answers) for model in store.models()] == [("judge", 10)]


def test_more_rounds_ask_only_for_those_that_are_missing(script, judge, store):
    script.say(always())
    judge(store)(DARK, 2)
    asked = judge(store)
    assert asked(DARK, 5) == ["Score: 2"] * 5
    assert [body.get("n") for body in script.bodies] == [2, 3]
    assert asked.settings()["requests"] == 2
    assert judge(store)(DARK, 3) == ["Score: 2"] * 3
    assert len(script.bodies) == 2


@pytest.mark.parametrize("other", [{"model": "b"}, {"temperature": 0.5}, {"max_tokens": 1}], ids=str)
def test_another_judge_or_decoding_is_asked_anew(script, judge, store, other):
    script.say(always())
    judge(store)(DARK, 1)
    judge(store, **other)(DARK, 1)
    judge(store, **other)([*DARK, *NOISY], 1)
    assert len(script.bodies) == 3


def test_parameters_that_the_judges_provider_refuses_are_dropped_and_the_result_says_so(script, judge, store):
    script.say(provider(*providers.O3_MINI, providers.ONLY_ONE_AT_DEEPSEEK, answer=always()))
    for _ in range(2):
        asked = judge(store)
        assert asked.ask_all([DARK, NOISY], 3) == [["Score: 2"] * 3] * 2
        settings = asked.settings()
        assert (settings["decoding"], settings["temperature"]) == ("chosen by the provider", None)
        assert settings["dropped_parameters"] == ["max_tokens", "n", "temperature"] and len(settings["served"]) == 1
        assert [body.keys() for body in script.bodies].count({"model", "messages", "max_completion_tokens"}) == 6
    script.say(provider(providers.ONLY_TEMPERATURE_1, answer=always()))
    for temperature in (0.2, 1.5):
        with pytest.raises(ModelError, match=r"judge .judge. cannot be asked: .*You asked for temperature; leave it"):
            judge(temperature=temperature)(DARK, 3)


def choice(finish_reason, content="Score: 1", **message):
    return {"message": {"content": content, **message}, "finish_reason": finish_reason}


@pytest.mark.parametrize(
    ("said", "expected", "failed"),
    [
        (choice("stop", "no idea"), "no idea", (0, 0)),
        (choice("length"), None, (1, 0)),
        (choice(None, "<think>A 1 or"), None, (1, 0)),
        (choice("stop", None, refusal="I can't."), None, (0, 1)),
        (choice("content_filter"), None, (0, 1)),
    ],
)
def test_cut_off_and_refused_replies_are_failed_rounds(script, judge, store, said, expected, failed):
    script.say({"choices": [said]})
    for _ in range(2):
        asked = judge(store)
        assert asked(DARK, 1) == [expected]
        settings = asked.settings()
        assert (settings["cut_off_rounds"], settings["refused_rounds"]) == failed and not settings["lost_rounds"]
    assert len(script.bodies) == 1


def test_the_judge_has_a_key_of_its_own(script, judge, monkeypatch):
    sent = []

    def note(request):
        sent.append(request.headers["Authorization"])
        return completion("1")

    script.say(note)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-model")
    judge()(DARK, 1)
    monkeypatch.setenv("EYECHART_JUDGE_API_KEY", "sk-of-the-judge")
    asked = judge()
    asked(DARK, 1)
    assert sent == ["Bearer sk-of-the-model", "Bearer sk-of-the-judge"]
    assert "sk-of" not in json.dumps(asked.settings()) + repr(vars(asked))


CONVERSATIONS = [[{"role": "user", "content": f"the picture {i}"}] for i in range(8)]
# At a dollar a token: 13 bytes of prompt are 4 tokens, and there are two replies of five tokens.
ESTIMATE = 4 + 2 * 5


@pytest.fixture
def limited(judge):
    """Makes a judge at a dollar a token that may spend `max_cost` dollars."""

    def make(max_cost, store=None, **settings):
        return judge(store, max_cost=max_cost, price=(1e6, 1e6), max_tokens=5, **settings)

    return make


@pytest.mark.parametrize(("limit", "answered"), [(4 * 30 - 1, 3), (4 * 30, 4)])
def test_stops_before_the_request_that_would_pass_the_limit(script, limited, limit, answered):
    # More tokens than the text has: the next prompt may have as many.
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


def test_concurrent_requests_do_not_pass_the_limit_together(script, limited):
    script.say(always(prompt_tokens=3, completion_tokens=10))
    asked = limited(3 * ESTIMATE, concurrency=8)
    with pytest.warns(LostRoundsWarning):
        asked.ask_all(CONVERSATIONS, 2)
    assert asked.settings()["cost"] <= 3 * ESTIMATE


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


ROWS = 70


def test_one_process_asks_and_all_have_the_replies(script, options, tmp_path):
    asked = []

    def answer(request):
        if json.loads(request.data)["model"] == "refused":
            return refusal(401, "wrong key")
        asked.append(request)
        # Another mark for each answer: processes that asked by themselves would differ.
        return completion(*[f"Score: {len(asked) % 5 + 1}"] * 2)

    script.say(answer)

    def run(processes):
        def score(model):
            judge = EndpointJudge(options(model), store, processes).for_task()
            answers = [f"dim {i}" for i in range(ROWS)]
            try:
                items = read_answers(answers, ["dark"] * ROWS, ["How?"] * ROWS, judge, rounds=2)
                scores = answer_scores(items, None, JudgeSettings(judge.name, rounds=2))
            except ModelError as error:
                return str(error)
            return scores, judge.settings()["requests"], judge.timings()["judge_replies_from_store"]

        with ResponseStore.open(tmp_path / "responses.sqlite") as store:
            return [score("refused"), score("judge"), score("judge")]

    main, other = in_processes(2, run)
    assert "answered 401: wrong key" in main[0] and "process 0 of 2 failed: the judge 'refused'" in other[0]
    (scores, requests, stored), repeated = main[1:]
    assert scores == other[1][0] == repeated[0] == other[2][0]
    assert scores["n_scored"] == 70 and scores["failed_rounds"] == 0 and 1 < scores["mean_score"] < 5
    assert (requests, stored, len(asked)) == (70, 0, 70) and repeated[1:] == (70, 140)
