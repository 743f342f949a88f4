"""A small server program with the command lines of vLLM, SGLang and llama.cpp, whose reply is always B.

Further arguments are what tests need: `--crash-after N` ends it at its N-th question, `--load SECONDS` lets it answer
late, `--no-health` leaves out `/health`, and `--asked FILE` keeps the names that it was asked for.
"""

import argparse
import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", nargs="?")
    parser.add_argument("served", nargs="?")
    parser.add_argument("-m", "--model-path")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    for name, kind in (("--name", str), ("--crash-after", int), ("--asked", Path)):
        parser.add_argument(name, type=kind)
    parser.add_argument("--load", type=float, default=0)
    parser.add_argument("--no-health", action="store_true")
    given = parser.parse_args()
    print("loading", given.served or given.model_path, flush=True)
    name = given.name or given.served or given.model_path
    ready = time.monotonic() + given.load
    lock, count = threading.Lock(), 0

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            pages = {
                # Empty, as vLLM has it.
                "/health": None,
                "/v1/models": {"data": [{"id": name}]},
                **({"/version": {"version": "1.2.3"}} if given.command else {"/props": {"build_info": "b7"}}),
            }
            if given.no_health:
                del pages["/health"]
            elif self.path == "/health" and time.monotonic() < ready:
                return self.answer(503, {})
            return self.answer(200 if self.path in pages else 404, pages.get(self.path, {}))

        def do_POST(self):
            nonlocal count
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                count += 1
                if given.asked:
                    with given.asked.open("a") as file:
                        file.write(f"{body['model']}\n")
                if count == given.crash_after:
                    print("out of memory, so to say", flush=True)
                    os._exit(3)
            if body["model"] != name:
                return self.answer(404, {"error": {"message": f"no model {body['model']}"}})
            choice = {"message": {"content": "B"}, "finish_reason": "stop"}
            return self.answer(200, {"choices": [choice], "model": name})

        def log_message(self, *arguments):
            return

        def answer(self, status, value):
            content = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    ThreadingHTTPServer((given.host, given.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
