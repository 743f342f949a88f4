"""A server program for `--serve` that answers and prints what a test wants: `hostile_server.py PORT FOLDER`.

FOLDER/plan.json has a list of texts to `print`, and by path what is answered: `status`, `headers`, `body` or the file
of it, and how often it is repeated with which pause. The keys that it receives, and those in its environment, are
written to FOLDER/keys.json.
"""

import json
import os
import sys
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
PLAN = json.loads((FOLDER / "plan.json").read_text())
RECEIVED = dict(os.environ)
COMPLETION = {"choices": [{"message": {"content": "B"}, "finish_reason": "stop"}], "model": "m"}
PAGES = {
    "/health": {},
    "/v1/models": {"body": json.dumps({"data": [{"id": "m"}]})},
    "/v1/chat/completions": {"body": json.dumps(COMPLETION)},
    **PLAN,
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        page = PAGES.get(self.path, {"status": 404})
        if length := self.headers.get("Content-Length"):
            self.rfile.read(int(length))
        RECEIVED[self.path] = self.headers.get("Authorization")
        (FOLDER / "keys.json").write_text(json.dumps(RECEIVED))
        body = (FOLDER / page["file"]).read_bytes() if "file" in page else page.get("body", "").encode()
        self.send_response(page.get("status", 200))
        for name, value in page.get("headers", {}).items():
            self.send_header(name, value)
        if "repeat" not in page:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            for _ in range(page.get("repeat", 1)):
                self.wfile.write(body)
                self.wfile.flush()
                time.sleep(page.get("pause", 0))

    do_POST = do_GET

    def log_message(self, *arguments):
        return


for text in PLAN.get("print", ()):
    sys.stdout.write(text)
    sys.stdout.flush()
    time.sleep(0.05)
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
