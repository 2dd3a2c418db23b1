"""The comparison as a table in Markdown, and a picture of error against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import markdown, number

OURS = "AutoSVM"

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE, PICTURE = DOCS / "evidence" / "tables.md", DOCS / "images" / "tables.png"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"


def page(runs: dict[str, dict[str, Any]], sets: list[str], methods: list[str]) -> str:
    """Errors of each set and method, then how ours compares with each of the others."""
    rows = []
    for name in sets:
        own = [runs.get(f"{name} {method}", {}) for method in methods]
        size = next((f"{run['rows']:,}" for run in own if "rows" in run), "–")
        cells = [
            f"{number(run['error'])} ({number(run['seconds'], 2)} s)" if "error" in run else "–"
            for run in own
        ]
        rows.append([name, size, *cells])
    parts = [markdown(["set", "rows", *methods], rows), ""]
    parts += [compared(runs, sets, method) for method in methods if method != OURS]
    return "\n".join(parts) + "\n"


def publish(text: str) -> None:
    """Replace the part of the page in the docs that is between the two comments."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


def ratios(runs: dict[str, dict[str, Any]], sets: list[str], method: str) -> np.ndarray:
    """Our error over that of a method, for the sets that both have finished."""
    pairs = [(runs.get(f"{n} {OURS}", {}), runs.get(f"{n} {method}", {})) for n in sets]
    good = [(a["error"], b["error"]) for a, b in pairs if "error" in a and "error" in b]
    floor = 1e-4  # a set without errors would make the mean zero or infinite
    return np.array([max(a, floor) / max(b, floor) for a, b in good])


def compared(runs: dict[str, dict[str, Any]], sets: list[str], method: str) -> str:
    """One line: geometric mean of the ratios, and on how many sets ours is better."""
    found = ratios(runs, sets, method)
    if not len(found):
        return f"- over {method}: nothing to compare"
    mean = float(np.exp(np.log(found).mean()))
    better = int((found < 1).sum())
    return (
        f"- {OURS}'s error over that of {method}: geometric mean {mean:.3f}, better on {better} of "
        f"{len(found)} sets, at worst {found.max():.2f}"
    )


def draw(runs: dict[str, dict[str, Any]], sets: list[str], methods: list[str], file: Path) -> None:
    """Each method: its error over the best error of the set, against seconds; mean ranks beside."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter
    from scipy.stats import rankdata

    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    errors = np.full((len(sets), len(methods)), np.nan)
    for i, name in enumerate(sets):
        for j, method in enumerate(methods):
            errors[i, j] = runs.get(f"{name} {method}", {}).get("error", np.nan)
    least = np.nanmin(np.where(np.isnan(errors), np.inf, errors), axis=1)
    ranks = rankdata(np.where(np.isnan(errors), np.inf, errors), axis=1)  # equal ones share a rank
    for j, method in enumerate(methods):
        there = [i for i in range(len(sets)) if np.isfinite(errors[i, j])]
        seconds = [runs[f"{sets[i]} {method}"]["seconds"] for i in there]
        left.scatter(seconds, errors[there, j] / np.maximum(least[there], 1e-4), label=method, s=18)
        right.plot(ranks[:, j].mean(), j, "o", ms=9)
    left.set(xscale="log", yscale="log", xlabel="seconds", ylabel="error over the best of the set")
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    left.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(methods))
    right.set(
        xlabel="mean rank (1 is best)", xlim=(0.9, len(methods) + 0.1), ylim=(len(methods) - 0.5, -0.5),
        yticks=range(len(methods)), yticklabels=methods, xticks=range(1, len(methods) + 1),
    )  # fmt: skip
    right.grid(color="0.9")
    right.set_axisbelow(True)
    for side in (left, right):
        side.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=144)
