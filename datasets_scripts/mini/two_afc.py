"""Synthetic demo data of 2AFC: the four label files, the images under their `img_path`, and LICQA's lists of MM21.

60 images of six databases for the coarse configuration, each with a different content; two contents of CSIQ with four
distortion types at five levels; six images in each of SPAQ's four intervals of scores, from two neighbouring levels, so
that a difference is visible. As in the real release, CSIQ's scores are DMOS, MM21's are bitrates, and most scores are
text.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.datasets_scripts.mini.distortions import LEVELS
from eyechart.datasets_scripts.mini.score_files import write_csv
from eyechart.datasets_scripts.mini.shots import TYPE_CODES, Shot, scene_of, shots_of

CSIQ_TYPES = {"white noise": "AWGN", "JPEG compression": "JPEG", "blur": "BLUR", "low contrast": "contrast"}
"""CSIQ's codes of the distortion types that are drawn for it."""
CSIQ_CONTENTS = 2
PER_INTERVAL = 6
# The lowest interval is called 1_25 in the real file.
_INTERVALS = {"1_25": (5, 4), "25_50": (4, 3), "50_75": (3, 2), "75_100": (2, 1)}
_CODECS = {"JPEG compression": "JPEG", "blur": "FactMSE"}
_RATES = 4
_LICQA = {"train": slice(0, 6), "val": slice(6, 8), "test": slice(8, None)}

Label = dict[str, Any]


@dataclass(frozen=True)
class _Database:
    """The names and scores of one database's images in the label files."""

    stream: int
    """Number that seeds scenes and scores."""
    size: int
    """Number of images of the coarse configuration."""
    path: Callable[[Shot], str]
    """A shot's `img_path`."""
    score: Callable[[Shot], str | float]
    """A shot's `gt_score`."""
    reference: Callable[[Shot], str] | None = None
    """A shot's `ref_path`, if the label file has it."""
    distortions: tuple[str, ...] = tuple(TYPE_CODES)
    """Distortions, used in turn."""
    levels: tuple[int, ...] = LEVELS
    """Levels, used in turn."""


def write(folder: Path) -> None:
    """Write the release into `folder`."""
    coarse = {name: _label_all(folder, database, _one_each(database)) for name, database in _DATABASES.items()}
    _write_licqa(folder, _one_each(_DATABASES["MM21"]))
    by_levels, by_types = _write_csiq(folder)
    labels = {
        "Coarse_grained_mixed": coarse,
        "Fine_grained_CSIQ_levels": by_levels,
        "Fine_grained_CSIQ_types": by_types,
        "Fine_grain_SPAQ": _write_spaq(folder),
    }
    for name, pools in labels.items():
        text = json.dumps(pools, ensure_ascii=False, indent=1)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _one_each(database: _Database) -> list[Shot]:
    """Return one shot of each content; distortions and levels are used in turn."""
    kinds, levels = database.distortions, database.levels
    wanted = {(i + 1, kinds[i % len(kinds)], levels[i % len(levels)]) for i in range(database.size)}
    shots = shots_of(database.stream, database.size)
    return [shot for shot in shots if (shot.content, shot.distortion, shot.level) in wanted]


def _label_all(folder: Path, database: _Database, shots: Iterable[Shot]) -> list[Label]:
    """Write the images of shots and return their entries in a label file."""
    return [_label(folder, database, shot) for shot in shots]


def _label(folder: Path, database: _Database, shot: Shot) -> Label:
    path = folder / database.path(shot)
    path.parent.mkdir(parents=True, exist_ok=True)
    shot.draw(scene_of(database.stream, shot.content).image).save(path)
    reference = {} if database.reference is None else {"ref_path": database.reference(shot)}
    return {**reference, "img_path": database.path(shot), "gt_score": database.score(shot)}


def _write_licqa(folder: Path, shots: list[Shot]) -> None:
    rows = [(_mm21_reference(shot), _mm21_name(shot), _bitrate(shot), f"{shot.score:.3f}") for shot in shots]
    for name, part in _LICQA.items():
        write_csv(folder / "MM21" / "train_files" / "exp1" / f"{name}.csv", rows[part])


def _write_csiq(folder: Path) -> tuple[dict[str, list[Label]], dict[str, list[Label]]]:
    """Write the fine-grained contents of CSIQ; return their entries by type and by level."""
    by_levels: dict[str, list[Label]] = {}
    by_types: dict[str, list[Label]] = {}
    for shot in shots_of(_FINE_CSIQ.stream, CSIQ_CONTENTS):
        if shot.distortion in CSIQ_TYPES:
            label = _label(folder, _FINE_CSIQ, shot)
            content = f"mini_scene_{shot.content}"
            by_levels.setdefault(f"{content}.{CSIQ_TYPES[shot.distortion]}", []).append(label)
            by_types.setdefault(f"{content}.{shot.level}", []).append(label)
    return by_levels, by_types


def _write_spaq(folder: Path) -> dict[str, list[Label]]:
    shots = {(shot.content, shot.number): shot for shot in shots_of(_SPAQ.stream, len(_INTERVALS) * PER_INTERVAL)}
    pools = {}
    for interval, (name, levels) in enumerate(_INTERVALS.items()):
        contents = range(interval * PER_INTERVAL + 1, (interval + 1) * PER_INTERVAL + 1)
        places = [(c, c % len(TYPE_CODES) * len(LEVELS) + levels[c % len(levels)] - 1) for c in contents]
        pools[f"interval_{name}"] = _label_all(folder, _SPAQ, [shots[place] for place in places])
    return pools


def _csiq_score(shot: Shot) -> str:
    return f"{1 - shot.score / 100:.3f}"


def _spaq_score(shot: Shot) -> str:
    """Return the middle of the lower or upper half of the shot's interval, by its level, plus its jitter."""
    interval = (shot.content - 1) // PER_INTERVAL
    half = list(_INTERVALS.values())[interval].index(shot.level)
    return f"{25 * interval + 6.25 + 12.5 * half + shot.score - (100 - 18 * shot.level):.2f}"


def _mm21_rate(shot: Shot) -> int:
    return _RATES + 1 - shot.level


def _mm21_name(shot: Shot) -> str:
    return f"{_CODECS[shot.distortion]}/{shot.content:05d}_{_mm21_rate(shot)}.png"


def _mm21_reference(shot: Shot) -> str:
    return f"source/{shot.content:05d}.png"


def _bitrate(shot: Shot) -> str:
    return f"{0.1 * 2 ** _mm21_rate(shot):.3f}"


def _kadid_code(shot: Shot) -> str:
    return f"{shot.code:02d}_{shot.level:02d}"


_DATABASES = {
    "kadid10k": _Database(
        30,
        9,
        lambda shot: f"kadid10k/images/I{shot.content:02d}_{_kadid_code(shot)}.png",
        lambda shot: f"{1 + shot.score / 25:.2f}",
        lambda shot: f"images/I{shot.content:02d}.png",
    ),
    "MM21": _Database(
        31,
        10,
        lambda shot: f"MM21/{_mm21_name(shot)}",
        _bitrate,
        _mm21_reference,
        tuple(_CODECS),
        LEVELS[:_RATES],
    ),
    "CSIQ": _Database(
        32,
        8,
        lambda shot: f"CSIQ/dst_imgs/mini_{shot.content}.{CSIQ_TYPES[shot.distortion]}.{shot.level}.png",
        _csiq_score,
        lambda shot: f"src_imgs/mini_{shot.content}.png",
        tuple(CSIQ_TYPES),
    ),
    "LIVEC": _Database(33, 10, lambda shot: f"LIVEC/{shot.content}.bmp", lambda shot: shot.score),
    "kadis700k": _Database(
        34,
        12,
        lambda shot: f"kadis700k/mini-{shot.content}_{_kadid_code(shot)}.bmp",
        lambda shot: f"{shot.score:.8f}",
    ),
    "SQAD": _Database(35, 11, lambda shot: f"SQAD/IMG_{shot.content:04d}.png", lambda shot: f"{shot.score:.8f}"),
}
_FINE_CSIQ = _Database(
    36,
    0,
    lambda shot: f"CSIQ/dst_imgs/mini_scene_{shot.content}.{CSIQ_TYPES[shot.distortion]}.{shot.level}.png",
    _csiq_score,
)
_SPAQ = _Database(37, 0, lambda shot: f"spaq/TestImage_512/{shot.content:05d}.png", _spaq_score)
