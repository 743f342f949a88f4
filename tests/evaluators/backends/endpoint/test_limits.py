"""Limits on what a server gets: requests at once, by what it refuses, and money."""

import re
import threading
import time

from eyechart.evaluators.backends.endpoint.backend import OpenAIBackend
from eyechart.evaluators.backends.endpoint.limits import Window
from eyechart.evaluators.backends.endpoint.options import EndpointOptions
from eyechart.evaluators.requests.types import Request
from eyechart.evaluators.results.results_file import read_results
from tests.evaluators.command_line import invoke
from tests.evaluators.scripted_server import completion, refusal

ROOM = 3
"""Requests that the server takes at once."""


class Crowded:
    """Refuses requests beyond its room, and counts them."""

    def __init__(self):
        self._lock = threading.Lock()
        self._inside = self.refused = self.answered = 0

    def __call__(self, request):
        with self._lock:
            if self._inside == ROOM:
                self.refused += 1
                return refusal(429, headers={"Retry-After-Ms": "10"})
            self._inside += 1
        time.sleep(0.05)
        with self._lock:
            self._inside -= 1
            self.answered += 1
        return completion("B")


def test_fewer_requests_are_sent_at_once_to_a_server_that_refuses_them(http, script, monkeypatch):
    requests = [Request(str(i), (f"Question {i}",), ()) for i in range(120)]

    def refused():
        server = Crowded()
        script.say(server)
        backend = OpenAIBackend("m", EndpointOptions(http.url_for("/v1"), concurrency=16, max_retries=1000))
        # Two calls: what the first one learnt, the second one knows.
        responses = [*backend.answer(requests[:60]), *backend.answer(requests[60:])]
        assert [response.text for response in responses] == ["B"] * 120 and server.answered == 120
        assert backend.settings()["asked"]["retries"] == server.refused
        return server.refused, backend._client._window.size

    with_window, size = refused()
    monkeypatch.setattr(Window, "_refused", lambda *halvings: None)
    without, all_at_once = refused()
    assert with_window < without / 2, (with_window, without)
    assert size <= 2 * ROOM and all_at_once == 16


def test_all_requests_wait_while_a_server_refuses_everything(http, script, monkeypatch):
    """For longer than the retries of one request last, 0.5 and 1 second, and without saying how long."""
    monkeypatch.setattr("eyechart.evaluators.backends.endpoint.limits._LONGEST_PAUSE", 1.0)
    began = time.monotonic()
    script.say(lambda request: refusal(429) if time.monotonic() < began + 2.5 else completion("B"))
    backend = OpenAIBackend("m", EndpointOptions(http.url_for("/v1"), max_retries=2))
    responses = [*backend.answer([Request(str(i), (f"Question {i}",), ()) for i in range(20)])]
    assert [response.text for response in responses] == ["B"] * 20


def test_a_run_stops_at_its_spending_limit_and_goes_on_from_the_stored_answers(http, script, tmp_path, no_report):
    script.say(completion("A", prompt_tokens=800, completion_tokens=10))
    job = ("run", "q_bench/perception", "--mini", "--limit", 8, "--model", "vlm", "--base-url", http.url_for("/v1"))
    job += ("--out", tmp_path / "run", "--model-arg", "concurrency=1", "--model-arg", "price=[1e6, 1e6]")
    # At a dollar a token, an answer costs 810, and the next request may cost 832.
    stopped = invoke(*job, "--model-arg", "max_cost=3000", code=1)
    assert "might exceed the limit of 3000.0 US dollars; set a higher max_cost" in stopped.stderr
    assert "The answers so far are stored" in " ".join(stopped.stderr.split())
    hint = invoke(*job, "--max-cost", 3000, code=2).stderr
    assert "No such option: --max-cost; write --model-arg max_cost=VALUE" in " ".join(hint.replace("│", " ").split())
    assert len(script.bodies) == 3 and not read_results(tmp_path / "run").tasks
    finished = invoke(*job, "--model-arg", "max_cost=6000", code=0)
    assert re.search(r"Answers: 8 in [\d.]+ s, 3 of them reused, for 4,050.00 US dollars\.", finished.stdout)
    assert len(script.bodies) == 8
    (result,) = read_results(tmp_path / "run").tasks
    model = result.settings["model"]
    assert (model["price"], model["max_cost"]) == ([1e6, 1e6], 6000)
    assert (model["asked"]["cost"], model["usage"]["prompt_tokens"]) == (5 * 810, 8 * 800)
    without_usage = completion("A")
    del without_usage["usage"]
    script.say(without_usage)
    unknown = invoke(*job, "--no-store", code=0)
    assert "; the server did not count tokens, so the cost is unknown." in " ".join(unknown.stdout.split())
    assert read_results(tmp_path / "run").tasks[0].settings["model"]["asked"]["cost"] is None
    script.say(*[without_usage] * 3, completion("A", prompt_tokens=800, completion_tokens=10))
    partly = invoke(*job, "--no-store", code=0)
    assert "for at least 4,050.00 US dollars" in partly.stdout
    del script.bodies[8:]
    invoke(*job, "--model-arg", "max_cost=0", code=0)
    assert len(script.bodies) == 8, "stored answers cost nothing"
    assert "stored" not in invoke(*job, "--no-store", "--model-arg", "max_cost=0", code=1).stderr
