"""Cells on Dask: the same from every kind of input, close to the single fit, sound at the edges."""

import pickle

import dask.array as da
import numpy as np
import pytest

from onlinesvm import LASVMClassifier
from onlinesvm.dask import CellLASVMClassifier


def board(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.floor(3 * X).sum(axis=1).astype(int) % 2
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


X, Y = board(4000)
TEST, LABELS = board(3000, 1)


def cells(**settings):
    wanted = {"C": 10, "gamma": 20, "n_cells": 8, "random_state": 0, "partition_size": 1000}
    return CellLASVMClassifier(**(wanted | settings))


def test_cells_are_close_to_the_single_fit_and_overlap_helps():
    single = LASVMClassifier(C=10, gamma=20, random_state=0).fit(X, Y).score(TEST, LABELS)
    apart, wide = cells(overlap=0.0).fit(X, Y), cells(overlap=0.2).fit(X, Y)
    assert apart.cell_sizes_.sum() == 4000 < wide.cell_sizes_.sum()
    assert apart.score(TEST, LABELS) > single - 0.02
    assert wide.score(TEST, LABELS) >= apart.score(TEST, LABELS)


def test_one_cell_is_the_single_fit():
    model = cells(n_cells=1).fit(X, Y)
    exact = LASVMClassifier(C=10, gamma=20, epochs="converge").fit(X, Y)
    assert np.abs(model.decision_function(TEST) - exact.decision_function(TEST)).mean() < 0.01


def test_bits_do_not_depend_on_the_form_and_the_model_travels():
    model = cells().fit(X, Y)
    arrays = cells().fit(da.from_array(X, chunks=(1000, 2)), da.from_array(Y, chunks=1000))
    wanted = model.decision_function(TEST)
    assert np.array_equal(arrays.decision_function(TEST), wanted)
    lazy = model.decision_function(da.from_array(TEST, chunks=(700, 1)))
    assert np.array_equal(lazy.compute(), wanted)
    for copy in (pickle.loads(pickle.dumps(model)), model.to_local()):
        assert np.array_equal(copy.predict(TEST), model.predict(TEST))


def test_classes_that_some_cells_lack():
    y = np.where(X[:, 0] > 0.6, "far", np.where(Y, "odd", "even"))
    model = cells().fit(X, y)
    assert model.decision_function(TEST).shape == (3000, 3)
    assert model.classes_.tolist() == ["even", "far", "odd"]
    assert (model.predict(X) == y).mean() > 0.9


def test_settings_are_checked():
    with pytest.raises(ValueError, match="n_cells"):
        cells(n_cells=0).fit(X, Y)
    assert cells(n_cells=500).fit(X[:300], Y[:300]).n_cells_ <= 300
