"""The abilities that MMBench's questions test, in three levels.

MMBench: Is Your Multi-modal Model an All-around Player?, https://arxiv.org/abs/2307.06281, Fig. 2 and Appendix F: two
L-1 abilities, six L-2 abilities, twenty L-3 abilities. The release writes names like `image_style`; here they are
readable. CCBench has seven categories of its own, without levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from eyechart.datasets_scripts.common.errors import unknown_name


@dataclass(frozen=True)
class Ability:
    """One leaf ability and its two higher levels."""

    category: str
    """L-3, or CCBench's category."""
    l2_category: str = ""
    """One of `L2_CODES`; "" for CCBench."""
    l1_category: str = ""
    """"perception" or "reasoning"; "" for CCBench."""


L2_CODES: Mapping[str, str] = MappingProxyType(
    {
        "coarse perception": "CP",
        "fine-grained perception (single-instance)": "FP-S",
        "fine-grained perception (cross-instance)": "FP-C",
        "attribute reasoning": "AR",
        "logic reasoning": "LR",
        "relation reasoning": "RR",
    }
)
"""The paper's short form of every L-2 ability."""

RELEASED_L2: Mapping[str, str] = MappingProxyType(
    {
        "coarse perception": "coarse_perception",
        "fine-grained perception (single-instance)": "finegrained_perception (instance-level)",
        "fine-grained perception (cross-instance)": "finegrained_perception (cross-instance)",
        "attribute reasoning": "attribute_reasoning",
        "logic reasoning": "logic_reasoning",
        "relation reasoning": "relation_reasoning",
    }
)
"""The release's name of every L-2 ability."""
_LEAVES = {
    ("perception", "coarse perception"): (
        "image_style",
        "image_scene",
        "image_emotion",
        "image_quality",
        "image_topic",
    ),
    ("perception", "fine-grained perception (single-instance)"): (
        "object_localization",
        "attribute_recognition",
        "celebrity_recognition",
        "ocr",
    ),
    ("perception", "fine-grained perception (cross-instance)"): (
        "spatial_relationship",
        "attribute_comparison",
        "action_recognition",
    ),
    ("reasoning", "attribute reasoning"): (
        "physical_property_reasoning",
        "function_reasoning",
        "identity_reasoning",
    ),
    ("reasoning", "logic reasoning"): ("structuralized_imagetext_understanding", "future_prediction"),
    ("reasoning", "relation reasoning"): ("social_relation", "physical_relation", "nature_relation"),
}
_UNLIKE_RELEASED = {
    "ocr": "OCR",
    "structuralized_imagetext_understanding": "structuralized image-text understanding",
}


def _readable(released: str) -> str:
    return _UNLIKE_RELEASED.get(released, released.replace("_", " "))


ABILITIES: Mapping[str, Ability] = MappingProxyType(
    {
        leaf: Ability(_readable(leaf), l2_category, l1_category)
        for (l1_category, l2_category), leaves in _LEAVES.items()
        for leaf in leaves
    }
)
"""MMBench's twenty leaf abilities by their names in the release."""
CCBENCH_CATEGORIES: Mapping[str, Ability] = MappingProxyType(
    {
        released: Ability(_readable(released))
        for released in (
            "calligraphy_painting",
            "cultural_relic",
            "food_clothes",
            "historical_figure",
            "scenery_building",
            "sketch_reasoning",
            "traditional_show",
        )
    }
)
"""CCBench's categories by their names in the release."""


def find_ability(category: str, l2_category: str, table: Mapping[str, Ability]) -> Ability:
    """Return the ability of a release's `category`.

    Args:
        category: As released.
        l2_category: As released, or "" if the release has none; must agree with the category.
        table: `ABILITIES` or `CCBENCH_CATEGORIES`.

    Raises:
        ValueError: Unknown category or L-2 category, or the two do not match.

    Examples:
        >>> find_ability("ocr", "finegrained_perception (instance-level)", ABILITIES)
        Ability(category='OCR', l2_category='fine-grained perception (single-instance)', l1_category='perception')
    """
    if category not in table:
        raise unknown_name("category", category, table)
    ability = table[category]
    if l2_category and l2_category not in RELEASED_L2.values():
        raise unknown_name("l2-category", l2_category, RELEASED_L2.values())
    right = RELEASED_L2.get(ability.l2_category, "")
    if l2_category and l2_category != right:
        raise ValueError(f"l2-category of category {category!r} must be {right!r}, found {l2_category!r}")
    return ability
