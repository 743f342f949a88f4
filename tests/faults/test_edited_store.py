"""Edited store: rows and tables that were changed by hand or corrupted on disk."""

import contextlib
import math
import sqlite3

import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts.common.errors import StoreError
from eyechart.evaluators.backends.function import FunctionBackend
from eyechart.evaluators.backends.stored import StoredBackend
from eyechart.evaluators.cli import app
from eyechart.evaluators.requests import store as responses
from eyechart.evaluators.requests.store import ResponseStore
from eyechart.evaluators.requests.stored_form import REPLY
from eyechart.evaluators.requests.types import Request, Response
from tests.evaluators.requests.test_store import fill, keys
from tests.faults.fault import fault, row
from tests.faults.test_store import open_error


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "responses.sqlite"


NAMED = "it is not changed; the error names the difference"
READ_ON = "the error names the store and the command that removes only this answer"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        row("a stored answer is not JSON", READ_ON, "value = x'7b'", "an answer is not JSON"),
        row("a stored answer is a number", READ_ON, "value = 7", "an answer is 7; expected JSON"),
        row("a stored answer is a JSON list", READ_ON, "value = '[1]'", r"an answer is \[1\]; expected a JSON object"),
        row(
            "a stored answer has a field from another version",
            READ_ON,
            """value = '{"a": 1}'""",
            "invalid field 'a': 1",
        ),
        row("the text of a stored answer is a number", READ_ON, """value = '{"text": 5}'""", "invalid field 'text': 5"),
        row("a stored logit is infinite", READ_ON, """value = '{"logits": {"good": 1e999}}'""", "'good': inf"),
        row(
            "a stored loss covers no tokens", READ_ON, """value = '{"losses": [[0.5, 0]]}'""", "invalid field 'losses'"
        ),
        row(
            "a stored count of tokens is negative",
            READ_ON,
            """value = '{"usage": {"n": -1}}'""",
            "invalid field 'usage'",
        ),
        row("a stored answer nests lists deeply", READ_ON, f"value = '{'[' * 9000}'", "not JSON"),
        row("the time of a stored answer is infinite", READ_ON, "stored_at = 9e999", "or time inf"),
        row("the model of a stored answer is not text", READ_ON, "model = x'00'", ", model b"),
    ],
)
def test_answers_that_were_edited(path, change, reason):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute(f"UPDATE responses SET {change} WHERE key = ?", keys(1))
        with pytest.raises(StoreError, match=rf"is damaged: .*{reason}.*`eyechart store prune --unreadable`"):
            store.check()
        if change.startswith("value"):
            with pytest.raises(StoreError, match=rf"is damaged: .*{reason}.*`eyechart store prune --unreadable`"):
                store.get(keys(3))
        assert len(store.get(keys(2, start=1))) == 2
        assert store.remove_unreadable() == 1
        store.check()
        assert set(store.get(keys(3))) == set(keys(2, start=1))
        assert [model.answers for model in store.models()] == [2]


@fault("a stored judge reply is replaced by a model's answer", READ_ON)
def test_a_reply_that_is_an_answer(path):
    with ResponseStore.open(path) as store:
        store.put("a/b", {b"one": {"logits": {"good": 1.0}}})
        with pytest.raises(StoreError, match="invalid field 'logits'"):
            store.get([b"one"], REPLY)


@fault("a stored answer was edited by hand and is stored as text", "it is accepted")
def test_an_answer_as_text(path):
    fill(path, 1)
    with ResponseStore.open(path) as store:
        store._connection.execute("""UPDATE responses SET value = '{"text": "B"}'""")
        store.check()
        assert store.get(keys(1)) == {keys(1)[0]: {"text": "B"}}


@fault("a stored answer lacks the requested value", "it is asked for again")
def test_an_answer_that_is_empty(path):
    def answer(messages):
        return "B"

    class Known(FunctionBackend):
        def identity(self):
            return {"name": "known"}

    with ResponseStore.open(path) as store:
        backend = StoredBackend(Known(answer), store)
        assert [found.text for found in backend.answer([Request("x", ("?",), ())])] == ["B"]
        store._connection.execute("UPDATE responses SET value = '{}'")
        (found,) = backend.answer([Request("x", ("?",), ())])
        assert (found.text, found.stored) == ("B", False)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        row(
            "the store's table lacks a column",
            NAMED,
            "ALTER TABLE responses DROP COLUMN model",
            "its table has the columns key, stored_at, value",
        ),
        row(
            "the store's table has another column",
            NAMED,
            "ALTER TABLE responses ADD COLUMN note",
            "its table has the columns key, model, stored_at, value, note",
        ),
        row("the store has no table", NAMED, "DROP TABLE responses", "its table is missing"),
    ],
)
def test_a_table_that_was_changed(path, change, reason):
    fill(path, 3)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(change)
    assert f"{reason}; expected the columns key, model, stored_at, value" in open_error(path)
    before = path.read_bytes()
    with pytest.raises(StoreError):
        responses.clear(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        row(
            "a database trigger deletes each stored answer",
            "the store is refused before any request",
            "CREATE TRIGGER gone AFTER INSERT ON responses BEGIN DELETE FROM responses; END",
            "trigger 'gone'",
        ),
        row(
            "the store's table is replaced by a view, which accepts no rows",
            "the store is refused before any request",
            "ALTER TABLE responses RENAME TO others; CREATE VIEW responses AS SELECT * FROM others",
            "view 'responses'",
        ),
    ],
)
def test_what_would_lose_answers(path, change, reason):
    fill(path, 3)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.executescript(change)
    assert f"was changed: it contains the {reason}. " in open_error(path)


@fault("answers in edited rows are removed with `eyechart store prune --unreadable`", "the other answers are kept")
def test_the_command_that_removes_what_cannot_be_read():
    fill(responses.default_path(), 3)
    with ResponseStore.open() as store:
        store._connection.execute("UPDATE responses SET value = x'7b', model = x'00' WHERE key = ?", keys(1))
    done = CliRunner().invoke(app, ["store", "info"])
    assert done.exit_code == 1 and "eyechart store prune --unreadable" in done.output
    assert "1 answer removed" in CliRunner().invoke(app, ["store", "prune", "--unreadable"]).output
    assert "2 answers" in CliRunner().invoke(app, ["store", "info"]).output


@fault("a store with an edited row is cleared by `eyechart store prune --all`", "all answers are removed")
def test_a_store_with_an_edited_row_can_be_cleared(path):
    fill(path, 3)
    with ResponseStore.open(path) as store:
        store._connection.execute("UPDATE responses SET stored_at = 'yesterday' WHERE key = ?", keys(1))
    assert responses.clear(path) == {"a/b": 3}


@fault("a custom backend returns a logit of NaN", "it is not stored, so no later run fails because of it")
def test_what_cannot_be_scored_is_not_stored(path):
    class Broken(FunctionBackend):
        def identity(self):
            return {"name": "broken"}

        def answer(self, requests):
            yield from (Response(request, logits={"good": math.nan, "poor": 1.0}) for request in requests)

    with ResponseStore.open(path) as store:
        list(StoredBackend(Broken(len), store).answer([Request("x", ("?",), (), words=("good", "poor"))]))
        assert not store.models()
