"""Closed-set inference: the prompt shows no options, and the option with the lowest loss is the answer.

Q-Bench, Appendix A.2.1 (https://arxiv.org/abs/2309.14181): each option is scored by its generative loss after
`#Answer:`, and the option with the lowest loss is chosen. The paper uses the mean loss per token ("mean"); the sum over
all tokens ("sum") is an addition of this library.
"""

from collections.abc import Sequence

from eyechart.evaluators.requests.types import Loss

CLOSED_SET = "closed-set"
LOSSES = ("mean", "sum")
"""Kinds of loss of an option, the default first."""


def lowest_loss(losses: Sequence[Loss], kind: str) -> tuple[int, bool]:
    """The option with the lowest loss.

    Args:
        losses: One for each option, in the order of the letters; at least one.
        kind: One of `LOSSES`.

    Returns:
        The index of the option with the lowest loss (the first one of a tie), and whether there is a tie.

    Examples:
        >>> lowest_loss([Loss(7.43, 1), Loss(7.56, 1), Loss(7.92, 1)], "mean")
        (0, False)
        >>> lowest_loss([Loss(3.0, 1), Loss(4.0, 2), Loss(2.0, 1)], "mean")
        (1, True)
    """
    values = [loss.mean if kind == "mean" else loss.total for loss in losses]
    index = values.index(min(values))
    return index, values.count(values[index]) > 1
