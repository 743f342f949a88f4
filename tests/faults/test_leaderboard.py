"""Leaderboard: untrusted entries, and small prediction files that unpack to a large size."""

import datetime
import functools
import io
import json
import os
import re
from random import Random
from unittest.mock import Mock

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from eyechart.datasets_scripts.common.errors import DataError, UsageError
from eyechart.hub_cards.leaderboard import reading
from eyechart.hub_cards.leaderboard.build import PAGE, build
from eyechart.metrics.scoring.choices.reading import extraction_shares
from tests.evaluators.finished_runs import seal
from tests.faults.conftest import contents, full_disk
from tests.faults.fault import fault, rows
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
        reasons = {rejection.entry: " ".join(rejection.reasons) for rejection in outcome.rejected}
        return {row["model"] for row in board["rows"]}, reasons

    return run


def file(content):
    """An entry whose results file has this content."""
    return lambda folder: hand_in(folder, "bad", []).write_text(content, encoding="latin-1")


def task(**changes):
    """The text of a results file of one task, with some fields changed."""
    return json.dumps(results_file([result_on(PERCEPTION, "a", 0.4) | changes]))


def many(n):
    """The text of a results file with as many results, each on other data."""
    result = result_on(PERCEPTION, "a") | {"scores": {}, "settings": {}}
    return json.dumps(results_file([result | {"dataset": f"{number}"} for number in range(n)]))


def started(time):
    return lambda folder: hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")], time)


def scored(keys, value):
    """An entry with another score."""
    bad = result_on(PERCEPTION, "org/bad")
    put(bad["scores"], ("extraction",), extraction_shares(["exact"]))
    put(bad["scores"], tuple(keys.split(".")), value)
    return lambda folder: hand_in(folder, "bad", [bad])


def named(name):
    return lambda folder: hand_in(folder, "bad", [result_on(PERCEPTION, name)])


def judged(judge):
    bad = result_on(board_named("q_bench/description"), "org/bad")
    bad["settings"]["judge"]["name"] = bad["scores"]["judge"] = judge
    return lambda folder: hand_in(folder, "bad", [bad])


def about(value):
    return lambda folder: named("a")(folder).with_name("entry.json").write_text(json.dumps(value))


def predictions(write):
    """An entry with another file of predictions."""

    def make(folder):
        write(path := named("org/bad")(folder).with_name("predictions.parquet"))
        if path.is_file() and not path.is_symlink():
            seal(path.parent)

    return make


def sparse(name, size):
    """An entry with a large file of zeros."""

    def make(folder):
        path = named("org/bad")(folder).with_name(name)
        path.touch()
        os.truncate(path, size)

    return make


HOW, EXACT = "by_question_type.how.extraction", extraction_shares(["exact"])
LONG = "x" * 50_000


@pytest.mark.parametrize(
    ("make", "reason"),
    rows(
        REJECTED,
        ("results with another schema version", file('{"schema": 2, "tasks": []}'), "its schema is 2"),
        ("truncated results", file('{"schema": 1'), "cannot be read as results"),
        ("results that are not text", file("\x00\xff"), "cannot be read as results"),
        ("results with 100,000 nested lists", file("[" * 100_000), "cannot be read as results"),
        ("a result without fields", file('{"schema": 1, "environment": {}, "tasks": [{}]}'), "field required"),
        ("results without a task", file(json.dumps(results_file([]))), "no finished task in it"),
        ("a dataset without a board for its task", file(task(dataset="spaq")), "no board for the task"),
        ("NaN as the headline score", file(task().replace("0.4,", "NaN,")), "the ranking score, is missing"),
        ("1e999 as the headline score", file(task().replace("0.4,", "1e999,")), "the number 1e999 is too large"),
        ("a negative accuracy", file(task().replace("0.4,", "-0.5,")), "expected a number from 0 to 1"),
        ("a lone surrogate in a name", file(task(model="a\ud800")), "cannot be read as results"),
        ("a run with a date in year 1, east of Greenwich", started("0001-01-01T00:00:00+14:00"), "expected a time"),
        ("a run with an invalid start time", started("yesterday"), "environment.started is 'yesterday'"),
        ("a run whose start time has no time zone", started("2026-05-01T12:00:00"), "expected a time with time zone"),
        ("a run with a date in the next year", started("2027-01-01T00:00:00+00:00"), "which is in the future"),
        ("a mean of shares that is outside their range", scored("yes_no.mean", 1.5), "expected a number from 0 to 1"),
        ("a mean that differs from the mean of its parts", scored("yes_no.mean", 0.9), "yes_no.yes and yes_no.no, 0.5"),
        ("shares that add up to less than 1", scored("extraction.exact", 0.5), "add up to 0.5; expected 1"),
        ("shares of a subset that add up to more than 1", scored(HOW, EXACT | {"declared": 0.5}), f"{HOW}.exact"),
        ("more items than the split has", scored("n", 10**6), "this board requires all 1,495 items"),
        ("a name that reverses the text direction", named("a\u202eledom"), "contains U+202E"),
        ("a name with zero-width spaces", named("zero\u200bwidth"), "contains U+200B"),
        ("a name on two lines", named("two\nlines"), "contains U+000A"),
        ("a name that is an invisible Hangul filler", named("\u3164"), "contains U+1160"),
        ("a name with a blank braille sign", named("a\u2800"), "contains U+2800"),
        ("a letter with 100 combining marks", named("a" + "\u0301" * 100), "contains U+0301"),
        ("a name of 10,000 characters", named("x" * 10_000), "a name of 10,000 characters; at most 160"),
        ("a missing name", named(""), "expected a name"),
        ("a name with leading and trailing spaces", named(" padded "), "expected a name without leading"),
        ("a character that is not in Unicode", named("a\U000e0080"), "contains U+E0080"),
        ("a judge's name is invisible", judged("\u3164"), "judge contains U+1160"),
        ("a javascript: link", about({"model_url": "javascript:alert(1)"}), "URL scheme should be 'https'"),
        ("a data: link that contains a page", about({"run_url": "data:text/html,<script>"}), "URL scheme should be"),
        ("an address of more than 500 characters", about({"model_url": f"https://a.b/{LONG[:500]}"}), "model_url: "),
        ("a link of an unknown kind", about({"name": "x"}), "name: Extra inputs"),
        ("an entry file that is not an object", about([]), "the file: Input should be an object"),
        ("an address with a user name", about({"model_url": "https://huggingface.co@evil.example/"}), "model_url: "),
        ("a licence with markup", about({"license": "<b>", "parameters": 0}), "license: "),
        ("an entry file of 10 MB", about({"run_url": "x" * 10_000_000}), "bytes; at most 5,000 are allowed"),
        ("predictions link to /dev/zero", predictions(lambda path: path.symlink_to("/dev/zero")), "regular"),
        ("results of 16 MB and more", sparse("results.json", 16_000_001), "at most 16,000,000 are allowed"),
        ("20,000 tiny results", file(many(20_000)), "20,000 results; an entry has at most 500"),
        ("an owner with markup", about({"owner": "<b>"}), "owner: String should match"),
        ("a Cyrillic letter in a Latin name", named("q\u0430"), "contains U+0430, cyrillic small letter a"),
        ("a Latin letter that looks like another one", named("\u0261pt"), "contains U+0261"),
        ("a Hebrew letter beside a digit", named("\u05e11"), "contains U+05E1"),
        ("a Chinese character in a Latin word", named("V\u4e5a"), "contains U+4E5A"),
        ("a name of 160 ligatures, each of 18 letters", named("\ufdfa" * 160), "2,880 characters"),
        ("predictions are not Parquet", predictions(lambda path: path.write_text("{}")), "read as predictions"),
    ),
)
def test_rejected(folder, models, make, reason):
    make(folder)
    accepted, rejected = models()
    assert (accepted, list(rejected)) == ({"org/good"}, ["bad"]) and reason in rejected["bad"]
    assert rejected["bad"].isascii() and rejected["bad"].isprintable() and len(rejected["bad"]) < 2000


@fault("names that look like markup, paths or addresses", "they appear only as text in the data, without links")
def test_names_as_text(folder, models, tmp_path):
    names = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "../../etc/passwd",
        "org/..",
        "a'\"`&",
    ]
    for number, name in enumerate(names):
        hand_in(folder, f"{number}", [result_on(PERCEPTION, name)])
    assert models() == ({"org/good", *names}, {})
    board = json.loads((tmp_path / "space" / "results" / "boards" / "q_bench-perception.json").read_text())
    assert all(not {"model_url", "is_on_hub"} & row.keys() for row in board["rows"] if row["model"] != "org/good")
    assert {path.name for path in (tmp_path / "space").iterdir()} == {*PAGE, "results"}


@fault("a name in another normal form, case or spacing", "it is the same model, which only its owner updates")
def test_normal_forms(folder, models):
    models()
    for number, name in enumerate(["\uff4f\uff52\uff47/good", "ORG/Good", "org/good", "\U0001d428rg/good"]):
        path = hand_in(folder, f"{number}", [result_on(PERCEPTION, name)], "2026-05-02T12:00:00+00:00")
        path.with_name("entry.json").write_text('{"owner": "another"}')
    accepted, rejected = models()
    assert accepted == {"org/good"} and all("belongs to the owner someone" in reason for reason in rejected.values())
    assert list(rejected) == [*"0123"]


@fault("a folder that cannot be read", REJECTED)
def test_unreadable_folder(folder, models, monkeypatch):
    (folder / "bad").mkdir()
    scan, refuse = os.scandir, Mock(side_effect=PermissionError(13, "Permission denied", str(folder / "bad")))
    monkeypatch.setattr(os, "scandir", lambda path: (refuse if str(path).endswith("bad") else scan)(path))
    accepted, rejected = models()
    assert accepted == {"org/good"} and list(rejected) == ["bad"]


@fault("an entry is in twelve nested folders", "it is skipped; other entries are kept")
def test_deep_folders(folder, models):
    for depth in (9, 12):
        hand_in(folder, "/".join("abcdefghijkl"[-depth:]), [result_on(PERCEPTION, f"org/{depth}")])
    assert models() == ({"org/good", "org/9"}, {})


@fault("symbolic links, hidden folders, other files and named pipes among the entries", "none is opened or followed")
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
    assert models() == ({"org/good", "org/run"}, {})


@fault("checking an entry raises an unexpected error", REJECTED)
def test_unforeseen(folder, models, monkeypatch):
    hand_in(folder, "bad", [result_on(PERCEPTION, "org/bad")])

    def fail(path, root):
        if path.name == "bad":
            raise ZeroDivisionError("division by zero")
        return read(path, root)

    read = reading.read_bounded
    monkeypatch.setattr("eyechart.hub_cards.leaderboard.build.read_bounded", fail)
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
    for out in (other, taken, taken / "thesis.txt", folder / "space", folder):
        with pytest.raises(UsageError, match=f"^out='{out}' "):
            build(folder, out, NOW)
    assert [path.name for path in taken.iterdir()] == ["thesis.txt"]


def columns(n, **values):
    """Columns of predictions; a value is repeated."""
    given = {"task": PERCEPTION.task.name, "dataset": PERCEPTION.dataset, "split": "dev", "id": "1", "pass": "main"}
    one = pyarrow.table({name: pyarrow.array([value]) for name, value in (given | {"repeat": 1} | values).items()})
    indices = pyarrow.array([0] * n, pyarrow.int32())
    return pyarrow.table(
        {name: pyarrow.DictionaryArray.from_arrays(indices, one[name].combine_chunks()) for name in one.column_names}
    )


@functools.cache
def distinct():
    """Texts whose size the footer declares."""
    file = io.BytesIO()
    texts = pyarrow.array([f"{number}{LONG}" for number in range(1000)])
    table = columns(1000).append_column("text", texts)
    options = {"compression": "zstd", "store_schema": False, "use_dictionary": False, "row_group_size": 1000}
    parquet.write_table(pyarrow.concat_tables([table] * 20), file, **options)
    return file.getvalue()


def numbers(path, n=10**7, word="good"):
    """Many numbers that the file stores once."""
    keys = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(n, np.int32)), [word])
    offsets = pyarrow.array([0, n], pyarrow.int32())
    logits = pyarrow.MapArray.from_arrays(offsets, keys.dictionary_decode(), pyarrow.array(np.zeros(n)))
    table = columns(1).append_column("logits", logits)
    parquet.write_table(table, path, compression="zstd", store_schema=False)


def fixed(path):
    """Binary values of one length, whose size the footer does not declare."""
    texts = pyarrow.array([LONG.encode()], pyarrow.binary(len(LONG)))
    values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, pyarrow.int32()), texts)
    parquet.write_table(columns(1000).append_column("text", values), path, store_schema=False)


def varint(number, length=1):
    """A number as encoded in the footer: zigzag varint, padded to a length."""
    digits, number = [], 2 * number
    while number or len(digits) < length:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits[:-1], digits[-1] & 127])


def lying(path):
    """Texts for which the footer declares a size of one byte."""
    path.write_bytes(distinct())
    true = varint(parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size)
    raw = path.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    path.write_bytes(raw[:start] + raw[start:].replace(true, varint(1, len(true))))
    assert parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1


@pytest.mark.parametrize(
    "write",
    rows(
        "the entry is rejected within a bound on memory; other entries are kept",
        ("20,000 texts of 50 kB", lambda path: path.write_bytes(distinct())),
        ("the footer of predictions declares a size of one byte", lying),
        ("two million numbers with long words in a file of 3 kB", lambda path: numbers(path, 2 * 10**6, "w" * 150)),
        ("ten million logits of one prediction", numbers),
        ("the texts of predictions are fixed-length binary values", fixed),
    ),
)
def test_predictions_that_unpack_to_more(folder, models, write):
    predictions(write)(folder)
    assert (folder / "bad" / "predictions.parquet").stat().st_size < 2_000_000
    accepted, rejected = models()
    assert accepted == {"org/good"} and list(rejected) == ["bad"]
    assert re.search("memory|malloc|at most|type", rejected["bad"])


@fault("60 prediction files with two corrupted bytes each", "each is read or refused; the build never crashes")
def test_bytes_that_changed(tmp_path):
    file, rng = hand_in(tmp_path, "bad", [result_on(PERCEPTION, "org/bad")]).with_name("predictions.parquet"), Random(0)
    parquet.write_table(columns(50, text="A"), file, store_schema=False)
    whole, refused = file.read_bytes(), 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.sample(range(4, len(damaged)), 2):
            damaged[place] = rng.randrange(256)
        file.write_bytes(damaged)
        seal(file.parent)
        try:
            reading.read_bounded(file.parent, tmp_path)
        except DataError:
            refused += 1
    assert 20 < refused < 60
