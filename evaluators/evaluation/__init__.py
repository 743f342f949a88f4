"""The evaluation loop: from a task, its data and a backend to results; `Evaluator` gives it evaluate's interface."""
