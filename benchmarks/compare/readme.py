"""The README's benchmark table and plot, from what was measured.

``python -m benchmarks.run --only speed --readme`` measures and fills in; ``python -m
benchmarks.compare.readme`` fills in what ``benchmarks/results/speed.json`` has from an earlier run. The
table stands between two comments in ``README.md``, the plot in ``docs/images``.
"""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.compare.plots import times_and_ratios
from benchmarks.compare.report import (
    Measured,
    Ratio,
    Result,
    bars,
    by_dataset,
    error,
    figure,
    fit_time,
    fresh_time,
    geometric_mean,
    markdown,
    number,
    ours,
    percent,
    ratio,
)
from benchmarks.compare.suites import EX, OURS, SVC

ROOT = Path(__file__).resolve().parent.parent.parent
PUBLISHED = Path(__file__).resolve().parent / "published.json"
"""The times, ratios and errors in the README, from which its plot is drawn."""

SHOWN = (OURS, EX, SVC)
BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"


def _seconds(result: Result | None) -> str:
    if result is None:
        return "–"
    if result["status"] == "timeout":
        return f"> {result['limit']:g} s"
    return f"{number(fit_time(result))} s" if result["status"] == "ok" else result["status"]


def _row(name: str, found: dict[str, Result]) -> list[str]:
    own, ex, svc = ours(found) or {"status": "missing"}, found.get(EX), found.get(SVC)
    to_ex, to_svc = ratio(ex, own, fit_time), ratio(svc, own, fit_time)
    memory = [number(r.get("peak_mb")) if r else "–" for r in (own, ex)]
    return [
        name,
        _seconds(own),
        percent(error(own)),
        _seconds(ex),
        percent(error(ex)) if ex else "–",
        "–" if to_ex is None else f"**{to_ex}**",
        _seconds(svc),
        "–" if to_svc is None else str(to_svc),
        " / ".join(memory),
    ]


def _means(measured: Measured) -> str:
    """One sentence with the geometric means and the least ratios."""
    results = by_dataset(measured).values()

    def ratios(peer: str, quantity) -> list[Ratio]:  # type: ignore[no-untyped-def]
        found = (ratio(r.get(peer), ours(r), quantity) for r in results)
        return [r for r in found if r is not None]

    parts = []
    for peer, name, quantity in (
        (EX, "oneDAL's time over ours", fit_time),
        (SVC, "`SVC`'s time over ours", fit_time),
        (EX, "oneDAL's fresh process, imports included, over ours", fresh_time),
        (EX, "oneDAL's peak memory over ours", figure("peak_mb")),
    ):
        found = ratios(peer, quantity)
        if found:
            least = min(found, key=lambda r: r.value)
            parts.append(f"- {name}: **{geometric_mean(found)}**, least {least}")
    return "Geometric means over the sets:\n\n" + "\n".join(parts)


def section(measured: Measured) -> str:
    """What goes between the two comments."""
    where = measured["machine"]
    versions = where["versions"]
    head = (
        f"{where['cpu']}, {where['cores']} cores, Python {where['python']}, scikit-learn "
        f"{versions['scikit-learn']}, scikit-learn-intelex {versions['scikit-learn-intelex']}:"
    )
    header = (
        "data", "onlinesvm", "error", "oneDAL", "error", "ratio", "`SVC`", "ratio",
        "peak memory, MB, ours / oneDAL",
    )  # fmt: skip
    rows = [_row(name, found) for name, found in by_dataset(measured).items()]
    return f"{head}\n\n{markdown(header, rows)}\n\n{_means(measured)}\n"


def fill(text: str, new: str) -> str:
    """The README with what stands between the comments replaced."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{new}\n{END}{after}"


def update(results: Path, root: Path = ROOT) -> None:
    """Table and plot of an earlier run into the README of `root`."""
    measured = json.loads((results / "speed.json").read_text(encoding="utf-8"))
    page = root / "README.md"
    page.write_text(fill(page.read_text(encoding="utf-8"), section(measured)), encoding="utf-8")
    shown = [bar for bar in bars(measured) if bar["model"] in SHOWN]
    PUBLISHED.write_text(json.dumps(shown, indent=1) + "\n", encoding="utf-8")
    draw(root)


def draw(root: Path = ROOT) -> None:
    """The plot of the numbers in the README."""
    shown = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    times_and_ratios(shown, root / "docs" / "images" / "speed.png")


if __name__ == "__main__":
    update(ROOT / "benchmarks" / "results")
