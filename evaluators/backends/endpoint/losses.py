"""Losses of given texts, from the log-probabilities that vLLM returns for the tokens of a prompt (`prompt_logprobs`).

Two prompts are compared: one with the text as part of a prefilled reply, and one without it. The text's tokens are
those at the end of the first prompt that the second does not have, as with a local model.
"""

from eyechart.datasets_scripts.common.errors import EndpointError, ModelError
from eyechart.evaluators.backends.chat import joined
from eyechart.evaluators.backends.endpoint.client import ChatClient, Messages
from eyechart.evaluators.backends.endpoint.completion import Completion
from eyechart.evaluators.backends.endpoint.failures import REFUSED
from eyechart.evaluators.backends.endpoint.question import Question
from eyechart.evaluators.requests.types import Loss, Response

_FIELD = "prompt_logprobs"
# Only the prompt's own tokens, without more probable ones.
_EXTRA = {_FIELD: 0}
# What vLLM writes in place of the logarithm of a probability of 0.
_NO_VALUE = -9999.0


def check_losses(client: ChatClient, messages: Messages) -> None:
    """Test whether the server returns the log-probabilities of the prompt's tokens.

    Raises:
        ModelError: The server does not return them.
        EndpointError: The server did not answer.
    """
    reason = "it ignores the field"
    try:
        if client.ask(messages, max_tokens=1, extra=_EXTRA).prompt_logprobs:
            return
    except EndpointError as error:
        if error.status not in REFUSED or _FIELD not in error.reason:
            raise
        reason = error.reason
    raise ModelError(
        f"model '{client.model}': {client.base_url} returns no log-probabilities of the prompt ({_FIELD}: {reason}), "
        "from which losses of given texts are computed. Use a server that returns them, for example vLLM, or evaluate "
        "the model with transformers."
    )


def respond_with_losses(question: Question) -> Response:
    """Compute the loss of each continuation; sends one request for the text before them and one for each of them.

    Raises:
        EndpointError: The server did not answer, or not with usable log-probabilities.
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
            raise EndpointError(f"the server returned a probability of 0 for '{continuation}'")
        losses.append(Loss(-sum(values), len(scored)))
    return question.respond(*completions, losses=tuple(losses))


def _tokens(completion: Completion) -> list[tuple[str, float]]:
    """Id and log-probability of each token of the prompt except the first, which has no log-probability."""
    places = completion.prompt_logprobs
    if not places:
        raise EndpointError(f"the server returned no {_FIELD}, although it did before")
    # The prompt's own token comes first at each position.
    return [next((token, found.logprob) for token, found in place.items()) for place in places if place]
