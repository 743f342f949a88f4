"""Losses of given texts, from the log-probabilities that vLLM returns for the tokens of a prompt (`prompt_logprobs`).

Each text is given as the beginning of a reply, and so is what stands before it. The text's tokens are those that the
first prompt has more than the second, as for a model that runs here.
"""

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.chat import joined
from eyechart.evaluators.backends.endpoint.client import REFUSED, ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.question import Question
from eyechart.evaluators.requests.types import Loss, Response

_FIELD = "prompt_logprobs"
# The prompt's own tokens, and none of the likelier ones.
_EXTRA = {_FIELD: 0}
# What vLLM writes in place of the logarithm of a probability of 0.
_NO_VALUE = -9999.0


def check_losses(client: ChatClient, messages: Messages) -> None:
    """Try out whether the server returns what losses are made of.

    Raises:
        ModelError: It does not.
        EndpointError: It did not answer.
    """
    reason = "it passes over the field"
    try:
        if client.ask(messages, max_tokens=1, extra=_EXTRA).prompt_logprobs:
            return
    except EndpointError as error:
        if error.status not in REFUSED or _FIELD not in error.reason:
            raise
        reason = error.reason
    raise ModelError(
        f"model '{client.model}': {client.base_url} returns no log-probabilities of a given text ({_FIELD}; {reason}), "
        "so there are no losses of given continuations. Use a server that returns them, for example vLLM, or evaluate "
        "the model with transformers."
    )


def respond_with_losses(question: Question) -> Response:
    """The loss of each of the request's continuations: a request about what stands before them, and one about each.

    Raises:
        EndpointError: The server did not answer, or not with log-probabilities that can be used.
        ModelError: The tokens of a continuation cannot be separated from those before it.
    """
    prefill = question.request.prefill
    completions = [question.ask(max_tokens=1, extra=_EXTRA)]
    before = _tokens(completions[0])
    losses = []
    for continuation in question.request.continuations:
        completion = question.ask(joined(prefill, continuation)[len(prefill) :], max_tokens=1, extra=_EXTRA)
        completions.append(completion)
        tokens = _tokens(completion)
        scored = tokens[len(before) :]
        if not scored or [token for token, _ in tokens[: len(before)]] != [token for token, _ in before]:
            raise ModelError(
                f"model '{question.client.model}': the tokens of '{continuation}' cannot be separated from those of "
                "the text before it."
            )
        values = [value for _, value in scored]
        if min(values) <= _NO_VALUE:
            raise EndpointError(f"the server gives '{continuation}' a probability of 0")
        losses.append(Loss(-sum(values), len(scored)))
    return question.respond(*completions, losses=tuple(losses))


def _tokens(completion: Completion) -> list[tuple[str, float]]:
    """Id and log-probability of each token of the prompt; the first has neither."""
    places = completion.prompt_logprobs
    if not places:
        raise EndpointError(f"the server returned no {_FIELD}, as it did before")
    # Of several tokens at a place, the prompt's own comes first.
    return [next((token, found.logprob) for token, found in place.items()) for place in places if place]
