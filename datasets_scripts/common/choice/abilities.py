"""The abilities that MMBench's questions test, in three levels.

MMBench: Is Your Multi-modal Model an All-around Player?, https://arxiv.org/abs/2307.06281, Fig. 2 and Appendix F: two
L-1 abilities, six L-2 abilities, twenty L-3 abilities. The release writes names like `image_style`; here they are
readable. CCBench has seven categories of its own, without levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Ability:
    """One leaf ability (L-3, or a category of CCBench), and its two higher levels ("" for CCBench)."""

    category: str
    l2_category: str = ""
    l1_category: str = ""
    """"perception" or "reasoning"."""


_PERCEPTION = {
    ("coarse perception", "coarse_perception"): "image_style image_scene image_emotion image_quality image_topic",
    ("fine-grained perception (single-instance)", "finegrained_perception (instance-level)"): (
        "object_localization attribute_recognition celebrity_recognition ocr"
    ),
    ("fine-grained perception (cross-instance)", "finegrained_perception (cross-instance)"): (
        "spatial_relationship attribute_comparison action_recognition"
    ),
}
_REASONING = {
    ("attribute reasoning", "attribute_reasoning"): "physical_property_reasoning function_reasoning identity_reasoning",
    ("logic reasoning", "logic_reasoning"): "structuralized_imagetext_understanding future_prediction",
    ("relation reasoning", "relation_reasoning"): "social_relation physical_relation nature_relation",
}
_SPELLED = {"ocr": "OCR", "structuralized_imagetext_understanding": "structuralized image-text understanding"}


def _abilities(released: str, *levels: str) -> dict[str, Ability]:
    return {name: Ability(_SPELLED.get(name, name.replace("_", " ")), *levels) for name in released.split()}


RELEASED_L2: Mapping[str, str] = dict([*_PERCEPTION, *_REASONING])
"""The release's name of every L-2 ability."""
ABILITIES: Mapping[str, Ability] = {
    name: ability
    for l1_category, levels in (("perception", _PERCEPTION), ("reasoning", _REASONING))
    for (l2_category, _), leaves in levels.items()
    for name, ability in _abilities(leaves, l2_category, l1_category).items()
}
"""MMBench's twenty leaf abilities by their names in the release."""
CCBENCH_CATEGORIES: Mapping[str, Ability] = _abilities(
    "calligraphy_painting cultural_relic food_clothes historical_figure scenery_building sketch_reasoning "
    "traditional_show"
)
"""CCBench's categories by their names in the release."""
