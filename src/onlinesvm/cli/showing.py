"""Progress of training: one updated line on a terminal, occasional lines in a pipe, a log."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import IO, Any

from ..stream.training import Progress

INTERVAL_TERMINAL, INTERVAL_PIPE = 0.1, 2.0
"""Seconds between two lines of progress."""


def described(
    progress: Progress, seconds: float, begun_with: int = 0, measure: str = "error"
) -> str:
    """Speed, error so far, size of the model, memory."""
    parts = [f"{progress.rows:,} rows"]
    if seconds > 0:
        parts.append(f"{(progress.rows - begun_with) / seconds:,.0f}/s")
    if progress.error is not None:
        parts.append(f"{measure} so far {progress.error:.4f}")
    parts.append(f"{progress.n_support:,} support vectors")
    if progress.delta is not None:
        parts.append(f"gap {progress.delta:.2g}")
    if progress.n_drifts is not None:
        parts.append(counted_drifts(progress.n_drifts))
    if progress.memory:
        parts.append(f"{progress.memory / 1e6:,.0f} MB")
    return ", ".join(parts)


def counted_drifts(count: int) -> str:
    """The number of drifts, in words."""
    return f"{count:,} drift{'' if count == 1 else 's'} detected"


class Reporter:
    """Writes progress to standard error, unless it is quiet."""

    def __init__(
        self,
        quiet: bool = False,
        begun_with: int = 0,
        measure: str = "error",
        n_drifts: int | None = None,
    ):
        self._quiet, self._begun_with, self._measure = quiet, begun_with, measure
        self._terminal = sys.stderr.isatty()
        self._interval = INTERVAL_TERMINAL if self._terminal else INTERVAL_PIPE
        self._next = time.monotonic() + self._interval
        self._status: Any = None
        self._seen = (begun_with, n_drifts)  # rows and drifts of the last report

    def __enter__(self) -> Reporter:
        if self._terminal and not self._quiet:
            from rich.console import Console

            self._status = Console(stderr=True, highlight=False).status("Reading ...")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, progress: Progress, seconds: float) -> None:
        """Report progress, if it is time; a drift is reported immediately, in a permanent line."""
        self._tell_of_drift(progress)
        if not self._quiet and time.monotonic() >= self._next:
            self.say(described(progress, seconds, self._begun_with, self._measure))

    def _tell_of_drift(self, progress: Progress) -> None:
        (row, before), count = self._seen, progress.n_drifts
        self._seen = (progress.rows, count)
        if self._quiet or not count or count == before:
            return
        text = (
            f"Drift: the error rate has risen, detected between rows {row + 1:,} and "
            f"{progress.rows:,} ({counted_drifts(count)})."
        )
        if self._status is not None:
            self._status.console.print(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def say(self, text: str) -> None:
        """Show a line of progress, if it is time."""
        if self._quiet or time.monotonic() < self._next:
            return
        if self._status is not None:
            self._status.update(text)
        else:
            print(text, file=sys.stderr, flush=True)
        self._next = time.monotonic() + self._interval


class Log:
    """Figures as JSON lines, one per block."""

    def __init__(self, path: Path | None, goes_on: bool = False):
        self._file: IO[str] | None = None
        if path is not None:
            self._file = path.open("a" if goes_on else "w", encoding="utf-8")

    def write(self, progress: Progress, seconds: float) -> None:
        """One line."""
        if self._file is None:
            return
        facts: dict[str, Any] = {
            "rows": progress.rows,
            "epoch": progress.epoch,
            "error": progress.error,
            "block_error": progress.block_error,
            "n_support": progress.n_support,
            "delta": progress.delta,
            "n_drifts": progress.n_drifts,
            "memory": progress.memory,
            "seconds": round(seconds, 3),
        }
        self._file.write(json.dumps(facts) + "\n")
        self._file.flush()

    def close(self) -> None:
        """No more lines."""
        if self._file is not None:
            self._file.close()
