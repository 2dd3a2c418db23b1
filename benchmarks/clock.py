"""The one clock of all benchmarks: warm-up, timing, and whether the machine is quiet enough.

A :class:`Clock` runs during a ``with`` block and adds up wall-clock and processor time over all its
blocks; :func:`best_of` repeats a task and keeps the quickest run. Whatever is timed has run once
before on the rows of :func:`warm_up_rows`, so that libraries are loaded and loops compiled. Nothing
heavy is imported here: the measurement of a fresh process imports this module, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

WARM_UP = 400
"""Rows that a model learns before its fit is timed, and rows it predicts."""

BUSY_LOAD = 0.25
"""Load per core above which times are not to be trusted."""


class Clock:
    """Seconds spent in its ``with`` blocks; a block inside another one counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.cpu_seconds = 0.0
        self._depth = 0
        self._start = (0.0, 0.0)

    def __enter__(self) -> Clock:
        if not self._depth:
            self._start = (time.process_time(), time.perf_counter())
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        now = time.perf_counter()
        self._depth -= 1
        if not self._depth:
            self.seconds += now - self._start[1]
            self.cpu_seconds += time.process_time() - self._start[0]


def seconds_of(task: Callable[[], Any]) -> float:
    """Seconds of one run."""
    with Clock() as clock:
        task()
    return clock.seconds


def best_of(task: Callable[[], Any], repeats: int) -> float:
    """Seconds of the quickest of several runs."""
    return best_in_turn([task], repeats)[0]


def best_in_turn(tasks: Sequence[Callable[[], Any]], repeats: int) -> list[float]:
    """Seconds of the quickest run of each task, the tasks taken in turn."""
    rounds = [[seconds_of(task) for task in tasks] for _ in range(repeats)]
    return [min(times) for times in zip(*rounds)]


def warm_up_rows(y: Any) -> Any:
    """Indices of a few rows in which every class occurs."""
    import numpy as np

    first = [np.flatnonzero(y == label)[:20] for label in np.unique(y)]
    return np.unique(np.concatenate([*first, np.arange(min(WARM_UP, len(y)))]))


def warm_up(model: Any, X: Any, y: Any) -> None:
    """Fit a model to a few rows and let it predict them."""
    few = warm_up_rows(y)
    model.fit(X[few], y[few]).predict(X[few])


def timed_fit(model: Any, X: Any, y: Any) -> Clock:
    """Fit the model; the clock runs during ``fit`` alone."""
    with Clock() as clock:
        model.fit(X, y)
    return clock


def load_per_core() -> float:
    """Average number of processes at work in the last minute, per core; 0 where not known."""
    return os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0


def warn_of_load() -> None:
    """Say so when other processes are at work: threads that wait for each other suffer most."""
    load = load_per_core()
    if load > BUSY_LOAD:
        said = f"the load is {load:.1f} per core: times will be too long, some ten times"
        print(said, file=sys.stderr, flush=True)
