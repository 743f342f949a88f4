"""Makes large boards of small ones, so that tests and benchmarks see what a page of many models takes."""

import random
from collections.abc import Mapping
from typing import Any


def enlarge(
    view: dict[str, Any], models: int, rng: random.Random, breakdowns: dict[str, list[Any]] | None = None
) -> None:
    """Put other models in place of those of a board, or of the overview, with all that a page can say of one.

    Args:
        view: A file of the Space's `results`, as Python reads it; it has at least one row.
        models: How many.
        rng: Draws their scores.
        breakdowns: The file of the board's breakdowns.
    """
    row: Mapping[str, Any] = {name: value for name, value in view["rows"][0].items() if name != "unchecked"}
    key = "cells" if "cells" in row else "values"
    rows, parts = [], []
    for index in range(models):
        name = f"organisation-{index % 40:02}/vision-language-{index:03}-instruct"
        # Of a score in percent, as self-awareness is, the overview says where it ends.
        ends = [column.get("high", 1.0) for column in view["columns"]]
        about = {"license": "cc-by-nc-4.0", "parameters": 8_292_166_656}
        values = [rng.uniform(0.1, 0.95) for _ in ends]
        scores = [
            [round(end * bound, 4) for bound in (value, value - 0.021, value + 0.021)]
            for value, end in zip(values, ends, strict=True)
        ]
        first = len(row[key])
        rows.append({**row, **about, "model": name, key: scores[:first]})
        parts.append(scores[first:])
    view["rows"] = rows
    if breakdowns is not None:
        breakdowns["rows"] = parts
