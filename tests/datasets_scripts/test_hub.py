"""Uploads with the real client of the Hub, to a small server that stands in for the Hub on this machine."""

from collections.abc import Callable
from pathlib import Path

import datasets
import pytest
from typer.testing import CliRunner

from eyechart.datasets_scripts import mini
from eyechart.datasets_scripts.common.errors import HubError, UsageError
from eyechart.datasets_scripts.export import export, push_to_hub
from eyechart.evaluators.cli import app
from tests.hub_stand_in import StandIn

# The Hub's own client uses an argument of its HTTP library that is deprecated there.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")


@pytest.fixture
def exported(tmp_path: Path, kadis: Callable[..., Path]) -> Path:
    return export("kadis700k", out=tmp_path / "exported", data_dir=kadis())


def stored(hub: StandIn, name: str, folder: Path) -> Path:
    """Write a repository's files into a folder."""
    for path, data in hub.repos[name]["files"].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    return folder


def test_what_is_uploaded_is_what_was_exported(hub: StandIn, exported: Path, tmp_path: Path) -> None:
    address = push_to_hub(exported, "me/kadis", endpoint=hub.address)
    assert address == f"{hub.address}/datasets/me/kadis"
    repo = hub.repos["me/kadis"]
    assert repo["private"] and repo["commits"] == ["Upload what eyechart exported"]
    local = {path.relative_to(exported).as_posix(): path.read_bytes() for path in exported.rglob("*") if path.is_file()}
    assert repo["files"] == local
    part = datasets.load_dataset(str(stored(hub, "me/kadis", tmp_path / "stored")), split="test")
    assert part["quality"][:] == [90.5, 70.0, 8.25] and part[0]["image"].size == (10, 8)


def test_a_second_upload_goes_to_the_same_repository(hub: StandIn, exported: Path) -> None:
    for _ in range(2):
        push_to_hub(exported, "me/kadis")
    assert len(hub.repos["me/kadis"]["commits"]) == 2


def test_a_public_repository_has_to_be_meant(hub: StandIn, exported: Path) -> None:
    push_to_hub(exported, "me/open", public=True)
    assert not hub.repos["me/open"]["private"]
    with pytest.raises(UsageError, match="repo='me/open' is public; to upload to it: public=True"):
        push_to_hub(exported, "me/open")
    assert len(hub.repos["me/open"]["commits"]) == 1


def test_refusals(hub: StandIn, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="is not an exported folder: it has no README"):
        push_to_hub(tmp_path, "me/kadis")
    with pytest.raises(UsageError, match="repo='a/b/c' is not a valid repository name"):
        push_to_hub(exported, "a/b/c")
    with pytest.raises(HubError, match=r"was not uploaded to me/forbidden: .*403(.|\n)*hf auth login"):
        push_to_hub(exported, "me/forbidden")
    monkeypatch.setenv("HF_TOKEN", "hf_of_another")
    with pytest.raises(HubError, match=r"was not uploaded to me/kadis: .*401"):
        push_to_hub(exported, "me/kadis")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="offline mode is enabled"):
        push_to_hub(exported, "me/kadis")
    assert hub.repos == {}


def test_the_command_exports_and_uploads(hub: StandIn, tmp_path: Path, llvisionqa: Callable[..., Path]) -> None:
    command = ["export", "llsavisionqa", "--config", "single", "--data-dir", f"single={llvisionqa()}"]
    command += ["--data-arg", "refusal_position=0", "--push-to-hub", "me/qa", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert f"Uploaded to {hub.address}/datasets/me/qa" in done.output
    part = datasets.load_dataset(str(stored(hub, "me/qa", tmp_path / "stored")), split="dev")
    assert part["refusal"][:] == ["A"] * 3 and part["options"][0][0] == "I don't know"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mini", "--push-to-hub", "me/qa"], "--push-to-hub is not for synthetic demo data; leave out --mini"),
        (["--mini", "--data-dir", "single=x"], "--mini and --data-dir single=x are both given; leave out one"),
        (["--public"], "--public has no effect without --push-to-hub"),
        (["--config", "singel"], "did you mean 'single'?"),
        (["--data-dir", "dual=x"], "unknown config 'dual' in --data-dir"),
        (["--data-arg", "refusal_position"], "--data-arg 'refusal_position' is not NAME=VALUE"),
        (["--mini", "--data-arg", "refusal_position=middle"], "refusal_position='middle' is not one of 'last'"),
        (["--mini", "--data-arg", "position=1"], "unknown llsavisionqa option 'position'"),
    ],
)
def test_wrong_usage_of_the_command(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["export", "llsavisionqa", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and message in done.output
    assert not (tmp_path / "out").exists()


def test_the_command_leaves_private_texts_out_unless_told_otherwise(tmp_path: Path) -> None:
    for number, (arguments, count) in enumerate([([], 0), (["--i-have-the-rights"], 63)]):
        out = tmp_path / str(number)
        command = ["export", "lldescribe", "--data-dir", str(mini.release("lldescribe")), "--out", str(out)]
        assert CliRunner().invoke(app, [*command, *arguments]).exit_code == 0
        assert sum(map(bool, datasets.load_dataset(str(out), split="test")["description"])) == count
