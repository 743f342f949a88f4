"""A limit on what may be spent, kept by several threads at once."""

import math
import threading


class Spending:
    """What was spent so far, and what requests under way may still cost.

    Args:
        limit: US dollars that may be spent; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        """Nothing is spent yet."""
        self.limit = math.inf if limit is None else limit
        self._spent = 0.0
        self._under_way: list[float] = []
        self._changed = threading.Condition()

    @property
    def spent(self) -> float:
        """US dollars spent, without requests under way."""
        with self._changed:
            return self._spent

    def reserve(self, worst: float) -> bool:
        """Ask for leave to send a request; where the limit may be passed, this waits for those under way.

        Args:
            worst: What it costs at most, in US dollars.

        Returns:
            Whether it may be sent; `settle` then has to follow. False if it might pass the limit.
        """
        with self._changed:
            while self._spent + math.fsum(self._under_way) + worst > self.limit:
                if not self._under_way:
                    return False
                self._changed.wait()
            self._under_way.append(worst)
            return True

    def settle(self, worst: float, cost: float) -> None:
        """Put what a request cost in the place of what was reserved for it.

        Args:
            worst: As it was reserved.
            cost: What it cost, in US dollars.
        """
        with self._changed:
            self._under_way.remove(worst)
            self._spent += cost
            self._changed.notify_all()
