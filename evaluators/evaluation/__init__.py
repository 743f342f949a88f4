"""The loop: a task, its data and a backend give results; `Evaluator` puts the interface of evaluate around it."""
