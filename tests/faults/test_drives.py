"""Drives and folders that a run writes to"""

import pytest
from typer.testing import CliRunner

from eyechart.evaluators.cli import app
from eyechart.evaluators.requests import store
from eyechart.evaluators.requests.store import network_drive
from tests.faults.fault import fault, rows

MOUNTS = """\
sysfs /sys sysfs rw,nosuid 0 0
/dev/sda1 / ext4 rw,relatime 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
/dev/sdb1 /home/me/scratch xfs rw 0 0
//share/data /mnt/team\\040data cifs rw 0 0
user@host: /mnt/far fuse.sshfs rw 0 0
tmpfs /mnt/far/quick tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        *rows(
            "no warning",
            ("the store on a local disk", "/var/cache/eyechart", ""),
            ("a local disk mounted inside an NFS folder", "/home/me/scratch/eyechart", ""),
            ("a folder whose name starts with the name of a network drive", "/home-of-me", ""),
            ("an in-memory file system mounted inside a network drive", "/mnt/far/quick/eyechart", ""),
        ),
        *rows("a warning that names NFS", ("the store in a home folder on NFS", "/home/me/.cache/eyechart", "nfs4")),
        *rows("a warning", ("a network drive with a space in its mount point", "/mnt/team data/eyechart", "cifs")),
    ],
)
def test_stored_answers_on_network_drives(tmp_path, monkeypatch, folder, kind):
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(store, "MOUNTS", tmp_path / "mounts")
    assert network_drive(folder) == kind


@fault("a system that does not list its mounted file systems", "no warning")
def test_no_list_of_file_systems(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MOUNTS", tmp_path / "none")
    assert network_drive(tmp_path) == ""


@fault("a run with the store on a network drive", "it warns before it starts and says what to do")
def test_a_run_says_so(tmp_path, monkeypatch):
    (tmp_path / "mounts").write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/export {tmp_path} nfs rw 0 0\n")
    monkeypatch.setattr(store, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setenv("EYECHART_HOME", str(tmp_path / "home"))
    arguments = ["run", "aes_bench/assessment", "--mini", "--limit", "1", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    before, warning, _ = done.output.partition("are on a network drive (nfs)")
    assert warning and "1 answers" not in before
    assert "Set EYECHART_HOME to a local folder." in " ".join(done.output.split())
