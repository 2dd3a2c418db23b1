"""``onlinesvm warmup``: every loop compiled, so that later processes find them on disk.

Each class is used on a few rows, in all the ways that lead to compiled functions of their own: dense
and sparse rows, far rows, whole fits and single examples. Numba compiles what is called.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier

N_ROWS = 160


def examples(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four features and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) * (n_classes > 2)
    return X, np.where(rng.random(N_ROWS) < 0.1, 0, y)


def forms(X: np.ndarray) -> Iterator[Any]:
    """The same rows as loops may meet them: dense, sparse, and so far away that digits are lost."""
    far = X.copy()
    far[::2] += 1e5
    yield X
    yield sparse.csr_matrix(X)
    yield far
    yield sparse.csr_matrix(far)


def use_estimator(make: Callable[..., Any]) -> None:
    """Fit, predict, and learn row by row."""
    for n_classes in (2, 3):
        X, y = examples(n_classes)
        for rows in forms(X):
            make().fit(rows, y).predict(rows[:70])
            stream(make(), rows, y)


def stream(model: Any, rows: Any, y: np.ndarray) -> None:
    """A stream in blocks of several sizes, then example by example."""
    cuts = [0, 50, 53, 54, 110, 111]
    for first, last in zip(cuts, cuts[1:]):
        learn(model, rows[first:last], y[first:last], np.unique(y))
        model.predict(rows[:3])
    if hasattr(model, "learn_one") and not sparse.issparse(rows):
        for i in range(111, 140):
            model.learn_one(rows[i], y[i])
    model.predict(rows)
    model.predict(rows[:1])


def learn(model: Any, rows: Any, y: np.ndarray, classes: np.ndarray) -> None:
    """``partial_fit``, with the classes where there are classes."""
    if is_classifier(model):
        model.partial_fit(rows, y, classes=classes)
    else:
        model.partial_fit(rows, y)


def use_lasvm() -> None:
    """Blocks, the listing, a budget, convergence, selection, all kernels."""
    from .. import LASVMClassifier

    use_estimator(lambda: LASVMClassifier(gamma=0.5))
    use_estimator(lambda: LASVMClassifier(gamma=0.5, block_size=1))
    use_estimator(lambda: LASVMClassifier(gamma=0.5, budget=20))
    X, y = examples()
    several: tuple[dict[str, Any], ...] = (
        {"epochs": "converge"},
        {"selection": "active"},
        {"selection": "autoactive"},
        {"selection": "gradient"},
        {"kernel": "linear"},
        {"kernel": "poly"},
        {"kernel": "sigmoid"},
    )
    for options in several:
        for rows in forms(X):
            LASVMClassifier(gamma=0.5, **options).fit(rows, y).predict(rows)


def use_active_learner() -> None:
    """Questions to a pool, one at a time and in batches."""
    from .. import ActiveLearner, LASVMClassifier

    for n_classes in (2, 3):
        X, y = examples(n_classes)
        for rows in forms(X):
            learner = ActiveLearner(LASVMClassifier(gamma=0.5), rows)
            first = [int(np.flatnonzero(y == c)[0]) for c in np.unique(y)]
            learner.teach(first, y[first])
            for n in (1, 1, 4, 1):
                asked = learner.query(n)
                learner.teach(asked, y[asked])


def use_named(name: str, **options: Any) -> Callable[[], None]:
    """The ordinary uses of a class of the package."""

    def use() -> None:
        import onlinesvm

        use_estimator(lambda: getattr(onlinesvm, name)(**options))

    return use


USES: dict[str, Callable[[], None]] = {
    "LASVMClassifier": use_lasvm,
    "ActiveLearner": use_active_learner,
    **{
        name: use_named(name)
        for name in (
            "LASVMRegressor",
            "LASVMOneClass",
            "KernelPerceptronClassifier",
            "AveragedPerceptronClassifier",
            "BudgetPerceptronClassifier",
            "NORMAClassifier",
            "OLSVMClassifier",
            "PegazClassifier",
            "HullerClassifier",
            "StreamSVMClassifier",
            "SimpleSVMClassifier",
            "SimpleSVMOneClass",
            "SimpleSVMRegressor",
        )
    },
}


def run(names: tuple[str, ...]) -> None:
    """Use the classes, and say for each how long that took."""
    begin = time.perf_counter()
    for name in names or tuple(USES):
        click.echo(f"{name:<30}", nl=False)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            USES[name]()
        click.echo(f"{time.perf_counter() - start:6.1f} s")
    click.echo(f"{'all':<30}{time.perf_counter() - begin:6.1f} s")
    click.echo(_where())


def _where() -> str:
    """The folder of the compiled loops, in one sentence."""
    from ..core.kernel import tiles

    path = getattr(tiles.squared_norms, "stats").cache_path  # noqa: B009, a dispatcher of Numba
    if path is None:
        return "No folder is private to you and writable: nothing was kept on disk."
    return f"Compiled loops are kept on disk, those of the kernels in {path}."
