"""The pictures of the demo. Drawn without a display: figures are made for the file alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from PIL import Image

from ..model.atomic import atomic_write
from .streams import Learner, Portrait, Result

INK, PALE = "#2b2f36", "#8a9099"
BLUE, ORANGE = "#2f6690", "#d1803b"
SHADES = LinearSegmentedColormap.from_list(
    "sides", ["#9dbfd8", "#d5e4ee", "#fbfbfa", "#f6e3cf", "#e8b98a"]
)
DPI = 144
COLOURS = 96
"""Colours in the file: enough for these pictures, and a quarter of the bytes."""


def _figure(panels: int, width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _save(figure: Figure, path: Path) -> None:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    picture = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    with atomic_write(path) as file:
        picture.save(file, format="PNG", optimize=True, dpi=(DPI, DPI))


def _plain(axes: Any) -> None:
    axes.tick_params(which="both", color=PALE, labelcolor=INK, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALE)


def learning_curves(learners: list[Learner], references: list[Result], path: Path) -> None:
    """Test error against examples seen, with SVC's as a dashed line."""
    figure, panels = _figure(len(learners), 9.0, 3.6)
    for axes, learner, other in zip(panels, learners, references, strict=True):
        _curve(axes, learner, other)
    panels[0].set_ylabel("test error", color=INK)
    _save(figure, path)


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
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
    axes.grid(axis="y", color="#e6e8eb", lw=0.8)
    axes.set_title(learner.stream.about, color=INK, fontsize=11, loc="left")
    axes.set_xlabel("examples seen", color=INK)
    axes.legend(frameon=False, fontsize=9, loc="upper right", labelcolor=INK)
    _plain(axes)


def boundary(portraits: list[Portrait], path: Path) -> None:
    """Decision boundary, margins and support vectors on a set in the plane, as the stream goes."""
    figure, panels = _figure(len(portraits), 9.6, 4.05)
    for axes, portrait in zip(panels, portraits, strict=True):
        _plane(axes, portrait)
    panels[0].set_ylabel("$x_2$")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False,
        fontsize=9, labelcolor=INK, markerscale=1.6,
    )  # fmt: skip
    _save(figure, path)


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
        side = portrait.X[portrait.y == label]
        axes.scatter(
            *side.T, s=5, color=colour, lw=0, label=("first class", "second class")[label], zorder=2
        )
    axes.scatter(
        *portrait.support.T, s=22, facecolor="none", edgecolor=INK, lw=0.8,
        label="support vector", zorder=3,
    )  # fmt: skip
    axes.plot([], [], color=INK, lw=1.4, label="boundary")
    axes.plot([], [], color=PALE, lw=0.8, ls="--", label="margin")
    _label(axes, portrait)


def _label(axes: Any, portrait: Portrait) -> None:
    seen, kept = len(portrait.X), len(portrait.support)
    end = ", finished" if portrait.finished else ""
    axes.set_title(
        f"{seen:,} examples{end}\n{kept:,} support vectors", color=INK, fontsize=10, loc="left"
    )
    axes.set(aspect="equal", xlabel="$x_1$", xticks=range(-2, 3), yticks=range(-2, 3))
    _plain(axes)
