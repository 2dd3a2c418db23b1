"""The examples of ``fit`` that remain after others were forgotten, made into rows when needed.

``forget`` is given the whole data set again, and needs few of its rows: those that may have become
support vectors. The others are not converted, and copies of an example are not searched for again:
the bounds that ``fit`` gave to the examples are known.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from .checks import Checked
from .trained import Trained

if TYPE_CHECKING:
    from ..core.examples import Examples
    from ..core.kernel.rows import Rows

OTHER_DATA = "X, y and sample_weight must be those given to fit, with all rows."

COMPARED = 256
"""Number of stored rows that are compared with those of the data set that is given again."""


class Remaining:
    """Examples of a data set, numbered in order (``core.lasvm.block.slack_bounds.DataSet``)."""

    def __init__(self, trained: Trained, given: Checked, rows: np.ndarray, bound: np.ndarray):
        """``rows``: their row indices in the X that is given, ``bound``: their bounds."""
        self._trained, self._given, self._rows = trained, given, rows
        self.bound, self.key = bound, np.arange(len(rows))

    @cached_property
    def label(self) -> np.ndarray:
        """Their labels, as the learner knows them."""
        labels: np.ndarray = self._trained.encoder.encode(self._given.y[self._rows])
        return labels

    def take(self, which: np.ndarray) -> Examples:
        """Some of them, as the learner takes them."""
        rows, given = self._rows[which], self._given
        made = self._trained.examples(given.X[rows], given.y[rows], self.bound[which], rows)
        return made._replace(key=self.key[which])


def as_fitted(trained: Trained, data: Examples) -> Examples:
    """Examples given again with the bounds that they had in ``fit``, whatever C and class_weight are now."""
    support = trained.learner.support
    slots = np.flatnonzero(support.a.key[: support.n] >= 0)
    rows = trained.original[support.a.key[slots]]
    place = np.minimum(np.searchsorted(data.key, rows), len(data.key) - 1)
    if not len(slots) or not np.array_equal(data.key[place], rows):
        return data
    has_classes = data.label.dtype.kind in "iu" and data.label.ndim == 1
    number = data.label if has_classes else np.zeros(len(data.label), np.int64)
    share = support.a.bound[slots] / data.bound[place]
    factor = np.full(number.max() + 1, np.median(share))
    factor[number[place]] = share
    if not np.allclose(share, factor[number[place]], rtol=1e-6, atol=0.0):
        raise ValueError(OTHER_DATA)
    return data._replace(bound=data.bound * factor[number])


def check_same(trained: Trained, given: Checked) -> None:
    """Refuse a data set that is not the one given to ``fit``, by its shape and by some of its rows."""
    same = given.X.shape == trained.shape_fit and _some_rows_are_same(trained, given)
    if not same:
        raise ValueError(OTHER_DATA)


def _some_rows_are_same(trained: Trained, given: Checked) -> bool:
    """Whether some rows that the learner has stored are those of the data set, with their labels."""
    support = trained.learner.support
    slots = np.flatnonzero(support.a.key[: support.n] >= 0)
    slots = slots[:: max(1, len(slots) // COMPARED)]
    if not len(slots):
        return True
    rows = trained.original[support.a.key[slots]]
    try:
        again = trained.examples(given.X[rows], given.y[rows], support.a.bound[slots], rows)
    except (KeyError, IndexError):  # a label that is not known
        return False
    if not np.array_equal(again.label, support.labels(slots)):
        return False
    return _are_same(again.rows, support.rows().take(slots))


def _are_same(left: Rows, right: Rows) -> bool:
    """Whether rows are the same, pair by pair."""
    from ..core.examples import equal_pairs

    parts = left.has_second_parts() or right.has_second_parts()
    if left.is_sparse == right.is_sparse and not parts:
        return bool(equal_pairs(left, right).all())
    return (sparse.csr_matrix(left.to_array()) != sparse.csr_matrix(right.to_array())).nnz == 0
