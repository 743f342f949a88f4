"""Why a model's work cannot be shared between prompts."""


class UnsharableError(Exception):
    """The model works in a way that sharing does not know; prompts are then run whole. The message ends "..., so"."""
