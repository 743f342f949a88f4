"""Settings of a model that are known only from its responses."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.backends.endpoint.refused_parameters import DROPPED, dropped_settings
from eyechart.evaluators.requests.types import RowResponses


def model_settings(answered: Sequence[RowResponses]) -> dict[str, Any]:
    """Settings of a model that are known only from its responses; stored responses give the same as new ones."""
    responses = [response for item in answered for response in item.responses]
    names = sorted({name for response in responses for name in response.response_metadata})
    found: dict[str, Any] = {
        name: sorted({response.response_metadata[name] for response in responses if name in response.response_metadata})
        for name in names
    }
    found |= dropped_settings(found.get(DROPPED, ()))
    if responses[0].rendered_prompt is not None:
        found["rendered_prompt"] = responses[0].rendered_prompt
    downscaled = [count for response in responses if (count := response.images_downscaled) is not None]
    images = sum(len(response.request.images) for response in responses)
    if images and len(downscaled) == len(responses):
        found["downscaled_share"] = sum(downscaled) / images
    upper_bound_words = Counter(word for response in responses for word in response.upper_bound_words)
    if upper_bound_words:
        found["upper_bound_words"] = dict(upper_bound_words)
    usage = Counter[str]()
    for response in responses:
        usage.update(response.usage)
    if usage:
        found["usage"] = dict(usage)
    return found
