"""A server that says what a test tells it."""

import json
import threading
import time
from typing import Any

from werkzeug import Response

PATH = "/v1/chat/completions"


def json_response(value, status=200):
    return Response(json.dumps(value), status, content_type="application/json")


def refusal(status, message="some reason", headers=None, code=None):
    """The answer of a server that refuses, in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "type": "x", "code": code}})
    return Response(body, status, headers, content_type="application/json")


def completion(*texts, prompt_tokens=100, completion_tokens=10):
    """The answer of a server with some replies."""
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return {"choices": [{"message": {"content": text}} for text in texts], "usage": usage, "model": "judge@main"}


def always(text="Score: 2", **tokens):
    """An answer with as many equal replies as are asked for."""
    return lambda request: completion(*[text] * json.loads(request.data).get("n", 1), **tokens)


class Script:
    """Answers in the order given, the last one again and again, and remembers what was asked."""

    def __init__(self, http):
        self._http = http
        self._lock = threading.Lock()
        self.answers = []
        self.bodies: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.attempts: list[str] = []
        """Which retry each was, by the client's own count."""

    def say(self, *answers):
        """Each is a `werkzeug.Response`, a JSON value, or a function from the request to one of these."""
        self.answers = list(answers)
        self._http.expect_request(PATH, method="POST").respond_with_handler(self._respond)

    def wait_for(self, count):
        """Wait for requests: on a busy machine the server may get to one after the client gave it up."""
        end = time.monotonic() + 60
        while len(self.attempts) < count and time.monotonic() < end:
            time.sleep(0.01)

    def _respond(self, request):
        with self._lock:
            self.times.append(time.monotonic())
            self.bodies.append(json.loads(request.data))
            self.attempts.append(request.headers["X-Stainless-Retry-Count"])
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        answer = answer(request) if callable(answer) and not isinstance(answer, Response) else answer
        return answer if isinstance(answer, Response) else json_response(answer)
