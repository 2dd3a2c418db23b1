"""What the demo measures: data sets as streams, LASVM on them block by block, SVC on the whole.

A stream is scored twice. *Error so far* is prequential: each block is predicted before it is
learned. *Test error* is that of the current model on held-out rows. Times are those of learning
only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

CHECKPOINTS = 24
"""Points of a learning curve, evenly spaced on a logarithmic scale."""


@dataclass(frozen=True)
class Stream:
    """One problem: rows in the order in which they come, rows to test on, kernel parameters."""

    name: str
    about: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    C: float
    gamma: float
    block: int


@dataclass(frozen=True)
class Moment:
    """State of learning after ``seen`` examples; no test error between checkpoints."""

    seen: int
    error_so_far: float | None
    test_error: float | None
    n_support: int
    seconds: float


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    model: str
    test_error: float
    n_support: int
    n_kernel_evaluations: int | None
    seconds: float
    passes: str


# -- data sets ---------------------------------------------------------------------------------


def digits(seed: int) -> Stream:
    """scikit-learn's handwritten digits: 1,797 images of 8 x 8 pixels, ten classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:1200], order[1200:]
    parts = (X[train], y[train], X[test], y[test])
    return Stream("digits", "digits: ten classes", *parts, C=10.0, gamma=0.001, block=75)


def waveform(seed: int, n: int = 15_000, n_test: int = 10_000) -> Stream:
    """Breiman's waveforms: noisy mixtures of two of three triangles, one mixture against the rest.

    No classifier can err less than about 7 %: the classes overlap.
    """
    rng = np.random.default_rng(seed)
    place = np.arange(1, 22)
    triangles = np.array([np.maximum(6 - abs(place - peak), 0) for peak in (7, 11, 15)])
    kind = rng.integers(3, size=n + n_test)
    first, second = np.array([(0, 2), (0, 1), (1, 2)])[kind].T
    mix = rng.random((len(kind), 1))
    X = mix * triangles[first] + (1 - mix) * triangles[second]
    X += rng.standard_normal(X.shape)
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    y = np.where(kind == 1, 1, -1)
    parts = (X[:n], y[:n], X[n:], y[n:])
    about = "waveform: two classes that overlap"
    return Stream("waveform", about, *parts, C=1.0, gamma=0.05, block=250)


def spirals(seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Two noisy spirals in the plane, one inside the other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    turn = 0.35 + 1.5 * np.sqrt(rng.random(n))
    angle = 2 * np.pi * turn + np.pi * y
    X = turn[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.standard_normal((n, 2))
    return X, y


# -- models ------------------------------------------------------------------------------------


def warm_up(also: Callable[[], Any]) -> tuple[float, bool]:
    """Compile, or read from disk, the loops that one pass and ``also`` use.

    Returns the seconds it took, and whether anything was compiled.
    """
    from numba.core.event import install_recorder

    with install_recorder("numba:compile") as recorder:
        start = time.perf_counter()
        _learn_a_little()
        also()
        seconds = time.perf_counter() - start
    return seconds, bool(recorder.buffer)


def _learn_a_little() -> None:
    from .. import LASVMClassifier

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((192, 4)), rng.integers(3, size=192)
    model = LASVMClassifier()
    for rows in (slice(0, 96), slice(96, 192)):
        model.partial_fit(X[rows], y[rows]).predict(X)
    model.finish()


def blocks(n: int, size: int) -> Iterator[slice]:
    """The rows 0 .. n-1, ``size`` at a time."""
    yield from (slice(first, min(first + size, n)) for first in range(0, n, size))


def checkpoints(n: int, size: int) -> set[int]:
    """Ends of blocks at which the model is tested; the last is n."""
    wanted = np.geomspace(size, n, CHECKPOINTS)
    return {min(n, size * round(seen / size)) for seen in wanted} | {n}


class Learner:
    """LASVM on a stream; ``moments`` is its learning curve so far."""

    def __init__(self, stream: Stream):
        from .. import LASVMClassifier

        self.stream = stream
        self.model = LASVMClassifier(C=stream.C, gamma=stream.gamma)
        self.moments: list[Moment] = []
        self.seconds = 0.0

    def run(self) -> Iterator[Moment]:
        """Predict each block, then learn it; finish after the last."""
        stream, wrong, judged = self.stream, 0, 0
        n = len(stream.y)
        tested = checkpoints(n, stream.block)
        for rows in blocks(n, stream.block):
            X, y = stream.X[rows], stream.y[rows]
            if rows.start:
                wrong += int(np.sum(self.model.predict(X) != y))
                judged += len(y)
            self._learn(X, y, last=rows.stop == n)
            error = self._test_error() if rows.stop in tested else None
            so_far = wrong / judged if judged else None
            size = int(self.model.n_support_.sum())
            self.moments.append(Moment(rows.stop, so_far, error, size, self.seconds))
            yield self.moments[-1]

    def _learn(self, X: np.ndarray, y: np.ndarray, last: bool) -> None:
        start = time.perf_counter()
        self.model.partial_fit(X, y)
        if last:
            self.model.finish()
        self.seconds += time.perf_counter() - start

    def _test_error(self) -> float:
        return float(np.mean(self.model.predict(self.stream.X_test) != self.stream.y_test))

    def result(self) -> Result:
        """The line of the table, after the last block."""
        last = self.moments[-1]
        evaluations = self.model.n_kernel_evaluations_
        error = float("nan") if last.test_error is None else last.test_error
        return Result("LASVM", error, last.n_support, evaluations, self.seconds, "1")


def reference(stream: Stream) -> Result:
    """scikit-learn's SVC with the same kernel and C on all rows at once."""
    from sklearn.svm import SVC

    model: Any = SVC(C=stream.C, gamma=stream.gamma)
    start = time.perf_counter()
    model.fit(stream.X, stream.y)
    seconds = time.perf_counter() - start
    error = float(np.mean(model.predict(stream.X_test) != stream.y_test))
    return Result("SVC", error, int(model.n_support_.sum()), None, seconds, "batch")


# -- a picture's worth -------------------------------------------------------------------------


@dataclass(frozen=True)
class Portrait:
    """A model of the plane: decision values on a grid, support vectors."""

    X: np.ndarray
    y: np.ndarray
    grid: tuple[np.ndarray, np.ndarray]
    values: np.ndarray
    support: np.ndarray


def portrait(seed: int, n: int = 1000) -> Portrait:
    """LASVM on the two spirals, after one pass in blocks of 100."""
    from .. import LASVMClassifier

    X, y = spirals(seed, n)
    reach = 1.02 * np.abs(X).max()
    ticks = np.linspace(-reach, reach, 240)
    grid = np.meshgrid(ticks, ticks)
    model = LASVMClassifier(C=10.0, gamma=4.0)
    for rows in blocks(n, 100):
        model.partial_fit(X[rows], y[rows])
    model.finish()
    plane = np.c_[grid[0].ravel(), grid[1].ravel()]
    values = model.decision_function(plane).reshape(grid[0].shape)
    return Portrait(X, y, (grid[0], grid[1]), values, model.support_vectors_)
