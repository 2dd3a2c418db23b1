"""What holds after every step of LASVM, on whatever data: properties found by hypothesis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.lockstep import Lockstep

from onlinesvm import LASVMClassifier
from onlinesvm.core.kernel.kernel import Kernel

EPS = np.finfo(np.float64).eps
STEPS = 10_000  # more pair steps than any of these runs makes; roundings add up over them


@st.composite
def problems(draw):
    """Examples on a small grid (ties, duplicates, contradictions) or anywhere, and settings."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(12, 32)), draw(st.integers(1, 3))
    classes = draw(st.integers(2, 4))
    X = (
        rng.integers(-2, 3, (n, d)).astype(float)
        if draw(st.booleans())
        else rng.normal(size=(n, d))
    )
    label = rng.integers(classes, size=n)
    label[:classes] = np.arange(classes)
    kernel = draw(
        st.sampled_from(
            [
                Kernel("linear"),
                Kernel("rbf", gamma=0.7),
                Kernel("poly", gamma=0.5, coef0=1.0, degree=3),
                Kernel("sigmoid", gamma=0.1, coef0=-0.1),  # not positive semi-definite
            ]
        )
    )
    return {
        "X": X,
        "label": label,
        "kernel": Kernel(**{k: getattr(kernel, k) for k in ("name", "gamma", "degree", "coef0")}),
        "C": draw(st.sampled_from([0.01, 1.0, 300.0])),
        "weight": rng.uniform(0.5, 2.0, n) if draw(st.booleans()) else 1.0,
        "cache_size": draw(st.sampled_from([1e-6, 1.0])),
    }


class Checks:
    """The state of a run, looked at after each step."""

    def __init__(self, both):
        self.both = both
        self.K = both.twin.machines[0].K
        self.y = np.stack([machine.y for machine in both.twin.machines])
        self.reach = np.abs(self.K).max() * both.data.bound.sum() + 1.0
        self.dual_before = np.zeros(len(self.y))

    def coefficients(self):
        """alpha of every machine over the whole data set."""
        a, n = self.both.a, self.both.support.n
        full = np.zeros((len(self.y), len(self.K)))
        full[:, a.key[:n]] = a.alpha[:, :n]
        return full

    def sums_and_bounds(self):
        support, n = self.both.support, self.both.support.n
        low, high = support.bounds()
        alpha = support.alpha()
        assert (alpha >= low).all()
        assert (alpha <= high).all()
        assert np.abs(alpha.sum(axis=1)).max(initial=0) <= STEPS * EPS * support.a.bound[:n].max()

    def gradients(self):
        """The maintained gradient is the one recomputed from alpha, up to float64 rounding."""
        a, n = self.both.a, self.both.support.n
        true = (self.y - self.coefficients() @ self.K)[:, a.key[:n]]
        member = a.member[:, :n]
        error = np.abs(true - a.grad[:, :n])[member].max(initial=0.0)
        assert error <= STEPS * EPS * self.reach

    def dual_never_falls(self):
        alpha = self.coefficients()
        dual = (alpha * self.y).sum(axis=1) - 0.5 * np.einsum("mi,ij,mj->m", alpha, self.K, alpha)
        scale = self.reach * self.both.data.bound.sum()
        assert (dual >= self.dual_before - 100 * EPS * scale).all()
        self.dual_before = dual


@given(problems())
def test_invariants_of_the_listing(problem):
    both = Lockstep(**problem)
    checks = Checks(both)
    n = len(problem["label"])
    for k in [*range(n), *range(0, n, 2)]:
        both.visit(k)
        checks.sums_and_bounds()
        checks.gradients()
        checks.dual_never_falls()
        both.check_rows()
        both.check_cache()
    both.learner.finish()
    checks.sums_and_bounds()
    checks.gradients()
    checks.dual_never_falls()
    assert (both.a.delta <= 1e-3).all()


@given(problems())
@settings(max_examples=15)
def test_the_twin_agrees_on_whatever_data(problem):
    both = Lockstep(**problem | {"C": min(problem["C"], 1.0)})
    both.run(range(len(problem["label"])))
    both.finish()


@given(problems(), st.integers(0, 2**32 - 1))
def test_evicted_examples_are_gone(problem, seed):
    """From S, from the store, from prediction; and they may come back with another visit."""
    both = Lockstep(**problem)
    for k in range(len(problem["label"])):
        before = set(both.a.key[: both.support.n].tolist())
        both.visit(k)
        now = set(both.a.key[: both.support.n].tolist())
        for gone in before - now:
            assert both.slot_of[gone] == -1
        assert len(both.support.rows()) == len(now)
    vectors, alpha, _, slots = both.learner.expansion()
    assert len(vectors) == len(slots) == alpha.shape[1]
    assert alpha.any(axis=0).all()


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_smallest_budgets(classes):
    """One support vector a class is the least; with less there is nothing to merge with."""
    rng = np.random.default_rng(0)
    label = rng.permutation(np.arange(300) % classes)
    X = rng.normal(size=(classes, 2))[label] * 3 + rng.normal(size=(300, 2))
    model = LASVMClassifier(budget=classes, gamma=0.5, cache_size=1e-6).fit(X, label)
    assert len(model.support_) <= classes
    if classes > 2:
        with pytest.raises(ValueError, match=f"budget=2 .* {classes} classes"):
            LASVMClassifier(budget=2).fit(X, label)


def test_gradients_do_not_drift_in_a_long_run():
    """Thousands of steps with a large C: what is maintained stays what would be recomputed."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (3000, 2))
    y = ((X * 2).astype(int).sum(axis=1) % 2) ^ (rng.random(3000) < 0.02)
    model = LASVMClassifier(C=1000.0, gamma=5.0, block_size=1).partial_fit(X, y)
    support = model._trained.learner.support
    rows, alpha = support.rows(), support.alpha()[0]
    K = model._trained.kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, support.a.diagonal[: support.n])
    assert np.abs(alpha).max() > 100
    drift = np.abs(support.linear()[0] - K @ alpha - support.a.grad[0, : support.n]).max()
    assert drift <= STEPS * EPS * np.abs(alpha).max()
