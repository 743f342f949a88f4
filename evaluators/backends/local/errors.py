"""The error for models without prefix sharing."""


class UnsharableError(Exception):
    """The model does not support prefix sharing; its prompts are then run separately. The message gives the reason."""
