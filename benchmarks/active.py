"""Example selection and active learning (LASVM 2005, sections 3.5 and 4), its figures redone.

``python -m benchmarks.active [--only NAME]`` prints one Markdown table a part and draws a picture:

adult    Figures 11 and 12: four criteria on Adult, its own split and ten random ones
mnist    Figures 13 to 15: digit 8 against the rest, clean and with 10 % label noise
pool     Figure 16: LASVM iterations against retraining, 500 labels, ten random splits
banana   Figure 10: REPROCESS repeated until δ < δ_max
latency  one query and one label on a pool of 60,000 × 784

Every run is kept in ``benchmarks/results/active.json`` and made once; ``--again`` forgets it.
Data is read from the folder named by ``ONLINESVM_DATA``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import active_plots, active_pool
from benchmarks.active_pool import FILE, RESULTS, kept, write
from benchmarks.datasets import Dataset, load
from benchmarks.references import reference
from benchmarks.report import markdown
from benchmarks.run import warn_of_load

CRITERIA = ("random", "gradient", "active", "autoactive")
ORIGINAL_SECONDS = 34.0
"""The original implementation on a9a's split, active selection of 50: 15.20 %, 2,417 vectors."""


def measure(data: Dataset, **settings: Any) -> dict[str, float]:
    """One fit: error in per cent, support vectors, iterations, seconds."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=data.C, gamma=data.gamma, **settings)
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    error = 100 * float(np.mean(model.predict(data.X_test) != data.y_test))
    support = int(model.n_support_.sum())
    return {"error": error, "support": support, "iterations": model.n_iter_, "seconds": seconds}


def warm_up(data: Dataset) -> None:
    """Have the loops compiled."""
    few = np.r_[np.flatnonzero(data.y_train == data.y_train.max())[:100], 0:300]
    for selection in ("random", "active"):
        small = replace(data, X_train=data.X_train[few], y_train=data.y_train[few])
        measure(small, selection=selection, random_state=0)


def means(runs: list[list[dict[str, float]]], name: str) -> np.ndarray:
    """Over the runs, for every point of a curve."""
    return np.mean([[point[name] for point in run] for run in runs], axis=0)


# --- Adult ----------------------------------------------------------------------------------------

ADULT_POINTS = (500, 1000, 1500, 2000, 2400, 2700, 3500, 5000)
ADULT_RANDOM = (1000, 2000, 4000, 8000, 16000, 32561)
SPLITS = range(-1, 10)


def adult_split(seed: int) -> Dataset:
    """a9a's own split (-1), or a random one of all its rows with parts of the same size."""
    data = load("a9a")
    if seed < 0:
        return data
    X, y = sp.vstack([data.X_train, data.X_test]).tocsr(), np.r_[data.y_train, data.y_test]
    order = np.random.default_rng(seed).permutation(len(y))
    n = len(data.y_train)
    train, test = order[:n], order[n:]
    parts = {"X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}
    return replace(data, **parts)


def _adult_runs(seed: int) -> dict[str, Any]:
    data = adult_split(seed)
    warm_up(data)
    runs: dict[str, Any] = {"exact": measure(data, epochs="converge", random_state=0)}
    for criterion in CRITERIA:
        points = ADULT_RANDOM if criterion == "random" else ADULT_POINTS
        settings = {"selection": criterion, "random_state": 0}
        runs[criterion] = [measure(data, max_iter=p, **settings) for p in points]
    return runs


def adult() -> str:
    """Figures 11 and 12."""
    found = [kept(f"adult split {s}", lambda s=s: _adult_runs(s)) for s in SPLITS]
    exact = np.mean([run["exact"]["error"] for run in found])
    rows = []
    for criterion in CRITERIA:
        runs = [run[criterion] for run in found]
        gap = [[p["error"] - r["exact"]["error"] for p in r[criterion]] for r in found]
        for i, point in enumerate(runs[0]):
            best = min(run[i]["seconds"] for run in runs)
            spread = np.std([g[i] for g in gap], ddof=1) / np.sqrt(len(gap))
            rows.append([
                criterion, f"{point['iterations']:,.0f}", f"{means(runs, 'support')[i]:,.0f}",
                f"{max(run[i]['support'] for run in runs):,}",
                f"{means(runs, 'error')[i]:.2f}", f"{np.mean(gap, axis=0)[i]:+.2f} ± {spread:.2f}",
                f"{runs[0][i]['error']:.2f}", f"{best:.2f}", f"{ORIGINAL_SECONDS / best:.0f}",
            ])  # fmt: skip
    active_plots.adult(found, RESULTS)
    header = (
        "criterion", "iterations", "SVs, mean", "SVs, most", "error, %", "above the exact SVM",
        "a9a's split", "time, s (best)", "faster than 34 s",
    )  # fmt: skip
    support = np.mean([run["exact"]["support"] for run in found])
    svc = reference("a9a", 0)
    note = (
        f"Means over a9a's split and {len(found) - 1} random ones. The exact SVM (epochs="
        f"'converge') errs on {exact:.2f} % with {support:,.0f} support vectors, copies merged; "
        f"SVC on a9a's split: {100 * svc['error']:.2f} % and {svc['n_support']:,}."
    )
    return f"{markdown(header, rows)}\n\n{note} {_equal_at(found)}"


def _equal_at(found: list[dict[str, Any]]) -> str:
    """The fewest support vectors with which a criterion equals the exact error, on average."""
    said = []
    for criterion in CRITERIA:
        gap = np.mean(
            [[p["error"] - r["exact"]["error"] for p in r[criterion]] for r in found], axis=0
        )
        support = means([run[criterion] for run in found], "support")
        reached = np.flatnonzero(gap <= 0)
        where = f"with {support[reached[0]]:,.0f}" if len(reached) else "nowhere measured"
        said.append(f"{criterion} {where}")
    return f"The exact error is reached by: {'; '.join(said)} support vectors."


# --- MNIST ----------------------------------------------------------------------------------------

MNIST_POINTS = (500, 1000, 2000, 3000, 4000, 6000)
MNIST_SEEDS = range(3)


def _mnist(noise: float, seed: int) -> Dataset:
    data = load("mnist8")
    flip = np.random.default_rng(seed).random(len(data.y_train)) < noise
    return replace(data, y_train=np.where(flip, -data.y_train, data.y_train))


def _mnist_run(noise: float, criterion: str, seed: int) -> list[dict[str, float]]:
    data = _mnist(noise, seed)
    warm_up(data)
    return [
        measure(data, selection=criterion, max_iter=p, random_state=seed, cache_size=400)
        for p in MNIST_POINTS
    ]


def mnist() -> str:
    """Figures 13 to 15."""
    exact = reference("mnist8", 0)
    curves, rows = {}, []
    for noise in (0.0, 0.1):
        for criterion in ("random", "gradient", "active"):
            name = f"mnist {criterion}, noise {noise:g}"
            runs = [
                kept(f"{name}, seed {s}", lambda c=criterion, n=noise, s=s: _mnist_run(n, c, s))
                for s in MNIST_SEEDS
            ]
            curves[criterion, noise] = runs
            for i, point in enumerate(MNIST_POINTS):
                row = [criterion, f"{100 * noise:.0f} %", f"{point:,}"]
                row += [f"{means(runs, k)[i]:,.{d}f}" for k, d in (("support", 0), ("error", 2))]
                rows.append([*row, f"{means(runs, 'seconds')[i]:.2f}"])
    active_plots.mnist(curves, exact, RESULTS)
    header = ("criterion", "label noise", "iterations", "SVs", "error, %", "time, s (mean)")
    note = (
        f"Means over {len(MNIST_SEEDS)} seeds. The exact SVM on clean labels: "
        f"{100 * exact['error']:.2f} % with {exact['n_support']:,} support vectors."
    )
    return f"{markdown(header, rows)}\n\n{note}"


# --- Banana ---------------------------------------------------------------------------------------

DELTAS = (0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 100.0)
FORMS = ("one epoch", "one epoch, finished", "two epochs, finished")


def _banana(delta: float, form: str, seed: int) -> dict[str, float]:
    from onlinesvm import LASVMClassifier

    data = load("banana", seed)
    epochs = 2 if form.startswith("two") else 1
    settings = {"C": data.C, "gamma": data.gamma, "block_size": 1, "delta_max": delta}
    model = LASVMClassifier(epochs=epochs, random_state=seed, **settings)
    order = np.random.default_rng(seed).permutation(len(data.y_train))
    start = time.perf_counter()
    if form == "one epoch":
        model.partial_fit(data.X_train[order], data.y_train[order])
    else:
        model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    error = 100 * float(np.mean(model.predict(data.X_test) != data.y_test))
    return {"error": error, "support": int(model.n_support_.sum()), "seconds": seconds}


def banana() -> str:
    """Figure 10."""
    _banana(1.0, FORMS[0], 0)
    _banana(1.0, FORMS[1], 0)
    exact = [reference("banana", seed) for seed in range(5)]
    curves, rows = {}, []
    for form in FORMS:
        runs = [
            [kept(f"banana {form} {delta:g} {seed}",
                  lambda d=delta, f=form, s=seed: _banana(d, f, s)) for delta in DELTAS]
            for seed in range(5)
        ]  # fmt: skip
        curves[form] = runs
        for i, delta in enumerate(DELTAS):
            row = [form, f"{delta:g}", f"{means(runs, 'error')[i]:.2f}"]
            rows.append(
                [*row, f"{means(runs, 'support')[i]:,.0f}", f"{means(runs, 'seconds')[i]:.3f}"]
            )
    active_plots.banana(curves, DELTAS, exact, RESULTS)
    error, support = (np.mean([e[k] for e in exact]) for k in ("error", "n_support"))
    note = f"Means over 5 random splits. SVC: {100 * error:.2f} %, {support:,.0f} support vectors."
    header = ("form", "δ_max", "error, %", "SVs", "time, s")
    return f"{markdown(header, rows)}\n\n{note}"


PARTS: dict[str, Callable[[], str]] = {
    "adult": adult,
    "mnist": mnist,
    "pool": active_pool.pool,
    "banana": banana,
    "latency": active_pool.latency,
}


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--again", action="store_true", help="forget what was measured before")
    options = parser.parse_args()
    warn_of_load()
    wanted = [options.only] if options.only else list(PARTS)
    if options.again and FILE.is_file():
        known = json.loads(FILE.read_text(encoding="utf-8"))
        left = {k: v for k, v in known.items() if k.split()[0] not in wanted}
        write(left)
    for name in wanted:
        print(f"## {name}\n\n{PARTS[name]()}\n", flush=True)


if __name__ == "__main__":
    main()
