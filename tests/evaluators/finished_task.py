"""A task that finished, as results are made of."""

import math

from eyechart.evaluators.protocols.choice.choice import ChoiceItem
from eyechart.evaluators.protocols.quality_assessment import QualityItem
from eyechart.evaluators.results.notes import note
from eyechart.evaluators.results.results_file import TaskResult


def evaluation(**changes):
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
