"""Judges that are down, slow, asked too often, out of money or talk nonsense: each has an outcome of its own."""

import json

import pytest
from werkzeug import Response

from eyechart import metrics
from eyechart.datasets_scripts.common.errors import ModelError, QuotaError
from eyechart.evaluators import evaluator
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.evaluation.data import LoadedData
from eyechart.evaluators.judging import EndpointJudge, JudgeOptions
from eyechart.evaluators.judging.endpoint_judge import MOST_FAILURES
from eyechart.metrics.scoring.errors import LostRoundsWarning
from tests.evaluators.scripted_server import always, completion, refusal

CONVERSATIONS = [[{"role": "user", "content": f"Is picture {i} dark?"}] for i in range(6)]
OUT_OF_MONEY = {"402": refusal(402, "pay"), "429": refusal(429, "pay", code="insufficient_quota")}
out_of_money = pytest.mark.parametrize("fault", OUT_OF_MONEY.values(), ids=OUT_OF_MONEY)


def score(judge, n=4):
    return metrics.load("judge_answer").compute(
        predictions=[f"dim {i}" for i in range(n)],
        references=["dark"] * n,
        questions=["How is it?"] * n,
        judge=judge,
        resamples=10,
    )


def test_a_wrong_key_or_model_ends_the_scoring_with_the_servers_words(script, judge):
    script.say(refusal(401, "no such thing"))
    with pytest.raises(ModelError, match=r"the judge 'judge' cannot be asked: .* answered 401: no such thing"):
        score(judge())


def test_a_server_that_is_not_there_ends_the_scoring():
    options = JudgeOptions("judge", EndpointOptions("http://127.0.0.1:9/v1", max_retries=0))
    with pytest.raises(ModelError, match=r"no server can be reached at http://127\.0\.0\.1:9/v1"):
        score(EndpointJudge(options))


def test_every_task_of_a_judge_that_cannot_be_asked_says_so(script, judge):
    script.say(refusal(401))
    whole = judge()
    for _ in range(2):
        task = whole.for_task()
        for _ in range(2):
            with pytest.raises(ModelError, match="answered 401"):
                task.ask_all(CONVERSATIONS, 1)
    assert len(script.bodies) <= 2 * 4, "once refused, a task asks no more than what is under way"


def test_a_server_that_goes_down_in_the_middle_keeps_what_was_had(script, judge, store):
    script.say(always(), always(), always(), refusal(401, "gone"))
    asked = judge(store, concurrency=1)
    with pytest.warns(LostRoundsWarning, match="gave no reply in 15 rounds; the first reason: .*gone"):
        replies = asked.ask_all(CONVERSATIONS, 5)
    assert replies == [["Score: 2"] * 5] * 3 + [[None] * 5] * 3 and len(script.bodies) == 4
    told = asked.settings()
    assert (told["lost_rounds"], told["incomplete"], told["replies"]) == (15, True, 15)
    assert "cannot be asked" in told["reason"] and "answered 401: gone" in told["reason"]
    with pytest.warns(LostRoundsWarning):
        assert asked.ask_all(CONVERSATIONS[3:], 5) == [[None] * 5] * 3
    assert len(script.bodies) == 4, "what has stopped is not tried again in this task"
    script.say(always("Score: 1"))
    again = judge(store)
    assert again.ask_all(CONVERSATIONS, 5) == [["Score: 2"] * 5] * 3 + [["Score: 1"] * 5] * 3
    assert len(script.bodies) == 4 + 3, "only what was missing"
    assert not again.settings()["incomplete"] and again.settings()["reason"] is None


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (refusal(500), "answered 500 after 1 retry"),
        (refusal(400, "too long"), "answered 400: too long"),
        (Response("<html>", 200), "no chat completion"),
        ({"choices": []}, "returned no reply"),
    ],
    ids=["500", "400", "HTML", "no reply"],
)
def test_a_single_failure_is_a_failed_round(script, judge, fault, reason):
    def answer(request):
        ill = "picture 2" in json.loads(request.data)["messages"][0]["content"]
        return fault if ill else always()(request)

    script.say(answer)
    asked = judge(timeout=60.0, max_retries=1)
    with pytest.warns(LostRoundsWarning, match=reason):
        replies = asked.ask_all(CONVERSATIONS, 2)
    assert replies == [[None] * 2 if i == 2 else ["Score: 2"] * 2 for i in range(6)]
    assert asked.settings()["lost_rounds"] == 2 and reason in asked.settings()["reason"]


def test_rounds_that_were_had_before_a_failure_count(script, judge, store):
    script.say(completion("1", "0"), completion("1"), refusal(500))
    with pytest.warns(LostRoundsWarning, match="in 2 rounds"):
        assert judge(store)(CONVERSATIONS[0], 5) == ["1", "0", "1", None, None]
    script.say(always("0"))
    assert judge(store)(CONVERSATIONS[0], 5) == ["1", "0", "1", "0", "0"]
    assert script.bodies[-1]["n"] == 2


@out_of_money
def test_without_money_at_first_the_scoring_ends(script, judge, fault):
    script.say(fault)
    with pytest.raises(QuotaError, match=r"the judge 'judge' cannot be asked: .*pay"):
        score(judge())


@out_of_money
def test_when_money_runs_out_the_rest_is_lost(script, judge, store, fault):
    script.say(always(), always(), fault)
    with pytest.warns(LostRoundsWarning, match="in 2 rounds; .*pay"):
        scores = score(judge(store, concurrency=1))
    assert (scores["mean_score"], scores["failed_rounds"], scores["n_scored"]) == (2.0, 2, 2)
    # What is stored counts as had, and nothing more is asked for than what shows that there is still no money.
    script.say(fault)
    again = judge(store, concurrency=1)
    with pytest.warns(LostRoundsWarning):
        assert score(again) == scores
    assert again.settings()["incomplete"] and len(script.bodies) == 3 + 1


def test_a_server_that_fails_on_and_on_counts_as_gone(script, judge):
    script.say(refusal(500, "broken"))
    conversations = [[{"role": "user", "content": str(i)}] for i in range(100)]
    with pytest.raises(ModelError, match=f"{MOST_FAILURES} conversations in a row got no reply, the last .*broken"):
        judge(concurrency=2).ask_all(conversations, 2)
    assert len(script.bodies) <= MOST_FAILURES + 4
    script.say(always(), refusal(500, "broken"))
    asked = judge(concurrency=1)
    with pytest.warns(LostRoundsWarning, match="in 198 rounds"):
        assert asked.ask_all(conversations, 2)[:2] == [["Score: 2"] * 2, [None] * 2]


def test_a_note_tells_of_nonsense_and_of_the_longest_reply(script, judge, questions):
    script.say(always("<think>Let me see"))

    def read(asked):
        made = evaluator("q_bench/perception", judge=asked)
        data = LoadedData(questions, "own data", "given", "given")
        return made.run(FunctionBackend(lambda messages: "Splendid"), data)

    done = read(judge(max_tokens=32))
    assert not done.complete and done.settings["judge"]["incomplete"], "both say so"
    assert done.settings["judge"]["reason"] == "nothing usable in any round about 6 of what was put to the judge"
    assert done.settings["judge"]["lost_rounds"] == 0
    assert "The judge judge gave nothing usable in 30 of 30 rounds. One that reasons first needs a larger" in " ".join(
        done.caveats
    )
    assert "--judge-max-tokens than 32. Incomplete: 6 of the 6 replies" in " ".join(done.caveats)
    script.say(always("1"), refusal(400))
    with pytest.warns(LostRoundsWarning):
        done = read(judge(concurrency=1))
    assert "gave nothing usable in 25 of 30 rounds. Incomplete" in " ".join(done.caveats), "lost ones are no nonsense"


def test_nonsense_is_stored_and_a_failed_round(script, judge, store):
    script.say(completion("I cannot rate this.", "Score: 4", "", "Score: 2 or 3", "\u4e94"))

    def compute():
        return metrics.load("judge_answer").compute(
            predictions=["dim"], references=["dark"], questions=["How?"], judge=judge(store), rounds=5, resamples=10
        )

    scores = compute()
    assert (scores["mean_score"], scores["failed_rounds"]) == (4.0, 4)
    assert compute() == scores and len(script.bodies) == 1
    assert not judge(store).settings()["incomplete"]
