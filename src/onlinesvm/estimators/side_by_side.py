"""Fits side by side, one thread each: Ctrl-C ends all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.runtime.interrupts import Interruptible, checkpoint, current_holder
from ..core.runtime.threads import over_tasks


def side_by_side(work: Callable[[Any], Any], items: Sequence[Any], threads: int) -> list[Any]:
    """What ``work`` returns for each item, in the order of the items.

    The calling thread works as well, so that a Ctrl-C is heard at the next checkpoint of its own fit.
    """
    found: list[Any] = [None] * len(items)

    def task(number: int, worker: int) -> None:
        try:
            checkpoint()
            found[number] = work(items[number])
        except KeyboardInterrupt:
            holder, _ = current_holder()
            if holder is not None:
                holder.delivered = True  # a fit that was wound up has let the other threads go on
            raise

    with Interruptible():
        over_tasks(task, len(items), threads)
    return found
