"""Shapley values of product kernels, next to the sum over all subsets of features."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from onlinesvm.core.explain.shapley import MOST_NODES, rules, shapley_values
from onlinesvm.core.kernel.kernel import Kernel

KERNELS = ("rbf", "laplacian")


def factors(X, S, kernel):
    """z of every example, support vector and feature."""
    difference = X[:, None, :] - S[None, :, :]
    distance = difference**2 if kernel.name == "rbf" else np.abs(difference)
    return np.exp(-kernel.gamma * distance)


def over_subsets(X, S, coef, kernel):
    """The definition: the mean of what a feature adds to all sets of the others."""
    n, d = X.shape
    z = factors(X, S, kernel)
    value = {
        members: z[:, :, list(members)].prod(axis=2) @ coef.T
        for size in range(d + 1)
        for members in combinations(range(d), size)
    }
    found = np.zeros((n, len(coef), d))
    for members, before in value.items():
        size = len(members)
        share = (
            math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            if size < d
            else 0
        )
        for j in set(range(d)) - set(members):
            found[:, :, j] += share * (value[tuple(sorted((*members, j)))] - before)
    return found


def problem(seed, n, s, d, machines=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(s, d)), rng.normal(size=(machines, s))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 3, 6, 9, 10])
@pytest.mark.parametrize("gamma", [1e-6, 0.3, 20.0])
def test_values_are_those_of_all_subsets(name, d, gamma):
    X, S, coef = problem(d, 2, 12, d)
    kernel = Kernel(name, gamma=gamma)
    found = shapley_values(X, S, coef, kernel)
    np.testing.assert_allclose(found, over_subsets(X, S, coef, kernel), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [20, 77, 200, 784])
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_values_add_up_however_many_features_there_are(name, d, gamma):
    X, S, coef = problem(d, 3, 25, d)
    kernel = Kernel(name, gamma=gamma)
    total = shapley_values(X, S, coef, kernel).sum(axis=2)
    np.testing.assert_allclose(
        total, (factors(X, S, kernel).prod(axis=2) - 1.0) @ coef.T, rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("u", [-1e-9, -0.01, -0.5, -1.0])
@pytest.mark.parametrize("d", [192, 400, 800])
def test_the_largest_rule_is_enough(u, d):
    """prod over d equal factors: the integral of (1 + t u)^(d - 1) is known."""
    nodes, weights = (rule[-1] for rule in rules(d))
    assert len(nodes) == MOST_NODES
    known = -np.expm1(d * np.log1p(u)) / (-u * d) if u > -1 else 1 / d
    np.testing.assert_allclose(weights @ (1.0 + nodes * u) ** (d - 1), known, rtol=1e-9)


def test_equal_features_have_no_share_and_sparse_rows_the_same_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(5, 40)).astype(float) * (rng.random((5, 40)) < 0.3)
    S = rng.integers(0, 3, size=(30, 40)).astype(float) * (rng.random((30, 40)) < 0.2)
    X[:, 7], S[:, 7] = 1.0, 1.0
    coef, kernel = rng.normal(size=(3, 30)), Kernel("rbf", gamma=0.4)
    dense = shapley_values(X, S, coef, kernel)
    thin = shapley_values(sparse.csr_matrix(X), sparse.csr_matrix(S), coef, kernel)
    np.testing.assert_array_equal(dense, thin)
    assert (dense[:, :, 7] == 0.0).all()
    assert (shapley_values(S[:1], S[:1], coef[:, :1], kernel) == 0.0).all()


def test_repeated_support_vectors_and_threads_change_nothing():
    X, S, coef = problem(3, 700, 15, 8)
    one = shapley_values(X, S, coef, Kernel("rbf", gamma=0.2, n_jobs=1))
    np.testing.assert_array_equal(
        one, shapley_values(X, S, coef, Kernel("rbf", gamma=0.2, n_jobs=2))
    )
    twice = shapley_values(
        X, np.vstack([S, S]), np.hstack([coef, coef]) / 2, Kernel("rbf", gamma=0.2)
    )
    np.testing.assert_allclose(one, twice, rtol=0, atol=1e-14)


def test_far_rows_have_the_shares_of_features_that_decide():
    """Differences of 1e6: every factor is zero but one; its share is known."""
    X, S = np.array([[1e6, 0.0, 0.0]]), np.zeros((1, 3))
    found = shapley_values(X, S, np.ones((1, 1)), Kernel("rbf", gamma=1.0))
    np.testing.assert_allclose(found[0, 0], [-1.0, 0.0, 0.0], atol=1e-15)
    found = shapley_values(np.full((1, 3), 1e6), S, np.ones((1, 1)), Kernel("rbf", gamma=1.0))
    np.testing.assert_allclose(found[0, 0], [-1 / 3] * 3, atol=1e-14)
