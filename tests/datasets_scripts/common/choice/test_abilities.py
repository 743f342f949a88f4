from collections import Counter

import pytest

from eyechart.datasets_scripts.common.choice.abilities import ABILITIES, CCBENCH_CATEGORIES, L2_CODES, find_ability


def test_the_taxonomy_is_that_of_the_paper() -> None:
    # Tables 9 to 14 of the paper.
    leaves = Counter(L2_CODES[ability.l2_category] for ability in ABILITIES.values())
    assert leaves == {"CP": 5, "FP-S": 4, "FP-C": 3, "AR": 3, "LR": 2, "RR": 3}
    assert len({ability.category for ability in ABILITIES.values()}) == 20
    for ability in ABILITIES.values():
        perceived = L2_CODES[ability.l2_category] in ("CP", "FP-S", "FP-C")
        assert ability.l1_category == ("perception" if perceived else "reasoning")


def test_names_are_readable() -> None:
    assert find_ability("image_style", "coarse_perception", ABILITIES).category == "image style"
    assert find_ability("ocr", "", ABILITIES).category == "OCR"
    assert find_ability("food_clothes", "", CCBENCH_CATEGORIES).category == "food clothes"
    assert len(CCBENCH_CATEGORIES) == 7


@pytest.mark.parametrize(
    ("category", "l2_category", "reason"),
    [
        ("image_stile", "", "unknown category 'image_stile'; did you mean 'image_style'"),
        ("ocr", "perception", "unknown l2-category 'perception'"),
        ("ocr", "logic_reasoning", r"must be 'finegrained_perception \(instance-level\)', found"),
    ],
)
def test_what_does_not_exist_or_agree(category: str, l2_category: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        find_ability(category, l2_category, ABILITIES)
