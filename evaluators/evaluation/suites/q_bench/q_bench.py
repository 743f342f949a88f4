"""Q-Bench as a suite of `evaluate`: `evaluate.EvaluationSuite.load(<this folder>).run(pipe)`."""

from eyechart.evaluators.evaluation.suites import Suite

__all__ = ["Suite"]
