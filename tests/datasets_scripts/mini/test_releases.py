import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from eyechart.datasets_scripts import list_datasets, load_dataset, mini
from eyechart.datasets_scripts.common.errors import UsageError

every_dataset = pytest.mark.parametrize("name", list_datasets())


@every_dataset
def test_a_release_is_written_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mini.release(name)
    monkeypatch.setattr(mini, "write", lambda *_: pytest.fail("written again"))
    assert mini.release(name) == folder


def test_a_release_is_complete_or_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(name: str, folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(mini, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            mini.release("kadis700k")
    assert list((tmp_path / "mini").iterdir()) == []
    assert (mini.release("kadis700k") / "mos.csv").is_file()


@pytest.mark.parametrize("home", ["a file", "/proc"])
def test_a_home_that_cannot_hold_it(home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / home))
    with pytest.raises(UsageError, match=r"the folder .*kadis700k-\w+ cannot be made: .*; set EYECHART_HOME"):
        mini.release("kadis700k")


def test_edits_of_the_code_make_a_new_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = mini.release("kadis700k")
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    monkeypatch.setattr(mini, "_code_hash", lambda: "edited")
    assert mini.release("kadis700k").name != folder.name


def test_two_processes_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        folders = list(pool.map(mini.release, ["kadis700k"] * 4))
    assert len(set(folders)) == 1 and len(list(folders[0].iterdir())) == 201
    assert len(list(folders[0].parent.iterdir())) == 1


def test_llvisionqa_has_every_kind_of_question() -> None:
    parts = load_dataset("llvisionqa", data_dir=mini.release("llvisionqa"))
    assert {split: len(part) for split, part in parts.items()} == {"dev": 180, "test": 72}
    for part in parts.values():
        kinds = Counter(zip(part["question_type"], part["concern"], strict=True))
        assert len(kinds) == 12 and len(set(kinds.values())) == 1
        assert {len(options) for options in part["options"]} == {2, 3, 4}
    letters = Counter(parts["dev"]["answer"])
    assert letters["A"] > 45 and letters["B"] > 45 and letters["C"] > 20


def test_llvisionqa_keeps_private_answers_to_itself() -> None:
    folder = mini.release("llvisionqa")
    test = json.loads((folder / "llvisionqa_test.json").read_text(encoding="utf-8"))
    assert {tuple(row) for row in test} == {("type", "concern", "question", "img_path", "candidates")}
    assert {path.suffix for path in folder.rglob("*") if path.is_file()} == {".json", ".png"}
    assert len(list(folder.glob("*"))) == 3


def test_unknown_names() -> None:
    with pytest.raises(UsageError, match="did you mean 'llvisionqa'"):
        mini.release("llvision")
