"""The learning curve of a stream, and the confusion matrix, as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..stream.training import Progress

MOST_POINTS = 2000
"""A curve of more points loses every other one."""


class Curve:
    """Error so far and error of each block against rows."""

    def __init__(self, measure: str = "error") -> None:
        self.measure = measure
        self.points: list[tuple[int, float, float]] = []
        self._every, self._count = 1, 0

    def add(self, progress: Progress) -> None:
        """One more point, if there is an error yet."""
        self._count += 1
        if progress.error is None or progress.block_error is None or self._count % self._every:
            return
        self.points.append((progress.rows, progress.error, progress.block_error))
        if len(self.points) > MOST_POINTS:
            self.points, self._every = self.points[::2], 2 * self._every

    def draw(self, path: Path) -> None:
        """Write the picture."""
        from .plots import BLUE, GRID, INK, PALE, new_figure, plain_axes, save_figure

        figure, (axes,) = new_figure(1, 7.2, 3.8)
        if self.points:
            rows, error, block = np.array(self.points, float).T
            axes.plot(
                rows, block, ".", color=PALE, ms=3.5, clip_on=False,
                label="each block, before it is learned",
            )  # fmt: skip
            axes.plot(rows, error, color=BLUE, lw=1.8, label=f"all rows so far: {error[-1]:.4f}")
            axes.legend(frameon=False, fontsize=9, labelcolor=INK)
        axes.set_xlabel("rows", color=INK)
        axes.set_ylabel(self.measure, color=INK)
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(axis="y", color=GRID, lw=0.8)
        plain_axes(axes)
        save_figure(figure, path)


def draw_values(path: Path, points: np.ndarray, n: int) -> None:
    """Predicted against true values, on equal axes; the line is where they agree."""
    from .plots import BLUE, INK, PALE, new_figure, plain_axes, save_figure

    figure, (axes,) = new_figure(1, 5.0, 5.0)
    low, high = float(points.min()), float(points.max())
    margin = 0.03 * (high - low) or 1.0
    ends = (low - margin, high + margin)
    axes.plot(ends, ends, color=PALE, lw=1.2, zorder=1)
    axes.plot(*points.T, ".", color=BLUE, ms=3.0, alpha=0.5, zorder=2)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    shown = "" if len(points) == n else f" ({len(points):,} of {n:,} rows)"
    axes.set_xlabel(f"true value{shown}", color=INK)
    axes.set_ylabel("predicted value", color=INK)
    plain_axes(axes)
    save_figure(figure, path)


def draw_confusion(path: Path, classes: list[Any], counts: np.ndarray) -> None:
    """The confusion matrix: rows are true labels, columns are predictions."""
    from .plots import INK, SHADES, new_figure, save_figure

    size = 2.2 + 0.45 * len(classes)
    figure, (axes,) = new_figure(1, size, size)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(share, cmap=SHADES, vmin=-1.0, vmax=1.0)
    if len(classes) <= 20:
        for (i, j), count in np.ndenumerate(counts):
            axes.text(j, i, f"{count:,}", ha="center", va="center", color=INK, fontsize=8)
    ticks = range(len(classes))
    axes.set_xticks(ticks, [str(name) for name in classes], rotation=90, fontsize=8)
    axes.set_yticks(ticks, [str(name) for name in classes], fontsize=8)
    axes.set_xlabel("predicted", color=INK)
    axes.set_ylabel("true", color=INK)
    save_figure(figure, path)
