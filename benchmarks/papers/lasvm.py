"""LASVM against its paper and against SVC: ``python -m benchmarks.papers --only lasvm``.

Prints one Markdown table a part, with the bar that each figure is held to:

one-pass     test error and support vectors after one pass, next to SVC (Figure 8)
evaluations  kernel values as the listing spends them, next to the paper's count (Figure 8)
multiclass   MNIST, ten classes, one epoch
cache        a small cache changes the time, not the model
start-up     imports and first fits in new processes

C and γ are those of Figure 7. Data is read from the folder named by ``ONLINESVM_DATA``. Times are
of warm fits, the best over the seeds; errors, support vectors and counts are means.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import clock, startup
from benchmarks.clock import timed_fit
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import markdown, number
from benchmarks.memory import peak_memory
from benchmarks.papers.page import Section
from benchmarks.papers.references import distinct, reference
from benchmarks.quick import few

SEEDS = range(5)
SETS = ("uci_waveform", "banana", "usps0", "a9a", "reuters", "mnist8")

FIGURE_8 = {"uci_waveform": 0.58, "banana": 1.93, "reuters": 0.79, "usps0": 0.73, "a9a": 1.71}
"""LASVM×1: kernel values over (training rows × support vectors)."""

ERROR_BAR, SUPPORT_BAR, EVALUATIONS_BAR = 0.1, 1.05, 1.1
MULTICLASS_BAR, SAME_BAR, SLOWER_BAR = 1.66, 1e-3, 2.0
IMPORT_BAR, COLD_BAR, WARM_BAR = 1.5, 10.0, 1.5


@dataclass(frozen=True)
class Fit:
    """What one fit gave."""

    error: float  # in per cent
    n_support: int
    n_distinct: int
    evaluations: int
    seconds: float
    values: np.ndarray  # decision values on the test part


def fit(data: Dataset, seed: int, **settings: Any) -> Fit:
    """LASVM with the data set's C and γ, on a clock that runs during ``fit`` alone."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=data.C, gamma=data.gamma, random_state=seed, **settings)
    seconds = timed_fit(model, data.X_train, data.y_train).seconds
    error = 100 * float(np.mean(model.predict(data.X_test) != data.y_test))
    values = model.decision_function(data.X_test)
    say(f"  {data.name}, seed {seed}, {settings}: {error:.2f} %, {seconds:.2f} s")
    support = int(model.n_support_.sum())
    different = distinct(data.X_train, data.y_train, model.support_)
    return Fit(error, support, different, model.n_kernel_evaluations_, seconds, values)


def warm_up(data: Dataset, **settings: Any) -> None:
    """Have the loops compiled."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=data.C, gamma=data.gamma, **settings)
    clock.warm_up(model, data.X_train, data.y_train)


def say(text: str) -> None:
    """Progress, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


def mean(fits: list[Fit], name: str) -> float:
    return float(np.mean([getattr(f, name) for f in fits]))


def best(fits: list[Fit]) -> float:
    return min(f.seconds for f in fits)


def verdict(value: float, bar: float) -> str:
    """A figure against the most that it may be."""
    return "yes" if value <= bar else "**no**"


# --- one pass -------------------------------------------------------------------------------------


TITLES = {
    "uci_waveform": "Waveform", "banana": "Banana", "usps0": "USPS 0 v. rest", "a9a": "Adult (a9a)",
    "reuters": "Reuters money-fx", "mnist8": "MNIST 8 v. rest",
}  # fmt: skip
"""Names of the data sets on the page."""


def one_pass() -> Section:
    """Test error and support vectors after one pass."""
    rows, shown, gaps, ratios, solvers = [], [], [], [], set()
    for name in few(SETS):
        fits, exact = [], []
        warm_up(load(name))
        for seed in few(SEEDS):
            fits.append(fit(load(name, seed), seed))
            exact.append(reference(name, seed))
        error = 100 * float(np.mean([e["error"] for e in exact]))
        support = float(np.mean([e["n_distinct"] for e in exact]))
        gaps.append(mean(fits, "error") - error)
        ratios.append(mean(fits, "n_distinct") / support)
        solvers |= {(name, e["solver"]) for e in exact}
        rows.append(_one_pass_row(load(name), fits, exact, gaps[-1], ratios[-1]))
        shown.append(_page_row(name, fits, error, support))
    rows.append(_average_row(gaps, ratios))
    header = (
        "data", "rows", "C, γ", "error, %", "± over seeds", "SVC's", "difference", "SVs", "SVC's",
        "SVC's, distinct", "ratio", "kernel values", "time, s", "SVC's",
    )  # fmt: skip
    solved = "; ".join(f"{name} by {solver}" for name, solver in sorted(solvers))
    report = (
        f"{markdown(header, rows)}\n\nSVC does not count kernel values. Exact solutions: {solved}."
    )
    return {"rows": shown, "report": report}


def _page_row(name: str, fits: list[Fit], error: float, support: float) -> list[str]:
    """One row of the table in the documentation."""
    values = mean(fits, "evaluations") / 1e6
    return [
        TITLES.get(name, name),
        f"{mean(fits, 'error'):.2f}",
        f"{error:.2f}",
        f"{mean(fits, 'n_distinct'):,.0f}",
        f"{support:,.0f}",
        f"{values:.0f} M" if values >= 100 else f"{values:.1f} M",
        f"{best(fits):.2g}",
    ]


def _one_pass_row(
    data: Dataset, fits: list[Fit], exact: list[dict[str, Any]], gap: float, ratio: float
) -> list[str]:
    return [
        data.name,
        f"{len(data.y_train):,}",
        f"{data.C:g}, {data.gamma:g}",
        f"{mean(fits, 'error'):.2f}",
        f"{np.std([f.error for f in fits]):.2f}",
        f"{100 * np.mean([e['error'] for e in exact]):.2f}",
        f"{gap:+.2f}",
        f"{mean(fits, 'n_support'):,.0f}",
        f"{np.mean([e['n_support'] for e in exact]):,.0f}",
        f"{np.mean([e['n_distinct'] for e in exact]):,.0f}",
        f"{ratio:.3f}",
        f"{mean(fits, 'evaluations') / 1e6:,.1f} M",
        f"{best(fits):.3g}",
        number(min((e["seconds"] for e in exact if e["seconds"]), default=None)),
    ]


def _average_row(gaps: list[float], ratios: list[float]) -> list[str]:
    gap, worst = float(np.mean(gaps)), max(ratios)
    error = f"**{gap:+.3f}** (bar +{ERROR_BAR}: {verdict(gap, ERROR_BAR)})"
    support = f"worst **{worst:.3f}** (bar {SUPPORT_BAR}: {verdict(worst, SUPPORT_BAR)})"
    return ["average", "", "", "", "", "", error, "", "", "", support, "", "", ""]


# --- kernel values --------------------------------------------------------------------------------


def evaluations() -> str:
    """Kernel values over (rows × support vectors), example by example and in blocks."""
    rows = []
    for name, paper in few(list(FIGURE_8.items())):
        warm_up(load(name), block_size=1)
        warm_up(load(name))
        seeds = range(1) if name == "a9a" else few(SEEDS)  # minutes, for the one
        sets = [load(name, seed) for seed in seeds]
        single = [fit(d, s, block_size=1, cache_size=4000) for d, s in zip(sets, seeds)]
        block = [fit(d, s) for d, s in zip(sets, seeds)]
        n = len(sets[0].y_train)
        ratio, block_ratio = (_per_support(fits, n) for fits in (single, block))
        bar = EVALUATIONS_BAR * paper
        row = [name, f"{paper:.2f}", f"{bar:.2f}", f"**{ratio:.2f}**", verdict(ratio, bar)]
        row += [f"{mean(single, 'evaluations') / 1e6:,.2f} M", f"{mean(single, 'n_support'):,.0f}"]
        row += [f"{mean(single, 'error'):.2f}", f"{best(single):.3g}", f"{block_ratio:.2f}"]
        row += [f"{mean(block, 'evaluations') / 1e6:,.2f} M", f"{best(block):.3g}"]
        rows.append(row)
    header = (
        "data", "paper", "bar", "block_size=1", "met", "kernel values", "SVs", "error, %",
        "time, s", "in blocks", "kernel values", "time, s",
    )  # fmt: skip
    return markdown(header, rows)


def _per_support(fits: list[Fit], n: int) -> float:
    return float(np.mean([f.evaluations / (n * f.n_support) for f in fits]))


# --- the other parts ------------------------------------------------------------------------------


def multiclass() -> str:
    """MNIST, ten classes, one epoch."""
    data = load("mnist")
    warm_up(load("mnist:2000"))
    fits = [fit(data, seed) for seed in few(range(3))]
    error = mean(fits, "error")
    row = [
        f"**{error:.2f}**",
        ", ".join(f"{f.error:.2f}" for f in fits),
        f"{MULTICLASS_BAR}",
        verdict(error, MULTICLASS_BAR),
        f"{mean(fits, 'n_support'):,.0f}",
        f"{mean(fits, 'evaluations') / 1e6:,.0f} M",
        f"{best(fits):.3g}",
    ]
    header = ("error, %", "by seed", "bar", "met", "SVs", "kernel values", "time, s")
    return markdown(header, [row])


def cache() -> str:
    """MNIST, digit 8 against the rest, with little and with ample memory for kernel values."""
    data = load("mnist8")
    rows = [
        _cache_row("in blocks", data, 3),
        _cache_row("block_size=1", data, 1, block_size=1),
    ]
    header = (
        "form", "rows", "8 MB, s", "1 GB, s", f"slower (bar {SLOWER_BAR:g})", "met",
        f"decision values apart (bar {SAME_BAR:g})", "met", "kernel values", "1 GB", "SVs", "1 GB",
        "peak memory, MB", "1 GB",
    )  # fmt: skip
    note = (
        "Equal counts of kernel values mean that the smaller cache was no limit: then the row says "
        "nothing of what a limit costs. Peak memory is that of the first fit, above the data."
    )
    return f"{markdown(header, rows)}\n\n{note}"


def _cache_row(form: str, data: Dataset, tries: int, **settings: Any) -> list[str]:
    warm_up(data, **settings)
    small, large = [], []
    peaks: list[dict[str, Any]] = [{}, {}]
    for _ in range(tries):
        with peak_memory({} if small else peaks[0]):
            small.append(fit(data, 0, cache_size=8, **settings))
        with peak_memory({} if large else peaks[1]):
            large.append(fit(data, 0, cache_size=1024, **settings))
    pair = (small[0], large[0])
    apart = float(np.abs(pair[0].values - pair[1].values).max())
    slower = best(small) / best(large)
    row = [form, f"{len(data.y_train):,}", f"{best(small):.3g}", f"{best(large):.3g}"]
    row += [f"**{slower:.2f}**", verdict(slower, SLOWER_BAR)]
    row += [f"**{apart:.1e}**", verdict(apart, SAME_BAR)]
    row += [f"{f.evaluations / 1e6:,.1f} M" for f in pair]
    row += [f"{f.n_support:,}" for f in pair]
    return row + [number(peak["peak_mb"]) for peak in peaks]


def start_up() -> str:
    """Imports and first fits in new processes."""
    ours, theirs = startup.import_times(len(few(range(7))))
    ratio = ours / theirs
    (cold, cold_cpu), (warm, warm_cpu) = startup.first_fits(len(few(range(3))))
    numba, works = startup.imports_numba(), startup.read_only_cache()
    rows = [
        ["`import onlinesvm`, s", f"{ours:.3f}", "", ""],
        ["`import sklearn.svm`, s", f"{theirs:.3f}", "", ""],
        ["their ratio", f"**{ratio:.2f}**", f"{IMPORT_BAR}", verdict(ratio, IMPORT_BAR)],
        ["the import loads Numba", "yes" if numba else "no", "no", "**no**" if numba else "yes"],
        ["first fit, nothing compiled, s", f"**{cold:.2f}** (processor {cold_cpu:.2f})",
         f"{COLD_BAR:g}", verdict(cold, COLD_BAR)],
        ["first fit, compiled on disk, s", f"**{warm:.2f}** (processor {warm_cpu:.2f})",
         f"{WARM_BAR}", verdict(warm, WARM_BAR)],
        ["first fit without a cache folder works", "yes" if works else "no", "yes",
         "yes" if works else "**no**"],
    ]  # fmt: skip
    return markdown(("", "measured", "bar", "met"), rows)


def _report(table: Callable[[], str]) -> Callable[[], Section]:
    """A part that is printed and not on the page."""

    def part() -> Section:
        return {"report": table()}

    part.__doc__ = table.__doc__
    return part


PARTS: dict[str, Callable[[], Section]] = {
    "one-pass": one_pass,
    "evaluations": _report(evaluations),
    "multiclass": _report(multiclass),
    "cache": _report(cache),
    "start-up": _report(start_up),
}
