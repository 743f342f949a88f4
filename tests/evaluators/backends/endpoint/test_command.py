"""`eyechart run` on a server."""

from collections import Counter

import pyarrow.parquet
import pytest

from eyechart.datasets_scripts import mini
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke

SERVER = ["--base-url", "http://127.0.0.1:9/v1", "--model", "m"]
KEY = "sk-this-is-the-secret-key"


def test_a_run_on_a_server_gives_scores_and_never_the_key(http, model_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    url = http.url_for("/v1")
    server = ("--base-url", url, "--model", "tiny", "--concurrency", 3)
    server = (*server, "--mini", "--data-dir", f"kadis700k={mini.release('kadis700k')}")
    tasks = ("q_bench/perception", "q_bench/assessment", *server, "--limit", 24)
    done = invoke("run", *tasks, "--out", tmp_path / "out", code=0)
    perception, assessment = read_results(tmp_path / "out").tasks
    assert perception.scores["accuracy"] > perception.scores["random_guess"]
    assert assessment.scores["srcc"] > 0.5
    assert perception.model == "tiny"
    settings = assessment.settings["model"]
    assert settings["backend"] == "openai" and settings["base_url"] == url and settings["concurrency"] == 3
    # Two to see how a reply is continued, and two for the tokens of "fine" and "bad".
    assert settings["asked"]["requests"] == 2 + 2 + 24
    of_perception = perception.settings["model"]
    assert of_perception["asked"]["requests"] == 24, "each task counts its own"
    assert of_perception["prefill"] == [], "no reply of it was begun"
    assert of_perception["asked"]["prompt_tokens"] == of_perception["usage"]["prompt_tokens"]
    assert settings["served"] == ["tiny@main"] and settings["prefill"] == ["continue_final_message"]
    assert 0 < settings["usage"]["prompt_tokens"] < settings["asked"]["prompt_tokens"]
    rows = pyarrow.parquet.read_table(tmp_path / "out" / "predictions.parquet").to_pylist()
    assert len(rows) == 48
    upper_bound_words = [word for row in rows for word in row["upper_bound_words"] or []]
    assert Counter(upper_bound_words) == settings.get("upper_bound_words", {})
    asked = len(model_server.asked)
    again = invoke("run", *tasks, "--out", tmp_path / "again", code=0)
    assert len(model_server.asked) == asked, "answers are stored"
    for task, stored in zip((perception, assessment), read_results(tmp_path / "again").tasks, strict=True):
        assert stored.scores == task.scores
        first, second = ({**t.settings["model"], "asked": None} for t in (task, stored))
        assert first == second and second["served"], "what only an answer tells is stored with it"
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert KEY.encode() not in written + (done.output + again.output).encode()


def test_more_log_probabilities_leave_fewer_upper_bounds_and_are_a_setting_of_the_result(http, model_server, tmp_path):
    server = ("--base-url", http.url_for("/v1"), "--model", "tiny", "--mini", "--limit", 6, "--dataset", "kadis700k")
    bounds = []
    for count in (2, 1280):
        out = tmp_path / str(count)
        invoke("run", "q_bench/assessment", *server, "--model-arg", f"top_logprobs={count}", "--out", out, code=0)
        (task,) = read_results(out).tasks
        assert task.settings["model"]["top_logprobs"] == count and task.timings["answers_from_store"] == 0
        assert {asked["top_logprobs"] for asked in model_server.asked if "top_logprobs" in asked} == {count}
        model_server.asked.clear()
        bounds.append(sum(task.settings["model"].get("upper_bound_words", {}).values()))
    assert bounds[0] > bounds[1] == 0


def test_a_server_that_answers_under_another_name_is_a_caveat_until_that_is_confirmed(http, model_server, tmp_path):
    model_server.serves = "tiny-f32.gguf"
    server = ("--base-url", http.url_for("/v1"), "--model", "no/such-model", "--mini", "--limit", 3)
    done = invoke("run", "q_bench/perception", *server, "--out", tmp_path / "doubtful", code=0)
    (task,) = read_results(tmp_path / "doubtful").tasks
    assert task.settings["model"]["name"] == "no/such-model" and task.settings["model"]["served"] == ["tiny-f32.gguf"]
    (caveat,) = [line for line in task.caveats if "--model-arg served_name" in line]
    assert "answered as 'tiny-f32.gguf', but 'no/such-model' was requested" in caveat
    assert "answered as 'tiny-f32.gguf'" in " ".join(done.output.split())
    asked = len(model_server.asked)
    confirmed = ("--model-arg", "served_name=tiny-f32.gguf")
    done = invoke("run", "q_bench/perception", *server, *confirmed, "--out", tmp_path / "confirmed", code=0)
    assert len(model_server.asked) == asked, "nothing is asked anew"
    (again,) = read_results(tmp_path / "confirmed").tasks
    assert again.settings["model"]["served_name"] == "tiny-f32.gguf" and again.scores == task.scores
    assert again.caveats == [line for line in task.caveats if line != caveat]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SERVER[:2], "a server needs --model"),
        ([*SERVER, "--device", "cpu"], "--device has no effect on a server"),
        (["--model-arg", "timeot=3"], "did you mean 'timeout'?"),
        (["--model-arg", "trust_remote_code=maybe"], "--model-arg trust_remote_code='maybe' is not allowed"),
        (["--model-arg", "served_name=m"], "--model-arg served_name has no effect without a server"),
        (["--base-url", "http://a:b@host/v1", "--model", "m"], "without user name"),
        ([*SERVER, "--concurrency", "0"], "--concurrency"),
    ],
)
def test_wrong_usage_is_explained_with_exit_code_2(arguments, message, tmp_path):
    done = invoke("run", "--mini", *arguments, "--out", tmp_path, code=2)
    assert message in done.output
