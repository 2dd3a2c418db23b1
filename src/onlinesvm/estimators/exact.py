"""Models of rows in double precision, all of which the learner keeps: those of SimpleSVM.

A trained model (``trained``) whose learner is immutable: what it is replaced by is another one. A view
of it is the model itself.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core.kernel.csr import canonical_csr
from ..core.kernel.kernel import Kernel
from .checks import check_rows
from .explaining import Expansion, alike
from .labels import LabelBook
from .trained import FittedView, Trained


class ExactTrained(Trained):
    """A model of rows in double precision (``core.simplesvm``)."""

    is_single = False

    @staticmethod
    def _forms(kernel: Kernel, X: Any) -> tuple[bool, bool]:
        return False, sparse.issparse(X)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Number of examples kept, and of their features."""
        return len(self.learner.rows), self.learner.rows.values.shape[1]

    def rows(self, X: Any, key: np.ndarray | None = None) -> Any:
        """Checked input as rows of this model, copied."""
        return exact_rows(X, self.kernel, self.centre, self.sparse, key, own=True)

    def examples(
        self, X: Any, y: np.ndarray | None, bound: np.ndarray, number: np.ndarray | None = None
    ) -> Any:
        """Checked examples as the learner takes them; it has their weights in place of bounds."""
        from ..core.simplesvm.learner import Given

        number = np.arange(X.shape[0]) if number is None else number
        rows = self.rows(X, number if self.kernel.name == "precomputed" else None)
        target = self.encoder.encode(y)
        if not isinstance(self.encoder, LabelBook):
            target = np.ravel(target).astype(np.float64)
        return Given(rows, target, bound)

    def numbered(self, data: Any) -> Any:
        """The same: the learner numbers what it is given."""
        return data

    unnumbered = numbered

    def _row(self, x: np.ndarray) -> None:
        """No fast path for single rows: each changes the factor of a linear system."""
        return

    def can_widen(self, dense: bool) -> bool:
        """No: the factor of a linear system is of all rows as they are."""
        return False

    def finishing_share(self) -> float:
        """Nothing is left to do: it is at its optimum after every call."""
        return 0.0

    def gap(self) -> None:
        """Not measured: it is at its optimum after every call."""

    def has_chances(self) -> bool:
        """Yes: leave-one-out values of its examples need no record."""
        return True

    def held_values(self, view: Any) -> None:
        """Not known."""

    def values_without(self, view: Any) -> None:
        """Not known."""

    def view(self, **more: Any) -> FittedView:
        """The model as it is: a learner that an estimator has is never changed."""
        return ExactView(self)


class ExactView(FittedView):
    """The model of a SimpleSVM estimator, which is immutable."""

    def __init__(self, trained: Trained):
        super().__init__(trained)
        self.learner = trained.learner

    def values(self, X: Any) -> np.ndarray:
        """Values of the machines, as learned, (n, machines)."""
        X = check_rows(self.trained.features, X, dtype=np.float64)
        kernel = copy(self.kernel)  # its count is that of learning
        rows = exact_rows(X, kernel, self.trained.centre, self.trained.sparse)
        values: np.ndarray = self.learner.decide(rows)
        return values

    @cached_property
    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the support vectors and their coefficients."""
        which, coef = self.learner.expansion()
        return which, coef

    @property
    def support(self) -> np.ndarray:
        """Numbers of the support vectors among the examples given."""
        return self.learner.number[self._expansion[0]]

    def vectors(self) -> Any:
        """The support vectors as they were given."""
        return moved_back(self.learner.rows.take(self._expansion[0]).values, self.trained.centre)

    def terms(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV), machines as learned."""
        return self._expansion[1]

    def biases(self) -> np.ndarray:
        """Bias of each machine."""
        shown: np.ndarray = self.encoder.shown(self.learner.readings()[0])
        return shown

    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features)."""
        from ..core.kernel.exact import as_array

        features = self.learner.features
        if features is not None and features.given is not as_array:
            raise AttributeError("coef_ is not available with a kernel matrix of low rank.")
        return np.asarray(self._expansion[1] @ self.vectors())

    def label_numbers(self) -> np.ndarray:
        """The number of each support vector's label."""
        return self.learner.target[self._expansion[0]]

    def diagonal(self) -> np.ndarray:
        """k(x, x) of each support vector."""
        return self.learner.rows.take(self._expansion[0]).diagonal()

    def support_values(self) -> np.ndarray:
        """Values of the machines, as learned, for the support vectors themselves, (n_SV, machines)."""
        values: np.ndarray = self.learner.decide(self.learner.rows.take(self._expansion[0]))
        return values

    def similarities(self, which: np.ndarray) -> np.ndarray:
        """Kernel values of all support vectors with some of them, (n_SV, len(which)) float64."""
        rows = self.learner.rows.take(self._expansion[0])
        return rows.block(rows.take(which))

    def expansion(self, X: Any) -> Expansion:
        """The model and these examples as the kernel sees them, in double precision."""
        if self.learner.features is not None:
            raise ValueError(
                "explain has no exact result with a kernel matrix of low rank: fit with "
                "low_rank=None."
            )
        X = check_rows(self.trained.features, X, dtype=np.float64)
        rows = exact_rows(X, copy(self.kernel), self.trained.centre, self.trained.sparse)
        asked, vectors = alike(rows.values, self.learner.rows.take(self._expansion[0]).values)
        return Expansion(
            asked, vectors, copy(self.kernel), self.coefficients(), self.biases(), None
        )


# -- rows, moved to the centre, and back --------------------------------------------------


def exact_rows(
    X: Any,
    kernel: Any,
    centre: np.ndarray | None,
    keeps_sparse: bool,
    key: np.ndarray | None = None,
    own: bool = False,
) -> Any:
    """Checked input as rows, shifted by ``centre``; ``own``: always a copy.

    Sparse input for a model of sparse rows (``keeps_sparse``) stays sparse.
    """
    from ..core.kernel.exact import ExactRows, as_array

    if kernel.name == "precomputed" and sparse.issparse(X):
        X = X.toarray()
    if centre is not None:
        from ..core.kernel.rows import shifted

        is_sparse = sparse.issparse(X) and keeps_sparse
        X = canonical_csr(shifted(X, -centre)) if is_sparse else as_array(X) - centre
    with np.errstate(over="ignore"):
        rows = ExactRows(X, kernel, key, own)
        largest = 0.0 if kernel.name == "callable" else np.abs(rows.diagonal()).max()
    if not np.isfinite(largest + rows.squares.max()):
        raise ValueError(
            "The values are too large for kernel values in double precision; scale the "
            "features (for example with StandardScaler)."
        )
    return rows


class Shifted:
    """The user's feature map, applied to rows that are shifted back first."""

    def __init__(self, function: Callable[[Any], Any], centre: np.ndarray | None):
        self.function, self.centre = function, centre

    def __call__(self, values: Any) -> np.ndarray:
        """Features of rows."""
        return self.function(moved_back(values, self.centre))


def moved_back(values: Any, centre: np.ndarray | None) -> Any:
    """Rows shifted back to the user's coordinates, dense or sparse as they are."""
    if centre is None:
        return values
    if sparse.issparse(values):
        from ..core.kernel.rows import shifted

        return shifted(values, centre)
    return values + centre
