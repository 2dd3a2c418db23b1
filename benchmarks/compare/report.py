"""Tables from what was measured.

Given the measurements of a suite (the JSON that :mod:`benchmarks.run` writes), :func:`write` makes
a Markdown page of it and, through :mod:`benchmarks.compare.plots`, pictures. ``python -m benchmarks.compare.report
FILE.json`` does it again for measurements made earlier. A ratio is another library's figure over
ours: 6 means six times ours.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.markdown import markdown, millions, number, percent

Measured = dict[str, Any]
Result = dict[str, Any]
Bar = dict[str, Any]
Quantity = Callable[[Result], "float | None"]

HOUSE = "onlinesvm"


class Ratio(NamedTuple):
    """A quotient; `bound` when the other library was stopped, so that it is at least this."""

    value: float
    bound: bool = False

    def __str__(self) -> str:
        return f"{'> ' if self.bound else ''}{self.value:.3g}"


# --- figures of one result ------------------------------------------------------------------------


def fit_time(result: Result) -> float | None:
    return min(result["fit_s"]) if result.get("fit_s") else None


def fresh_time(result: Result) -> float | None:
    return min(result["fresh_s"]) if result.get("fresh_s") else None


def error(result: Result) -> float | None:
    """Mean test error over the seeds, in per cent."""
    found = result.get("errors")
    return 100 * math.fsum(found) / len(found) if found else None


def figure(name: str) -> Quantity:
    """The figure of that name as it was measured."""
    return lambda result: result.get(name)


def geometric_mean(ratios: Iterable[Ratio]) -> Ratio | None:
    """exp of the mean logarithm; a lower bound when one of them is."""
    found = list(ratios)
    if not found:
        return None
    mean = math.fsum(math.log(r.value) for r in found) / len(found)
    return Ratio(math.exp(mean), any(r.bound for r in found))


def fitted_exponent(rows: Sequence[float], times: Sequence[float]) -> float | None:
    """The p of time ~ rows^p, by least squares on logarithms."""
    if len(set(rows)) < 2:
        return None
    x, y = [math.log(n) for n in rows], [math.log(t) for t in times]
    x_mean, y_mean = math.fsum(x) / len(x), math.fsum(y) / len(y)
    above = math.fsum((a - x_mean) * (b - y_mean) for a, b in zip(x, y))
    return above / math.fsum((a - x_mean) ** 2 for a in x)


# --- all results of a suite -----------------------------------------------------------------------


def by_dataset(measured: Measured) -> dict[str, dict[str, Result]]:
    """Results by data set, then by peer, with the limit that a stopped one ran into."""
    out: dict[str, dict[str, Result]] = {}
    for entry in measured["entries"]:
        job = entry["job"]
        result = entry["result"] | {"limit": job["limit"]}
        out.setdefault(job["dataset"], {})[job["peer"]] = result
    return out


def ours(results: dict[str, Result]) -> Result | None:
    """Our own result on a data set."""
    return next((r for peer, r in results.items() if peer.startswith(HOUSE)), None)


def others(measured: Measured) -> list[str]:
    """The peers that ours is compared with, in the order of the jobs."""
    names = dict.fromkeys(entry["job"]["peer"] for entry in measured["entries"])
    return [name for name in names if not name.startswith(HOUSE)]


def ratio(other: Result | None, own: Result | None, quantity: Quantity) -> Ratio | None:
    """The other's figure over ours; None where one is missing."""
    if other is None or own is None:
        return None
    below = quantity(own)
    if not below:
        return None
    if other["status"] == "timeout" and quantity in (fit_time, _seconds):
        return Ratio(other["limit"] / below, bound=True)
    above = quantity(other)
    return Ratio(above / below) if above is not None and above > 0 else None


def bars(measured: Measured) -> list[Bar]:
    """Time, time over ours and error of each model that was measured, or stopped, on each set."""
    out = []
    for name, found in by_dataset(measured).items():
        for peer, result in found.items():
            stopped = result["status"] == "timeout"
            took = result["limit"] if stopped else _seconds(result)
            over = None if peer.startswith(HOUSE) else ratio(result, ours(found), _seconds)
            if took is None or not (stopped or result["status"] == "ok"):
                continue
            out.append({
                "data": name, "model": peer, "seconds": took, "bound": stopped,
                "error": error(result), "ratio": over.value if over else None,
            })  # fmt: skip
    return out


def _seconds(result: Result) -> float | None:
    """Seconds of a fit, or microseconds of an example of a stream."""
    return fit_time(result) or result.get("us_per_example")


# --- Markdown -------------------------------------------------------------------------------------


def not_measured(result: Result) -> str:
    """Why there is no figure."""
    return f"{result['status']}: {result.get('reason', '')}".replace("|", "/").replace("\n", " ")


def results_table(
    measured: Measured, columns: Sequence[tuple[str, Callable[[Result], str]]]
) -> str:
    """A line for each data set and peer."""
    rows = []
    for name, results in by_dataset(measured).items():
        for peer, result in results.items():
            if result["status"] == "ok":
                cells = [write_cell(result) for _, write_cell in columns]
            else:
                cells = [not_measured(result)] + [""] * (len(columns) - 1)
            rows.append([name, peer, *cells])
    return markdown(["data", "model", *(title for title, _ in columns)], rows)


BATCH_COLUMNS: list[tuple[str, Callable[[Result], str]]] = [
    ("fit, s", lambda r: number(fit_time(r))),
    ("fresh process, s", lambda r: number(fresh_time(r))),
    ("test error", lambda r: percent(error(r))),
    ("support vectors", lambda r: number(r.get("n_support"), 4)),
    ("kernel values", lambda r: millions(r.get("kernel_evaluations"))),
    ("peak memory, MB", lambda r: number(r.get("peak_mb"))),
    ("rows predicted / s", lambda r: number(r.get("predict_rows_per_s"))),
    ("input", lambda r: r["format"]),
]

STREAM_COLUMNS: list[tuple[str, Callable[[Result], str]]] = [
    ("error", lambda r: percent(error(r))),
    ("µs an example", lambda r: number(r.get("us_per_example"))),
    ("support vectors", lambda r: number(r.get("n_support"), 4)),
    ("peak memory, MB", lambda r: number(r.get("peak_mb"))),
]


def ratio_table(measured: Measured, quantity: Quantity) -> str:
    """Each peer's figure over ours on each data set, then the geometric mean and the least."""
    results, peers = by_dataset(measured), others(measured)
    grid = {
        name: [ratio(found.get(peer), ours(found), quantity) for peer in peers]
        for name, found in results.items()
    }
    columns = [[r for r in column if r is not None] for column in zip(*grid.values())]
    if not any(columns):
        return ""
    text = [[name, *("–" if r is None else str(r) for r in row)] for name, row in grid.items()]
    means = [geometric_mean(column) for column in columns]
    counted = [
        "–" if m is None else f"**{m}**" + ("" if len(c) == len(grid) else f" ({len(c)} sets)")
        for m, c in zip(means, columns)
    ]
    least = [str(min(column, key=lambda r: r.value)) if column else "–" for column in columns]
    rows = [*text, ["geometric mean", *counted], ["least", *least]]
    header = ["data", *peers]
    rule = ["---"] + ["---:"] * len(peers)
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def error_gap_table(measured: Measured) -> str:
    """Our test error minus each peer's, in percentage points."""
    peers = others(measured)
    rows = []
    for name, found in by_dataset(measured).items():
        own = ours(found)
        mine = error(own) if own else None
        gaps = [error(found[p]) if p in found else None for p in peers]
        rows.append(
            [name, *("–" if g is None or mine is None else f"{mine - g:+.2f}" for g in gaps)]
        )
    rule = ["---"] + ["---:"] * len(peers)
    return "\n".join("| " + " | ".join(row) + " |" for row in [["data", *peers], rule, *rows])


def comparison(measured: Measured) -> str:
    parts = [results_table(measured, BATCH_COLUMNS)]
    for title, quantity in (
        ("Time of a warm fit, over ours", fit_time),
        ("Time of a fresh process, over ours", fresh_time),
        ("Peak memory, over ours", figure("peak_mb")),
    ):
        table = ratio_table(measured, quantity)
        parts += [f"## {title}", table] if table else []
    return "\n\n".join(
        [*parts, "## Our test error minus theirs, points", error_gap_table(measured)]
    )


def growth_curves(measured: Measured) -> dict[str, list[tuple[int, float]]]:
    """For each peer the pairs (rows, time of a fit)."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for results in by_dataset(measured).values():
        for peer, result in results.items():
            if result["status"] == "ok":
                curves.setdefault(peer, []).append((result["n_train"], fit_time(result) or 0.0))
    return {peer: sorted(points) for peer, points in curves.items()}


def growth(measured: Measured) -> str:
    rows = [
        [peer, f"{points[0][0]:,} to {points[-1][0]:,}", number(fitted_exponent(*zip(*points)))]
        for peer, points in growth_curves(measured).items()
    ]
    exponents = markdown(["model", "rows", "exponent of time in rows"], rows)
    return f"{exponents}\n\n{results_table(measured, BATCH_COLUMNS)}"


def over_floor(result: Result) -> float | None:
    """Time of a fit over the bare cost of its kernel values."""
    floor, values, took = (
        result.get("floor_s_per_value"),
        result.get("kernel_evaluations"),
        fit_time(result),
    )
    return took / (values * floor) if floor and values and took else None


def floor(measured: Measured) -> str:
    columns: list[tuple[str, Callable[[Result], str]]] = [
        ("fit, s", lambda r: number(fit_time(r))),
        ("kernel values", lambda r: millions(r.get("kernel_evaluations"))),
        ("bare tile, ns a value", lambda r: number(1e9 * r["floor_s_per_value"])),
        ("fit over floor", lambda r: number(over_floor(r))),
    ]
    return results_table(measured, columns)


def values_per_second(result: Result) -> float | None:
    """Kernel values a second in prediction: rows a second times support vectors."""
    rate, support = result.get("predict_rows_per_s"), result.get("n_support")
    return rate * support if rate and support else None


def predict(measured: Measured) -> str:
    """Rates, and ours over theirs for models of equal size."""
    columns: list[tuple[str, Callable[[Result], str]]] = [
        ("rows / s", lambda r: number(r.get("predict_rows_per_s"))),
        ("support vectors", lambda r: number(r.get("n_support"), 4)),
        ("kernel values / s", lambda r: millions(values_per_second(r))),
        ("test error", lambda r: percent(error(r))),
    ]
    lines = [results_table(measured, columns), "", "Ours over theirs, models of equal size:", ""]
    for name, found in by_dataset(measured).items():
        for peer in others(measured):
            r = ratio(ours(found), found.get(peer), values_per_second)
            lines.append(f"- {name}, {peer}: {'–' if r is None else r}")
    return "\n".join(lines)


def stream(measured: Measured) -> str:
    return results_table(measured, STREAM_COLUMNS)


def of_values(measured: Measured) -> str:
    """Regression and novelty (:mod:`benchmarks.compare.value_report`)."""
    from benchmarks.compare import value_report

    return value_report.PAGES[measured["shape"]](measured)


SHAPES: dict[str, Callable[[Measured], str]] = {
    "comparison": comparison,
    "growth": growth,
    "floor": floor,
    "predict": predict,
    "stream": stream,
    "regression": of_values,
    "novelty": of_values,
}


def page(measured: Measured) -> str:
    """The whole Markdown page of a suite."""
    where = measured["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    head = (
        f"# {measured['title']}\n\n{where['cpu']}, {where['cores']} cores; Python {where['python']}"
    )
    notes = {
        e["job"]["dataset"]: e["result"]["note"]
        for e in measured["entries"]
        if "note" in e["result"]
    }
    sets = "\n".join(f"- {name}: {note}" for name, note in notes.items())
    return f"{head}; {versions}.\n\n{SHAPES[measured['shape']](measured)}\n\n## Data\n\n{sets}\n"


def write(measured: Measured, folder: Path) -> str:
    """Write page and pictures into a folder; returns the page."""
    from benchmarks.compare import plots

    text = page(measured)
    (folder / f"{measured['suite']}.md").write_text(text, encoding="utf-8")
    plots.draw(measured, folder)
    return text


def main() -> None:
    """Make the pages of measurements made earlier."""
    for name in sys.argv[1:]:
        path = Path(name)
        print(write(json.loads(path.read_text(encoding="utf-8")), path.parent))


if __name__ == "__main__":
    main()
