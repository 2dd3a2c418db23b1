"""What SimpleSVM promises, measured: ``python -m benchmarks.papers --only simplesvm``.

``exact``     objective and decision values of all problems against scikit-learn at tol=1e-8
``speed``     seconds of a fit against ``SVC`` at tol=1e-5
``loo``       leave-one-out against learning anew for each example
``forget``    forgetting against learning without
``lowrank``   an incomplete Cholesky of 50 columns against the dense kernel on a7a
``figures``   kernel evaluations against C (``simplesvm_figures``); plots in ``benchmarks/results``

Every line says what the bar is and whether it is met. Times are the best of several in one run;
ratios of such times are what counts. The data are read from the folder named by
``ONLINESVM_DATA``.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.clock import Clock, best_of, seconds_of
from benchmarks.datasets import load
from benchmarks.papers.page import Section
from benchmarks.papers.simplesvm_data import TITLES, classifier, data, scientific, verdict
from benchmarks.papers.simplesvm_figures import figures
from benchmarks.quick import few

Distance = tuple[float, float]
"""Of objective and of decision values from scikit-learn's."""

# --- exactness -------------------------------------------------------------------------------

SETS = ("spiral", "wbc", "sonar", "vote", "a1a")
NU_SHARE = 0.95
"""nu as a share of the largest feasible: where it is small, linear kernels have only w = 0."""

MOST_STEPS = 20_000_000
"""Steps that scikit-learn is given: on the spirals, a linear kernel keeps it going for ever."""


def kernels(gamma: float) -> dict[str, dict[str, Any]]:
    return {
        "linear": {"kernel": "linear"},
        "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
        "rbf": {"kernel": "rbf", "gamma": gamma},
    }


def kernel_values(X: Any, options: dict[str, Any]) -> np.ndarray:
    from sklearn.metrics.pairwise import pairwise_kernels

    rest = {k: v for k, v in options.items() if k != "kernel"}
    return pairwise_kernels(X, metric=options["kernel"], **rest)


def coefficients(model: Any, n: int) -> np.ndarray:
    values = model.dual_coef_
    out = np.zeros(n)
    out[model.support_] = (values.toarray() if sparse.issparse(values) else values).ravel()
    return out


def compare(
    title: str, ours: Any, theirs: Any, objectives: tuple[float, float], X: Any, scale: float = 0.0
) -> Distance:
    """Print and return how far objective and decision values are from scikit-learn's.

    Where w = 0 solves the problem the objective is zero, and rounding is all there is to compare:
    relative is then to a millionth of ``scale``, the size of its terms.
    """
    away = abs(objectives[0] - objectives[1]) / max(abs(objectives[1]), 1e-6 * scale)
    name = "decision_function" if hasattr(ours, "decision_function") else "predict"
    values = getattr(theirs, name)(X)
    apart = np.abs(getattr(ours, name)(X) - values).max() / max(1.0, np.abs(values).max())
    print(
        f"{title:32} objective {away:.1e} (bar 1e-6: {verdict(away <= 1e-6)}), decision "
        f"{apart:.1e} (bar 1e-3: {verdict(apart <= 1e-3)}), KKT {ours.kkt_violation_:.1e}",
        flush=True,
    )
    return float(away), float(apart)


def exact_classification(name: str, kernel: str) -> list[Distance]:
    from sklearn.svm import SVC, NuSVC, OneClassSVM

    from onlinesvm import SimpleSVMOneClass

    X, y, gamma = data(name)
    n, options = len(y), kernels(gamma)[kernel]
    K = kernel_values(X, options)

    def objective(c: np.ndarray) -> float:
        return float(c @ K @ c / 2 - np.abs(c).sum())

    title = f"{TITLES[name]:8} {kernel:6} "
    ours = classifier(**options).fit(X, y)
    theirs = SVC(tol=1e-8, max_iter=MOST_STEPS, **options).fit(X, y)
    both = ours.dual_objective_[0], objective(coefficients(theirs, n))
    found = [compare(title + "C-SVC", ours, theirs, both, X)]

    nu = NU_SHARE * 2 * min(np.mean(y > 0), np.mean(y <= 0))
    ours = classifier(nu=nu, **options).fit(X, y)
    theirs = NuSVC(nu=nu, tol=1e-8, max_iter=MOST_STEPS, **options).fit(X, y)
    c = coefficients(theirs, n)
    c *= nu * n / np.abs(c).sum()
    both = ours.dual_objective_[0], float(c @ K @ c / 2)
    found.append(compare(title + "nu-SVC", ours, theirs, both, X))

    ours = SimpleSVMOneClass(nu=0.2, random_state=0, **options).fit(X)
    theirs = OneClassSVM(nu=0.2, tol=1e-8, max_iter=MOST_STEPS, **options).fit(X)
    c = coefficients(theirs, n)
    both = ours.dual_objective_[0], float(c @ K @ c / 2)
    scale = float(c**2 @ np.diag(K))
    found.append(compare(title + "one class", ours, theirs, both, X, scale))

    K[np.diag_indices(n)] += 1.0
    ours = classifier(margin="quadratic", **options).fit(X, y)
    theirs = SVC(C=1e8, kernel="precomputed", tol=1e-8, max_iter=MOST_STEPS).fit(K, y)
    away = abs(ours.dual_objective_[0] / objective(coefficients(theirs, n)) - 1)
    apart = ours.decision_function(X) + coefficients(ours, n) - theirs.decision_function(K)
    print(
        f"{title + 'quadratic':32} objective {away:.1e} (bar 1e-6: {verdict(away <= 1e-6)}), "
        f"decision {np.abs(apart).max():.1e} (bar 1e-3: {verdict(np.abs(apart).max() <= 1e-3)})",
        flush=True,
    )
    return [*found, (float(away), float(np.abs(apart).max()))]


def exact_regression(kernel: str) -> Distance:
    from sklearn.datasets import load_diabetes
    from sklearn.svm import SVR

    from onlinesvm import SimpleSVMRegressor

    X, y = load_diabetes(return_X_y=True)
    X = X / X.std()
    options = {"C": 5.0, "epsilon": 8.0, **kernels(0.1)[kernel]}
    ours = SimpleSVMRegressor(random_state=0, **options).fit(X, y)
    theirs = SVR(tol=1e-8, **options).fit(X, y)
    K, c = kernel_values(X, kernels(0.1)[kernel]), coefficients(theirs, len(y))
    objective = float(c @ K @ c / 2 - c @ y + 8.0 * np.abs(c).sum())
    both = ours.dual_objective_[0], objective
    return compare(f"Diabetes {kernel:6} SVR", ours, theirs, both, X)


def exact() -> Section:
    """Objective and decision values of all problems against scikit-learn at tol=1e-8."""
    found = []
    for kernel in few(("rbf", "linear", "poly")):
        found.append(exact_regression(kernel))
        for name in few(SETS):
            found += exact_classification(name, kernel)
    objective, decision = (max(distances) for distances in zip(*found))
    return {
        "count": str(len(found)),
        "objective": scientific(objective, 1),
        "decision": scientific(decision, 1),
    }


# --- speed -----------------------------------------------------------------------------------


def speed() -> Section:
    """Seconds of a fit over those of SVC at tol=1e-5."""
    from sklearn.svm import SVC

    ratios = {}
    for name, repeat in (("spiral", 20), ("wbc", 20), ("a1a", 5), ("a7a", 2)):
        X, y, gamma = data(name)
        classifier(gamma=gamma).fit(X[:100], y[:100])
        ours = best_of(lambda: classifier(gamma=gamma).fit(X, y), repeat)  # noqa: B023
        theirs = best_of(lambda: SVC(gamma=gamma, tol=1e-5).fit(X, y), repeat)  # noqa: B023
        ratios[name] = f"{ours / theirs:.2f}"
        print(
            f"{TITLES[name]:8} C=1  SimpleSVM {ours:8.4f} s   SVC {theirs:8.4f} s   ratio "
            f"{ours / theirs:.2f} (bar 1: {verdict(ours <= theirs)})",
            flush=True,
        )
    return ratios


# --- leaving out and forgetting ----------------------------------------------------------------


def loo() -> Section:
    """Leave-one-out against learning anew for each example."""
    rows, faster, differences = len(few(range(200), 30)), [], []
    for name in ("wbc", "a1a"):
        X, y, gamma = data(name)
        X, y = X[:rows], y[:rows]
        model = classifier(gamma=gamma, tol=1e-9).fit(X, y)
        found = model.leave_one_out_decision()
        quick = best_of(model.leave_one_out_decision, 5)
        anew = np.empty(rows)
        with Clock() as clock:
            for i in range(rows):
                rest = np.arange(rows) != i
                fresh = classifier(gamma=gamma, tol=1e-9).fit(X[rest], y[rest])
                anew[i] = fresh.decision_function(X[i : i + 1])[0]
        slow = clock.seconds
        away, same = np.abs(found - anew).max(), bool(((found > 0) == (anew > 0)).all())
        faster.append(slow / quick)
        differences.append(away)
        print(
            f"{TITLES[name]:8} {rows} examples: largest difference {away:.1e} (bar 1e-6: "
            f"{verdict(away <= 1e-6)}), same predictions {same}, error "
            f"{model.leave_one_out_error():.3f}; {quick:.4f} s against {slow:.3f} s, "
            f"{slow / quick:.0f} times faster (bar 20: {verdict(slow >= 20 * quick)})",
            flush=True,
        )
    return {
        "least": f"{min(faster):.0f}",
        "most": f"{max(faster):.0f}",
        "away": scientific(max(differences)),
    }


def forget() -> Section:
    """Forgetting against learning without."""
    worst = 0.0
    X, y, gamma = data("wbc")
    order = np.random.default_rng(0).permutation(len(y))
    for k in (1, 2, 5, 10, 30, 100, 200, len(y) // 2):
        model = classifier(gamma=gamma, tol=1e-9).fit(X, y)
        took = seconds_of(lambda m=model, k=k: m.forget(order[:k]))
        fresh = classifier(gamma=gamma, tol=1e-9).fit(X[order[k:]], y[order[k:]])
        away = abs(model.dual_objective_[0] / fresh.dual_objective_[0] - 1)
        worst = max(worst, float(away))
        print(
            f"WBC, {k:>3} forgotten: objective {away:.1e} relative (bar 1e-8: "
            f"{verdict(away <= 1e-8)}), {took:.4f} s",
            flush=True,
        )
    return {"objective": scientific(worst)}


# --- low rank --------------------------------------------------------------------------------


def peak(rank: int, X: Any, y: np.ndarray) -> float:
    """Most memory in use during a fit, in values of eight bytes."""
    tracemalloc.start()
    classifier(gamma=0.05, low_rank=rank).fit(X, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 8


def lowrank() -> Section:
    """An incomplete Cholesky of 50 columns against the dense kernel on a7a."""
    found = load("a7a")
    X, y = found.X_train.astype(np.float64), found.y_train
    classifier(gamma=0.05, low_rank=5).fit(X[:200], y[:200])
    classifier(gamma=0.05).fit(X[:2000], y[:2000])
    times, errors = {}, {}
    for rank in (None, 50):
        model = classifier(gamma=0.05, low_rank=rank)
        times[rank] = best_of(lambda: model.fit(X, y), 2)  # noqa: B023
        errors[rank] = 1 - model.score(found.X_test.astype(np.float64), found.y_test)
    ratio, worse = times[None] / times[50], errors[50] - errors[None]
    print(
        f"a7a dense {times[None]:.2f} s, error {errors[None]:.2%}; 50 columns {times[50]:.2f} s, "
        f"error {errors[50]:.2%} (bar 0.5 points: {verdict(worse <= 0.005)}); {ratio:.1f} times "
        f"faster (bar 5: {verdict(ratio >= 5)})"
    )
    for n in few((4000, 8000, 16000)):
        for rank in (25, 50, 100):
            values = peak(rank, X[:n], y[:n])
            print(
                f"  n={n:>5} l={rank:>3}: peak {values / 2**17:6.1f} MB = {values / n / rank:.2f} n l"
            )
    return {"times": f"{ratio:.1f}", "worse": f"{100 * worse:+.2f}"}


PARTS = {f.__name__: f for f in (exact, speed, loo, forget, lowrank, figures)}
