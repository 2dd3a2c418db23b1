"""One row in, without scikit-learn's full checks: what estimators of classes and of values share.

Of scikit-learn's checks these make those that protect the model: the number of features, and that
they are finite numbers. What needs a closer look (a new label, a sparse model, the first rows of
a stream) takes the way of ``partial_fit`` and ``predict``, with all checks.
"""

from __future__ import annotations

from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.blas import dnrm2
from sklearn.exceptions import NotFittedError

from ..core.interrupts import Interruptible
from ..core.state.published import published
from .view import to_classes
from .weights import finite_cost

if TYPE_CHECKING:
    from ..core.kernel.kernel import Kernel

LONGEST = 1e19
"""Rows of less length have a square within single precision."""


class SingleRows:
    """Mixin of the online models: learn or decide one dense row."""

    if TYPE_CHECKING:  # of the classes that it is mixed into
        _book: Any
        _kernel: Kernel
        _centre: np.ndarray | None
        _sparse: bool
        _first_rows: Any
        n_features_in_: int
        _make_view: Any
        _view: Any

    # -- for subclasses -------------------------------------------------------------------

    def _known_label(self, y: Any) -> Any:
        """The label as the learner takes it; None where it needs a closer look."""
        raise TypeError(f"{type(self).__name__} has no labels.")  # pragma: no cover

    def _weight_of(self, y: Any, weight: float) -> float | None:
        """The weight of an example with this label; None where it needs a closer look."""
        return weight

    # -- inside ---------------------------------------------------------------------------

    def _row_in_order(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The row as the learner takes it, float32 and shifted, and what it was before float32.

        None: it needs a closer look.
        """
        if not self._kernel.is_compiled or self._sparse:
            return None
        if len(x) != self.n_features_in_ or x.dtype.kind not in "fiub":
            return None
        centre = self._centre
        shifted = x if centre is None else x - centre
        if not dnrm2(shifted) < LONGEST:  # NaN included
            return None
        return np.ascontiguousarray(shifted, np.float32), shifted

    def _learn_quickly(self, x: np.ndarray, y: Any, weight: float) -> bool:
        """Learn a row that is in order; false where it needs all checks. Nothing was done then."""
        state = published(self)
        with state:
            learner = self.__dict__.get("_learner")
            if learner is None or self._first_rows is not None:
                return False
            rows, label = self._row_in_order(x), self._known_label(y)
            if rows is None or label is None or not self._is_validated():
                return False
            own = self._weight_of(y, weight)
            if own is None or not 0 < own < np.inf:
                return False
            state.version += 1
            if not self._hand_over(learner, *rows, label, own):
                return False
            if state.waiting:
                state.serve(self._make_view)
        return True

    def _learn_only_row(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Learn a batch of one dense row quickly; false where it is something else."""
        if type(X) is not np.ndarray or X.shape[:1] != (1,) or X.ndim != 2:
            return False
        if type(y) not in (np.ndarray, list) or len(y) != 1 or sample_weight is not None:
            return False
        label = y[0].item() if isinstance(y[0], np.generic) else y[0]
        if isinstance(label, np.ndarray | list):
            return False
        with Interruptible():
            return self._learn_quickly(X[0], label, 1.0)

    def _hand_over(
        self, learner: Any, row: np.ndarray, wide: np.ndarray, label: Any, weight: float
    ) -> bool:
        """The example to the learner: through its own quick way if it has one."""
        bound = weight * finite_cost(getattr(self, "C", None))
        kernel = learner.kernel
        quick = getattr(learner, "learn_one", None)
        if quick is not None and kernel.name == "rbf":
            if quick(row, label, bound, 1.0):
                return True
            learn_far = getattr(learner, "learn_far", None)
            if learn_far is not None:
                learn_far(row, wide, label, bound)
            return learn_far is not None
        from ..core.examples import Examples
        from ..core.kernel.rows import Rows

        rows = Rows.of(row[None, :])
        diagonal = kernel.diagonal(rows)
        if not np.isfinite(diagonal[0]) or rows.squares[0] > kernel.far:
            return False
        if quick is not None:
            return bool(quick(row, label, bound, float(diagonal[0])))
        learner.learn(
            Examples(rows, np.array([label]), np.array([bound]), diagonal, np.array([-1]))
        )
        return True

    def _decide_quickly(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decision values of one row, in the order of the classes, and the classes."""
        state = published(self)
        if state.is_torn:
            view = self._view()
            return np.atleast_1d(view.decide(x[None, :])[0]), view.classes
        with state:
            learner = self.__dict__.get("_learner")
            if learner is None:
                raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
            rows = self._row_in_order(x)
            decide = getattr(learner, "decide_one", None)
            if rows is not None and decide is not None:
                values = decide(rows[0])
                if values is None and hasattr(learner, "decide_far"):
                    values = learner.decide_far(*rows)
                if values is not None:
                    return to_classes(values, self._book.order()), self._book.classes
            view = self._view()
        return np.atleast_1d(view.decide(x[None, :])[0]), view.classes

    # -- parameters, validated when they change -------------------------------------------

    def _parameters(self) -> tuple[Any, ...]:
        own = vars(self)
        kind: Any = type(self)
        return tuple(own[name] for name in _names(kind))

    def _note_validated(self) -> None:
        self._validated = self._parameters()

    def _is_validated(self) -> bool:
        """Whether the parameters are those that were validated last."""
        noted = self.__dict__.get("_validated")
        return noted is not None and all(map(is_, noted, self._parameters()))


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """Names of the parameters of a class."""
    names: list[str] = kind._get_param_names()
    return tuple(names)


def one_row(x: Any, name: str, instead: str) -> np.ndarray:
    """x as an array of one dimension, or one clear error."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"{name} takes one row of features, not an array of shape {x.shape}; use {instead} "
            "for several rows and for sparse ones."
        )
    return x
