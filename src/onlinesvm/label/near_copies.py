"""Near copies among the rows of a pool: found once, so that each is asked about once.

    group[i] = the first row that row i is a copy of; i itself if there is none

Two rows are near copies if their distance is at most ``radius``. Comparing all pairs would be too
slow, so rows are hashed (locality-sensitive hashing): along a random direction, divided into cells
much wider than the radius, near copies are usually in the same cell; rows that share the cells of
all directions of a band are compared. Several bands compensate for cell edges that fall between two
copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

BANDS, DIRECTIONS = 4, 10
"""A pair at the radius is missed with probability 0.2, one at a third of it with 0.01."""

WIDTH = 8.0
"""Width of a cell in units of the radius."""

CHUNK = 20_000
"""Rows that are projected at once."""


def radius_of(kernel: str, gamma: float, similarity: float) -> float:
    """Distance at which the kernel value is ``similarity``: RBF, or linear with unit rows."""
    if kernel == "rbf":
        return float(np.sqrt(-np.log(similarity) / gamma))
    return float(np.sqrt(2.0 - 2.0 * similarity))


def equal_groups(digests: list[str]) -> np.ndarray:
    """Groups of items with equal content."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(digest, i) for i, digest in enumerate(digests)], np.int64)


def near_groups(
    X: Any, radius: float, group: np.ndarray, telling: np.ndarray | None = None, seed: int = 0
) -> np.ndarray:
    """Groups of rows within ``radius`` of the first of the group, beside groups known already.

    Only rows that are ``telling`` (bool) are compared; None: all of them.
    """
    group = group.copy()
    is_leader = group == np.arange(len(group))
    leaders = np.flatnonzero(is_leader if telling is None else is_leader & telling)
    if len(leaders) < 2 or radius <= 0.0:
        return group
    cells = _cells(X, leaders, WIDTH * radius, seed)
    for band in range(BANDS):
        keys = _mixed(cells[:, band * DIRECTIONS : (band + 1) * DIRECTIONS])
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.append(True, keys[order][1:] != keys[order][:-1]))
        run = np.repeat(leaders[order[starts]], np.diff(np.append(starts, len(order))))
        rows, heads = leaders[order], run
        some = (rows != heads) & (group[rows] == rows) & (group[heads] == heads)
        close = _squared(X, rows[some], heads[some]) <= radius**2
        group[rows[some][close]] = heads[some][close]
    while (group[group] != group).any():  # a leader may have joined another in a later band
        group = group[group]
    return group


def _cells(X: Any, rows: np.ndarray, width: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n_cells = BANDS * DIRECTIONS
    directions = rng.standard_normal((X.shape[1], n_cells)).astype(np.float32)
    shift = rng.random(n_cells)
    out = np.empty((len(rows), n_cells), np.int32)
    for first in range(0, len(rows), CHUNK):
        part = X[rows[first : first + CHUNK]]
        out[first : first + CHUNK] = np.floor(np.asarray(part @ directions) / width + shift)
    return out


def _mixed(cells: np.ndarray) -> np.ndarray:
    """One number for the cells of a band."""
    factors = np.random.default_rng(1).integers(1, 2**63, cells.shape[1], dtype=np.uint64) | 1
    with np.errstate(over="ignore"):
        return (cells.astype(np.int64).astype(np.uint64) * factors).sum(axis=1, dtype=np.uint64)


def _squared(X: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared distances between rows a[k] and b[k]."""
    out = np.empty(len(a))
    for first in range(0, len(a), CHUNK):
        part = slice(first, first + CHUNK)
        difference = X[a[part]] - X[b[part]]
        if sparse.issparse(difference):
            out[part] = np.ravel(difference.multiply(difference).sum(axis=1))
        else:
            out[part] = np.einsum("ij,ij->i", difference, difference)
    return out
