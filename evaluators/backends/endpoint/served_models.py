"""A check of a server before a run: whether it takes the key and serves the model."""

import difflib
from collections.abc import Sequence

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError, QuotaError, UsageError, unknown_name
from eyechart.evaluators.backends.endpoint.client import KEY_VARIABLE, REFUSED, ChatClient, read_key, resolve_address
from eyechart.evaluators.backends.endpoint.failures import explain
from eyechart.evaluators.backends.endpoint.options import OPENAI_URL, EndpointOptions

_SHOWN = 20
_NO_KEY = (401, 403)


def check_served(model: str, options: EndpointOptions, key: str | None = None) -> None:
    """Refuse a model that its server does not serve.

    Some servers take names that they do not list, such as aliases. A name that is not listed is therefore tried with
    one request for a single token; nothing else is asked.

    Args:
        model: The model's name on the server.
        options: How to query the server.
        key: The API key; by default `read_key()`.

    Raises:
        UsageError: The server does not serve the model, or needs a key.
        ModelError: The server cannot be reached, or refuses the key.
    """
    key, address = read_key() if key is None else key, resolve_address(options)
    if not key and address == OPENAI_URL:
        raise UsageError(f"{address} needs an API key; set the environment variable {KEY_VARIABLE}")
    with ChatClient(model, options, key=key) as client:
        names = _listed(client, options, key)
        if names is None or model in names:
            return
        try:
            client.ask([{"role": "user", "content": "Hi"}], max_tokens=1)
        except EndpointError as error:
            # Any other refusal is about this request, not about the model.
            if not names or error.status not in REFUSED or model not in error.reason:
                return
        except QuotaError:
            raise
        except ModelError:
            if not names:
                raise
        else:
            return
    near = names if len(names) <= _SHOWN else difflib.get_close_matches(model, names, _SHOWN, 0.0)
    raise unknown_name("model", model, near, f"on {address}, which serves {len(names):,}")


def _listed(client: ChatClient, options: EndpointOptions, key: str) -> Sequence[str] | None:
    """The names that the server lists, none if it refuses the key; None if it has no list or does not answer.

    Raises:
        ModelError: No server can be reached.
    """
    import openai

    try:
        return client.list_models()
    except openai.APIStatusError as error:
        return [] if error.status_code in _NO_KEY else None
    except openai.APIError as error:
        found = explain(error, client.base_url, options.timeout, key)
        if isinstance(found, ModelError):
            raise found from None
    except (ValueError, TypeError, AttributeError):
        # The answer is not a list of models.
        pass
    return None
