"""The picture of ``docs/evidence/streams.md``: ``python -m benchmarks.streams.picture [FILE]``.

The labels of a generated stream are swapped in its middle. Every form of memory that LASVM offers
learns it one example at a time; the picture shows the accuracy of the last 250 predictions, each
made before its label was learned.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.streams.sources import swap

ROWS, LAST = 8000, 250
PAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "streams-drift.png"

FORMS: dict[str, dict[str, Any]] = {
    "no limit": {},
    "budget=500, policy='outlier'": {"budget": 500, "policy": "outlier"},
    "budget=500, policy='oldest'": {"budget": 500, "policy": "oldest"},
    "window=1000": {"window": 1000},
    "budget=500, policy='oldest', half_life=500": {
        "budget": 500, "policy": "oldest", "half_life": 500,
    },
}  # fmt: skip


def right(settings: dict[str, Any], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each prediction was right."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=4, gamma=0.2, n_jobs=None, **settings).learn_one(X[0], y[0])
    found = np.zeros(len(y), bool)
    for k, (x, label) in enumerate(zip(X[1:], y[1:].tolist()), start=1):
        found[k] = model.predict_one(x) == label
        model.learn_one(x, label)
    return found


def recovery(found: np.ndarray) -> int | None:
    """Examples after the swap until the last 250 are as good as before it, within 2 points."""
    half = len(found) // 2
    running = np.convolve(found, np.ones(LAST) / LAST, "valid")  # [k]: examples k to k + LAST
    before = found[half - 1000 : half].mean()
    back = np.flatnonzero(running[half:] >= before - 0.02)
    return int(back[0]) + LAST if len(back) else None


def main(path: Path = PAGE, rows: int = ROWS) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    X, y = swap(rows)
    figure, axis = plt.subplots(figsize=(9, 4.2))
    for name, settings in FORMS.items():
        found = right(settings, X, y)
        curve = 100 * np.convolve(found, np.ones(LAST) / LAST, "valid")
        axis.plot(np.arange(LAST, len(found) + 1), curve, linewidth=1.4, label=name)
        half = len(found) // 2
        print(
            f"{name:45} before {100 * found[half - 1000 : half].mean():.1f} %, last 1,000 "
            f"{100 * found[-1000:].mean():.1f} %, back after {recovery(found)}",
            flush=True,
        )
    axis.axvline(len(y) // 2, color="black", linewidth=0.8, linestyle=":")
    axis.set(xlabel="examples", ylabel=f"accuracy of the last {LAST}, %", ylim=(0, 100))
    axis.legend(fontsize=8, loc="lower left")
    axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:2]))
