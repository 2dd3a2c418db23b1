"""One SVM per cell of space: time grows with the rows, not with their square.

Where a fixed share of the rows are support vectors, a fit costs rows times support vectors. Cut into
k cells by their nearest centre c_j, each cell has its own small problem, and a row is judged by the
machine of its own cell:

    f(x) = f_j(x),   j = argmin_j |x - c_j|^2

Given centres as rows, says which cell a row is in, and which other cells it is near: such rows
help to learn there too, so that a boundary does not end at the edge of its cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...examples import Examples, merge_duplicates
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows, RowStore
from ...model import Model, model_of, owned_rows
from ..fit import Fit, Plan
from ..learner import LASVM

_PART = 16384
"""Rows compared with the centres at a time."""

_DOT = Kernel("linear")


def distances(rows: Rows, centres: Rows) -> np.ndarray:
    """|x - c|^2 of every row and centre, not below zero; the same however rows are grouped."""
    kernel = replace(_DOT, n_jobs=1)
    rows = rows.sized(False)
    squares = rows.squares[:, None].astype(np.float64) + centres.squares
    return np.maximum(squares - 2.0 * kernel.block(rows, centres), 0.0)


def nearest(rows: Rows, centres: Rows) -> np.ndarray:
    """The cell of each row."""
    cell = np.empty(len(rows), np.int64)
    for first in range(0, len(rows), _PART):
        part = slice(first, first + _PART)
        cell[part] = distances(rows.take(part), centres).argmin(axis=1)
    return cell


def grouped(rows: Rows, centres: Rows) -> Iterator[tuple[int, np.ndarray]]:
    """Each cell that has rows, and which rows these are."""
    cell = nearest(rows, centres)
    order = np.argsort(cell, kind="stable")
    edges = np.searchsorted(cell[order], np.arange(len(centres) + 1))
    for j in range(len(centres)):
        if edges[j] < edges[j + 1]:
            yield j, order[edges[j] : edges[j + 1]]


def members(rows: Rows, centres: Rows, overlap: float) -> list[np.ndarray]:
    """The rows that learn every cell: its own, and those nearly as close to it as to their own.

    A row with distance d to its own centre helps in cells whose centre is within (1 + overlap) d.
    """
    found: list[list[np.ndarray]] = [[] for _ in range(len(centres))]
    for first in range(0, len(rows), _PART):
        apart = distances(rows.take(slice(first, first + _PART)), centres)
        reach = apart.min(axis=1) * (1.0 + overlap) ** 2
        inside = apart <= reach[:, None]
        if not overlap:  # a tie goes to one cell
            inside = apart.argmin(axis=1)[:, None] == np.arange(len(centres))
        for cell, mask in enumerate(inside.T):
            found[cell].append(first + np.flatnonzero(mask))
    return [np.concatenate(which) if which else np.empty(0, np.int64) for which in found]


def split(data: Examples, centres: Rows, overlap: float) -> list[Examples]:
    """The examples that learn every cell."""
    return [_owned(data.take(which)) for which in members(data.rows, centres, overlap)]


def _owned(data: Examples) -> Examples:
    return data._replace(rows=owned_rows(data.rows))


class CellFit(NamedTuple):
    """What was learned in a cell: its model, whether it reached the tolerance, and the cost."""

    model: Model
    done: bool
    n_rows: int
    kernel_values: int


def learn(
    pieces: list[Examples], kernel: Kernel, n_labels: int, tol: float, seed: np.ndarray
) -> CellFit:
    """The SVM of the examples of one cell, by one pass. A cell of one class says that class."""
    data = joined(pieces)
    n = len(data.rows)
    data = merge_duplicates(data) if n else data
    data = data._replace(key=np.arange(len(data.rows)))
    learner = LASVM(kernel, data.rows, n_labels, tau=tol)
    fit = Fit(learner, data, np.random.RandomState(seed), Plan())
    for stage in fit.stages() if n else ():
        for _ in stage.steps:
            pass
    return CellFit(model_of(learner), fit.reached, n, kernel.n_evaluations)


def joined(pieces: list[Examples]) -> Examples:
    """Examples one after the other."""
    store = RowStore(pieces[0].rows, max(1, sum(len(piece.rows) for piece in pieces)))
    for piece in pieces:
        store.append(piece.rows)
    return Examples(store.rows(), *(np.concatenate(parts) for parts in list(zip(*pieces))[1:]))


def decide(
    models: list[Model], centres: Rows, kernel: Kernel, rows: Rows, machines: int
) -> np.ndarray:
    """Decision values (n, machines), each row by the model of its own cell."""
    values = np.empty((len(rows), machines))
    for j, own in grouped(rows, centres):
        values[own] = models[j].decide(kernel, rows.take(own))
    return values
