"""A task that finished, as results are made of."""

import math

from eyechart.evaluators.results.evaluation import Evaluation


def evaluation(**changes):
    values = {
        "task": "q_bench/assessment",
        "dataset": "kadis700k",
        "split": "test",
        "model": "some/model",
        "scores": {"srcc": 0.5, "plcc": math.nan, "srcc_ci95": [0.4, math.inf]},
        "settings": {"data": {"is_mini": False}},
        "left_out": [{"id": "x", "path": None, "reason": "the image is empty", "split": "test"}],
        "predictions": [
            {"id": "a", "pass": "main", "text": None, "logits": {"good": 1.5, "poor": -2.0}, "quality": 3.0},
            {"id": "b", "pass": "main", "text": "B", "logits": None, "options": ["x", "y"], "answer": "A"},
        ],
        "timings": {"model_seconds": 1.0},
    }
    return Evaluation(**{**values, **changes})
