"""Leaderboard: small prediction files that unpack to a large size."""

import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from eyechart.hub_cards.leaderboard import entries
from eyechart.hub_cards.leaderboard.build import build
from tests.faults.fault import fault, row
from tests.faults.test_leaderboard import NOW, PERCEPTION, REJECTED
from tests.hub_cards.leaderboard.handed_in import hand_in, result_on

MOST = 20_000_000


def repeated(path: Path, count: int, **changes: pyarrow.Array) -> None:
    """A table of texts; the file stores each distinct text once."""
    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count, pyarrow.int32()), ["x" * 50_000])
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, **changes}), path, compression="zstd")


def plain(path: Path) -> None:
    """A table that declares its unpacked size."""
    texts = [f"{place}{'x' * 50_000}" for place in range(600)]
    table = pyarrow.table({"text": texts})
    pyarrow.parquet.write_table(table, path, compression="zstd", use_dictionary=False)


def varint(number: int, length: int | None = None) -> bytes:
    """A number as encoded in the footer: zigzag varint, padded to a length."""
    found, number = [], 2 * number
    while number or len(found) < (length or 1):
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found[:-1], found[-1] & 127])


def lying(path: Path) -> None:
    """A table whose footer states a size of one byte."""
    plain(path)
    column = pyarrow.parquet.read_metadata(path).row_group(0).column(0)
    raw = path.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    true = varint(column.total_uncompressed_size)
    footer = raw[start:].replace(true, varint(1, len(true)))
    assert len(footer) == len(raw) - start
    path.write_bytes(raw[:start] + footer)
    assert pyarrow.parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 1


def one_length(path: Path) -> None:
    """A table of fixed-length binary values, whose size the footer does not state."""
    texts = pyarrow.array([b"x" * 50_000], pyarrow.binary(50_000)).dictionary_encode()
    values = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 1000, pyarrow.int32()), texts.dictionary)
    pyarrow.parquet.write_table(pyarrow.table({"text": values}), path)


def nested(path: Path) -> None:
    """Lists and maps; the file stores each distinct text once."""
    text = "x" * 50_000
    columns = {
        "options": pyarrow.array([[text, text]] * 300),
        "groups": pyarrow.array([[("concern", text)]] * 300, pyarrow.map_(pyarrow.string(), pyarrow.string())),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        row(
            "predictions declare an unpacked size above the limit",
            REJECTED,
            plain,
            "unpacks to more than 20,000,000",
        ),
        row(
            "the footer of the predictions file declares a size of one byte",
            REJECTED,
            lying,
            "unpacks to more than 20,000,000",
        ),
        row(
            "a thousand predictions share a text that is stored once in the file",
            REJECTED,
            lambda path: repeated(path, 1000),
            "unpacks to more than 20,000,000",
        ),
        row(
            "the options and groups of predictions share long texts that are stored once",
            REJECTED,
            nested,
            "unpacks to more than 20,000,",
        ),
        row("the texts of predictions are fixed-length binary values", REJECTED, one_length, "has fixed-length texts"),
    ],
)
def test_predictions_that_unpack_to_more(tmp_path, monkeypatch, make, reason):
    monkeypatch.setattr(entries, "MAX_UNPACKED_BYTES", MOST)
    hand_in(tmp_path / "entries", "good", [result_on(PERCEPTION, "org/good")])
    place = hand_in(tmp_path / "entries", "bad", [result_on(PERCEPTION, "org/bad")]).with_name("predictions.parquet")
    make(place)
    assert place.stat().st_size < 2_000_000
    outcome = build(tmp_path / "entries", tmp_path / "space", NOW)
    (rejected,) = outcome.rejected
    assert rejected.entry == "bad" and reason in " ".join(rejected.reasons)


DAMAGE = """
import random, sys
from pathlib import Path
from eyechart.datasets_scripts.common.errors import DataError
from eyechart.hub_cards.leaderboard.entries import read_entry

file, rng = Path(sys.argv[1]) / "predictions.parquet", random.Random(0)
whole = file.read_bytes()
for _ in range(300):
    damaged = bytearray(whole)
    for place in rng.sample(range(4, len(damaged)), 2):
        damaged[place] = rng.randrange(256)
    file.write_bytes(damaged)
    try:
        read_entry(file.parent, file.parent.parent)
    except DataError:
        pass
"""


@fault(
    "300 prediction files with two corrupted bytes each",
    "each file is either read or refused with one line; the process never crashes",
)
def test_bytes_that_changed(tmp_path):
    place = hand_in(tmp_path, "bad", [result_on(PERCEPTION, "org/bad")]).with_name("predictions.parquet")
    names = ("task", "dataset", "split", "id", "pass", "text")
    pyarrow.parquet.write_table(pyarrow.table({name: [name] * 50 for name in names}), place)
    # In a process of its own: pyarrow may end it.
    done = subprocess.run([sys.executable, "-c", DAMAGE, place.parent], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
