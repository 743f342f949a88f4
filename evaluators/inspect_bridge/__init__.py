"""inspect-ai: tasks that `inspect eval` runs with any of its providers, and finished runs as its logs."""
