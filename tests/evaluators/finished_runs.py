"""Finished runs for tests of what reads them: the files that a run writes, made of given scores and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.evaluators.results.evaluation import Evaluation
from eyechart.evaluators.results.results_file import collect
from eyechart.evaluators.runs.folder import write_run

MODEL = "acme/vlm"
ACCURACY = {"accuracy": 0.75, "accuracy_ci95": [0.5, 0.875], "random_guess": 0.25, "n": 1495, "fallback": "wrong"}
_RECORD = {"pass": "main", "question": "?", "text": "A", "error": None, "logits": None}
_DATA = {"source": "/data/release", "config": None, "options": {}, "rows": 1495, "is_mini": False}


def evaluated(task: str = "q_bench/perception", dataset: str = "llvisionqa", split: str = "dev", **fields: Any) -> Any:
    """An evaluation with plausible settings on real data; `settings` and `data` are put into its own."""
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
    made = Evaluation(task=task, dataset=dataset, split=split, model=MODEL, scores=dict(ACCURACY), settings=own)
    return replace(made, **fields)


def answer(item: str, **columns: Any) -> dict[str, Any]:
    """One line of the predictions."""
    return {"id": item, **_RECORD, **columns}


def write(folder: Path, evaluations: Sequence[Evaluation], packages: Mapping[str, str] | None = None) -> Path:
    """Write a run."""
    results = collect(evaluations, [], "2026-11-21T10:00:00+00:00")
    if packages is not None:
        results.environment["packages"] = dict(packages)
    write_run(folder, results, evaluations)
    return folder


def dimension(score: float | None, **parts: Any) -> dict[str, Any]:
    """What `judge_description` returns for one dimension."""
    return {"score": score, "p0": 0, "p1": 1, "p2": 0, "n": 9, "failed_rounds": 0, **parts}
