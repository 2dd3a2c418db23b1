"""Peak memory of this process, where the system tells it (Linux)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def resident_mb(field: str = "VmRSS") -> float | None:
    """Resident memory of this process in MB (``VmHWM``: its largest so far), where known."""
    try:
        with open("/proc/self/status", encoding="ascii") as f:
            for line in f:
                if line.startswith(field):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def forget_peak() -> bool:
    """Set the largest resident memory back to the present one; whether that was possible."""
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
            f.write("5")
    except OSError:
        return False
    return True


@contextmanager
def peak_memory(into: dict[str, Any]) -> Iterator[None]:
    """Write the peak above the starting level, and that level, into a result."""
    known = forget_peak()
    base = resident_mb()
    yield
    peak = resident_mb("VmHWM")
    into["base_mb"] = base
    into["peak_mb"] = peak - base if known and peak is not None and base is not None else None
