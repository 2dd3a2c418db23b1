"""The first use of each class in a new process, and what Numba compiles for it.

``python -m benchmarks.first_use NAME`` runs one use and prints one line of JSON: processor seconds
of the imports and of the use itself, and each compilation with its seconds. ``benchmarks.startup``
starts it with an empty cache folder and again with the filled one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def examples(n: int = 500, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Noisy rows of four features whose class is that of their angle in the plane."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    angle = np.arctan2(X[:, 0], X[:, 1]) + np.pi
    return X, (angle * n_classes / (2 * np.pi)).astype(int) % n_classes


def fit_and_predict(name: str) -> Callable[[], None]:
    """A use: ``fit`` of 500 rows, two classes, and ``predict``."""

    def use() -> None:
        import onlinesvm

        X, y = examples()
        getattr(onlinesvm, name)().fit(X, y).predict(X)

    return use


def one_row_stream() -> None:
    from onlinesvm import LASVMClassifier

    X, y = examples(300)
    model = LASVMClassifier(gamma=0.5)
    for i in range(150):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        model.predict(X[i : i + 1])
    for i in range(150, 300):
        model.learn_one(X[i], y[i])


def active_learner() -> None:
    from onlinesvm import ActiveLearner, LASVMClassifier

    X, y = examples(500)
    start = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
    learner = ActiveLearner(LASVMClassifier(gamma=0.5), X)
    learner.teach(start, y[start])
    for _ in range(10):
        asked = learner.query()
        learner.teach(asked, y[asked])


USES: dict[str, tuple[Callable[[], None], float]] = {
    "LASVM fit": (fit_and_predict("LASVMClassifier"), 5),
    "LASVM one-row stream": (one_row_stream, 6),
    "ActiveLearner": (active_learner, 7),
    "KernelPerceptron": (fit_and_predict("KernelPerceptronClassifier"), 4),
    "AveragedPerceptron": (fit_and_predict("AveragedPerceptronClassifier"), 4),
    "BudgetPerceptron": (fit_and_predict("BudgetPerceptronClassifier"), 4),
    "NORMA": (fit_and_predict("NORMAClassifier"), 4),
    "OLSVM": (fit_and_predict("OLSVMClassifier"), 4),
    "Pegaz": (fit_and_predict("PegazClassifier"), 4),
    "Huller": (fit_and_predict("HullerClassifier"), 6),
    "StreamSVM": (fit_and_predict("StreamSVMClassifier"), 6),
    "SimpleSVM": (fit_and_predict("SimpleSVMClassifier"), 9),
    "SimpleSVMOneClass": (fit_and_predict("SimpleSVMOneClass"), 9),
    "SimpleSVMRegressor": (fit_and_predict("SimpleSVMRegressor"), 9),
}
"""Each use, with the processor seconds that it may take with an empty cache."""


def measure(name: str) -> dict[str, Any]:
    """Seconds of the imports and of the use, and the compilations in it."""
    begin = time.process_time()
    import sklearn.utils.validation  # noqa: F401
    from numba.core import event

    import onlinesvm

    for public in onlinesvm.__all__:  # what is imported when it is asked for
        getattr(onlinesvm, public)

    compilations, running = [], []

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            running.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            start, inside = running.pop()
            seconds = time.process_time() - start
            if running:
                running[-1][1] += seconds
            function = event.data["dispatcher"].py_func
            compilations.append(
                (f"{function.__module__}.{function.__name__}", seconds - inside, seconds,
                 str(event.data["args"]))
            )  # fmt: skip

    event.register("numba:compile", Listener())
    start = time.process_time()
    USES[name][0]()
    end = time.process_time()
    return {"imports": start - begin, "use": end - start, "compilations": compilations}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
