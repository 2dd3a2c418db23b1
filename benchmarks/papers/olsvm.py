"""Table II and Figures 5 to 8 of the OL SVM paper: ``python -m benchmarks.papers --only olsvm``.

Errors of k-fold cross-validation are averaged over the whole grid of C and σ, as in the paper: the
figure says how much a method suffers where nobody tuned it. ``SVC`` gets as many iterations as
the paper's solver had by default, a million; its runs are kept and made once. Times are the best
of several fits on one fold.

    python -m benchmarks.papers --only olsvm           # everything; SVC needs long on large sets
    python -m benchmarks.papers --only olsvm.figures   # Figures 5 to 8 alone

σ of exp(-|x - z|²/(2σ²)) is the paper's 0.1, 1, 10, 100 on standardised features. "σ is different
for each dataset", it says without saying how: on the chess board, whose squares have side 0.5, it
is 0.03 to 0.24, since wider kernels cannot see the squares.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import Clock, best_in_turn
from benchmarks.datasets import load
from benchmarks.papers.page import Section
from benchmarks.quick import few, results
from benchmarks.runs import Runs

RUNS = Runs("olsvm-svc.json")
COSTS = tuple(10.0**k for k in range(-4, 5))
TYPICAL = (0.1, 1.0, 10.0, 100.0)
SQUARES = (0.03, 0.06, 0.12, 0.24)

# Name of the set: its σ, epochs of OL SVM, and the paper's errors of SMO and OL SVM.
TABLE_II: dict[str, tuple[tuple[float, ...], int, float, float]] = {
    "wpbc": (TYPICAL, 10, 24.00, 25.62),
    "sonar": (TYPICAL, 10, 34.70, 24.35),
    "vote": (TYPICAL, 10, 22.68, 8.09),
    "checkerboard:8000": (SQUARES, 2, 13.62, 4.27),
    "two_normals:15000": (TYPICAL, 2, 28.25, 7.82),
}

TITLES = {
    "wpbc": "cancer (wpbc)", "sonar": "sonar", "vote": "vote",
    "checkerboard:8000": "chess board, 8,000", "two_normals:15000": "two normals, 15,000",
}  # fmt: skip

Maker = Callable[[float, float], Any]
Fold = tuple[Any, Any, Any, Any]


def joined(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a set; a generated set's extra test rows are left out."""
    d = load(name)
    if ":" in name:
        return d.X_train, d.y_train
    return np.r_[d.X_train, d.X_test], np.r_[d.y_train, d.y_test]


def folds(name: str, count: int) -> list[Fold]:
    """The first ``count`` of five folds; small sets standardised by their training part."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    X, y = joined(name)
    parts = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        A, B = X[train], X[test]
        if ":" not in name:
            scale = StandardScaler().fit(A)
            A, B = scale.transform(A), scale.transform(B)
        parts.append((A, y[train], B, y[test]))
    return parts[:count]


def grid(sigmas: tuple[float, ...]) -> Iterator[tuple[float, float]]:
    """C and γ in the paper's order: one C with all σ, then the next."""
    return ((C, 1 / (2 * s * s)) for C in COSTS for s in sigmas)


def errors(make: Maker, parts: list[Fold], sigmas: tuple[float, ...]) -> list[float]:
    """Percent of errors in each cell of the grid, mean over the folds."""
    out = []
    for C, gamma in grid(sigmas):
        scores = [make(C, gamma).fit(A, a).score(B, b) for A, a, B, b in parts]
        out.append(100 * (1 - float(np.mean(scores))))
    return out


def times(make: Maker, part: Fold, sigmas: tuple[float, ...], repeats: int) -> list[float]:
    """Seconds of the fastest of ``repeats`` fits in each cell, the cells taken in turn."""
    models = [make(C, gamma) for C, gamma in grid(sigmas)]
    return best_in_turn([lambda m=m: m.fit(part[0], part[1]) for m in models], repeats)


def svc(C: float, gamma: float) -> Any:
    from sklearn.svm import SVC

    return SVC(C=C, gamma=gamma, max_iter=1_000_000, cache_size=700)


def online(name: str, **settings: Any) -> Maker:
    import onlinesvm

    made = getattr(onlinesvm, name)
    return lambda C, gamma: made(C=C, gamma=gamma, random_state=0, **settings)


def table_row(name: str, count: int, repeats: int) -> dict[str, Any]:
    """One row of Table II: errors of both, times of both, spread of OL SVM's time."""
    sigmas, epochs, paper_smo, paper_ol = TABLE_II[name]
    parts, ours = folds(name, count), online("OLSVMClassifier", epochs=epochs)
    row: dict[str, Any] = {
        "set": name, "folds": count, "epochs": epochs, "sigmas": sigmas, "paper_smo": paper_smo,
        "paper_ol": paper_ol, "ol": errors(ours, parts, sigmas),
        "ol_seconds": times(ours, parts[0], sigmas, repeats),
    }  # fmt: skip
    cells = [
        [svc_run(name, fold, C, gamma, part) for fold, part in enumerate(parts)]
        for C, gamma in grid(sigmas)
    ]
    row["svc"] = [float(np.mean([run["error"] for run in cell])) for cell in cells]
    row["svc_seconds_a_fit"] = float(np.mean([[r["seconds"] for r in cell] for cell in cells]))
    return row


def svc_run(name: str, fold: int, C: float, gamma: float, part: Fold) -> dict[str, float]:
    """One fit of ``SVC``, made once: some take minutes."""

    def run() -> dict[str, float]:
        A, a, B, b = part
        with Clock() as clock:
            error = 100 * (1 - float(svc(C, gamma).fit(A, a).score(B, b)))
        return {"error": error, "seconds": clock.seconds}

    return RUNS.kept(f"table {name} fold {fold} C {C:g} gamma {gamma:g}", run)


def row_text(row: dict[str, Any]) -> str:
    ol, seconds = float(np.mean(row["ol"])), row["ol_seconds"]
    smo, slow = float(np.mean(row["svc"])), row["svc_seconds_a_fit"]
    return (
        f"| {row['set']} | {row['folds']} | {row['epochs']} | {smo:.2f} | {ol:.2f} "
        f"| {row['paper_smo']:.2f} | {row['paper_ol']:.2f} | {1e3 * float(np.median(seconds)):.1f} "
        f"| {1e3 * slow:.1f} | {max(seconds) / min(seconds):.2f} |"
    )


HEADER = (
    "| set | folds | epochs | SVC, % | OL SVM, % | paper SMO | paper OL SVM "
    "| OL SVM fit, ms | SVC fit and score, ms | OL SVM time max/min |\n" + "|---" * 10 + "|"
)


def figures(repeats: int, count: int) -> dict[str, Any]:
    """Errors and times of the three lists on a chess board of 4,992, as listed and with o."""
    name, out = "checkerboard:4992", {}
    parts = folds(name, count)
    for model in ("OLSVMClassifier", "NORMAClassifier", "PegazClassifier"):
        for way in ("expansion", "cached"):
            if way == "expansion" and model.startswith("OL"):
                continue  # List 3 has the cached outputs in it
            make = online(model, outputs=way, epochs=2)
            out[f"{model[:-10]}, {way}"] = {
                "error": errors(make, parts, SQUARES),
                "seconds": times(make, parts[0], SQUARES, repeats),
            }
    return out


def draw(found: dict[str, Any], path: Path) -> None:
    """Figures 5 and 6 (the lists as they stand) above 7 and 8 (all with cached outputs)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.5), layout="constrained")
    axes = figure.subplots(2, 2)
    colours = {"OLSVM": "#c1272d", "NORMA": "#0000a7", "Pegaz": "#008176"}
    for line, way in enumerate(("expansion", "cached")):
        for name, colour in colours.items():
            key = f"{name}, cached" if name == "OLSVM" else f"{name}, {way}"
            runs = range(1, 1 + len(found[key]["error"]))
            axes[line, 0].plot(runs, found[key]["error"], ".-", color=colour, label=name)
            axes[line, 1].plot(runs, found[key]["seconds"], ".-", color=colour, label=name)
        how = "as listed" if way == "expansion" else "all with cached outputs"
        axes[line, 0].set(title=f"Error rate, {how}", ylabel="%", ylim=(0, None))
        axes[line, 1].set(title=f"Training time, {how}", ylabel="seconds", yscale="log")
    for axis in axes.ravel():
        axis.grid(alpha=0.3)
        axis.set_xlabel("run: each C with its four σ")
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=120)


def figure_text(found: dict[str, Any]) -> str:
    lines = ["", "Chess board, 4,992 rows, 36 runs:", ""]
    lines += ["| list | mean error, % | median fit, ms |", "|---|---|---|"]
    for key, v in found.items():
        error, ms = np.mean(v["error"]), 1e3 * np.median(v["seconds"])
        lines.append(f"| {key} | {error:.2f} | {ms:.1f} |")
    return "\n".join(lines)


def table() -> Section:
    """Table II."""
    warnings.filterwarnings("ignore", message="Solver terminated early")
    print(HEADER, flush=True)
    rows = []
    for name in TABLE_II:
        row = table_row(name, len(few(range(5))), len(few(range(5))))
        print(row_text(row), flush=True)
        rows.append(page_row(row))
    return {"rows": rows}


def page_row(row: dict[str, Any]) -> list[str]:
    """A row of the table as it stands on the page."""
    seconds = row["ol_seconds"]
    errors = [f"{np.mean(row[key]):.2f}" for key in ("svc", "ol")]
    errors += [f"{row[key]:.2f}" for key in ("paper_smo", "paper_ol")]
    times = [_milliseconds(np.median(seconds)), _milliseconds(row["svc_seconds_a_fit"])]
    return [TITLES[row["set"]], *errors, *times, f"{max(seconds) / min(seconds):.2f}"]


def _milliseconds(seconds: Any) -> str:
    """Three digits, at most one of them after the point."""
    ms = 1e3 * float(seconds)
    return f"{ms:.1f}" if ms < 10 else f"{float(f'{ms:.3g}'):,.0f}"


def lists() -> Section:
    """Figures 5 to 8."""
    found = figures(len(few(range(5))), len(few(range(5))))
    draw(found, results() / "olsvm-figures.png")
    print(figure_text(found))
    names = {"ol": "OLSVM", "pegaz": "Pegaz", "norma": "NORMA"}
    return {key: f"{np.mean(found[f'{v}, cached']['error']):.1f}" for key, v in names.items()}


PARTS = {"table": table, "figures": lists}
