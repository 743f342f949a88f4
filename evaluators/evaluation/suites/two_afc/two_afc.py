"""2AFC as a suite of `evaluate`: `evaluate.EvaluationSuite.load(<this folder>).run(pipe)`."""

import evaluate

from eyechart.evaluators.evaluation.suites import subtasks


class Suite(evaluate.EvaluationSuite):
    """All tasks of 2AFC, on the official releases."""

    def __init__(self, name: str) -> None:
        """List the tasks; nothing is loaded."""
        super().__init__(name)
        self.suite = subtasks("two_afc")
