"""Your own data: any table or dataset of images, converted to the documented columns.

`load_own("photos.csv", "quality", columns={"image": "file", "quality": "mos"})` reads a TSV, CSV, JSON Lines or Parquet
file, a folder (images with metadata, shards, or written by `save_to_disk`) or a dataset on the Hub. Every row is
checked like those of the benchmarks: errors name the file, the column and the row.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import datasets

from eyechart.datasets_scripts.common.errors import BadAnnotationError, UsageError, missing_column, unknown_name
from eyechart.datasets_scripts.common.fingerprint import source_fingerprint
from eyechart.datasets_scripts.own_data.choices import QUALITIES, WINNER, has_winners
from eyechart.datasets_scripts.own_data.rows import KINDS, NUMBERED, Kind, OwnData
from eyechart.datasets_scripts.own_data.sources import BATCH, OwnSource, check_image_folder, open_source


def load_own(
    path: str | PathLike[str],
    kind: str,
    *,
    columns: Mapping[str, str | Sequence[str] | Mapping[str, Any]] | None = None,
    empty: Iterable[str] = (),
    image_dir: str | PathLike[str] | None = None,
    config: str | None = None,
    split: str | None = None,
    needs: Iterable[str] = (),
    needed_by: str | None = None,
    skip_missing: bool = False,
    skip_bad: bool = False,
    images: str = "load",
    cache_dir: str | PathLike[str] | None = None,
) -> datasets.Dataset:
    """Load data without a loading script.

    Args:
        path: A .tsv, .csv, .jsonl or .parquet file; a folder that `datasets.load_dataset` or `load_from_disk` reads; or
            the id of a dataset on the Hub.
        kind: The kind of the columns: "multiple choice", "quality", "pairs" or "description".
        columns: Your column names by documented name; without an entry, your column has the documented name. Several
            names make one list, as in `{"options": ["A", "B", "C", "D"]}` or `{"images": ["left", "right"]}`. Answers
            and winners that are numbers need their base: `{"answer": {"column": "label", "base": 0}}` if 0 is the first
            option. A key that is not a documented name renames a group.
        empty: Texts that stand for an empty cell, such as "N/A".
        image_dir: Folder to which paths of images are relative; that of the file by default.
        config: Configuration of a folder or a dataset on the Hub.
        split: Split of a folder or a dataset on the Hub; by default its only split, or "test". For a file, only the
            name of the result's split ("test" by default).
        needs: Further columns that the data must have, such as groups.
        needed_by: In errors, what needs a missing column; the kind by default.
        skip_missing: Leave out rows whose image file is missing instead of raising; see `left_out`.
        skip_bad: Leave out malformed rows instead of raising; see `left_out`.
        images: "load", or "skip" to load only the annotations, with an empty image column.
        cache_dir: Folder of prepared datasets; that of `datasets` by default.

    Returns:
        The documented columns of the kind that the data have, then every other column with one text, number or date per
        row, as text ("" if empty), for groups. Always present: `id` (by default the row's number, from 1); for multiple
        choice `question_id` (the id), `rotation` (0) and `hint` (""); for pairs `first_id` and `second_id` (the file
        names of the images).

        - Images are bytes, `datasets.Image`s, base64, data URLs, the `index` of another row (as in VLMEvalKit's tables)
          or paths relative to the file.
        - Options are a list, a list written as text (such as '["red", "blue"]'), or several columns; the last
          ones may be empty.
        - Answers are letters of options, or texts of options if more rows have texts, or numbers with a base; if all
          are empty, the answers are private. A list of answers means that each of them is accepted ("AC").
        - Pairs have either `first_quality` and `second_quality`, or a `winner`: the better image's id, file or column,
          or first, second, a, b, left, right; or tie, draw, equal, same; or a number with a base (0.5 more: a tie).

    Raises:
        UsageError: Unknown kind, configuration or split, or a malformed `columns`.
        DataError: The data or `image_dir` are missing or cannot be read, a column is missing, or a row is malformed.
    """
    if kind not in KINDS:
        raise unknown_name("kind of data", kind, KINDS)
    if split is not None and not re.fullmatch(r"\w+(\.\w+)*", split):
        raise UsageError(f"split {split!r} is not the name of a split; to use only its first rows: --limit")
    path = os.path.expanduser(fspath(path))
    # Any other path is the id of a dataset on the Hub.
    path = os.path.abspath(path) if os.path.exists(path) else path
    cache = None if cache_dir is None else fspath(cache_dir)
    folder = None if image_dir is None else os.path.abspath(os.path.expanduser(image_dir))
    check_image_folder(folder if images == "load" else None)
    source = open_source(path, config, split, cache)
    given, bases = _split_bases(columns or {})
    needed = [*KINDS[kind].required, *needs]
    if kind == "pairs" and has_winners(given, source.columns):
        needed = [*(name for name in needed if name not in QUALITIES), WINNER]
    used = _used_columns(given, KINDS[kind], needed, source, path, needed_by or kind)
    builder = OwnData(
        config_name="default",
        hash=source_fingerprint(*sorted(Path(__file__).parent.glob("*.py"))),
        cache_dir=cache,
        writer_batch_size=BATCH if images == "skip" else None,
        path=path,
        fingerprint=source.fingerprint,
        kind=kind,
        used=used,
        bases=bases,
        empty=tuple(empty),
        image_dir=folder,
        groups=_groups(used, KINDS[kind], source),
        split=source.split,
        skip_missing=skip_missing,
        skip_bad=skip_bad,
        images=images,
    )
    builder.source = source
    builder.download_and_prepare()
    # The memory of a process includes the mapped files of a dataset.
    del source, builder.source
    return builder.as_dataset(split=builder.config.split)


def _split_bases(
    given: Mapping[str, str | Sequence[str] | Mapping[str, Any]],
) -> tuple[dict[str, tuple[str, ...]], dict[str, int]]:
    """The names of columns, and the bases of those that contain numbers."""
    names, bases = {}, {}
    for role, value in given.items():
        if isinstance(value, Mapping):
            if role not in NUMBERED or value.keys() != {"column", "base"} or value["base"] not in (0, 1):
                raise UsageError(
                    f"columns: {role!r} is {dict(value)}; expected a column, a list of columns or, for "
                    f"{' and '.join(NUMBERED)} as numbers, {{column: NAME, base: 0}} (or base: 1)"
                )
            bases[role], value = int(value["base"]), str(value["column"])
        names[role] = (value,) if isinstance(value, str) else tuple(value)
    return names, bases


def _used_columns(
    chosen: dict[str, tuple[str, ...]], kind: Kind, needed: Sequence[str], source: OwnSource, path: str, needed_by: str
) -> dict[str, tuple[str, ...]]:
    """Return the data's columns by documented name, including renamed groups."""
    for role in chosen:
        # A group's name that is similar to a documented column, which is missing, is probably a typo.
        meant = [name for name in kind.features if name not in chosen and name not in source.columns]
        if role not in (*kind.features, *needed) and get_close_matches(role, meant, cutoff=0.8):
            raise UsageError(f"columns: {unknown_name('column', role, kind.features)}")
    known = [name for name in (*kind.features, *needed) if name in source.columns or name in needed]
    used = {role: (role,) for role in known if role not in chosen} | dict(chosen)
    for role, names in used.items():
        for name in names:
            if name not in source.columns:
                what = f" (needed by {needed_by})" if name == role else f" (given in columns for {role!r})"
                raise BadAnnotationError(missing_column(name, source.columns, what) + source.unread, path=path)
        if len(names) != 1 and role not in ("images", "options"):
            raise UsageError(f"columns: {role!r} must be one column, found {list(names)}")
    return used


def _groups(used: Mapping[str, tuple[str, ...]], kind: Kind, source: OwnSource) -> dict[str, str]:
    """Return the data's columns by their names as groups."""
    documented = kind.features
    taken = {name for names in used.values() for name in names}
    renamed = {role: names[0] for role, names in used.items() if role not in documented}
    for role, name in renamed.items():
        if name not in source.group_columns:
            raise UsageError(f"column {name!r} cannot be {role!r}: it must have one text or number per row")
    others = [name for name in source.group_columns if name not in taken and name not in (*documented, *renamed)]
    return renamed | {name: name for name in others}
