"""Writes predictions files as the tools themselves do."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import openpyxl

from eyechart.datasets_scripts import load_dataset, mini
from eyechart.datasets_scripts.common.choice.passes import STRIDE, rotate, rotated_letter
from eyechart.evaluators.requests.types import Request

Rows = Sequence[Mapping[str, Any]]


@cache
def demo_rows(name: str, config: str | None = None) -> list[dict[str, Any]]:
    """The questions of demo data, without their images."""
    return load_dataset(name, config, split="dev", data_dir=mini.release(name), images="skip").to_list()


def write_jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def write_json(path: Path, rows: Rows) -> Path:
    path.write_text(json.dumps(list(rows), indent=4, ensure_ascii=False), "utf-8")
    return path


def write_csv(path: Path, rows: Rows, **dialect: Any) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), **dialect)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_tsv(path: Path, rows: Rows) -> Path:
    """All fields in quotation marks, as VLMEvalKit has pandas do."""
    return write_csv(path, rows, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")


def write_xlsx(path: Path, rows: Rows) -> Path:
    book = openpyxl.Workbook()
    book.active.append(list(rows[0]))
    for row in rows:
        book.active.append([None if value == "" else value for value in row.values()])
    book.save(path)
    return path


SHEETS: dict[str, Callable[[Path, Rows], Path]] = {".xlsx": write_xlsx, ".tsv": write_tsv, ".json": write_json}


def ask(row: Mapping[str, Any], rotation: int = 0) -> Request:
    """What a multiple-choice task asks about a row."""
    options = rotate(row["options"], rotation)
    lines = "\n".join(f"{letter}. {option}" for letter, option in zip(ascii_uppercase, options, strict=False))
    prompt, name = f"Question: {row['question']}\nOptions:\n{lines}", f"rotation:{rotation}" if rotation else "main"
    return Request(row["id"], (prompt,), images=(), options=options, pass_name=name)


def vlmevalkit_row(row: Mapping[str, Any], index: int, prediction: Any, rotation: int = 0) -> dict[str, Any]:
    """A row of VLMEvalKit's, in its columns."""
    options = rotate(row["options"], rotation)
    shown = dict(zip(ascii_uppercase, options, strict=False))
    return {
        "index": index + rotation * STRIDE,
        **{"question": row["question"], "hint": row.get("hint", "")},
        **{letter: shown.get(letter, "") for letter in "ABCD"},
        **{"answer": "A", "category": "image style", "l2-category": "coarse perception", "split": "dev"},
        "prediction": prediction,
    }


def right_letter(row: Mapping[str, Any], rotation: int = 0) -> str:
    """The letter of the right option where the options are rotated."""
    return rotated_letter(row["answer"], rotation, len(row["options"]))
