"""``onlinesvm warmup``: compile every loop, so that later processes find them on disk.

Each class is used on a few rows, in all ways that need different compiled functions: dense and
sparse rows, rows far from the centre, whole fits and single examples. Numba compiles what is
called. The work is divided among processes, which compile each loop once.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_outlier_detector

N_ROWS = 160


def examples(n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of four features and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) * (n_classes > 2)
    return X, np.where(rng.random(N_ROWS) < 0.1, 0, y)


def forms(X: np.ndarray) -> Iterator[Any]:
    """The same rows in all forms: dense, sparse, and so far away that digits are lost."""
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
    if hasattr(model, "learn_one"):
        single = rows.toarray() if sparse.issparse(rows) else rows
        for i in range(111, 140):
            model.learn_one(single[i], *(() if is_outlier_detector(model) else (y[i],)))
            use_one(model, single[i])
    model.predict(rows)
    model.predict(rows[:1])


def use_one(model: Any, row: np.ndarray) -> None:
    """All methods for a single row."""
    for name in ("predict_one", "decision_one", "predict_proba_one"):
        if hasattr(model, name):
            getattr(model, name)(row)


def learn(model: Any, rows: Any, y: np.ndarray, classes: np.ndarray) -> None:
    """``partial_fit``, with the classes where there are classes."""
    if is_classifier(model):
        model.partial_fit(rows, y, classes=classes)
    else:
        model.partial_fit(rows, y)


def use_class(name: str, **options: Any) -> None:
    """The ordinary uses of a class of the package."""
    import onlinesvm

    use_estimator(lambda: getattr(onlinesvm, name)(**options))


def use_settings(*several: dict[str, Any]) -> None:
    """Fits of LASVM with settings that lead to other loops."""
    from .. import LASVMClassifier

    X, y = examples()
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


def use_auto(name: str) -> None:
    """A race of a few rows: kernels and weights of features."""
    import onlinesvm

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] if name.endswith("Regressor") else X[:, 0] > 0
    getattr(onlinesvm, name)(time_limit=60, verbose=False).fit(X, y)


_LASVM = partial(use_class, "LASVMClassifier", gamma=0.5)

USES: dict[str, tuple[Callable[[], None], ...]] = {
    "LASVMClassifier": (
        _LASVM,
        partial(_LASVM, budget=20),
        partial(_LASVM, block_size=1),
        partial(_LASVM, probability=True, detect_drift=True),
        partial(use_settings, {"epochs": "converge"}, {"selection": "active"}),
        partial(use_settings, {"selection": "autoactive"}, {"selection": "gradient"}),
        partial(use_settings, {"kernel": "linear"}, {"kernel": "poly"}, {"kernel": "sigmoid"}),
        partial(use_settings, {"kernel": "laplacian"}, {"kernel": "matern12"}),
    ),
    "ActiveLearner": (use_active_learner,),
    "AutoSVMClassifier": (partial(use_auto, "AutoSVMClassifier"),),
    "AutoSVMRegressor": (partial(use_auto, "AutoSVMRegressor"),),
    **{
        name: (partial(use_class, name),)
        for name in (
            "LASVMRegressor",
            "LASVMOneClass",
            "SimpleSVMClassifier",
            "SimpleSVMOneClass",
            "SimpleSVMRegressor",
            "HullerClassifier",
            "StreamSVMClassifier",
            "KernelPerceptronClassifier",
            "AveragedPerceptronClassifier",
            "BudgetPerceptronClassifier",
            "NORMAClassifier",
            "OLSVMClassifier",
            "PegazClassifier",
        )
    },
}
"""The uses of each class, run in any order by any process."""


def run(names: tuple[str, ...], jobs: int | None = None) -> None:
    """Use the classes, and report the time of each."""
    from ..core.runtime.threads import available_cores

    begin = time.perf_counter()
    parts = [(name, k) for name in names or tuple(USES) for k in range(len(USES[name]))]
    jobs = max(1, min(jobs or available_cores(), len(parts)))
    left = {name: len(USES[name]) for name, _ in parts}
    spent = dict.fromkeys(left, 0.0)
    click.echo(f"Compiling for {len(left)} of {len(USES)} classes, {jobs} at a time.")
    for name, seconds in _done(parts, jobs):
        left[name], spent[name] = left[name] - 1, spent[name] + seconds
        if not left[name]:
            click.echo(f"{name:<30}{spent[name]:6.1f} s")
    click.echo(f"{'all':<30}{time.perf_counter() - begin:6.1f} s")
    click.echo(_where())


def _done(parts: list[tuple[str, int]], jobs: int) -> Iterator[tuple[str, float]]:
    """Names and seconds of uses, as they are done."""
    if jobs == 1:
        yield from (_use(*part) for part in parts)
        return
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        locks = Path(folder) / "loops"
        with ProcessPoolExecutor(jobs, context, _share, (locks,)) as pool:
            for done in as_completed([pool.submit(_use, *part) for part in parts]):
                yield done.result()


def _share(locks: Path) -> None:
    """In a new process: compile what no other process compiles."""
    from ..core.runtime.compiling.sharing import share_compilation

    share_compilation(locks)


def _use(name: str, part: int) -> tuple[str, float]:
    """One of the uses of a class, and how long it took."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        USES[name][part]()
    return name, time.perf_counter() - start


def _where() -> str:
    """The folder of the compiled loops, in one sentence."""
    from ..core.kernel.tiles import dense as tiles

    path = getattr(tiles.squared_norms, "stats").cache_path  # noqa: B009, a dispatcher of Numba
    if path is None:
        return "No folder is both writable and private to you: nothing was stored on disk."
    return f"Compiled loops are stored on disk, those of the kernels in {path}."
