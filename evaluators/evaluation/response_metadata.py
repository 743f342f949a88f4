"""What only answers tell of a model's settings."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.requests.types import RowResponses


def told_by(answered: Sequence[RowResponses]) -> dict[str, Any]:
    """The model's settings that only its answers tell, so that stored answers tell the same as new ones."""
    responses = [response for item in answered for response in item.responses]
    names = sorted({name for response in responses for name in response.response_metadata})
    told: dict[str, Any] = {
        name: sorted({response.response_metadata[name] for response in responses if name in response.response_metadata})
        for name in names
    }
    if responses[0].rendered_prompt is not None:
        told["rendered_prompt"] = responses[0].rendered_prompt
    downscaled = [count for response in responses if (count := response.images_downscaled) is not None]
    images = sum(len(response.request.images) for response in responses)
    if images and len(downscaled) == len(responses):
        told["downscaled_share"] = sum(downscaled) / images
    upper_bound_words = Counter(word for response in responses for word in response.upper_bound_words)
    if upper_bound_words:
        told["upper_bound_words"] = dict(upper_bound_words)
    usage = Counter[str]()
    for response in responses:
        usage.update(response.usage)
    if usage:
        told["usage"] = dict(usage)
    return told
