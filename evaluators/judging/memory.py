"""A judge that is asked about each conversation once."""

import json
from collections.abc import Sequence

from eyechart.metrics.scoring.judging.prompts import Messages
from eyechart.metrics.scoring.judging.replies import Judge, ask_all, judge_name


class RememberingJudge:
    """Gives the replies that a judge gave to the same conversation before, lost ones included.

    So a decision that is made while a model is asked is the one that the metric makes afterwards.

    Args:
        judge: `judge(messages, n)` returning n replies, with or without `ask_all(conversations, n)`.
    """

    def __init__(self, judge: Judge) -> None:
        """Keep the judge; nothing is asked."""
        self.name = judge_name(judge)
        self._judge = judge
        self._replies: dict[str, list[str | None]] = {}

    def __call__(self, messages: Messages, n: int) -> list[str | None]:
        """Replies to one conversation."""
        return self.ask_all([messages], n)[0]

    def ask_all(self, conversations: Sequence[Messages], n: int) -> list[list[str | None]]:
        """Replies to several conversations; the judge is asked about the new ones together."""
        keys = [json.dumps([messages, n]) for messages in conversations]
        new = {key: messages for key, messages in zip(keys, conversations, strict=True) if key not in self._replies}
        self._replies.update(zip(new, ask_all(self._judge, list(new.values()), n), strict=True))
        return [self._replies[key] for key in keys]
