"""The abilities that MMBench's questions test, in three levels.

MMBench: Is Your Multi-modal Model an All-around Player?, https://arxiv.org/abs/2307.06281, Fig. 2 and Appendix F: two
L-1 abilities, six L-2 abilities, twenty L-3 abilities. The release writes names like `image_style`; here they are
readable. CCBench has seven categories of its own, without levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from eyechart.datasets_scripts.common.errors import unknown_name


@dataclass(frozen=True)
class Ability:
    """One leaf ability (L-3, or a category of CCBench), and its two higher levels ("" for CCBench)."""

    category: str
    l2_category: str = ""
    l1_category: str = ""
    """"perception" or "reasoning"."""


# L-1, L-2, L-2 as released, L-3 as released.
_LEVELS = (
    (
        *("perception", "coarse perception", "coarse_perception"),
        "image_style image_scene image_emotion image_quality image_topic",
    ),
    (
        *("perception", "fine-grained perception (single-instance)", "finegrained_perception (instance-level)"),
        "object_localization attribute_recognition celebrity_recognition ocr",
    ),
    (
        *("perception", "fine-grained perception (cross-instance)", "finegrained_perception (cross-instance)"),
        "spatial_relationship attribute_comparison action_recognition",
    ),
    (
        *("reasoning", "attribute reasoning", "attribute_reasoning"),
        "physical_property_reasoning function_reasoning identity_reasoning",
    ),
    (
        *("reasoning", "logic reasoning", "logic_reasoning"),
        "structuralized_imagetext_understanding future_prediction",
    ),
    (
        *("reasoning", "relation reasoning", "relation_reasoning"),
        "social_relation physical_relation nature_relation",
    ),
)
_CCBENCH = (
    "calligraphy_painting cultural_relic food_clothes historical_figure scenery_building sketch_reasoning "
    "traditional_show"
)
_SPELLED = {"ocr": "OCR", "structuralized_imagetext_understanding": "structuralized image-text understanding"}


def _abilities(released: str, *levels: str) -> dict[str, Ability]:
    return {name: Ability(_SPELLED.get(name, name.replace("_", " ")), *levels) for name in released.split()}


RELEASED_L2: Mapping[str, str] = {l2: released for _, l2, released, _ in _LEVELS}
"""The release's name of every L-2 ability."""
ABILITIES: Mapping[str, Ability] = {
    name: ability for l1, l2, _, leaves in _LEVELS for name, ability in _abilities(leaves, l2, l1).items()
}
"""MMBench's twenty leaf abilities by their names in the release."""
CCBENCH_CATEGORIES: Mapping[str, Ability] = _abilities(_CCBENCH)
"""CCBench's categories by their names in the release."""


def find_ability(category: str, l2_category: str, table: Mapping[str, Ability]) -> Ability:
    """Return the ability of a release's `category`.

    Args:
        category: As released.
        l2_category: As released, or "" if the release has none; must agree with the category.
        table: `ABILITIES` or `CCBENCH_CATEGORIES`.

    Raises:
        ValueError: Unknown category, or the L-2 category is another one.

    Examples:
        >>> find_ability("ocr", "finegrained_perception (instance-level)", ABILITIES)
        Ability(category='OCR', l2_category='fine-grained perception (single-instance)', l1_category='perception')
    """
    if category not in table:
        raise unknown_name("category", category, table)
    released = RELEASED_L2.get(table[category].l2_category, "")
    if l2_category not in ("", released):
        raise ValueError(f"l2-category of category {category!r} must be {released!r}, found {l2_category!r}")
    return table[category]
