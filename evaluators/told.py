"""What only answers tell of a model's settings."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.asking import Answered


def told_by(answered: Sequence[Answered]) -> dict[str, Any]:
    """The model's settings that only its answers tell, so that stored answers tell the same as new ones."""
    responses = [response for item in answered for response in item.responses]
    names = sorted({name for response in responses for name in response.told})
    told: dict[str, Any] = {
        name: sorted({response.told[name] for response in responses if name in response.told}) for name in names
    }
    if responses[0].rendered_prompt is not None:
        told["rendered_prompt"] = responses[0].rendered_prompt
    downscaled = [count for response in responses if (count := response.images_downscaled) is not None]
    images = sum(len(response.request.images) for response in responses)
    if images and len(downscaled) == len(responses):
        told["downscaled_share"] = sum(downscaled) / images
    floored = Counter(word for response in responses for word in response.floored)
    if floored:
        told["floored"] = dict(floored)
    usage = Counter[str]()
    for response in responses:
        usage.update(response.usage)
    if usage:
        told["usage"] = dict(usage)
    return told
