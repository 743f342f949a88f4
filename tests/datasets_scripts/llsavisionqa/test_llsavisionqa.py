from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eyechart.datasets_scripts import load_builder, load_dataset, loading, mini
from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError
from eyechart.datasets_scripts.llsavisionqa.llsavisionqa import POSITIONS, REFUSAL

Folder = Callable[..., Path]
Row = Callable[..., dict[str, Any]]
SOURCES = {"single": "llvisionqa", "pair": "llvisionqa_pairs"}
CHANGED = ("options", "answer")


def load(config: str, split: str = "dev", **options: Any) -> list[dict[str, Any]]:
    """Load a configuration of the synthetic demo data, without the images, which these tests do not need."""
    folder = mini.release("llsavisionqa")
    return load_dataset("llsavisionqa", config, data_dir=folder, split=split, images="skip", options=options).to_list()


@cache
def load_source(name: str, split: str) -> list[dict[str, Any]]:
    return load_dataset(name, data_dir=mini.release(name), split=split, images="skip").to_list()


@pytest.mark.parametrize("config", SOURCES)
@pytest.mark.parametrize("position", POSITIONS)
def test_every_row_is_that_of_the_source_with_one_more_option(config: str, position: str | int) -> None:
    for split in ("dev", "test"):
        plain = load_source(SOURCES[config], split)
        for before, after in zip(plain, load(config, split, refusal_position=position), strict=True):
            place = "ABCDE".index(after["refusal"])
            assert after["options"][place] == REFUSAL
            assert after["options"][:place] + after["options"][place + 1 :] == before["options"]
            assert {key: after[key] for key in before if key not in CHANGED} == {
                key: before[key] for key in before if key not in CHANGED
            }
            if before["answer"]:
                right = before["options"]["ABCD".index(before["answer"])]
                assert after["options"]["ABCDE".index(after["answer"])] == right != REFUSAL
            else:
                assert after["answer"] == "" and split == "test"
            if position != "random":
                assert place == {"last": len(before["options"]), "first": 0}.get(position, position)


def test_random_places_are_even_and_repeat_by_seed() -> None:
    assert load("single") == load("single", refusal_position="last")
    rows = load("single", refusal_position="random")
    assert rows == load("single", refusal_position="random", refusal_seed=0)
    other = load("single", refusal_position="random", refusal_seed=1)
    assert 0.5 < sum(a["refusal"] != b["refusal"] for a, b in zip(rows, other, strict=True)) / len(rows) < 0.9
    for count in (2, 3):
        places = Counter(row["refusal"] for row in rows if len(row["options"]) == count + 1)
        total = sum(places.values())
        assert set(places) == set("ABCD"[: count + 1])
        assert all(abs(n / total - 1 / (count + 1)) < 0.15 for n in places.values())


def test_one_row_alone_gets_the_same_place(llvisionqa: Folder, qa_row: Row) -> None:
    def places(rows: list[dict[str, Any]]) -> dict[str, str]:
        folder = llvisionqa(dev=rows, test="absent")
        options = {"refusal_position": "random", "refusal_seed": 5}
        part = load_dataset("llsavisionqa", "single", data_dir=folder, split="dev", images="skip", options=options)
        return dict(zip(part["id"], part["refusal"], strict=True))

    rows = [qa_row(number) for number in range(20)]
    whole = places(rows)
    assert whole == places(rows[::-1]) and whole.items() >= places(rows[7:8]).items()


@pytest.mark.parametrize("position", ["middle", 3, True, "0"])
def test_unknown_positions(position: Any) -> None:
    with pytest.raises(UsageError, match=rf"refusal_position={position!r} is not one of 'last', 'first', 'random', 0"):
        load("single", refusal_position=position)


def test_edits_of_the_scripts_it_builds_on_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(loading, "source_fingerprint", lambda *files: seen.extend(files) or "edited")
    load_builder("llsavisionqa")
    assert [Path(file).stem for file in seen] == ["llsavisionqa", "llvisionqa", "llvisionqa_pairs"]


def test_a_row_with_the_refusal_is_bad(llvisionqa: Folder, qa_row: Row) -> None:
    folder = llvisionqa(dev=[qa_row(0), qa_row(1, candidates=["Noise", " I don't know"])])
    with pytest.raises(BadAnnotationError, match=r"llvisionqa_dev\.json, row 2: the options already include \"I don't"):
        load_dataset("llsavisionqa", data_dir=folder)


def test_the_real_files_have_one_more_option(reference: Path) -> None:
    dev = load_dataset("llsavisionqa", data_dir=reference / "llvisionqa", images="skip", split="dev")
    assert Counter(dev["refusal"]) == {"D": 590, "C": 569, "E": 336} and set(dev["answer"]) == set("ABCD")
