"""Judges: callables `judge(messages, n)` that return n replies to one conversation."""
