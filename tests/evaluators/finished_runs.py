"""Finished runs for tests of what reads them: the files that a run writes, made of given scores and answers."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.evaluators.protocols import PROTOCOLS
from eyechart.evaluators.protocols.choice.choice import ChoiceItem
from eyechart.evaluators.protocols.quality_assessment import QualityItem
from eyechart.evaluators.results.items import Item
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult, collect
from eyechart.evaluators.runs.run import write_run

MODEL = "acme/vlm"
ACCURACY = {"accuracy": 0.75, "accuracy_ci95": [0.5, 0.875], "random_guess": 0.25, "n": 1495, "fallback": "wrong"}
_DATA = {"source": "/data/release", "config": None, "options": {}, "rows": 1495, "is_mini": False}


def evaluated(task: str = "q_bench/perception", dataset: str = "llvisionqa", split: str = "dev", **fields: Any) -> Any:
    """A result with plausible settings on real data; `settings` and `data` are put into its own."""
    settings = {
        "protocol": "multiple_choice",
        "prompt_id": "q_bench_a1/2",
        "inference": "options",
        "max_new_tokens": 32,
        "seed": 0,
    }
    own = {**settings, "limit": None, **fields.pop("settings", {})}
    own["data"] = _DATA | fields.pop("data", {})
    own.setdefault("model", {"backend": "transformers", "name": MODEL, "revision": None, "dtype": "bfloat16"})
    values = {"task": task, "dataset": dataset, "split": split, "model": MODEL, "settings": own}
    return TaskResult(**values | {"scores": dict(ACCURACY)} | fields)


def item(id: str, **fields: Any) -> Any:
    """One item, of the first protocol that has its fields."""
    values = {"question": "?", "text": "A", "label": "Good"} | fields
    kinds = [Item, *(protocol.item_type for protocol in PROTOCOLS.values())]
    kind = next(kind for kind in kinds if values.keys() <= kind.__dataclass_fields__.keys())
    return kind(id=id, **values)


def answer(id: str, **columns: Any) -> Any:
    """One item from columns of the file, of which `pass` has another name in an item."""
    names = {"pass": "pass_name", "reference": "label"}
    return item(id, **{names.get(name, name): value for name, value in columns.items()})


def write(folder: Path, evaluations: Sequence[TaskResult], packages: Mapping[str, str] | None = None) -> Path:
    """Write a run."""
    results = collect(evaluations, [], "2026-11-21T10:00:00+00:00")
    if packages is not None:
        results.environment["packages"] = dict(packages)
    write_run(folder, results)
    unsealed(folder)
    return folder


def unsealed(folder: Path) -> None:
    """Remove the results' checksum of themselves, so that a test may edit them."""
    values = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (folder / "results.json").write_text(json.dumps({**values, "sha256": ""}, indent=2), encoding="utf-8")


def seal(folder: Path) -> Path:
    """Make a run's results name its predictions as they are now, after a test changed one of the two files."""
    file = folder / "results.json"
    sha256 = hashlib.sha256((folder / "predictions.parquet").read_bytes()).hexdigest()
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | {"predictions_sha256": sha256}))
    return folder


def dimension(score: float | None, **parts: Any) -> dict[str, Any]:
    """What `judge_description` returns for one dimension."""
    return {"score": score, "p0": 0, "p1": 1, "p2": 0, "n": 9, "failed_rounds": 0, **parts}


def evaluation(**changes: Any) -> TaskResult:
    """A task with items of two protocols, undefined scores and a note."""
    values = {
        "task": "q_bench/assessment",
        "dataset": "kadis700k",
        "split": "test",
        "model": "some/model",
        "scores": {"srcc": 0.5, "plcc": math.nan, "srcc_ci95": [0.4, math.nan]},
        "settings": {"data": {"is_mini": False}},
        "left_out": [{"id": "x", "path": None, "reason": "the image is empty", "split": "test"}],
        "items": [
            QualityItem("a", logits={"good": 1.5, "poor": -2.0}, quality=3.0, label="3.0"),
            ChoiceItem("b", text="B", options=["x", "y"], answer="A", label="x"),
        ],
        "timings": {"model_seconds": 1.0},
        "notes": [note("unusable", unusable=1, of=3, id="x", reason="the image is empty")],
    }
    return TaskResult(**{**values, **changes})
