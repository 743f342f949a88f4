"""Models on a server with OpenAI-compatible chat completions: sends requests, checks and interprets the answers."""
