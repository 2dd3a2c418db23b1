"""Pictures of what was measured: times and ratios, time against rows, memory.

Given the measurements of a suite, :func:`draw` writes PNG files beside its table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.compare.report import (
    Bar,
    Measured,
    bars,
    by_dataset,
    fitted_exponent,
    growth_curves,
)
from benchmarks.markdown import number

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
    "onlinesvm LASVMRegressor": "#c1272d",
    "onlinesvm LASVMRegressor, converged": "#7a1a1e",
    "onlinesvm LASVMOneClass": "#c1272d",
    "sklearnex SVR": "#0000a7",
    "sklearn SVR": "#008176",
    "sklearn OneClassSVM": "#008176",
    "Nystroem + Ridge": "#eecc16",
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


def _cells(bar: Bar, unit: str) -> tuple[str, str]:
    """What stands beside a bar in the panel of times and in that of ratios."""
    sign = "> " if bar["bound"] else ""
    error = "" if bar["error"] is None else f", {bar['error']:.2f} %"
    time = f"{sign}{number(bar['seconds'])} {unit}{error}"
    return time, "" if bar["ratio"] is None else f"{sign}{bar['ratio']:.3g}"


def _panel(axis: Any, bars: list[Bar], name: str, places: list[float], texts: list[str]) -> None:
    """Horizontal bars on a logarithmic axis, each with its text at the end.

    Ratios begin at 1, so that a bar of no length means equal times.
    """
    values = [bar[name] for bar in bars]
    known = [value for value in values if value]
    begin = 1.0 if name == "ratio" else min(known, default=1.0) / 3
    colours = [_style(bar["model"], [bar["model"]])["color"] for bar in bars]
    widths = [value - begin if value else 0.0 for value in values]
    for patch, bar in zip(axis.barh(places, widths, 0.8, begin, color=colours), bars):
        patch.set_hatch("//" if bar["bound"] else None)
    room_for_texts = 8 * max(known, default=1.0)
    axis.set(xscale="log", xlim=(min([begin, *known]), room_for_texts))
    for place, value, text in zip(places, values, texts):
        if value:
            axis.annotate(f" {text}", (max(value, begin), place), va="center", fontsize=7)
    _plain_log(axis.xaxis)
    axis.xaxis.set_tick_params(labelsize=7)
    axis.grid(alpha=0.3, axis="x")
    axis.set_axisbelow(True)


def times_and_ratios(bars: list[Bar], path: Path, stream: bool = False) -> None:
    """Times (left) and times over ours (right) as bars on log axes, errors as numbers beside."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(dict.fromkeys(bar["data"] for bar in bars))
    models = list(dict.fromkeys(bar["model"] for bar in bars))
    places, ticks, at = [], [], 0.0
    for name in names:
        count = sum(bar["data"] == name for bar in bars)
        places += [at + k for k in range(count)]
        ticks.append(at + (count - 1) / 2)
        at += count + 0.7
    figure = Figure(figsize=(10, 0.8 + 0.19 * at), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    written = [_cells(bar, "µs" if stream else "s") for bar in bars]
    _panel(left, bars, "seconds", places, [cells[0] for cells in written])
    _panel(right, bars, "ratio", places, [cells[1] for cells in written])
    right.axvline(1.0, color="black", lw=0.8)
    left.set_yticks(ticks, names, fontsize=8)
    left.set_ylim(at - 0.9, -0.8)  # the first data set on top
    what = "µs an example, error" if stream else "seconds of a warm fit, test error"
    left.set_title(what, fontsize=9, loc="left")
    right.set_title("time over onlinesvm's", fontsize=9, loc="left")
    handles = [Patch(color=_style(m, [m])["color"], label=m) for m in models]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
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
        times_and_ratios(bars(measured), folder / f"{name}.png", shape == "stream")
    if shape in ("regression", "novelty"):
        from benchmarks.compare.value_report import error_against_time

        error_against_time(measured, folder / f"{name}.png")
    if shape in ("comparison", "growth", "regression", "novelty"):
        memory(measured, folder / f"{name}-memory.png")
