"""Several processes with one judge."""

import json

from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.judging import EndpointJudge
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.rounds import JudgeSettings
from tests.evaluators.backends.threads import in_processes
from tests.evaluators.scripted_server import completion, refusal

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
