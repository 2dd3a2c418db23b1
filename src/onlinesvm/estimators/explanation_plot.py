"""Draw an explanation as horizontal bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.runtime.dependencies import require
from .explanation import MOST_BARS, Explanation

UP, DOWN, NEUTRAL = "#d1803b", "#2f6690", "#5c6570"


def plot(explanation: Explanation, output: int | str | None, ax: Any) -> Any:
    """Bars of one example's shares, or of the importance over several."""
    if ax is None:
        plt = require("matplotlib.pyplot", "A plot", "plots")
        _, ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    several = explanation.output_names is not None
    if explanation.base_values.ndim == int(several):
        _draw_one(explanation, _number(explanation, output) if several else None, ax)
    else:
        _draw_several(explanation, output, ax)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _number(explanation: Explanation, output: int | str | None) -> int:
    """The class that is drawn."""
    names = explanation.output_names or []
    if output is None:
        total = explanation.base_values + explanation.values.sum(axis=0)
        return int(np.argmax(total))
    if isinstance(output, str):
        if output not in names:
            raise ValueError(f"There is no class {output!r}; there are {', '.join(names)}.")
        return names.index(output)
    if not 0 <= output < len(names):
        raise ValueError(f"There is no class number {output}; there are 0 to {len(names) - 1}.")
    return int(output)


def _draw_one(explanation: Explanation, which: int | None, ax: Any) -> None:
    values, base = explanation.values, explanation.base_values
    if which is not None:
        values, base = values[:, which], base[which]
    data = np.asarray(explanation.data, dtype=object)
    labels = [
        f"{name} = {_short(value)}"
        for name, value in zip(explanation.feature_names, data, strict=True)
    ]
    total = float(base) + float(values.sum())
    _bars(ax, values, labels, [UP if v > 0 else DOWN for v in values])
    ax.axvline(0.0, color=NEUTRAL, linewidth=0.8)
    name = "" if which is None else f" for {(explanation.output_names or [])[which]}"
    ax.set_xlabel(
        f"share of the decision value{name}: {float(base):.3g} without features, {total:.3g} "
        "with all"
    )


def _draw_several(explanation: Explanation, output: int | str | None, ax: Any) -> None:
    importance = explanation.importance()
    if importance.ndim == 2:
        shown = output is not None
        importance = (
            importance[:, _number(explanation, output)] if shown else importance.mean(axis=1)
        )
    top = np.argsort(-importance, kind="stable")[:MOST_BARS]
    _bars(ax, importance[top], [explanation.feature_names[j] for j in top], [NEUTRAL] * len(top))
    ax.set_xlim(left=0.0)
    shown_of = f"{len(top)} of {len(importance)} features, " if len(top) < len(importance) else ""
    ax.set_xlabel(f"{shown_of}mean absolute share over {len(explanation)} examples")


def _bars(ax: Any, values: np.ndarray, labels: list[str], colours: list[str]) -> None:
    """Bars of the largest absolute values, largest on top, and one bar for all others."""
    order = np.argsort(-np.abs(values), kind="stable")
    top, others = order[:MOST_BARS], order[MOST_BARS:]
    length, names = list(values[top]), [labels[j] for j in top]
    shades = [colours[j] for j in top]
    if len(others):
        length.append(values[others].sum())
        names.append(f"{len(others)} others")
        shades.append(NEUTRAL)
    place = np.arange(len(length))[::-1]
    ax.barh(place, length, color=shades, height=0.7)
    ax.set_yticks(place, names)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else str(value)
