"""Cells: every row in the cell of its nearest centre, judged by the machine of that cell."""

import numpy as np
from scipy import sparse

from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.parts import cells

SEED = np.array([0, 0], np.uint32)


def data(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    y = (np.floor(2 * X).sum(axis=1) % 2).astype(int)
    centres = rng.uniform(-1, 1, (5, 2)).astype(np.float32)
    return X, y, centres


def examples(X, y):
    n = X.shape[0]
    return Examples(Rows.of(X), y, np.full(n, 100.0), np.ones(n), np.arange(n))


def test_cells_are_those_of_the_nearest_centre_dense_or_sparse():
    X, y, centres = data()
    apart = ((X[:, None] - centres) ** 2).sum(axis=2)
    for form in (np.asarray, sparse.csr_matrix):
        assert np.array_equal(
            cells.nearest(Rows.of(form(X)), Rows.of(form(centres))), apart.argmin(1)
        )
    pieces = cells.split(examples(X, y), Rows.of(centres), 0.0)
    assert sorted(np.concatenate([p.key for p in pieces])) == list(range(500))
    wide = cells.split(examples(X, y), Rows.of(centres), 0.2)
    near = np.sqrt(apart) <= 1.2 * np.sqrt(apart.min(axis=1, keepdims=True))
    assert [len(p.rows) for p in wide] == near.sum(axis=0).tolist()


def test_each_row_is_judged_by_its_own_cell():
    X, y, centres = data()
    kernel, middle = Kernel("rbf", 10.0, n_jobs=1), Rows.of(centres)
    pieces = cells.split(examples(X, y), middle, 0.0)
    halves = (
        [p.take(slice(0, None, 2)) for p in pieces],
        [p.take(slice(1, None, 2)) for p in pieces],
    )
    fits = [cells.learn(list(both), kernel, 2, 1e-3, SEED) for both in zip(*halves)]
    models = [fit.model for fit in fits]
    values = cells.decide(models, middle, kernel, Rows.of(X), 1)
    for j, piece in enumerate(pieces):
        own = models[j].decide(kernel, piece.rows)
        assert np.array_equal(values[piece.key], own)
    assert ((values[:, 0] > 0) == y).mean() > 0.97


def test_a_cell_of_one_class_or_of_no_rows_has_an_answer():
    X, y, _ = data()
    kernel = Kernel("rbf", 10.0, n_jobs=1)
    one = examples(X[y == 1], y[y == 1])
    fit = cells.learn([one], kernel, 2, 1e-3, SEED)
    assert (fit.model.decide(kernel, Rows.of(X)) == 1.0).all()
    none = cells.learn([one.take(slice(0, 0))], kernel, 2, 1e-3, SEED)
    assert np.isfinite(none.model.decide(kernel, Rows.of(X))).all()
