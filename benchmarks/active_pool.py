"""Active learning on a pool: Figure 16 of LASVM (2005), and the time of one question.

The parts ``pool`` and ``latency`` of ``python -m benchmarks.active``, and the file of runs.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import active_plots
from benchmarks.datasets import Dataset, load
from benchmarks.report import markdown

RESULTS = Path(__file__).resolve().parent / "results"
FILE = RESULTS / "active.json"


def write(known: dict[str, Any]) -> None:
    """All runs to the file; one that is interrupted leaves the file as it was."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    beside = FILE.with_suffix(".part")
    beside.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
    beside.replace(FILE)


def kept(key: str, run: Callable[[], Any]) -> Any:
    """What ``run`` returns, from the file if it was made before."""
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    if key not in known:
        print(f"  {key}", file=sys.stderr, flush=True)
        known[key] = run()
        write(known)
    return known[key]


# --- a pool ---------------------------------------------------------------------------------------

N_LABELS, EVERY = 500, 25
METHODS = ("LASVM active 50", "LASVM active all", "LASVM random", "retrain active 50")


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


def _ask(data: Dataset, method: str, seed: int, limit: int = N_LABELS) -> dict[str, Any]:
    """Error after every 25 labels, and the seconds spent on asking and learning."""
    learner = Retrained(data, method, seed) if "retrain" in method else Online(data, method, seed)
    errors, seconds = [], 0.0
    for done in range(1, limit + 1):
        start = time.perf_counter()
        learner.step()
        seconds += time.perf_counter() - start
        if done % EVERY == 0:
            wrong = learner.model().predict(data.X_test) != data.y_test
            errors.append(100 * float(np.mean(wrong)))
    return {"errors": errors, "seconds": seconds}


class Online:
    """One LASVM iteration a label."""

    def __init__(self, data: Dataset, method: str, seed: int):
        from onlinesvm import ActiveLearner, LASVMClassifier

        self.y = data.y_train
        size = None if method.endswith("all") else 50
        strategy = "random" if method.endswith("random") else "active"
        model = LASVMClassifier(C=data.C, gamma=data.gamma)
        self.learner = ActiveLearner(model, data.X_train, strategy, size, seed)

    def step(self) -> None:
        question = self.learner.query()
        self.learner.teach(question, self.y[question])

    def model(self) -> Any:
        return self.learner.estimator


class Retrained:
    """SVC trained anew after every label; random questions until both classes are known."""

    def __init__(self, data: Dataset, method: str, seed: int):
        self.X, self.y = data.X_train, data.y_train.astype(int)
        self.C, self.gamma = data.C, data.gamma
        self.size = None if method.endswith("all") else 50
        self.rng = np.random.default_rng(seed)
        self.known: list[int] = []
        self.svc: Any = None

    def step(self) -> None:
        from sklearn.svm import SVC

        left = np.setdiff1d(np.arange(len(self.y)), self.known)
        sample = left if self.size is None else self.rng.choice(left, self.size, replace=False)
        if self.svc is None:
            self.known.append(int(self.rng.choice(left)))
        else:
            values = self.svc.decision_function(self.X[sample])
            self.known.append(int(sample[np.abs(values).argmin()]))
        if len(set(self.y[self.known].tolist())) == 2:
            svc = SVC(C=self.C, gamma=self.gamma)
            self.svc = svc.fit(self.X[self.known], self.y[self.known])

    def model(self) -> Any:
        from sklearn.dummy import DummyClassifier

        if self.svc is not None:
            return self.svc
        return DummyClassifier().fit(self.X[self.known], self.y[self.known])


def pool() -> str:
    """Figure 16."""
    rows, curves = [], {}
    for name in ("usps0", "reuters"):
        for method in METHODS:
            curves[name, method] = [
                kept(f"pool {name} {method} {seed}",
                     lambda n=name, m=method, s=seed: _ask(_random_split(n, s), m, s))
                for seed in range(10)
            ]  # fmt: skip
        every = kept(
            f"pool {name} retrain all",
            lambda n=name: _ask(_random_split(n, 0), "retrain active all", 0),
        )
        rows += [_pool_row(name, m, curves, every) for m in METHODS]
        cost = f"{every['seconds']:.3g}"
        rows.append(
            [name, "retrain active all", f"{every['errors'][-1]:.2f} (1 split)", "", cost, ""]
        )
    active_plots.pool(curves, EVERY, N_LABELS, RESULTS)
    header = (
        "data", "method", "error at 500 labels, %", "above retraining", "time, s",
        "retraining (50; all) takes times as long",
    )  # fmt: skip
    note = "Means over 10 random splits ± one standard error; differences are paired by split."
    return f"{markdown(header, rows)}\n\n{note}"


def _pool_row(name: str, method: str, curves: dict[Any, Any], every: dict[str, Any]) -> list[str]:
    runs, base = curves[name, method], curves[name, "retrain active 50"]
    last = np.array([run["errors"][-1] for run in runs])
    gap = last - [run["errors"][-1] for run in base]
    root = np.sqrt(len(runs))
    took = float(np.mean([run["seconds"] for run in runs]))
    longer = np.mean([run["seconds"] for run in base]) / took, every["seconds"] / took
    return [
        name, method, f"{last.mean():.2f} ± {last.std(ddof=1) / root:.2f}",
        f"{gap.mean():+.2f} ± {gap.std(ddof=1) / root:.2f}", f"{took:.3g}",
        "; ".join(f"{ratio:.0f}" for ratio in longer),
    ]  # fmt: skip


# --- the time of a question -----------------------------------------------------------------------


def _latency_ours(data: Dataset) -> dict[str, float]:
    learner = Online(data, "LASVM active 50", 0)
    times = []
    for done in range(560):
        start = time.perf_counter()
        learner.step()
        if done >= 440:
            times.append(time.perf_counter() - start)
    quartiles = np.percentile(times, (25, 50, 75)) * 1e3
    return dict(zip(("lower", "median", "upper"), quartiles.tolist()))


def _latency_activeml(data: Dataset, size: int | None, tries: int) -> dict[str, float]:
    """scikit-activeml: its uncertainty sampling trains the wrapped SVC anew at every query."""
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from sklearn.svm import SVC

    rng = np.random.default_rng(0)
    y = np.full(len(data.y_train), np.nan)
    first = rng.choice(len(y), 500, replace=False)
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
            start = time.perf_counter()
            place = strategy.query(data.X_train, y, wrapped, candidates=sample)
            y[place] = data.y_train[place]
            times.append(time.perf_counter() - start)
    lower, median, upper = np.percentile(times, (25, 50, 75)) * 1e3
    return {"lower": lower, "median": median, "upper": upper}


def latency() -> str:
    """A query and a label on MNIST's 60,000 rows, with about 500 labels known."""
    data = load("mnist8")
    rows = []
    for name, run in {
        "ActiveLearner(LASVMClassifier), sample_size=50": lambda: _latency_ours(data),
        "scikit-activeml, SVC, 50 candidates": lambda: _latency_activeml(data, 50, 5),
        "scikit-activeml, SVC, the whole pool": lambda: _latency_activeml(data, None, 1),
    }.items():
        found = kept(f"latency {name}", run)
        spread = f"{found['lower']:,.2f} to {found['upper']:,.2f}"
        rows.append([name, "60,000 × 784", f"**{found['median']:,.2f}**", spread])
    return markdown(("query and teach", "pool", "median, ms", "quartiles"), rows)
