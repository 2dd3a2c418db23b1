"""Pictures of what was measured: error against time, time against rows, memory.

Given the measurements of a suite, :func:`draw` writes PNG files beside its table.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from benchmarks.compare.report import (
    Measured,
    by_dataset,
    error,
    fit_time,
    fitted_exponent,
    growth_curves,
)

COLOURS = {
    "onlinesvm": "#c1272d",
    "onlinesvm converged": "#7a1a1e",
    "onlinesvm stream": "#c1272d",
    "onlinesvm budget 500": "#7a1a1e",
    "sklearnex SVC": "#0000a7",
    "sklearnex SVC one-vs-rest": "#5b7be0",
    "sklearn SVC": "#008176",
    "thundersvm SVC": "#8c6bb1",
    "Nystroem + SGD": "#eecc16",
    "RBFSampler + SGD": "#b3b3b3",
    "RBFSampler + SGD stream": "#b3b3b3",
    "vowpalwabbit ksvm": "#e07b39",
}
MARKERS = "osD^v<>Pp*hX"


def _style(peer: str, peers: list[str]) -> dict[str, Any]:
    place = peers.index(peer)
    return {"color": COLOURS.get(peer, f"C{place % 10}"), "marker": MARKERS[place % len(MARKERS)]}


def _peers(measured: Measured) -> list[str]:
    return list(dict.fromkeys(entry["job"]["peer"] for entry in measured["entries"]))


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=130, bbox_inches="tight")


def _plain_log(axis: Any) -> None:
    """Ticks at 1 and 3 of each decade, written as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def error_against_time(measured: Measured, path: Path) -> None:
    """A panel for each data set, a point for each model."""
    from matplotlib.figure import Figure

    results, peers = by_dataset(measured), _peers(measured)
    columns = min(4, len(results))
    lines = math.ceil(len(results) / columns)
    figure = Figure(figsize=(3.6 * columns, 3.0 * lines), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False).ravel()
    seen: dict[str, Any] = {}
    for axis, (name, found) in zip(axes, results.items()):
        for peer, result in found.items():
            took = fit_time(result) or 1e-6 * (result.get("us_per_example") or 0)
            if result["status"] == "ok" and took:
                seen[peer] = axis.scatter(took, error(result), s=45, **_style(peer, peers))
        axis.set(xscale="log", title=name)
        _plain_log(axis.xaxis)
        axis.grid(alpha=0.3)
    for axis in axes[len(results) :]:
        axis.axis("off")
    stream = measured["shape"] == "stream"
    for axis in axes[: len(results)]:
        axis.set_xlabel("seconds an example" if stream else "seconds of a warm fit")
    figure.supylabel("error, %" if stream else "test error, %")
    columns = min(len(seen), 2 * columns)
    figure.legend(
        seen.values(), seen.keys(), loc="outside lower center", ncols=columns, frameon=False
    )
    _save(figure, path)


def time_against_rows(measured: Measured, path: Path) -> None:
    """Both axes logarithmic, the fitted exponent in the legend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for peer, points in growth_curves(measured).items():
        rows, times = zip(*points)
        exponent = fitted_exponent(rows, times)
        label = peer if exponent is None else f"{peer}: rows^{exponent:.2f}"
        axis.plot(rows, times, label=label, **_style(peer, _peers(measured)))
    axis.set(xscale="log", yscale="log", xlabel="training rows", ylabel="seconds of a warm fit")
    _plain_log(axis.yaxis)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xticks(sorted({n for points in growth_curves(measured).values() for n, _ in points}))
    axis.minorticks_off()
    axis.grid(alpha=0.3, which="both")
    axis.legend(frameon=False)
    _save(figure, path)


def memory(measured: Measured, path: Path) -> None:
    """Peak memory of a fit above the data, a group of bars for each data set."""
    from matplotlib.figure import Figure

    results = by_dataset(measured)
    known = [
        p for p in _peers(measured) if any(r.get(p, {}).get("peak_mb") for r in results.values())
    ]
    if not known:
        return
    figure = Figure(figsize=(3.5 + 1.2 * len(results), 3.6), layout="constrained")
    axis = figure.subplots()
    width = 0.8 / len(known)
    for k, peer in enumerate(known):
        heights = [r.get(peer, {}).get("peak_mb") or 0 for r in results.values()]
        places = [i + (k + 0.5) * width - 0.4 for i in range(len(results))]
        axis.bar(places, heights, width, label=peer, color=_style(peer, known)["color"])
    axis.set_xticks(range(len(results)), list(results), rotation=20)
    axis.set(ylabel="peak memory of a fit, MB", yscale="log")
    _plain_log(axis.yaxis)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    _save(figure, path)


def draw(measured: Measured, folder: Path) -> None:
    """The pictures that fit the shape of a suite."""
    name, shape = measured["suite"], measured["shape"]
    if not any(e["result"]["status"] == "ok" for e in measured["entries"]):
        return
    if shape == "growth":
        time_against_rows(measured, folder / f"{name}-growth.png")
    if shape in ("comparison", "stream"):
        error_against_time(measured, folder / f"{name}-error.png")
    if shape in ("comparison", "growth"):
        memory(measured, folder / f"{name}-memory.png")
