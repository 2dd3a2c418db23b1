"""The toy problem of scikit-learn's tests of SVC, and LASVM trained to the end beside it."""

import numpy as np
from sklearn.datasets import load_iris

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor

X = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], float)
Y = np.array([1, 1, 1, 2, 2, 2])
NEW = np.array([[-1.0, -1.0], [2.0, 2.0], [3.0, 2.0]])
ANSWERS = [1, 2, 2]


def exact(**settings):
    return LASVMClassifier(epochs="converge", **({"random_state": 0} | settings))


def exact_regressor(**settings):
    return LASVMRegressor(epochs="converge", **({"random_state": 0} | settings))


def exact_one_class(**settings):
    return LASVMOneClass(epochs="converge", **({"random_state": 0} | settings))


def shuffled_iris():
    data = load_iris()
    order = np.random.default_rng(42).permutation(len(data.target))
    return data.data[order], data.target[order]


def close(ours, theirs, atol=5e-3):
    np.testing.assert_allclose(ours, theirs, atol=atol, rtol=5e-3)
