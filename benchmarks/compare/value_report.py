"""Tables and the plot of the suites ``regression`` and ``novelty``.

Errors are the root of the mean squared error, in standard deviations of the target, or 1 - AUC.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.compare import report
from benchmarks.compare.report import Measured, Result
from benchmarks.markdown import millions, number

Columns = list[tuple[str, Callable[[Result], str]]]


def error(result: Result) -> float | None:
    """Mean error over the seeds."""
    found = result.get("errors")
    return math.fsum(found) / len(found) if found else None


def _columns(name: str, shown: Callable[[float], str]) -> Columns:
    def cell(result: Result) -> str:
        found = error(result)
        return "–" if found is None else shown(found)

    return [
        ("fit, s", lambda r: number(report.fit_time(r))),
        (name, cell),
        ("support vectors", lambda r: number(r.get("n_support"), 4)),
        ("kernel values", lambda r: millions(r.get("kernel_evaluations"))),
        ("peak memory, MB", lambda r: number(r.get("peak_mb"))),
        ("rows predicted / s", lambda r: number(r.get("predict_rows_per_s"))),
    ]


def _against_ours(measured: Measured, difference: Callable[[float, float], str]) -> str:
    """Our error set against each peer's, on each data set."""
    peers = report.others(measured)
    rows = []
    for name, found in report.by_dataset(measured).items():
        own = report.ours(found)
        mine = error(own) if own else None
        theirs = [error(found[p]) if p in found else None for p in peers]
        rows.append(
            [name, *("–" if t is None or mine is None else difference(mine, t) for t in theirs)]
        )
    rule = ["---"] + ["---:"] * len(peers)
    return "\n".join("| " + " | ".join(row) + " |" for row in [["data", *peers], rule, *rows])


def _page(measured: Measured, columns: Columns, title: str, gaps: str) -> str:
    parts = [report.results_table(measured, columns)]
    for heading, quantity in (
        ("Time of a warm fit, over ours", report.fit_time),
        ("Peak memory, over ours", report.figure("peak_mb")),
    ):
        table = report.ratio_table(measured, quantity)
        parts += [f"## {heading}", table] if table else []
    return "\n\n".join([*parts, f"## {title}", gaps])


def regression(measured: Measured) -> str:
    """The page of the suite ``regression``."""
    gaps = _against_ours(measured, lambda own, other: f"{100 * (own / other - 1):+.2f} %")
    return _page(
        measured, _columns("RMSE", lambda e: f"{e:.4f}"), "Our RMSE, relative to theirs", gaps
    )


def novelty(measured: Measured) -> str:
    """The page of the suite ``novelty``."""
    gaps = _against_ours(measured, lambda own, other: f"{other - own:+.4f}")
    return _page(measured, _columns("AUC", lambda e: f"{1 - e:.4f}"), "Our AUC minus theirs", gaps)


PAGES = {"regression": regression, "novelty": novelty}


def error_against_time(measured: Measured, path: Path) -> None:
    """One panel for each data set: seconds of a fit on a log axis, error upwards."""
    from matplotlib.figure import Figure

    from benchmarks.compare.plots import _peers, _plain_log, _save, _style

    results = report.by_dataset(measured)
    peers = _peers(measured)
    figure = Figure(figsize=(3.0 * len(results), 3.4), layout="constrained")
    panels: Any = figure.subplots(1, len(results), squeeze=False)[0]
    for axis, (name, found) in zip(panels, results.items()):
        for peer, result in found.items():
            if result["status"] == "ok":
                style = _style(peer, peers)
                axis.plot([report.fit_time(result)], [error(result)], ls="", label=peer, **style)
        axis.set(xscale="log", title=name, xlabel="seconds of a fit")
        _plain_log(axis.xaxis)
        axis.grid(alpha=0.3)
    panels[0].set_ylabel("RMSE" if measured["shape"] == "regression" else "1 - AUC")
    labels = {line.get_label(): line for axis in panels for line in axis.get_lines()}
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=4, frameon=False)
    _save(figure, path)
