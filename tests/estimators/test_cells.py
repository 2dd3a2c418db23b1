"""Cells in one process: what each row's own cell says, whatever is in the cell."""

import os
import pickle
import signal
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

from onlinesvm import LASVMClassifier, LASVMRegressor
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.parts import cells
from onlinesvm.core.runtime.interrupts import Interruptible, checkpoint
from onlinesvm.estimators.cells import CellClassifier, CellRegressor, centres_of

RNG = np.random.default_rng(0)


def board(n, seed):
    """A board of 4 x 4 squares, and a third column of noise on another scale."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3)) * [1, 1, 50]
    return X, np.floor(2 * X[:, :2]).sum(axis=1).astype(int) % 2


WEIGHTS = np.array([1.0, 1.0, 0.0])
SVM = LASVMClassifier(C=100, gamma=10, feature_weights=WEIGHTS)


def test_cells_learn_what_one_machine_learns():
    X, y = board(3000, 0)
    T, t = board(2000, 1)
    whole = clone(SVM).fit(X, y).score(T, t)
    model = CellClassifier(SVM, n_cells=8).fit(X, y)
    assert len(model.cell_sizes_) == 8
    assert model.cell_sizes_.sum() > 3000  # rows near an edge help on both sides
    assert model.cell_sizes_.max() < 1500
    assert model.score(T, t) > whole - 0.02
    assert np.array_equal(model.predict(T), model.decision_function(T) > 0)
    assert is_classifier(model)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(T), model.predict(T))
    alone = CellClassifier(SVM, n_cells=8, n_jobs=1).fit(X, y)
    assert np.array_equal(alone.decision_function(T), model.decision_function(T))


def test_each_row_is_asked_of_its_own_cell():
    X, y = board(600, 2)
    model = CellClassifier(SVM, n_cells=5).fit(X, y)
    placed = (X - model._shift) * WEIGHTS
    apart = ((placed[:, None] - model._centres.to_array()[None]) ** 2).sum(axis=2)
    for j in range(5):
        own = apart.argmin(axis=1) == j
        want = model.machines_[j].predict(X[own])
        assert (model.predict(X)[own] == want).mean() > 0.99  # an edge may round either way
    few = np.array([0, 7, 100])
    assert np.array_equal(model.predict(X[few]), model.predict(X)[few])


def test_weights_shape_the_cells():
    """The noise has no weight, so that no cell is cut along it."""
    X, y = board(1000, 3)
    model = CellClassifier(SVM, n_cells=6).fit(X, y)
    assert np.ptp(model._centres.to_array()[:, 2]) == 0
    assert np.array_equal(model.feature_weights_, WEIGHTS)


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c", "d"]])
def test_cells_of_one_class_and_of_some_classes(labels):
    centre = np.array([[0, 0], [40, 0], [0, 40], [3, 3]])  # two of them touch
    group = RNG.integers(0, 4, 800)
    X = centre[group] + RNG.normal(size=(800, 2))
    y = np.array(labels)[group % len(labels)]
    model = CellClassifier(LASVMClassifier(gamma=0.5, probability=True), n_cells=4).fit(X, y)
    assert model.score(X, y) > 0.95
    probability = model.predict_proba(X)
    assert probability.shape == (800, len(labels))
    assert np.allclose(probability.sum(axis=1), 1)
    assert np.array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X))
    values = model.decision_function(X)
    assert np.isfinite(values).all()
    assert values.shape == ((800,) if len(labels) == 2 else (800, 4))


def test_values_by_cells():
    X = RNG.uniform(-3, 3, (2000, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    svm = LASVMRegressor(C=10, gamma=1.0, epsilon=0.02)
    whole = clone(svm).fit(X[:1500], y[:1500]).score(X[1500:], y[1500:])
    model = CellRegressor(svm, n_cells=6).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > whole - 0.02 > 0.9
    assert is_regressor(model)
    same = CellRegressor(LASVMRegressor(), n_cells=3).fit(X, np.full(2000, 5.0))
    assert (same.predict(X) == 5.0).all()


def test_an_offset_moves_no_row_to_another_cell():
    X, y = board(800, 4)
    near = CellClassifier(SVM, n_cells=6).fit(X, y)
    far = CellClassifier(SVM, n_cells=6).fit(X + 1e6, y)
    assert np.array_equal(near.cell_sizes_, far.cell_sizes_)


def test_late_cells_learn_what_they_can():
    X, y = board(20_000, 5)
    CellClassifier(SVM, n_cells=2).fit(X[:100], y[:100])  # loops are compiled
    begin = time.monotonic()
    full = CellClassifier(SVM, n_cells=20).fit(X, y)
    middle = time.monotonic()
    model = CellClassifier(SVM, n_cells=20, time_limit=1e-3).fit(X, y)
    assert len(model.predict(X[:10])) == 10
    assert time.monotonic() - middle < 3 * (middle - begin) + 3
    assert len(full.machines_) == len(model.machines_) == 20


def test_rows_that_repeat_leave_fewer_cells():
    X = np.repeat(RNG.normal(size=(3, 2)), 100, axis=0)
    y = np.tile([0, 1], 150)
    model = CellClassifier(LASVMClassifier(gamma=1.0), n_cells=10).fit(X, y)
    assert len(model.predict(X)) == 300


def test_members_and_groups_are_those_of_all_distances():
    X = RNG.normal(size=(500, 3))
    centres = centres_of(X, 7, 0)
    rows = Rows.of(X)
    apart = ((X[:, None] - centres.to_array()[None].astype(float)) ** 2).sum(axis=2)
    found = cells.members(rows, centres, 0.2)
    want = apart <= 1.44 * apart.min(axis=1)[:, None]
    assert [len(which) for which in found] == want.sum(axis=0).tolist()
    grouped = dict(cells.grouped(rows, centres))
    own = np.concatenate(list(grouped.values()))
    assert np.array_equal(np.sort(own), np.arange(500))
    for j, which in grouped.items():
        assert (apart[which].argmin(axis=1) == j).all()


class Slow(LASVMClassifier):
    """Takes five seconds, and can be stopped between its steps, as every fit of the library."""

    has_begun = threading.Event()

    def fit(self, X, y):
        self.has_begun.set()
        with Interruptible():
            for _ in range(500):
                time.sleep(0.01)
                checkpoint()
        return super().fit(X, y)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_all_cells(n_jobs):
    X, y = board(300, 6)
    model = CellClassifier(Slow(gamma=1.0), n_cells=6, n_jobs=n_jobs)
    pressed = []

    def press():
        Slow.has_begun.wait()
        time.sleep(0.2)
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    Slow.has_begun.clear()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    finger = threading.Thread(target=press)
    try:
        finger.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert time.monotonic() - pressed[0] < 2.5  # a cell takes five
    finally:
        finger.join()
        signal.signal(signal.SIGINT, before)
    assert not hasattr(model, "machines_")
