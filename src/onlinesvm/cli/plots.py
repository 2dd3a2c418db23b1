"""The picture of the demo. Drawn without a display: the figure is made for the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from PIL import Image

from ..model.atomic import atomic_write
from . import tour
from .streams import Learner, Portrait, Result

if TYPE_CHECKING:
    from .demo import Tour

INK, PALE = "#2b2f36", "#8a9099"
BLUE, ORANGE = "#2f6690", "#d1803b"
SHADES = LinearSegmentedColormap.from_list(
    "sides", ["#9dbfd8", "#d5e4ee", "#fbfbfa", "#f6e3cf", "#e8b98a"]
)
GRID = "#e6e8eb"
DPI = 144
COLOURS = 96
"""Colours in the file: enough for these pictures, and a quarter of the bytes."""


def new_figure(panels: int, width: float, height: float) -> tuple[Figure, Any]:
    """A figure with panels side by side."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def save_figure(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG of few colours."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    with atomic_write(path) as file:
        picture.save(file, format="PNG", optimize=True, dpi=(DPI, DPI))


def plain_axes(axes: Any) -> None:
    """Leave out the frame but for the two axes."""
    axes.tick_params(which="both", color=PALE, labelcolor=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)


def draw_tour(found: Tour, portrait: Portrait, path: Path) -> None:
    """One panel per stop, and a boundary in the plane."""
    figure = Figure(figsize=(12.0, 7.4), dpi=DPI, layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    _curve(panels[0], found.learners[-1], found.references[-1])
    _drift(panels[1], found.drift)
    _why(panels[2], found.why)
    _interval(panels[3], found.interval)
    _labels(panels[4], found.labels)
    _plane(panels[5], portrait)
    save_figure(figure, path)


def _title(axes: Any, text: str) -> None:
    axes.set_title(text, color=INK, fontsize=11, loc="left")


def _percent(axis: Any) -> None:
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))


def _curve(axes: Any, learner: Learner, other: Result) -> None:
    known = [(m.seen, m.test_error) for m in learner.moments if m.test_error is not None]
    seen, error = np.array(known, float).T
    axes.plot(seen, error, color=BLUE, lw=1.8, marker="o", ms=3.5, label="LASVM, one pass")
    label = f"SVC, all rows at once: {100 * other.test_error:.2f} %"
    axes.axhline(other.test_error, color=ORANGE, lw=1.6, ls=(0, (5, 3)), label=label)
    label = f"LASVM, finished: {100 * error[-1]:.2f} %"
    axes.plot(seen[-1:], error[-1:], "o", color=BLUE, ms=7.5, clip_on=False, label=label)
    axes.set_xscale("log")
    low, high = min(error.min(), other.test_error), error.max()
    axes.set_ylim(max(0.0, low - 0.12 * (high - low)), high + 0.08 * (high - low))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    _percent(axes.yaxis)
    axes.grid(axis="y", color=GRID, lw=0.8)
    _title(axes, "1. One pass: two classes that overlap")
    axes.set_xlabel("examples seen", color=INK)
    axes.set_ylabel("test error", color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right", labelcolor=INK)
    plain_axes(axes)


def _drift(axes: Any, found: tour.Drift) -> None:
    for name, colour in ((tour.KEEPS, ORANGE), (tour.FOLLOWS, BLUE)):
        axes.plot(found.errors[name], color=colour, lw=1.6, label=name)
    axes.axvline(found.n // 2, color=PALE, lw=1, ls=(0, (2, 2)))
    axes.annotate(
        "labels are swapped ", (found.n // 2, 0.6), xycoords=("data", "axes fraction"), ha="right",
        va="top", color=PALE, fontsize=9,
    )  # fmt: skip
    axes.set(xlim=(0, found.n), ylim=(0, None))
    _percent(axes.yaxis)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    axes.grid(axis="y", color=GRID, lw=0.8)
    _title(axes, "2. A stream that changes")
    axes.set_xlabel("examples seen", color=INK)
    axes.set_ylabel(f"error of the last {tour.RECENT}", color=INK)
    axes.legend(
        frameon=False, fontsize=9, loc="upper right", labelcolor="linecolor", handlelength=0,
        handletextpad=0,
    )  # fmt: skip
    plain_axes(axes)


def _why(axes: Any, found: tour.Why) -> None:
    names, shares = [*found.names, "all else"], [*found.shares, found.rest]
    colours = [ORANGE if share > 0 else BLUE for share in shares[:-1]] + [PALE]
    axes.barh(range(len(shares)), shares, color=colours, height=0.66)
    axes.set_yticks(range(len(shares)), names)
    axes.invert_yaxis()
    axes.axvline(0, color=INK, lw=0.8)
    _title(axes, f"3. Why this answer: {found.answer}")
    axes.set_xlabel(f"share of the score, {found.score:+.2f} in all", color=INK)
    plain_axes(axes)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _interval(axes: Any, found: tour.Interval) -> None:
    axes.fill_between(
        found.grid, found.low, found.high, color="#d5e4ee", lw=0,
        label=f"{100 * tour.COVERAGE:.0f} % interval: holds {100 * found.coverage:.1f} %",
    )  # fmt: skip
    axes.scatter(found.x, found.t, s=4, color=BLUE, lw=0, alpha=0.7)
    reach = float(found.t.max() - found.t.min())
    axes.set(xlim=(0, 10), ylim=(found.t.min() - 0.05 * reach, found.t.max() + 0.22 * reach))
    _title(axes, "4. How sure: a value and its interval")
    axes.set_xlabel("$x$", color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper left", labelcolor=INK)
    plain_axes(axes)


def _labels(axes: Any, found: tour.Labels) -> None:
    for name, colour, text in (
        ("random", ORANGE, "random questions"),
        ("active", BLUE, "the model asks"),
    ):
        axes.plot(
            found.labels, found.errors[name], color=colour, lw=1.8, marker="o", ms=3.5, label=text
        )
    axes.set_ylim(0, None)
    _percent(axes.yaxis)
    axes.grid(axis="y", color=GRID, lw=0.8)
    _title(axes, "5. Which labels to ask for: digits")
    axes.set_xlabel("labels", color=INK)
    axes.set_ylabel("test error", color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right", labelcolor=INK)
    plain_axes(axes)


def _plane(axes: Any, portrait: Portrait) -> None:
    x, y = portrait.grid
    axes.contourf(
        x, y, portrait.values.clip(-1.99, 1.99), levels=np.linspace(-2, 2, 17), cmap=SHADES
    )
    axes.contour(x, y, portrait.values, levels=[0], colors=INK, linewidths=1.4)
    axes.contour(
        x, y, portrait.values, levels=[-1, 1], colors=PALE, linewidths=0.8, linestyles="dashed"
    )
    for label, colour in enumerate((BLUE, ORANGE)):
        axes.scatter(*portrait.X[portrait.y == label].T, s=6, color=colour, lw=0, zorder=2)
    axes.scatter(*portrait.support.T, s=22, facecolor="none", edgecolor=INK, lw=0.8, zorder=3)
    held, seen = f"{len(portrait.support):,}", f"{len(portrait.X):,}"
    _title(axes, f"6. {held} support vectors of {seen}")
    axes.set(
        aspect="equal", xlabel="$x_1$", ylabel="$x_2$", xticks=range(-2, 3), yticks=range(-2, 3)
    )
    plain_axes(axes)
