"""Awkward cases of what a model is asked after it has learned (``awkward.py --answers``).

Kernels for tables, weights of features, one-vs-one, several labels for each example, quantiles; and
steps that forget, or save and load. The checks are in ``awkward_answers_checks``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from awkward import COPIES, FORMS, POLICIES, TARGETS, Case, draw_labels, draw_step, draw_values
from awkward_values import odd_targets
from scipy import sparse

KINDS = {
    "ovr": "LASVMClassifier",
    "ovo": "LASVMClassifier",
    "labels": "LASVMClassifier",
    "values": "LASVMRegressor",
    "quantile": "LASVMRegressor",
    "quantiles": "LASVMRegressor",
    "novelty": "LASVMOneClass",
    "exact classes": "SimpleSVMClassifier",
    "exact values": "SimpleSVMRegressor",
    "exact novelty": "SimpleSVMOneClass",
}
KERNELS = ("rbf", "laplacian", "laplacian", "matern12", "matern12", "linear", "poly", "precomputed")
QUANTILES = ([0.1, 0.9], [0.25, 0.5, 0.75], [0.01, 0.99], [0.5])


def build(choose: Any) -> Case:
    """A case."""
    kind, kernel = choose.of(list(KINDS)), choose.of(KERNELS)
    rng = np.random.default_rng(choose.whole(0, 2**32 - 1))
    n = choose.whole(4, 60) if choose.of([1, 1, 1, 0]) else choose.whole(100, 160)
    labels = draw_labels(choose, rng, n)
    dense, scale, notes = draw_values(choose, rng, labels)
    form = choose.of(list(FORMS)) if kernel != "precomputed" else "C order"
    X = FORMS[form](dense, rng)
    dense = (X.toarray() if sparse.issparse(X) else np.asarray(X)).astype(np.float64)
    weight = rng.choice([0.0, 0.1, 1.0, 1.0, 5.0], n) if choose.of([0, 0, 0, 1]) else None
    settings = _settings(choose, rng, kind, kernel, dense, scale, labels)
    targets = choose.of(TARGETS)
    y = _targets(choose, rng, kind, labels, targets)
    notes |= {"task": kind, "form": form, "labels": dict(Counter(labels.tolist()))}
    steps = _steps(choose, kernel, n)
    return Case(KINDS[kind], settings, X, dense, y, weight, steps, notes, targets)


def _targets(
    choose: Any, rng: np.random.Generator, kind: str, labels: np.ndarray, targets: str
) -> np.ndarray:
    number = np.unique(labels, return_inverse=True)[1]
    if kind == "labels":
        share = choose.of([0.5, 0.1])
        own = number[:, None] == np.arange(3)
        y = (own ^ (rng.random(own.shape) < 0.3 * share)).astype(choose.of([np.int64, np.float64]))
        y[0], y[-1] = [1, 0, 1], [0, 1, 0]
        return y
    if kind in ("values", "quantile", "quantiles", "exact values"):
        return odd_targets(targets, number + 0.3 * rng.normal(size=len(labels)))
    return labels


def _settings(
    choose: Any, rng: np.random.Generator, kind: str, kernel: str, dense: np.ndarray, scale: float,
    labels: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    d = dense.shape[1]
    size = float(abs(dense).max()) or 1.0
    distance = {"laplacian": d * scale, "matern12": np.sqrt(d) * scale}
    unit = distance.get(kernel, d * (scale if kernel in ("rbf", "precomputed") else size) ** 2)
    gamma = choose.of([0.1, 1.0, 1.0, 10.0, "scale"])
    made: dict[str, Any] = {
        "random_state": 0,
        "kernel": kernel,
        "gamma": gamma if gamma == "scale" else gamma / unit,
    }
    if kernel == "poly":
        made["gamma"] = 1.0 / unit if gamma == "scale" else made["gamma"]  # powers may be too large
        made |= {"degree": choose.of([1, 2, 3]), "coef0": choose.of([0.0, 1.0])}
    if "novelty" in kind:
        made["nu"] = choose.of([0.05, 0.5, 1.0])
    else:
        made["C"] = choose.of([0.01, 1.0, 1.0, 100.0])
    if kind.endswith("values"):
        made["epsilon"] = choose.of([0.0, 0.1])
    if kind.startswith("exact"):
        return made
    made |= {"epochs": choose.of([1, 2, "converge", "converge"]), "shuffle": choose.flag()}
    made |= {"block_size": choose.of([2048, 2048, 1, 16]), "cache_size": choose.of([1e-5, 200])}
    if made["epochs"] != "converge" and choose.flag():
        limits = {"budget": choose.whole(6, 20), "policy": choose.of(POLICIES)}
        window = {"window": choose.whole(5, 60), "half_life": choose.of([None, 5.0])}
        made |= choose.of([limits, window, limits | window])
    if kind == "quantile":
        made |= {"quantile": choose.of([0.1, 0.5, 0.95]), "calibrated": choose.flag()}
    elif kind == "quantiles":
        made |= {"quantile": choose.of(QUANTILES), "calibrated": choose.flag()}
    elif kind in ("ovr", "ovo"):
        made["decision"] = kind
        made["probability"] = choose.of([False, False, True])
        if choose.of([0, 0, 0, 1]):
            made["class_weight"] = choose.of(["balanced", {labels[0].item(): 3.0}])
            if "balanced" in made.values():  # not on a stream
                made["class_weight"] = {labels[-1].item(): 0.2}
    if kernel != "precomputed" and kind != "novelty":
        weights = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], d)
        weights[rng.integers(d)] = 1.0
        wanted = [None, None, weights] + ([] if kind == "labels" else ["learn"])
        made["feature_weights"] = choose.of(wanted)
    return made


def _steps(choose: Any, kernel: str, n: int) -> list[tuple[str, Any]]:
    """Two to six steps; the first one teaches."""
    if kernel == "precomputed":
        later = ["fit", "finish", "file", "forget", "forget", "set_params", *COPIES]
        return [("fit", 0), *(_step(choose, later, n) for _ in range(choose.whole(1, 3)))]
    later = ["fit", "stream", "one", "one", "finish", "file", "forget", "forget", "forget"]
    later += [*COPIES, "set_params", "new label"]
    first = _step(choose, ["fit", "fit", "stream"], n)
    return [first, *(_step(choose, later, n) for _ in range(choose.whole(1, 5)))]


def _step(choose: Any, options: list[str], n: int) -> tuple[str, Any]:
    what = choose.of(options)
    if what == "forget":
        return what, (
            choose.of(["one", "few", "half", "of one label", "all but one"]),
            choose.flag(),
        )
    return draw_step(choose, what, n)
