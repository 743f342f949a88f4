import json
import shlex
import subprocess
import sys

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.evaluators.command_line import invoke

GIVEN = (
    "--model",
    "vllm/me/model",
    "--logs",
    "hf://buckets/me/evals/new",
    "--install",
    "eyechart[inspect] @ git+ssh://a",
)
TASKS = ("q_bench/perception", "mmbench/en")


def test_the_hubs_own_program_takes_the_command() -> None:
    command = shlex.split(invoke("jobs", "run", *TASKS, *GIVEN, code=0).output)
    assert command[:4] == ["hf", "jobs", "uv", "run"]
    words = ["-m", "huggingface_hub.cli.hf", *command[1:4], "--dry-run", *command[4:]]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    for text in (
        "eval eyechart/q_bench_perception eyechart/mmbench_en --model vllm/me/model --log-dir /logs",
        "eyechart[inspect] @ git+ssh://a",
        "hf://buckets/me/evals/new:/logs",
        "a10g-large",
    ):
        assert text in shown


@pytest.mark.parametrize("allowed", [True, False])
def test_a_job_is_sent_to_the_hub(allowed: bool, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def answer(request: Request) -> Response:
        asked[f"{request.method} {request.path}"] = json.loads(request.data) if request.data else {}
        if not allowed:
            return Response('{"error": "Jobs need a Pro account"}', 403)
        bodies = {
            "/api/whoami-v2": {"name": "me", "type": "user"},
            "/api/jobs/me": {
                "id": "7",
                "owner": {"id": "1", "name": "me", "type": "user"},
                "status": {"stage": "RUNNING"},
            },
        }
        body = bodies.get(request.path, {"url": f"{httpserver.url_for('')}/buckets/me/evals"})
        return Response(json.dumps(body), content_type="application/json")

    httpserver.expect_request("/api/whoami-v2").respond_with_handler(answer)
    httpserver.expect_request("/api/jobs/me").respond_with_handler(answer)
    httpserver.expect_request("/api/buckets/me/evals").respond_with_handler(answer)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", httpserver.url_for("").rstrip("/"))
    monkeypatch.setattr("huggingface_hub.hf_api.ENDPOINT", httpserver.url_for("").rstrip("/"), raising=False)
    monkeypatch.setenv("HF_TOKEN", "hf_of_this_test")
    done = invoke("jobs", "run", *TASKS, *GIVEN, "--submit", code=0 if allowed else 1)
    if not allowed:
        assert "the job was not started" in done.stderr and "hf auth login" in done.stderr
        return
    assert "/jobs/me/7" in done.output
    sent = asked["POST /api/jobs/me"]
    assert isinstance(sent, dict)
    assert sent["flavor"] == "a10g-large" and sent["secrets"] == {"HF_TOKEN": "hf_of_this_test"}
    bucket = {"type": "bucket", "source": "me/evals", "mountPath": "/logs", "path": "new"}
    assert bucket.items() <= sent["volumes"][0].items()
    words = " ".join(sent["command"])
    assert "inspect eval eyechart/q_bench_perception eyechart/mmbench_en" in words and "--with vllm" in words


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (("--model", "model"), "vllm/model"),
        (("--logs", "s3://mine"), "hf://buckets/OWNER/NAME"),
        (("--logs", "hf://buckets/me"), "hf://buckets/OWNER/NAME"),
    ],
)
def test_wrong_usage(changed: tuple[str, str], named: str) -> None:
    assert named in invoke("jobs", "run", *TASKS, *GIVEN, *changed, code=2).stderr
    assert "q_bench" in invoke("jobs", "run", "q_bunch", *GIVEN, code=2).stderr
