"""What a result says to its reader beside its scores."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from eyechart.evaluators.data import LoadedData


def unjudged_note(judge: Mapping[str, Any]) -> str:
    """Why a judge's part in the scores is incomplete; "" if it is not.

    Args:
        judge: The judge's settings.
    """
    if not judge.get("incomplete"):
        return ""
    return (
        f"Incomplete: the judge {judge['name']} gave no reply in {judge['lost_rounds']} rounds, which count as failed; "
        f"the first reason: {judge['reason']}."
    )


def unusable_note(unusable: Sequence[Mapping[str, Any]], count: int) -> str:
    """How many answers could not be scored; "" if all could.

    Args:
        unusable: {"id", "reason"} of each that could not.
        count: Number of answers whose right one is public.
    """
    if not unusable:
        return ""
    rest = "so there is no score" if len(unusable) == count else "and the scores are made of the others"
    first = unusable[0]
    return (
        f"{len(unusable)} of {count} answers cannot be scored, {rest}; the first: '{first['id']}': {first['reason']}."
    )


def private_note(loaded: LoadedData, count: int) -> str:
    """Why there is no score of a split whose answers are private.

    Args:
        loaded: The data.
        count: Number of items whose predictions were kept.
    """
    return (
        f"The answers of {loaded.subset} ({loaded.split}) are private, so there is no score; "
        f"the predictions of {count} items were kept."
    )
