"""Leaderboard: untrusted entries."""

import datetime
import json
import os
import subprocess

import pytest
from pydantic import ValidationError

from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.hub_cards.leaderboard import entries
from eyechart.hub_cards.leaderboard.build import PAGE, build
from eyechart.hub_cards.leaderboard.entries import Links
from eyechart.metrics.scoring.choices.reading import extraction_shares
from tests.faults.disk import full_disk
from tests.faults.fault import fault, row
from tests.hub_cards.leaderboard.handed_in import board_named, hand_in, put, result_on, results_file

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
PERCEPTION = board_named("q_bench/perception")
REJECTED = "the entry is rejected with the reason; other entries are kept"


@pytest.fixture
def folder(tmp_path):
    """A folder of entries with one valid entry."""
    hand_in(tmp_path / "entries", "good", [result_on(PERCEPTION, "org/good")])
    return tmp_path / "entries"


@pytest.fixture
def models(tmp_path, folder):
    """Builds the Space; returns the models on the board, and the reasons for each rejected entry."""

    def run():
        outcome = build(folder, tmp_path / "space", NOW)
        board = json.loads((tmp_path / "space" / "results" / "boards" / "q_bench-perception.json").read_text())
        assert all(len(reason) < 2000 for one in outcome.rejected for reason in one.reasons)
        return {one["model"] for one in board["rows"]}, {one.entry: " ".join(one.reasons) for one in outcome.rejected}

    return run


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def one(**changes):
    """The text of a results file of one task, with some fields changed."""
    return json.dumps(results_file([result_on(PERCEPTION, "a", 0.4) | changes]))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        row("results with another schema version", REJECTED, '{"schema": 2, "tasks": []}', "its schema is 2"),
        row("truncated results", REJECTED, '{"schema": 1', "cannot be read as results"),
        row("results that are not text", REJECTED, "\x00\xff", "cannot be read as results"),
        row("results with 100,000 nested lists", REJECTED, "[" * 100_000, "cannot be read as results"),
        row("a result without fields", REJECTED, '{"schema": 1, "environment": {}, "tasks": [{}]}', "field required"),
        row("results without a task", REJECTED, json.dumps(results_file([])), "no finished task in it"),
        row(
            "an unknown task with a name of 10,000 characters",
            REJECTED,
            one(task="x" * 10_000),
            "no board for the task",
        ),
        row("a dataset without a board for its task", REJECTED, one(dataset="spaq"), "no board for the dataset"),
        row(
            "NaN as the headline score",
            REJECTED,
            one().replace("0.4,", "NaN,"),
            "the ranking score, is missing",
        ),
        row(
            "1e999 as the headline score",
            REJECTED,
            one().replace("0.4,", "1e999,"),
            "the ranking score, is missing",
        ),
        row("a negative accuracy", REJECTED, one().replace("0.4,", "-0.5,"), "expected a number from 0 to 1"),
        row("a lone surrogate in a name", REJECTED, one(model="a\ud800"), "cannot be read as results"),
    ],
)
def test_unusable_files(folder, models, content, reason):
    hand_in(folder, "bad", []).write_text(content, encoding="latin-1")
    found, rejected = models()
    assert (found, list(rejected)) == ({"org/good"}, ["bad"])
    assert reason in rejected["bad"]


@pytest.mark.parametrize(
    ("started", "reason"),
    [
        row(
            "a run with a date in year 1 and a time zone east of Greenwich",
            REJECTED,
            "0001-01-01T00:00:00+14:00",
            "expected a",
        ),
        row("a run without a start time", REJECTED, None, "is None; expected a time with time zone"),
        row("a run with an invalid start time", REJECTED, "yesterday", "environment.started is 'yesterday'"),
        row(
            "a run whose start time has no time zone", REJECTED, "2026-05-01T12:00:00", "expected a time with time zone"
        ),
        row("a run with a date in the next year", REJECTED, "2027-01-01T00:00:00+00:00", "which is in the future"),
    ],
)
def test_times(folder, models, started, reason):
    hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")], started)
    found, rejected = models()
    assert found == {"org/good"} and reason in rejected["bad"]


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        row(
            "a mean of shares that is outside their range",
            REJECTED,
            "yes_no.mean",
            1.5,
            "expected a number from 0 to 1",
        ),
        row(
            "a mean that differs from the mean of its parts",
            REJECTED,
            "yes_no.mean",
            0.9,
            "expected the mean of yes and no, 0.5",
        ),
        row("shares that add up to less than 1", REJECTED, "extraction.exact", 0.5, "add up to 0.5; expected 1"),
        row(
            "shares of a subset that add up to more than 1",
            REJECTED,
            "by_question_type.how.extraction",
            extraction_shares(["exact"]) | {"declared": 0.5},
            "scores.by_question_type.how.extraction.exact",
        ),
        row("more items than the split has", REJECTED, "n", 10**6, "this board requires all 1,495 items"),
    ],
)
def test_contradictions(folder, models, keys, value, reason):
    bad = result_on(PERCEPTION, "org/bad")
    put(bad["scores"], ("extraction",), extraction_shares(["exact"]))
    put(bad["scores"], tuple(keys.split(".")), value)
    hand_in(folder, "bad", [bad])
    found, rejected = models()
    assert found == {"org/good"} and reason in rejected["bad"], rejected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        row(
            "a name with a character that reverses the text direction",
            REJECTED,
            "a\u202eledom",
            "formatting mark (U+202E)",
        ),
        row("a name with zero-width spaces", REJECTED, "zero\u200bwidth", "formatting mark (U+200B)"),
        row("a name on two lines", REJECTED, "two\nlines", "a control character (U+000A)"),
        row("a name with a line separator", REJECTED, "line\u2028s", "a line break (U+2028)"),
        row("a name that is an invisible Hangul filler", REJECTED, "\u3164", "a blank other than the space (U+3164)"),
        row("a name with a blank braille sign", REJECTED, "a\u2800", "a blank other than the space (U+2800)"),
        row(
            "a letter with 100 combining marks",
            REJECTED,
            "a" + "\u0301" * 100,
            "more than 3 combining marks on one letter (U+0301)",
        ),
        row("a name of 10,000 characters", REJECTED, "x" * 10_000, "a name of 10,000 characters; at most 160"),
        row("a missing name", REJECTED, "", "expected a name"),
        row("a name with leading and trailing spaces", REJECTED, " padded ", "expected a name without leading"),
        row("a character that is not in Unicode", REJECTED, "a\U000e0080", "an unassigned character (U+E0080)"),
    ],
)
def test_names(folder, models, name, reason):
    hand_in(folder, "bad", [result_on(PERCEPTION, name)])
    found, rejected = models()
    assert found == {"org/good"} and reason in rejected["bad"]
    assert rejected["bad"].isascii() and rejected["bad"].isprintable() and len(rejected["bad"]) < 200


@fault("a judge's name is invisible", REJECTED)
def test_judges_name(folder, models):
    bad = result_on(board_named("q_bench/description"), "org/bad")
    bad["settings"]["judge"]["name"] = bad["scores"]["judge"] = "\u3164"
    hand_in(folder, "bad", [bad])
    assert "judge: model contains a blank other than the space" in models()[1]["bad"]


@fault("names that look like markup, paths or addresses", "they appear only as text in the data, without links")
def test_names_as_text(folder, models, tmp_path):
    names = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "../../etc/passwd",
        "org/..",
        "a'\"`&",
    ]
    for place, name in enumerate(names):
        hand_in(folder, f"{place}", [result_on(PERCEPTION, name)])
    assert models() == ({"org/good", *names}, {})
    board = json.loads((tmp_path / "space" / "results" / "boards" / "q_bench-perception.json").read_text())
    assert all(not {"model_url", "is_on_hub"} & one.keys() for one in board["rows"] if one["model"] != "org/good")
    assert {path.name for path in (tmp_path / "space").iterdir()} == {*PAGE, "results"}


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        row("a javascript: link", REJECTED, {"model_url": "javascript:alert(1)"}, "URL scheme should be 'https'"),
        row(
            "a data: link that contains a page",
            REJECTED,
            {"run_url": "data:text/html,<script>"},
            "URL scheme should be",
        ),
        row("an http: link", REJECTED, {"run_url": "http://example.org"}, "URL scheme should be"),
        row("a link of an unknown kind", REJECTED, {"name": "x"}, "name: Extra inputs"),
        row("a links file that is not an object", REJECTED, [], "the file: Input should be an object"),
        row("a links file of 10 MB", REJECTED, {"run_url": "x" * 10_000_000}, "bytes; at most 5,000 are allowed"),
    ],
)
def test_links(folder, models, links, reason):
    path = hand_in(folder, "bad", [result_on(PERCEPTION, "a")])
    (path.parent / "links.json").write_text(json.dumps(links))
    found, rejected = models()
    assert found == {"org/good"} and reason in rejected["bad"]


@pytest.mark.parametrize(
    "url",
    [
        row("an address with a user name", "it is refused", "https://huggingface.co@evil.example/"),
        row("an address without a host", "it is refused", "https://"),
        row("an address with a truncated host", "it is refused", "https://["),
        row("an address of more than 500 characters", "it is refused", "https://example.org/" + "x" * 500),
    ],
)
def test_addresses(url):
    with pytest.raises(ValidationError):
        Links(model_url=url)


@pytest.mark.parametrize(
    ("url", "published"),
    [
        row(
            "an address with a character that reverses the text direction",
            "the character is percent-encoded",
            "https://a.org/\u202e",
            "https://a.org/%E2%80%AE",
        ),
        row("an address with a line break", "the line break is removed", "https://a.org/\n", "https://a.org/"),
        row("an address in upper case", "it is published as usual", "HTTPS://A.ORG/", "https://a.org/"),
    ],
)
def test_addresses_in_plain_form(url, published):
    assert str(Links(model_url=url).model_url) == published


@fault("results of 64 MB and more", "they are rejected without being read")
def test_huge_results(folder, models, monkeypatch):
    monkeypatch.setattr(entries, "MAX_BYTES", 20_000)
    hand_in(folder, "huge", [result_on(PERCEPTION, "a") | {"note": "x" * 20_000}])
    found, rejected = models()
    assert found == {"org/good"} and "at most 20,000 are allowed in an entry" in rejected["huge"]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        row("predictions are a link to /dev/zero", REJECTED, "link", "not a regular file; symbolic links"),
        row("predictions are a named pipe", REJECTED, "pipe", "not a regular file; symbolic links"),
        row("predictions of 1 GB and more", REJECTED, "sparse", "1,000,000,001 bytes; at most"),
        row("predictions are not a Parquet file", REJECTED, "text", "cannot be read as predictions"),
    ],
)
def test_predictions(folder, models, make, reason):
    place = hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")]).with_name("predictions.parquet")
    match make:
        case "link":
            place.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(place)
        case "sparse":
            place.touch()
            os.truncate(place, 10**9 + 1)
        case "text":
            place.write_text("{}")
    found, rejected = models()
    assert found == {"org/good"} and reason in rejected["bad"]


@fault("an entry is 1,500 nested folders", "it is skipped; other entries are kept")
def test_deep_folders(folder, models, monkeypatch):
    hand_in(folder, "/".join("abcdefghi"), [result_on(PERCEPTION, "org/nine")])
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")
    # As a whole, the path is longer than the system takes.
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    found, rejected = models()
    assert (found, rejected) == ({"org/good", "org/nine"}, {})
    subprocess.run(["rm", "-r", folder / "deep"], cwd=folder, check=True)


@fault(
    "symbolic links, hidden folders, other files and a named pipe among the entries",
    "none of them is opened or followed",
)
def test_other_files(folder, models):
    hand_in(folder, ".git/hidden", [result_on(PERCEPTION, "org/hidden")])
    hand_in(folder, "deep/run", [result_on(PERCEPTION, "org/run")])
    hand_in(folder, "deep/run/q_bench", [])
    (folder / "notes.txt").write_text("nothing")
    outside = hand_in(folder.parent, "elsewhere", [result_on(PERCEPTION, "org/link")])
    (folder / "linked").mkdir()
    os.symlink(outside, folder / "linked" / "results.json")
    os.symlink(outside.parent, folder / "links")
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "results.json")
    os.mkfifo(folder / "good" / "links.json")
    assert models() == ({"org/good", "org/run"}, {})


@fault("checking an entry raises an unexpected error", REJECTED)
def test_unforeseen(folder, models, monkeypatch):
    hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")])

    def fail(path, root):
        if path.name == "bad":
            raise ZeroDivisionError("division by zero")
        return read(path, root)

    read = entries.read_entry
    monkeypatch.setattr("eyechart.hub_cards.leaderboard.build.read_entry", fail)
    assert models() == ({"org/good"}, {"bad": "cannot be checked: ZeroDivisionError: division by zero"})


@fault("the disk is full while the Space is built", "the previous Space is intact; no temporary files remain")
def test_full_disk(folder, models, tmp_path):
    models()
    before = contents(tmp_path / "space")
    hand_in(folder, "second", [result_on(PERCEPTION, "org/second")])
    with full_disk(5000), pytest.raises(OSError, match="File too large"):
        build(folder, tmp_path / "space", NOW)
    assert contents(tmp_path / "space") == before


@fault("--out names a folder with other files, or the folder of entries", "it is refused; existing files are kept")
def test_other_folders(folder, tmp_path):
    taken, other = tmp_path / "taken", tmp_path / "other"
    taken.mkdir()
    (taken / "thesis.txt").write_text("years of work")
    (other / "results").mkdir(parents=True)
    (other / "results" / "index.json").write_text("{}")
    for out, reason in (
        (other, "contains files that are not part of a leaderboard"),
        (taken, "contains files that are not part of a leaderboard"),
        (taken / "thesis.txt", "is a file"),
        (folder / "space", "is inside the folder of entries"),
        (folder, "is inside the folder of entries"),
    ):
        with pytest.raises(UsageError, match=reason):
            build(folder, out, NOW)
    assert [path.name for path in taken.iterdir()] == ["thesis.txt"]
