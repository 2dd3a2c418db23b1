"""A table divided into cells of space, with one estimator per cell: time is linear in the rows.

The cells are those of ``core.lasvm.parts.cells``: nearest centres, and rows near an edge help on both
sides of it. Centres are computed with the feature weights of the estimator, so that cells are
small along the features that matter. Here a cell is an ordinary estimator, in this process; Dask
learns the same cells on a cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ..core.runtime.interrupts import clock
from ..core.runtime.threads import thread_count
from .rows import weighted
from .side_by_side import side_by_side

ROWS_PER_CELL = 256
"""Number of rows per cell in the sample that is clustered."""

SHORTEST = 0.05
"""Minimum number of seconds for a cell."""


def centres_of(X: Any, n_cells: int, seed: int) -> Any:
    """Centres of mini-batch k-means as rows, that of the largest cluster first."""
    from ..core.kernel.rows import Rows

    n_cells = min(n_cells, X.shape[0])
    with threadpool_limits(1):  # sums of several threads depend on how they are cut
        means = MiniBatchKMeans(n_cells, random_state=seed, n_init=1, batch_size=4096).fit(X)
    sizes = np.bincount(means.labels_, minlength=n_cells)
    order = np.argsort(-sizes, kind="stable")
    found = means.cluster_centers_[order[sizes[order] > 0]]
    return Rows.of(sparse.csr_matrix(found) if sparse.issparse(X) else found)


class CellEstimator(BaseEstimator):
    """Base class of the classifier and the regressor.

    Parameters
    ----------
    estimator : object
        What learns each cell: ``LASVMClassifier`` or ``LASVMRegressor`` with a gamma that is a number.
    n_cells : int
        Number of cells.
    overlap : float
        A row is also learned in other cells whose centre is at most ``1 + overlap`` times as far
        away as that of its own cell.
    time_limit : float or None
        Seconds for all cells together; the last cells learn as much as the remaining time allows.
    n_jobs : int or None
        Number of cells that are learned at the same time.
    random_state : int
        Seed of the clusters.
    """

    def __init__(
        self, estimator: Any, *, n_cells: int = 64, overlap: float = 0.1,
        time_limit: float | None = None, n_jobs: int | None = -1, random_state: int = 0,
    ):  # fmt: skip
        self.estimator = estimator
        self.n_cells = n_cells
        self.overlap = overlap
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Find the cells, and learn each of them."""
        from ..core.lasvm.parts import cells

        ends = clock() + (np.inf if self.time_limit is None else self.time_limit)
        rng = np.random.RandomState(self.random_state)
        few = rng.permutation(len(X))[: self.n_cells * ROWS_PER_CELL]
        shift = X[few].mean(axis=0)
        self.n_features_in_, self._shift = X.shape[1], shift
        centres = centres_of(self._placed(X[few]), self.n_cells, self.random_state)
        members = cells.members(self._rows(X), centres, self.overlap)

        def learn(which: np.ndarray) -> Any:
            return self._learned(X[which], y[which], ends)

        machines = side_by_side(learn, members, thread_count(self.n_jobs))
        self._centres, self.machines_ = centres, machines
        self.cell_sizes_ = np.array([len(which) for which in members])
        return self

    def _learned(self, X: np.ndarray, y: np.ndarray, ends: float) -> Any:
        """The fitted estimator of a cell; a constant if all labels are equal; None without rows."""
        if not len(y):
            return None
        if (y == y[0]).all():
            return Constant(y[0], len(y))
        left = max(SHORTEST, ends - clock())
        model = clone(self.estimator).set_params(
            n_jobs=1, time_limit=left if np.isfinite(left) else None
        )
        with warnings.catch_warnings():  # cells that are cut short: who set the limit knows
            warnings.simplefilter("ignore")
            return model.fit(X, y)

    def _placed(self, X: np.ndarray) -> np.ndarray:
        """Rows as the distance to the centres is measured."""
        weights = self.estimator.get_params().get("feature_weights")
        return np.asarray(weighted(X - self._shift, weights), np.float32)

    def _rows(self, X: np.ndarray) -> Any:
        from ..core.kernel.rows import Rows

        return Rows.of(self._placed(X))

    def _asked(self, X: Any, ask: Callable[[Any, np.ndarray], np.ndarray], out: np.ndarray) -> Any:
        """The prediction of each row by the cell that it is in."""
        from ..core.lasvm.parts import cells

        check_is_fitted(self, "machines_")
        X = np.asarray(X)
        for j, own in cells.grouped(self._rows(X), self._centres):
            if self.machines_[j] is not None:
                out[own] = ask(self.machines_[j], X[own])
        return out

    @property
    def feature_weights_(self) -> np.ndarray:
        """Weights of the features, the same in all cells."""
        weights = self.estimator.get_params().get("feature_weights")
        return np.ones(self.n_features_in_) if weights is None else np.asarray(weights)


class Constant:
    """Predicts the only label or value of its cell."""

    def __init__(self, said: Any, count: int):
        self.said, self.count = said, count
        self.classes_ = np.array([said])

    def predict(self, X: Any) -> np.ndarray:
        """The same for every row."""
        return np.full(len(X), self.said)


class CellRegressor(RegressorMixin, CellEstimator):
    """Values by cells."""

    def predict(self, X: Any) -> np.ndarray:
        """The value of each row."""
        return np.asarray(self._asked(X, lambda m, rows: m.predict(rows), np.zeros(len(X))))


class CellClassifier(ClassifierMixin, CellEstimator):
    """Labels by cells."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Find the cells, and learn each of them."""
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values: one per row with two classes, else one column per class."""
        values = np.asarray(self._asked(X, self._decided, np.zeros((len(X), len(self.classes_)))))
        return values[:, 1] if len(self.classes_) == 2 else values

    def _decided(self, machine: Any, X: np.ndarray) -> np.ndarray:
        """One column per class of the table; a class that is not in the cell is below all that are."""
        if isinstance(machine, Constant):
            found = np.ones((len(X), 1))
        else:
            found = machine.decision_function(X)
            found = np.stack([-found, found], axis=1) if found.ndim == 1 else found
        lowest = np.minimum(found.min(axis=1) - 1.0, -1.0)
        made = np.repeat(lowest[:, None], len(self.classes_), axis=1)
        made[:, np.searchsorted(self.classes_, machine.classes_)] = found
        return made

    def predict(self, X: Any) -> np.ndarray:
        """The label of each row."""
        values = self._asked(X, self._decided, np.zeros((len(X), len(self.classes_))))
        return np.asarray(self.classes_[values.argmax(axis=1)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; in a cell of one class, by the rule of succession."""
        even = np.full((len(X), len(self.classes_)), 1.0 / len(self.classes_))
        return np.asarray(self._asked(X, self._probable, even))

    def _probable(self, machine: Any, X: np.ndarray) -> np.ndarray:
        if isinstance(machine, Constant):
            other = 1.0 / (machine.count + len(self.classes_))
            made = np.full((len(X), len(self.classes_)), other)
            made[:, self.classes_ == machine.said] = (machine.count + 1) * other
            return made
        made = np.zeros((len(X), len(self.classes_)))
        made[:, np.searchsorted(self.classes_, machine.classes_)] = machine.predict_proba(X)
        return made
