"""Input of a learner: examples as parallel arrays, one entry for each; copies of an example as one.

Rows x_i = x_j with y_i = y_j are interchangeable in the SVM problem, whatever the task: one row
with the bound C_i + C_j has the same optimum, decision function and dual objective
(``merge_duplicates``). A random projection brings equal rows together; equality is then checked value
by value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel.rows import Rows, pack
from .kernel.tiles.dense import SparseRows
from .runtime.numerics import REORDERED_MATH, jit


class Examples(NamedTuple):
    """Rows, the numbers of their labels, their bounds C, k(x, x), and their row indices in X."""

    rows: Rows
    label: np.ndarray
    bound: np.ndarray
    diagonal: np.ndarray
    key: np.ndarray  # negative on a stream (``keys``)

    def take(self, which: np.ndarray | slice) -> Examples:
        """Some of them."""
        return Examples(self.rows.take(which), *(array[which] for array in self[1:]))


# -- examples that occur more than once ---------------------------------------------------


def merge_duplicates(data: Examples) -> Examples:
    """The data set with every example once, its bound the sum of its copies' bounds.

    ``key`` remains the number of the first copy.
    """
    return merged(data)[0]


def merged(data: Examples) -> tuple[Examples, np.ndarray | None]:
    """As ``merge_duplicates``, and how many copies each example has; None: all have one."""
    first = first_equal(data.rows, _numbers(data.label))
    kept = np.flatnonzero(first == np.arange(len(first)))
    if len(kept) == len(first):
        return data, None
    bound = np.bincount(first, weights=data.bound, minlength=len(first))
    return data._replace(bound=bound).take(kept), np.bincount(first)[kept]


def _numbers(label: np.ndarray) -> np.ndarray:
    """One number for each label, the same for equal ones: labels may be rows of targets."""
    if label.ndim == 1:
        return label
    columns = [np.unique(column, return_inverse=True)[1] for column in label.T]
    if len(columns) == 1:
        return columns[0]
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].ravel()


def first_equal(rows: Rows, label: np.ndarray) -> np.ndarray:
    """Number of the first example with the same row and label."""
    n = len(rows)
    mark = _projection(rows)
    order = np.lexsort((np.arange(n), label, mark))
    same = (mark[order[1:]] == mark[order[:-1]]) & (label[order[1:]] == label[order[:-1]])
    first = np.arange(n)
    if not same.any():
        return first
    heads = np.flatnonzero(np.concatenate([[True], ~same]))
    head_of = order[heads[np.cumsum(np.concatenate([[True], ~same])) - 1]]
    copies = order[head_of != order]
    heads = head_of[head_of != order]
    equal = equal_pairs(rows.take(copies), rows.take(heads))
    first[copies[equal]] = heads[equal]
    return first


def _projection(rows: Rows) -> np.ndarray:
    """One number per row, the same for equal rows and, but for chance, for no others."""
    direction = np.random.default_rng(0).standard_normal(rows.n_features)
    if isinstance(rows.values, SparseRows):
        mark = project_sparse(rows.values, direction)
        if len(rows.values.low):
            mark += project_sparse(rows.values._replace(data=rows.values.low), direction)
        return mark
    mark = project_dense(rows.values, direction)
    return mark + project_dense(rows.low, direction) if len(rows.low) else mark


@jit(fastmath=REORDERED_MATH)
def project_dense(rows, direction):
    """rows @ direction in float64, without a copy of the rows."""
    out = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += rows[i, j] * direction[j]
        out[i] = total
    return out


@jit
def project_sparse(rows, direction):
    """As ``project_dense``, for sparse rows."""
    out = np.empty(rows.begin.shape[0])
    for i in range(rows.begin.shape[0]):
        total = 0.0
        for p in range(rows.begin[i], rows.end[i]):
            total += rows.data[p] * direction[rows.indices[p]]
        out[i] = total
    return out


def equal_pairs(left: Rows, right: Rows) -> np.ndarray:
    """Whether rows are the same, pair by pair; both dense or both sparse, with second parts or without."""
    if not isinstance(left.values, SparseRows) or not isinstance(right.values, SparseRows):
        same = (np.asarray(left.values) == np.asarray(right.values)).all(axis=1)
        return same & (left.low == right.low).all(axis=1) if len(left.low) else same
    a, b = pack(left.values), pack(right.values)
    same_length = (a.end - a.begin) == (b.end - b.begin)
    which = np.flatnonzero(same_length)
    a, b = pack(left.take(which).values), pack(right.take(which).values)  # type: ignore[arg-type]
    differs = (a.indices != b.indices) | (a.data != b.data)
    if len(a.low):
        differs |= a.low != b.low
    differs = np.append(differs, False)
    equal = np.zeros(len(left), bool)
    equal[which] = np.add.reduceat(differs, a.begin) == 0 if len(which) else True
    equal[which[a.end == a.begin]] = True
    return equal
