"""Talking to a server that speaks OpenAI's chat completions: what is sent, what came back, and what to make of it."""
