"""Two real processes with one judge."""

import json

import pytest

from tests.evaluators.backends.test_processes import launch
from tests.evaluators.scripted_server import completion, refusal

SCRIPT = """
import json, os, sys
from pathlib import Path
from eyechart.datasets_scripts.common.errors import ModelError
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.judging import EndpointJudge, JudgeOptions
from eyechart.evaluators.backends.processes import join_processes
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.metrics.scoring.judging.answers import answer_scores, read_answers
from eyechart.metrics.scoring.judging.rounds import JudgeSettings

ROWS = 70

def score(model):
    options = JudgeOptions(model, EndpointOptions(sys.argv[1], concurrency=4, max_retries=0))
    judge = EndpointJudge(options, store, processes).for_task()
    answers = [f"dim {i}" for i in range(ROWS)]
    try:
        items = read_answers(answers, ["dark"] * ROWS, ["How?"] * ROWS, judge, rounds=2)
        scores = answer_scores(items, None, JudgeSettings(judge.name, rounds=2, resamples=10))
    except ModelError as error:
        return str(error)
    return scores, judge.settings()["requests"], judge.timings()["judge_replies_from_store"]

processes = join_processes()
with ResponseStore.open() as store:
    found = [score("refused"), score("judge"), score("judge")]
Path(sys.argv[2], os.environ["RANK"]).write_text(json.dumps(found))
processes.close()
"""


@pytest.mark.slow
def test_one_process_asks_and_all_have_the_replies(http, script, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SCRIPT)
    asked = []

    def answer(request):
        if json.loads(request.data)["model"] == "refused":
            return refusal(401, "wrong key")
        asked.append(request)
        # Another mark for each answer: processes that asked by themselves would differ.
        return completion(*[f"Score: {len(asked) % 5 + 1}"] * 2)

    script.say(answer)
    done = launch([str(program), http.url_for("/v1"), str(tmp_path)], 2, tmp_path)
    assert done.returncode == 0, done.stderr
    main, other = (json.loads((tmp_path / rank).read_text()) for rank in "01")
    assert "answered 401: wrong key" in main[0] and "process 0 of 2 failed: the judge 'refused'" in other[0]
    (scores, requests, stored), repeated = main[1:]
    assert scores == other[1][0] == repeated[0] == other[2][0]
    assert scores["n_scored"] == 70 and scores["failed_rounds"] == 0 and 1 < scores["mean_score"] < 5
    assert (requests, stored, len(asked)) == (70, 0, 70) and repeated[1:] == [70, 140]
