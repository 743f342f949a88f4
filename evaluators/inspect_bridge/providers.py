"""What providers of inspect-ai can give, without importing inspect-ai."""

from eyechart.evaluators.requests.errors import ModelError
from eyechart.evaluators.requests.types import OutputType

CONTINUING = ("vllm", "sglang")
"""Those that continue a begun reply; the others close it and begin a new one."""
HINT = f"use {' or '.join(CONTINUING)}, or for quality the setting prompt=numerical"


def check_output_type(output_type: OutputType, provider: str | None = None) -> None:
    """Refuse losses, and logits after a begun reply from a provider that does not continue it, with a `ModelError`."""
    if output_type is OutputType.LOSSES:
        reason = "inspect-ai's providers do not return them; use `eyechart run` with a local model or vLLM"
        raise ModelError(f"the task needs {output_type.value}, and {reason}")
    if output_type is OutputType.LOGITS and provider not in (None, *CONTINUING):
        reason = f"inspect-ai's provider {provider} does not return them after a begun reply; {HINT}"
        raise ModelError(f"the task needs {output_type.value}, and {reason}")
