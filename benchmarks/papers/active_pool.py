"""Active learning on a pool: Figure 16 of LASVM (2005), and the time of one question.

The parts ``pool`` and ``latency`` of ``python -m benchmarks.papers.active``. Retraining takes so long that
its questions are found with kernel values kept from step to step, which changes nothing but the
time; the time itself is that of ``SVC`` as a user has it, taken at every 25th label, times 25.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import Clock, seconds_of
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import bar, markdown
from benchmarks.papers import active_plots
from benchmarks.papers.page import Section
from benchmarks.quick import few, results
from benchmarks.runs import Runs

RUNS = Runs("active.json")

# --- a pool ---------------------------------------------------------------------------------------

N_LABELS, EVERY, SPLITS = 500, 25, 10
METHODS = (
    "LASVM active 50", "LASVM active all", "LASVM random", "retrain active 50",
    "retrain active all",
)  # fmt: skip
SETS = ("usps0", "reuters")


def _random_split(name: str, seed: int) -> Dataset:
    """All rows of the set, split anew with parts of the same size."""
    data = load(name)
    stack = sp.vstack if sp.issparse(data.X_train) else np.concatenate
    X, y = stack([data.X_train, data.X_test]), np.r_[data.y_train, data.y_test]
    X = X.tocsr() if sp.issparse(X) else X
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(data.y_train)], order[len(data.y_train) :]
    parts = {"X_train": X[train], "y_train": y[train], "X_test": X[test], "y_test": y[test]}
    return replace(data, **parts)


def _labels() -> int:
    """How many labels are asked for."""
    return len(few(range(N_LABELS), 2 * EVERY))


def _ask(data: Dataset, method: str, seed: int, limit: int | None = None) -> dict[str, Any]:
    """Error after every 25 labels and at the end, the seconds spent on asking and learning."""
    learner = Retrained(data, method, seed) if "retrain" in method else Online(data, method, seed)
    errors = []
    for done in range(1, (limit or _labels()) + 1):
        learner.step()
        if done % EVERY == 0:
            wrong = learner.predict(data.X_test) != data.y_test
            errors.append(100 * float(np.mean(wrong)))
    wrong = learner.finished(data.X_test) != data.y_test
    return {"errors": errors, "last": 100 * float(np.mean(wrong)), "seconds": learner.seconds}


class Online:
    """One LASVM iteration a label."""

    def __init__(self, data: Dataset, method: str, seed: int):
        from onlinesvm import ActiveLearner, LASVMClassifier

        self.y = data.y_train
        size = None if method.endswith("all") else 50
        selection = "random" if method.endswith("random") else "active"
        model = LASVMClassifier(C=data.C, gamma=data.gamma)
        self.clock = Clock()
        with self.clock:
            self.learner = ActiveLearner(model, data.X_train, selection, size, seed)

    def step(self) -> None:
        with self.clock:
            question = self.learner.query()
            self.learner.teach(question, self.y[question])

    @property
    def seconds(self) -> float:
        return self.clock.seconds

    def predict(self, X: Any) -> np.ndarray:
        return self.learner.estimator.predict(X)

    def finished(self, X: Any) -> np.ndarray:
        """Predictions after the finishing step of section 3.2, whose time counts."""
        with self.clock:
            model = copy.deepcopy(self.learner.estimator).finish()
        return model.predict(X)


class Retrained:
    """SVC trained anew after every label; random questions until both classes are known."""

    def __init__(self, data: Dataset, method: str, seed: int):
        self.X, self.y = data.X_train, data.y_train.astype(int)
        self.C, self.gamma = data.C, data.gamma
        self.size = None if method.endswith("all") else 50
        self.rng = np.random.default_rng(seed)
        self.known: list[int] = []
        self.K = np.empty((len(self.y), N_LABELS))  # against the known ones
        self.svc: Any = None
        self.seconds = 0.0

    def step(self) -> None:
        from sklearn.metrics.pairwise import rbf_kernel
        from sklearn.svm import SVC

        left = np.setdiff1d(np.arange(len(self.y)), self.known)
        sample = left if self.size is None else self.rng.choice(left, self.size, replace=False)
        n = len(self.known)
        chosen = sample[0] if self.size else self.rng.choice(left)
        if self.svc is not None:
            chosen = sample[np.abs(self._decide(sample)).argmin()]
        self.known.append(int(chosen))
        self.K[:, n] = rbf_kernel(self.X, self.X[[chosen]], gamma=self.gamma)[:, 0]
        if len(set(self.y[self.known].tolist())) == 2:
            svc = SVC(C=self.C, kernel="precomputed")
            self.svc = svc.fit(self.K[self.known, : n + 1], self.y[self.known])
        if (n + 1) % EVERY == 0:
            self.seconds += EVERY * self._time(sample)

    def _decide(self, sample: np.ndarray) -> np.ndarray:
        coef = np.zeros(len(self.known))
        coef[self.svc.support_] = self.svc.dual_coef_[0]
        values = self.K[:, : len(coef)] @ coef if self.size is None else None
        values = self.K[sample, : len(coef)] @ coef if values is None else values[sample]
        return values + self.svc.intercept_[0]

    def _time(self, sample: np.ndarray) -> float:
        """Seconds of one step without what is kept here: train, then look at the candidates."""
        if self.svc is None:
            return 0.0
        with Clock() as clock:
            np.setdiff1d(np.arange(len(self.y)), self.known)
            np.abs(self._plain().decision_function(self.X[sample])).argmin()
        return clock.seconds

    def _plain(self) -> Any:
        from sklearn.svm import SVC

        return SVC(C=self.C, gamma=self.gamma).fit(self.X[self.known], self.y[self.known])

    def predict(self, X: Any) -> np.ndarray:
        if self.svc is None:
            return np.full(X.shape[0], self.y[self.known[0]])
        return self._plain().predict(X)

    def finished(self, X: Any) -> np.ndarray:
        """It always is."""
        return self.predict(X)


def pool() -> Section:
    """Figure 16."""
    rows, bars, curves = [], [], {}
    for name in SETS:
        for method in METHODS:
            curves[name, method] = [
                RUNS.kept(_key(name, seed, method), lambda n=name, m=method, s=seed: _run(n, m, s))
                for seed in few(range(SPLITS), 2)
            ]
        for method in METHODS:
            row, said = _pool_row(name, method, curves)
            rows.append(row)
            bars += said
    active_plots.pool(curves, EVERY, _labels(), results())
    header = (
        "data", "method", "error at 500 labels, %", "finished", "less that of retraining likewise", "time, s",
        "retraining 50 takes times as long", "retraining all takes times as long",
    )  # fmt: skip
    note = (
        f"Means over {SPLITS} random splits ± one standard error; differences are paired by split. "
        "Times are best of the splits; those of retraining are taken at every 25th label, times 25."
    )
    shown = [
        _page_row(curves, name, method)
        for name in SETS
        for method in ("LASVM active 50", "LASVM active all")
    ]
    quickest = min(run["seconds"] for run in curves["usps0", "LASVM active 50"])
    return {
        "report": f"{markdown(header, rows)}\n\n{note}\n\n" + "\n".join(bars),
        "rows": shown,
        "label_ms": f"{1e3 * quickest / _labels():.2f}",
    }


def _page_row(curves: dict[Any, Any], name: str, method: str) -> list[str]:
    """A row of the page."""
    row, _ = _pool_row(name, method, curves)
    error, gap = row[3].split(" ± ")[0], [float(part) for part in row[4].split(" ± ")]
    size = method.split()[-1]
    loss = f"{gap[0]:+.2f}" if f"{abs(gap[0]):.2f}" != "0.00" else "0.00"
    times = " / ".join(f"{float(part):,.0f}" for part in row[6:])
    seconds = f"{float(row[5]):.2f}"
    title = {"usps0": "USPS", "reuters": "Reuters"}[name]
    return [title, f"LASVM active ({size})", error, f"{loss} ± {gap[1]:.2f}", seconds, times]


def _key(name: str, seed: int, method: str) -> str:
    return f"pool {name} {seed} {method}" + (", finished" if "LASVM" in method else "")


def _run(name: str, method: str, seed: int) -> dict[str, Any]:
    data = _random_split(name, seed)
    if "LASVM" in method:
        _ask(data, method, seed, 40)  # has the loops compiled
    return _ask(data, method, seed)


def _pool_row(name: str, method: str, curves: dict[Any, Any]) -> tuple[list[str], list[str]]:
    """A row of the table, and the claims about it."""
    runs = curves[name, method]
    like = "retrain active all" if method.endswith("all") else "retrain active 50"
    unfinished = np.mean([run["errors"][-1] for run in runs])
    last = np.array([run.get("last", run["errors"][-1]) for run in runs])
    gap = last - [run["errors"][-1] for run in curves[name, like]]
    root = np.sqrt(len(runs))
    error, loss, spread = last.mean(), gap.mean(), gap.std(ddof=1) / root
    took = {m: min(run["seconds"] for run in curves[name, m]) for m in METHODS}
    times = {size: took[f"retrain active {size}"] / took[method] for size in ("50", "all")}
    row = [
        name, method, f"{unfinished:.2f}", f"{error:.2f} ± {last.std(ddof=1) / root:.2f}", f"{loss:+.3f} ± {spread:.3f}",
        f"{took[method]:.3g}", *(f"{times[size]:.4g}" for size in ("50", "all")),
    ]  # fmt: skip
    if not method.startswith("LASVM active"):
        return row, []
    size = method.split()[-1]
    bars = [
        bar(f"{name}, {method}: {loss:+.3f} points against {like}, at most one standard error "
            f"({spread:.3f}) of loss", loss <= spread),
        bar(f"{name}, {method}: {times['all']:.0f} times as fast as retraining and searching all, "
            "at least 50 (the paper's ratio)", times["all"] >= 50),
        bar(f"{name}, {method}: {times[size]:.0f} times as fast as {like}, at least 50",
            times[size] >= 50),
    ]  # fmt: skip
    return row, bars


# --- the time of a question -----------------------------------------------------------------------


def _latency_ours(data: Dataset) -> dict[str, float]:
    learner = Online(data, "LASVM active 50", 0)
    times = []
    for done in few(range(560), 40):
        took = seconds_of(learner.step)
        if done >= len(few(range(440), 20)):
            times.append(took)
    quartiles = np.percentile(times, (25, 50, 75)) * 1e3
    return dict(zip(("lower", "median", "upper"), quartiles.tolist()))


def _latency_activeml(data: Dataset, size: int | None, tries: int) -> dict[str, float]:
    """scikit-activeml: its uncertainty sampling trains the wrapped SVC anew at every query."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    y = np.full(len(data.y_train), np.nan)
    first = rng.choice(len(y), len(few(range(500), 50)), replace=False)
    y[first] = data.y_train[first]
    svc = SVC(C=data.C, gamma=data.gamma, probability=True)
    wrapped = SklearnClassifier(svc, classes=[-1, 1], random_state=0)
    strategy = UncertaintySampling(method="margin_sampling", random_state=0)
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about SVC's probability
        for _ in range(tries):
            left = np.flatnonzero(np.isnan(y))
            sample = left if size is None else rng.choice(left, size, replace=False)
            with Clock() as clock:
                place = strategy.query(data.X_train, y, wrapped, candidates=sample)
                y[place] = data.y_train[place]
            times.append(clock.seconds)
    lower, median, upper = np.percentile(times, (25, 50, 75)) * 1e3
    return {"lower": lower, "median": median, "upper": upper}


def latency() -> Section:
    """A query and a label on MNIST's 60,000 rows, with about 500 labels known."""
    data = load("mnist8")
    rows = []
    for name, run in {
        "ActiveLearner(LASVMClassifier), sample_size=50": lambda: _latency_ours(data),
        "scikit-activeml, SVC, 50 candidates": lambda: _latency_activeml(data, 50, 5),
        "scikit-activeml, SVC, the whole pool": lambda: _latency_activeml(data, None, 1),
    }.items():
        found = RUNS.kept(f"latency {name}", run)
        spread = f"{found['lower']:,.2f} to {found['upper']:,.2f}"
        rows.append([name, "60,000 × 784", f"**{found['median']:,.2f}**", spread])
    ours = RUNS.kept("latency ActiveLearner(LASVMClassifier), sample_size=50", dict)["median"]
    claim = bar(f"query and teach in {ours:.2f} ms, at most 3", ours <= 3)
    table = markdown(("query and teach", "pool", "median, ms", "quartiles"), rows)
    fifty = RUNS.kept("latency scikit-activeml, SVC, 50 candidates", dict)["median"]
    return {
        "report": f"{table}\n\n{claim}",
        "ours_ms": f"{ours:.1f}",
        "activeml_ms": f"{float(f'{fifty:.2g}'):,.0f}",
    }
