import time

import pytest

from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import always


def args(*pairs):
    return [word for pair in pairs for word in ("--judge-arg", pair)]


@pytest.fixture
def described(http, tmp_path):
    """Describes five pictures and has them judged; returns the command's end and the one result."""

    def run(name, *arguments):
        url = http.url_for("/v1")
        judge = ("--judge", "judge", "--judge-arg", f"base_url={url}")
        done = invoke("run", "q_bench/description", "--limit", 5, *judge, *arguments, "--out", tmp_path / name)
        found = read_results(tmp_path / name).tasks if done.exit_code == 0 else []
        return done, *found

    return run


def test_a_judge_is_asked_once_and_a_repeated_run_costs_nothing(script, described):
    script.say(always("Score: 1", prompt_tokens=100, completion_tokens=5))
    done, first = described("first")
    assert done.exit_code == 0, done.output
    scored = first.scores["n"]
    assert first.scores["judge"] == "judge" and first.scores["completeness"]["score"] == 1.0
    assert len(script.bodies) == 3 * scored and all(body["n"] == 5 for body in script.bodies)
    told = first.settings["judge"]
    assert (told["replies"], told["prompt_tokens"], told["incomplete"]) == (15 * scored, 300 * scored, False)
    assert first.complete and first.timings["judge_requests"] == 3 * scored
    _, second = described("second")
    assert len(script.bodies) == 3 * scored
    assert (second.scores, second.settings["judge"]) == (first.scores, told)
    assert second.timings["judge_requests"] == 0


def test_the_limit_on_spending_ends_the_asking_and_marks_the_result(script, described):
    script.say(always("Score: 1", prompt_tokens=1000, completion_tokens=5))
    done, result = described("limited", *args("max_cost=12000", "price=[1e6, 0]", "concurrency=1"))
    assert done.exit_code == 0 and not result.complete
    assert 0 < len(script.bodies) < 15 and result.settings["judge"]["cost"] <= 12_000
    assert result.scores["failed_rounds"] == 75 - 5 * len(script.bodies)
    caveats = " ".join(result.caveats)
    assert "Incomplete: the judge judge gave no reply in" in caveats and "limit of 12000" in caveats
    assert "Incomplete" in done.output


@pytest.mark.parametrize(("replies", "code"), [(("As a model, I cannot",), 1), (("Score: 1", "I cannot"), 0)], ids=str)
def test_a_judge_that_gives_nothing_usable_ends_with_exit_code_1(script, http, tmp_path, replies, code):
    script.say(*map(always, replies))
    judge = ("--judge", "judge", *args(f"base_url={http.url_for('/v1')}", "concurrency=1"))
    done = invoke("run", "q_bench/description", "--limit", 2, *judge, "--out", tmp_path / "run")
    (task,) = read_results(tmp_path / "run").tasks
    assert done.exit_code == code and not task.complete and task.settings["judge"]["incomplete"]
    said = "q_bench/description on lldescribe: The judge judge gave no usable reply in 30 of 30 rounds (30 not in"
    assert (said in " ".join(done.output.split())) == bool(code)


@pytest.mark.parametrize(("seconds", "is_read"), [(0.2, False), (30, True)])
def test_a_slow_judge_is_waited_for_as_long_as_said(script, described, seconds, is_read):
    def answer(request):
        time.sleep(0.6)
        return always("Score: 1")(request)

    script.say(always("Score: 1"), answer, always("Score: 1"))
    done, result = described("slow", *args(f"timeout={seconds}", "concurrency=1", "max_retries=0"))
    assert done.exit_code == 0, done.output
    assert (result.complete, result.settings["judge"]["lost_rounds"]) == (is_read, 0 if is_read else 5)
    assert is_read or "did not answer within 0.2 s" in " ".join(result.caveats)
    assert "timeout" not in result.settings["judge"], "it defines no score"


def test_tasks_without_a_judge_say_nothing_of_one(script, http, tmp_path):
    script.say(always("Score: 1"))
    judge = ("--judge", "judge", "--judge-arg", f"base_url={http.url_for('/v1')}")
    arguments = ("q_bench/description", "two_afc/coarse", "--limit", 3, "--out", tmp_path / "run")
    invoke("run", *arguments, *judge, code=0)
    judged, unjudged = read_results(tmp_path / "run").tasks
    assert judged.settings["judge"]["name"] == "judge" and "judge" not in unjudged.settings


@pytest.mark.parametrize(
    ("tasks", "options", "problem"),
    [
        (["q_bench/assessment"], ("--judge", "x"), "--judge has no effect on tasks that use no judge: q_bench/assess"),
        (["q_bench/perception"], ("--judge", "x", "--set", "inference=closed-set"), "--judge has no effect"),
        (["q_bench/perception"], ("--set", "rounds=3"), "rounds=3 has no effect on q_bench/perception without --judge"),
        (["two_afc/coarse", "mmbench/en"], ("--set", "rounds=3"), "rounds=3 has no effect on mmbench/en without"),
    ],
)
def test_a_judge_without_a_task_and_rounds_without_a_judge_have_no_effect(tmp_path, tasks, options, problem):
    done = invoke("run", *tasks, *options, "--out", tmp_path / "run", code=2)
    assert problem in done.output
    assert not (tmp_path / "run").exists()


def test_a_judge_that_is_not_there_is_noticed_before_a_model_is_loaded(tmp_path):
    judge = ("--judge", "judge", *args("base_url=https://localhost:9/v1"))
    done = invoke("run", "q_bench/description", "--mini", *judge, "--out", tmp_path / "run", code=1)
    assert not (tmp_path / "run").exists()
    assert "cannot reach a server at https://localhost:9/v1" in done.output


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (args("max_cost=3", "price=[1, 1]"), "--judge-arg max_cost=3 has no effect without --judge"),
        (("--judge", "x", *args("timeout=0")), "timeout=0.0 is not allowed"),
        (("--judge", "x", *args("temperature=-0.1")), "temperature=-0.1 is not allowed"),
        (("--judge", "x", *args("timeout=soon")), "--judge-arg timeout='soon' is not allowed"),
        (("--judge", "x", *args("price=[1]")), "--judge-arg price='[1]' is not allowed"),
        (("--judge", "x", *args("max_costs=3")), "did you mean 'max_cost'?"),
        (("--judge", "x", *args("max_cost=3")), "max_cost needs a price"),
        (("--judge", "x", *args("base_url=nowhere")), "base_url='nowhere' is not allowed"),
    ],
)
def test_wrong_usage_of_judges(tmp_path, arguments, problem):
    done = invoke("run", "q_bench/description", *arguments, "--out", tmp_path / "run", code=2)
    assert problem in done.output
