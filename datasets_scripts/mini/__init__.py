"""Synthetic demo data: a small release of every benchmark, in its real file layout, drawn from a seed.

`release(name)` returns a folder to pass as `data_dir`, so that the real loading script reads it.
"""

import hashlib
import json
import os
from functools import partial
from pathlib import Path

from eyechart.datasets_scripts.catalog import find_dataset
from eyechart.datasets_scripts.common.errors import UsageError
from eyechart.datasets_scripts.common.paths import eyechart_home
from eyechart.datasets_scripts.common.whole import disk_error, whole_folder

MINI_SEED = 2026
"""First part of every seed used here; the training of the bundled model uses seeds from 10,000,000 up."""


def release(name: str) -> Path:
    """Write the synthetic demo data of a dataset (see `list_datasets`), unless they exist, and return their folder.

    The folder is under `EYECHART_HOME`; its name contains a hash of this package's files, so that an edit makes a new
    one. It appears complete or not at all, even if several processes write it at once.
    """
    dataset = find_dataset(name)
    folder = eyechart_home() / "mini" / f"{name}-{_code_hash()}"
    if folder.is_dir():
        return folder
    try:
        with whole_folder(folder) as unfinished:
            write(dataset.name, unfinished)
    except OSError as error:
        # Another process may have written it first.
        if not folder.is_dir():
            reason = f"the folder {folder} cannot be made: {error.strerror or error}; set EYECHART_HOME to another one"
            raise disk_error(error) or UsageError(reason) from error
    return folder


def is_release(folder: str | os.PathLike[str] | None) -> bool:
    """Whether a folder contains synthetic demo data, written by `release`."""
    return folder is not None and Path(folder).resolve().parent == (eyechart_home() / "mini").resolve()


def write(name: str, folder: Path) -> None:
    """Write a dataset's synthetic demo data into an empty folder."""
    from eyechart.datasets_scripts.mini import mmbench, q_bench, quality, two_afc

    writers = {
        "aesbench": q_bench.write_aesbench,
        "lldescribe": q_bench.write_lldescribe,
        "llsavisionqa": q_bench.write_llsavisionqa,
        "llvisionqa": q_bench.write_llvisionqa,
        "llvisionqa_pairs": q_bench.write_llvisionqa_pairs,
        "mmbench": mmbench.write,
        "two_afc": two_afc.write,
    }
    writers.get(name, partial(quality.write, name))(folder)


def write_json(path: Path, content: object) -> None:
    """Write a JSON file with the same bytes on every system."""
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


def _code_hash() -> str:
    files = sorted(path for path in Path(__file__).parent.iterdir() if path.is_file())
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]
