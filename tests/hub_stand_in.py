"""A small server that stands in for the Hub on this machine, for uploads with the Hub's real client."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

TOKEN = "hf_of_this_test"


class StandIn(ThreadingHTTPServer):
    """Keeps repositories in memory: `repos[name]` has `private`, `files`, `commits`, `pull_requests` and `parents`.

    `buckets` has their visibility by name, "" if none was asked for; `jobs` has what was asked for each.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}"
        self.repos: dict[str, dict[str, Any]] = {}
        self.blobs: dict[str, bytes] = {}
        self.buckets: dict[str, str] = {}
        self.jobs: list[dict[str, Any]] = []

    def make(self, name: str, files: dict[str, bytes], *, private: bool = False) -> None:
        """A repository with files."""
        self.repos[name] = {"private": private, "files": files, "commits": [], "pull_requests": 0, "parents": []}

    def revision(self, name: str) -> str:
        """The repository's newest commit, as a name that tells its contents: the client keeps files by it."""
        return hashlib.sha1(repr(sorted(self.repos[name]["files"].items())).encode()).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def log_message(self, *_: object) -> None:
        pass

    def _reply(self, value: Any, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), status, {"Content-Type": "application/json"})

    def _send(self, body: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _named(self) -> tuple[str, str]:
        """The repository of an address of the API, and what follows its name."""
        _, _, path = self.path.removeprefix("/api/").partition("/")
        parts = path.split("/")
        return "/".join(parts[:2]), "/".join(parts[2:])

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if "/resolve/" in self.path:
            self._file()
            return
        if self.path == "/api/whoami-v2":
            self._reply({"name": "me", "type": "user"})
            return
        name, _ = self._named()
        if name not in self.server.repos:
            self._reply({"error": "Repository not found"}, 404)
            return
        repo = self.server.repos[name]
        facts = {"id": name, "private": repo["private"], "sha": self.server.revision(name), "tags": []}
        self._reply({**facts, "siblings": [{"rfilename": path} for path in repo["files"]]})

    def _file(self) -> None:
        name, _, path = self.path.partition("/resolve/")
        content = self.server.repos[name.strip("/").removeprefix("datasets/")]["files"][unquote(path.partition("/")[2])]
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        headers = {"ETag": etag, "X-Repo-Commit": path.partition("/")[0], "Content-Type": "application/octet-stream"}
        self._send(content, 200, headers)

    def do_PUT(self) -> None:
        self.server.blobs[self.path.removeprefix("/upload/")] = self._body()
        self._reply({})

    def do_POST(self) -> None:
        body, path = self._body(), self.path
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._reply({"error": "Invalid credentials"}, 401)
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif path.startswith("/api/buckets/"):
            status = 409 if self._named()[0] in self.server.buckets else 200
            self.server.buckets.setdefault(self._named()[0], json.loads(body).get("visibility", ""))
            self._reply({"url": f"{self.server.address}/buckets/{self._named()[0]}"}, status)
        elif path == "/api/jobs/me":
            self.server.jobs.append(json.loads(body))
            owner = {"id": "1", "name": "me", "type": "user"}
            self._reply({"id": "7", "owner": owner, "status": {"stage": "RUNNING"}})
        elif path == "/api/validate-yaml":
            self._reply({"errors": [], "warnings": []})
        elif "/preupload/" in path:
            files = [file["path"] for file in json.loads(body)["files"]]
            modes = {file: "lfs" if file.endswith(".parquet") else "regular" for file in files}
            answer = [{"path": file, "uploadMode": mode, "shouldIgnore": False} for file, mode in modes.items()]
            self._reply({"files": answer})
        elif path.endswith("/info/lfs/objects/batch"):
            wanted = json.loads(body)["objects"]
            actions = [{"upload": {"href": f"{self.server.address}/upload/{item['oid']}"}} for item in wanted]
            answer = [{**item, "actions": action} for item, action in zip(wanted, actions, strict=True)]
            self._reply({"transfer": "basic", "objects": answer})
        else:
            self._commit(body)

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if asked["name"] == "forbidden":
            return self._reply({"error": "You don't have the rights to create this"}, 403)
        status = 409 if name in self.server.repos else 200
        if status == 200:
            self.server.make(name, {}, private=asked.get("private", asked.get("visibility") == "private"))
        self._reply({"url": f"{self.server.address}/datasets/{name}"}, status)

    def _commit(self, body: bytes) -> None:
        name, _ = self._named()
        repo = self.server.repos[name]
        operations = [json.loads(line) for line in body.splitlines()]
        header = next(one["value"] for one in operations if one["key"] == "header")
        parent = header.get("parentCommit")
        if parent not in (None, self.server.revision(name)):
            return self._reply({"error": "A commit has happened since"}, 412)
        files = {}
        for one in operations:
            value = one["value"]
            match one["key"]:
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "lfsFile":
                    data = self.server.blobs[value["oid"]]
                    assert hashlib.sha256(data).hexdigest() == value["oid"] and len(data) == value["size"]
                    files[value["path"]] = data
        repo["parents"].append(parent)
        answer = {"commitUrl": f"{self.server.address}/{name}/commit/1", "commitOid": "1", "success": True}
        if "create_pr=1" in self.path:
            repo["pull_requests"] += 1
            answer["pullRequestUrl"] = f"{self.server.address}/{name}/discussions/1"
        else:
            repo["commits"].append(header["summary"])
            repo["files"] |= files
        self._reply(answer)


@contextmanager
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A running server, which the Hub's client takes for the Hub."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with StandIn() as server:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.address)
        template = server.address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
