"""Closed-set inference: no options in the prompt; the option that the model predicts best is its answer.

Q-Bench, Appendix A.2.1 (https://arxiv.org/abs/2309.14181): each option is scored by its generative loss after
`#Answer:`, and the one of the smallest loss is chosen. The loss per token ("mean") is that of the paper; the loss of
all tokens ("sum") is an addition.
"""

from collections.abc import Sequence

from eyechart.evaluators.requests.types import Loss

CLOSED_SET = "closed-set"
LOSSES = ("mean", "sum")
"""Ways to take an option's loss, the default first."""


def loss_value(loss: Loss, kind: str) -> float:
    """An option's loss, in nats: per token ("mean"), or of all its tokens ("sum").

    Examples:
        >>> loss_value(Loss(total=6.0, tokens=4), "mean"), loss_value(Loss(total=6.0, tokens=4), "sum")
        (1.5, 6.0)
    """
    return loss.mean if kind == "mean" else loss.total


def lowest_loss(losses: Sequence[Loss], kind: str) -> tuple[int, bool]:
    """The option of the smallest loss.

    Args:
        losses: One for each option, in the order in which the options are lettered; at least one.
        kind: One of `LOSSES`.

    Returns:
        Its index, the first of several with exactly the same loss, and whether there are several.

    Examples:
        >>> lowest_loss([Loss(7.43, 1), Loss(7.56, 1), Loss(7.92, 1)], "mean")
        (0, False)
        >>> lowest_loss([Loss(3.0, 1), Loss(4.0, 2), Loss(2.0, 1)], "mean")
        (1, True)
    """
    values = [loss_value(loss, kind) for loss in losses]
    index = values.index(min(values))
    return index, values.count(values[index]) > 1
