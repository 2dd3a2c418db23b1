"""The gradient of an expansion against differences of its values."""

import numpy as np
import pytest

from onlinesvm.core.kernel.gradients import (
    WITH_GRADIENT,
    gains_of_features,
    squared_gradients,
)
from onlinesvm.core.kernel.kernel import KERNEL_NAMES, Kernel
from onlinesvm.core.kernel.rows import Rows

RNG = np.random.default_rng(3)
X, Z = RNG.normal(size=(7, 4)), RNG.normal(size=(12, 4))
COEF = RNG.normal(size=(3, 12))
THERE = [name for name in WITH_GRADIENT if name in KERNEL_NAMES]

NAIVE = {
    "rbf": lambda x, z: np.exp(-0.4 * ((x - z) ** 2).sum()),
    "laplacian": lambda x, z: np.exp(-0.4 * np.abs(x - z).sum()),
    "matern12": lambda x, z: np.exp(-0.4 * np.sqrt(((x - z) ** 2).sum())),
    "linear": lambda x, z: x @ z,
    "poly": lambda x, z: (0.4 * x @ z + 0.7) ** 3,
    "sigmoid": lambda x, z: np.tanh(0.4 * x @ z + 0.7),
}


def naive_chords(X, Z):
    """From each row to the one before it, in one feature after the other."""
    value = lambda x: COEF @ np.array([NAIVE["laplacian"](x, z) for z in Z])  # noqa: E731
    change, distance = np.zeros(4), np.zeros(4)
    for i, x in enumerate(X):
        for j in range(4):
            other = x.copy()
            other[j] = X[i - 1, j]
            change[j] += ((value(other) - value(x)) ** 2).sum()
            distance[j] += (other[j] - x[j]) ** 2
    return change / distance


def naive(name):
    """Central differences in double precision."""
    if name == "laplacian":
        return naive_chords(X, Z)
    step, total = 1e-5, np.zeros(4)
    for x in X:
        for j, unit in enumerate(np.eye(4)):
            ends = [np.array([NAIVE[name](x + s * step * unit, z) for z in Z]) for s in (1, -1)]
            slope = COEF @ (ends[0] - ends[1]) / (2 * step)
            total[j] += (slope**2).sum()
    return total / len(X)


@pytest.mark.parametrize("name", THERE)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_gradients_are_those_of_finite_differences(name, form):
    kernel = Kernel(name, gamma=0.4, degree=3, coef0=0.7)
    made = Rows.of if form == "dense" else Rows.packed
    rows = [made(a, absolute=kernel.absolute) for a in (X, Z)]
    found = squared_gradients(kernel, *rows, COEF)
    assert np.allclose(found, naive(name), rtol=2e-5)
    assert kernel.n_evaluations == 0  # what is measured does not count as training


@pytest.mark.parametrize("made", [Rows.of, Rows.packed])
@pytest.mark.parametrize("low", [0.0, -1.5])
def test_chords_of_features_with_two_values(made, low):
    """One matrix product for all of them; the last feature has many values, the third is constant."""
    x, z = X.copy(), Z.copy()
    for rows in (x, z):
        rows[:, :2] = np.where(rows[:, :2] > 0, [1.0, 7.0], low)
        rows[:, 2] = 3.0
    kernel = Kernel("laplacian", gamma=0.4)
    found = squared_gradients(kernel, *(made(a, absolute=kernel.absolute) for a in (x, z)), COEF)
    with np.errstate(invalid="ignore"):
        assert np.allclose(found, np.nan_to_num(naive_chords(x, z)), rtol=2e-5)
    assert (found > 0).tolist() == [True, True, False, True]


@pytest.mark.parametrize("made", [Rows.of, Rows.packed])
def test_gains_are_those_of_single_rows(made):
    """Targets times the change of f from a row with a feature of the row before; two features have two values."""
    x, z = X.copy(), Z.copy()
    for rows in (x, z):
        rows[:, :2] = rows[:, :2] > 0
    targets = RNG.normal(size=(3, 7))
    value = lambda a: COEF @ np.array([NAIVE["laplacian"](a, b) for b in z])  # noqa: E731
    gain = np.zeros((7, 4))
    for i, j in np.ndindex(7, 4):
        other = x[i].copy()
        other[j] = x[i - 1, j]
        gain[i, j] = targets[:, i] @ (value(x[i]) - value(other))
    kernel = Kernel("laplacian", gamma=0.4)
    rows = [made(a, absolute=kernel.absolute) for a in (x, z)]
    sums, squares = gains_of_features(kernel, *rows, COEF, targets)
    assert np.allclose(sums, gain.sum(axis=0), atol=1e-5)
    assert np.allclose(squares, (gain**2).sum(axis=0), atol=1e-5)


@pytest.mark.parametrize("near", [0.0, 1.0])
def test_chords_of_pairs_too_far_for_a_kernel_value(near):
    """Kernel values of 0 that one feature makes so: with that feature of another row, they are not."""
    x, z = np.array([[0.0, 300.0], [0.0, near]]), np.zeros((1, 2))
    kernel = Kernel("laplacian", gamma=1.0)
    rows = [Rows.of(a, absolute=kernel.absolute) for a in (x, z)]
    found = squared_gradients(kernel, *rows, np.ones((1, 1)))
    assert np.allclose(found, [0.0, 2 * np.exp(-2 * near) / (2 * (300.0 - near) ** 2)], rtol=1e-5)


def test_chords_ask_rows_that_differ():
    """A feature that few rows have is measured at these, not at the first rows."""
    rng = np.random.default_rng(0)
    x = np.c_[rng.normal(size=2000), np.arange(2000) % 500 == 499].astype(float)
    z = np.array([[0.0, 1.0], [0.0, 0.0]])
    kernel = Kernel("laplacian", gamma=0.5)
    rows = [Rows.of(a, absolute=kernel.absolute) for a in (x, z)]
    coef = np.array([[1.0, -1.0]])
    near = np.exp(-0.5 * np.abs(x[:, 0]))  # f is this times 1 - e^-0.5, its sign by the feature
    used = [i for i in range(2000) if x[i, 1] != x[i - 1, 1]]
    want = np.mean((2 * near[used] * (1 - np.exp(-0.5))) ** 2)
    assert np.allclose(squared_gradients(kernel, *rows, coef)[1], want, rtol=1e-4)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern12"])
def test_a_support_vector_adds_nothing_at_itself(name):
    kernel = Kernel(name, gamma=2.0)
    rows = Rows.of(Z[:1], absolute=kernel.absolute)
    assert (squared_gradients(kernel, rows, rows, np.ones((1, 1))) == 0).all()


def test_every_kernel_with_a_formula_has_a_gradient():
    assert set(KERNEL_NAMES) - {"precomputed"} <= set(WITH_GRADIENT)
