"""What SimpleSVM promises, measured: ``python -m benchmarks.simplesvm [--only NAME] [--full]``.

``figures``   kernel evaluations against C (simplesvm-2003, Figures 2 to 4), next to an SMO without
              cache and to a nearest-point algorithm; PNG files go to ``benchmarks/results``
``exact``     objective and decision values against scikit-learn at tol=1e-8
``speed``     seconds of a fit against ``SVC`` at tol=1e-5
``loo``       leave-one-out against learning anew for each example
``forget``    forgetting against learning without
``lowrank``   an incomplete Cholesky of 50 columns against the dense kernel on a7a

Times are the best of several in one run; ratios of such times are what counts. The data are read
from the folder named by ``ONLINESVM_DATA``. ``--full`` adds Adult-7 to the figures.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import data_file, load

RESULTS = Path(__file__).parent / "results"
SIGMA_SQUARED = {"spiral": 0.5, "wbc": 4.0, "a1a": 10.0, "a4a": 10.0, "a7a": 10.0}
TITLES = {"spiral": "Spiral", "wbc": "WBC", "a1a": "Adult-1", "a4a": "Adult-4", "a7a": "Adult-7"}
COSTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)


def data(name: str) -> tuple[Any, np.ndarray, float]:
    """Examples, labels and gamma = 1 / (2 sigma^2), as in Table 1 of the paper."""
    gamma = 1.0 / (2.0 * SIGMA_SQUARED[name])
    if name.startswith("a"):
        found = load(name)
        return found.X_train.astype(np.float64), found.y_train, gamma
    with np.load(data_file({"spiral": "two_spirals.npz", "wbc": "wbc.npz"}[name])) as z:
        return z["X"].astype(np.float64), z["y"], gamma


def classifier(**options: Any) -> Any:
    from onlinesvm.estimators.simplesvm import SimpleSVMClassifier

    return SimpleSVMClassifier(random_state=0, **options)


def best_time(task: Callable[[], Any], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


# --- those who are compared ------------------------------------------------------------------


def kernel_matrix(X: Any, gamma: float) -> np.ndarray:
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(X, gamma=gamma)


def smo_evaluations(K: np.ndarray, y: np.ndarray, C: float) -> int:
    """Kernel values of the library's own SMO without a cache: two rows a step.

    Its gradients are single precision, so it stops at 1e-3: fewer steps than 1e-5 would take.
    """
    from onlinesvm.core import smo

    n = len(y)
    padded = np.zeros((n, smo.padded(n)), np.float32)
    padded[:, :n] = K
    sign = y.astype(np.float64)
    diagonal = np.zeros(padded.shape[1], np.float32)
    diagonal[:n] = np.diag(K)
    lo, hi = np.minimum(0.0, C * sign), np.maximum(0.0, C * sign)
    steps, _ = smo.solve(padded, diagonal, np.zeros(n), sign.copy(), lo, hi, 1e-3, 5_000_000)
    return int(steps) * 2 * n


def npa_evaluations(K: np.ndarray, y: np.ndarray, C: float, tol: float = 1e-3) -> int:
    """Kernel values of a nearest-point algorithm (Mitchell, Dem'yanov, Malozemov).

    The nearest points of the two classes' hulls on K + 1/C. A step moves weight within a class
    from the example farthest behind to the one farthest ahead, and needs their two rows.
    """
    n = len(y)
    K = K + np.eye(n) / C
    sign = y.astype(np.float64)
    weight = np.zeros(n)
    weight[[np.flatnonzero(y > 0)[0], np.flatnonzero(y < 0)[0]]] = 1.0
    product = K @ (sign * weight)  # <w, x_k> for w = u - v
    evaluations = 2 * n
    for _ in range(200_000):
        size = (sign * weight) @ product
        best = (0.0, -1, -1)
        for side in (sign > 0, sign < 0):
            ahead = np.where(side, sign * product, np.inf)
            behind = np.where(side & (weight > 0), sign * product, -np.inf)
            i, j = int(ahead.argmin()), int(behind.argmax())
            if behind[j] - ahead[i] > best[0]:
                best = (behind[j] - ahead[i], i, j)
        gap, i, j = best
        if gap <= tol * size:
            break
        move = min(weight[j], gap / (K[i, i] + K[j, j] - 2 * K[i, j]))
        weight[i] += move
        weight[j] = 0.0 if move == weight[j] else weight[j] - move
        product += sign[i] * move * (K[i] - K[j])
        evaluations += 2 * n
    return evaluations


# --- figures 2, 3, 4 -------------------------------------------------------------------------


def curve(name: str, margin: str, costs: tuple[float, ...]) -> list[dict[str, float]]:
    """Kernel evaluations of SimpleSVM and of its rival for each C."""
    X, y, gamma = data(name)
    K = kernel_matrix(X, gamma)
    rival = smo_evaluations if margin == "linear" else npa_evaluations
    found = []
    for C in costs:
        model = classifier(C=C, gamma=gamma, margin=margin, cache_size=4000).fit(X, y)
        machine = model._learner.machines[0]
        row = {
            "C": C, "ours": model.n_kernel_evaluations_, "theirs": rival(K, y, C),
            "margin": len(machine.held) / len(y), "sweeps": model.n_sweeps_,
        }  # fmt: skip
        found.append(row)
        print(
            f"{TITLES[name]:8} {margin:9} C={C:<7g} SimpleSVM {row['ours']:>12,}  "
            f"{'SMO' if margin == 'linear' else 'NPA'} {row['theirs']:>14,}  "
            f"ratio {row['theirs'] / row['ours']:7.1f}  margin SVs {row['margin']:.1%}  "
            f"sweeps {row['sweeps']}",
            flush=True,
        )
    return found


def draw(curves: dict[str, list[dict[str, float]]], rival: str, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(curves), 3.4), layout="constrained")
    axes = figure.subplots(1, len(curves), squeeze=False)[0]
    for axis, (name, rows) in zip(axes, curves.items()):
        costs = [row["C"] for row in rows]
        axis.plot(costs, [row["ours"] for row in rows], "o-", color="#c1272d", label="SimpleSVM")
        axis.plot(costs, [row["theirs"] for row in rows], "s--", color="#0000a7", label=rival)
        axis.set(xscale="log", yscale="log", xlabel="C", title=TITLES[name])
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("kernel evaluations")
    axes[0].legend(frameon=False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)
    print("wrote", path.name)


def figures(full: bool) -> None:
    small, adult = ("spiral", "wbc"), ("a1a", "a4a")
    some = (0.1, 1.0, 10.0, 100.0)
    draw({n: curve(n, "quadratic", COSTS) for n in small}, "NPA", RESULTS / "simplesvm-figure2.png")
    draw({n: curve(n, "linear", COSTS) for n in small}, "SMO", RESULTS / "simplesvm-figure4.png")
    linear = {n: curve(n, "linear", some) for n in adult}
    if full:
        linear["a7a"] = curve("a7a", "linear", (0.1, 1.0, 10.0))
    draw(linear, "SMO", RESULTS / "simplesvm-adult-linear.png")
    quadratic = {n: curve(n, "quadratic", some) for n in adult}
    if full:
        quadratic["a7a"] = curve("a7a", "quadratic", (1.0,))
    draw(quadratic, "NPA", RESULTS / "simplesvm-figure3.png")


# --- the rest --------------------------------------------------------------------------------


def exact(full: bool) -> None:
    from sklearn.svm import SVC

    for name in ("spiral", "wbc", "a1a", *(("a4a",) if full else ())):
        X, y, gamma = data(name)
        K = kernel_matrix(X, gamma)
        for C in (0.1, 1.0, 10.0):
            ours = classifier(C=C, gamma=gamma).fit(X, y)
            theirs = SVC(C=C, gamma=gamma, tol=1e-8).fit(X, y)
            coef = np.zeros(len(y))
            coef[theirs.support_] = np.asarray(
                theirs.dual_coef_ @ np.eye(theirs.dual_coef_.shape[1])
            ).ravel()
            objective = coef @ K @ coef / 2 - np.abs(coef).sum()
            away = abs(ours.dual_objective_[0] - objective) / abs(objective)
            apart = np.abs(ours.decision_function(X) - theirs.decision_function(X)).max()
            print(f"{TITLES[name]:8} C={C:<5g} objective {away:.1e} relative, decision {apart:.1e}")


def speed(full: bool) -> None:
    from sklearn.svm import SVC

    for name, C, repeat in (
        ("spiral", 1.0, 20),
        ("wbc", 1.0, 20),
        ("a1a", 1.0, 5),
        ("a7a", 1.0, 2),
    ):
        X, y, gamma = data(name)
        classifier(C=C, gamma=gamma).fit(X[:100], y[:100])
        ours = best_time(lambda: classifier(C=C, gamma=gamma).fit(X, y), repeat)  # noqa: B023
        theirs = best_time(lambda: SVC(C=C, gamma=gamma, tol=1e-5).fit(X, y), repeat)  # noqa: B023
        print(
            f"{TITLES[name]:8} C={C:g}  SimpleSVM {ours:8.4f} s   SVC {theirs:8.4f} s   "
            f"ratio {ours / theirs:.2f}",
            flush=True,
        )


def loo(full: bool) -> None:
    for name, rows in (("wbc", 200), ("a1a", 200)):
        X, y, gamma = data(name)
        X, y = X[:rows], y[:rows]
        model = classifier(C=1.0, gamma=gamma, tol=1e-9).fit(X, y)
        found = model.leave_one_out_decision()
        quick = best_time(model.leave_one_out_decision, 5)
        anew = np.empty(rows)
        start = time.perf_counter()
        for i in range(rows):
            rest = np.arange(rows) != i
            fresh = classifier(C=1.0, gamma=gamma, tol=1e-9).fit(X[rest], y[rest])
            anew[i] = (
                fresh.decision_function(X[i])[0]
                if hasattr(X, "indptr")
                else (fresh.decision_function(X[i : i + 1])[0])
            )
        slow = time.perf_counter() - start
        print(
            f"{TITLES[name]:8} {rows} examples: largest difference {np.abs(found - anew).max():.1e}, "
            f"same predictions {bool(((found > 0) == (anew > 0)).all())}, error "
            f"{model.leave_one_out_error():.3f}; {quick:.4f} s against {slow:.3f} s, "
            f"{slow / quick:.0f} times faster",
            flush=True,
        )


def forget(full: bool) -> None:
    X, y, gamma = data("wbc")
    order = np.random.default_rng(0).permutation(len(y))
    for k in (1, 5, 30, 100, len(y) // 2):
        model = classifier(C=1.0, gamma=gamma, tol=1e-9).fit(X, y)
        start = time.perf_counter()
        model.forget(order[:k])
        took = time.perf_counter() - start
        fresh = classifier(C=1.0, gamma=gamma, tol=1e-9).fit(X[order[k:]], y[order[k:]])
        away = abs(model.dual_objective_[0] / fresh.dual_objective_[0] - 1)
        print(f"WBC, {k:>3} forgotten: objective {away:.1e} relative, {took:.4f} s", flush=True)


def lowrank(full: bool) -> None:
    found = load("a7a")
    X, y = found.X_train.astype(np.float64), found.y_train
    classifier(gamma=0.05, low_rank=5).fit(X[:200], y[:200])
    times, errors, peaks = {}, {}, {}
    for rank in (None, 50):
        model = classifier(gamma=0.05, low_rank=rank)
        times[rank] = best_time(lambda: model.fit(X, y), 2)  # noqa: B023
        errors[rank] = 1 - model.score(found.X_test.astype(np.float64), found.y_test)
    for n in (4000, 8000, 16000):
        for rank in (25, 50):
            tracemalloc.start()
            classifier(gamma=0.05, low_rank=rank).fit(X[:n], y[:n])
            peaks[n, rank] = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
    print(
        f"a7a dense {times[None]:.2f} s, error {errors[None]:.2%}; 50 columns {times[50]:.2f} s, "
        f"error {errors[50]:.2%}; {times[None] / times[50]:.1f} times faster"
    )
    for (n, rank), peak in peaks.items():
        print(
            f"  n={n:>5} l={rank}: peak {peak:6.1f} MB, {peak * 2**20 / 8 / n / rank:.2f} n l values"
        )


PARTS = {f.__name__: f for f in (exact, speed, loo, forget, lowrank, figures)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    for name in [arguments.only] if arguments.only else PARTS:
        print(f"--- {name}")
        PARTS[name](arguments.full)


if __name__ == "__main__":
    main()
