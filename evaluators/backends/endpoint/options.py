"""How a server is asked."""

from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import UsageError

DEFAULT_CONCURRENCY = 8
# Long, as a server that is asked by many at once lets them wait in line.
DEFAULT_TIMEOUT = 300.0
# As many as OpenAI gives, and vLLM unless it was started with more.
DEFAULT_TOP_LOGPROBS = 20


@dataclass(frozen=True)
class EndpointOptions:
    """How a server is asked. The API key is no option: it is the environment variable `OPENAI_API_KEY`.

    Attributes:
        base_url: The server's address, usually ending in `/v1`; None is that of the environment variable
            `OPENAI_BASE_URL`, or else OpenAI's own.
        concurrency: Requests at once, at least 1.
        timeout: Seconds to wait for a whole answer, above 0; each retry has as many.
        max_retries: How often a request is sent again after 408, 409, 429, 5xx, a broken connection or a timeout, after
            a wait that doubles each time or that the server asks for (`Retry-After`); at least 0.
        top_logprobs: How many of the likeliest tokens to ask for where logits are wanted, at least 1; OpenAI gives up
            to 20, and so does vLLM unless it was started with a larger `--max-logprobs`. Words that are not among them
            have an upper bound, so a score depends on it: it is a setting of the result and of stored answers.
        served_name: Name under which the server is known to answer, where that is neither the model's nor a dated
            version of it. No answer depends on it, only what a result says.
    """

    base_url: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_retries: int = 4
    top_logprobs: int = DEFAULT_TOP_LOGPROBS
    served_name: str | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        least = {"concurrency": 1, "timeout": 0.001, "max_retries": 0, "top_logprobs": 1}
        for name, allowed in least.items():
            if not getattr(self, name) >= allowed:
                raise UsageError(f"{name}={getattr(self, name)} is not allowed; it is at least {allowed}.")
