"""Results of paired tests in words, for `eyechart compare` and the report."""

from collections.abc import Iterator, Sequence

from eyechart.evaluators.comparison.compare import Comparison
from eyechart.evaluators.comparison.difference import Difference, p_words, signed
from eyechart.evaluators.results.sources import MINI

LEVEL = 0.05
"""Two runs differ significantly if the Holm-adjusted p-value is below this."""


def higher(one: Difference, first: str = "A", second: str = "B") -> str:
    """Which run scored significantly higher, such as "A scored higher than B"; "" if neither did."""
    if not one.p_holm < LEVEL:
        return ""
    above, below = (first, second) if one.difference > 0 else (second, first)
    return f"{above} scored higher than {below}"


def verdict_lines(found: Comparison) -> Iterator[str]:
    """The test result of each task's headline score."""
    titles = {one.title: one.task for one in found.differences}
    for one in found.differences:
        if one.key != found.headlines.get(one.title) or not one.has_test:
            continue
        # The data set is needed only if the task ran on several.
        name = one.task if list(titles.values()).count(one.task) == 1 else one.title
        amount, text = signed(one.key, one.difference), higher(one)
        words = f"{text} (by {amount.lstrip('+-')}" if text else f"no significant difference ({amount}"
        yield f"{name}: {words}, {p_words(one.p_holm)})"


def synthetic_line(pairs: Sequence[Comparison]) -> str:
    """Which compared tasks are on synthetic demo data; "" if none."""
    synthetic = dict.fromkeys(title for pair in pairs for title in pair.synthetic)
    compared = {one.title for pair in pairs for one in pair.differences}
    if not synthetic:
        return ""
    where = "" if compared <= synthetic.keys() else f" of {', '.join(synthetic)}"
    return f"The data{where} are {MINI}, so the scores are not comparable with published ones."
