"""Requests to a backend, its responses, and the store of responses."""
