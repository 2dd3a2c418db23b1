"""Intervals, certificates and agreement, against plain computations."""

import numpy as np
import pytest
from scipy.stats import hypergeom
from sklearn.metrics import cohen_kappa_score

from onlinesvm.label.measures import (
    accuracy_interval,
    cohen_kappa,
    has_settled,
    recall_p_value,
)


def test_the_interval_is_wilsons():
    z = 1.6448536269514722
    for right, n in [(0, 1), (1, 1), (27, 30), (450, 500)]:
        found = accuracy_interval(right, n)
        for bound in (found.low, found.high):
            if 0 < bound < 1:  # p with |p^ - p| = z sqrt(p (1 - p) / n)
                assert abs(right / n - bound) == pytest.approx(z * np.sqrt(bound * (1 - bound) / n))
        assert found.low <= right / n <= found.high
    assert accuracy_interval(0, 0) is None


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("p", [0.7, 0.85, 0.95])
def test_the_interval_covers_as_often_as_it_says(n, p):
    from scipy.stats import binom

    k = np.arange(n + 1)
    found = [accuracy_interval(int(i), n) for i in k]
    covers = np.array([f.low <= p <= f.high for f in found])
    assert 0.83 <= binom.pmf(k, n, p)[covers].sum() <= 0.97


def naive_p(found, pool, target):
    """The definition: all numbers of items of the class that contradict the target."""
    total, last = sum(found), max(k for k, f in enumerate(found) if f)
    n, left = len(found) - last - 1, pool - last - 1
    worst = 0.0
    for true_total in range(total, pool + 1):
        missing = true_total - total
        if total / true_total < target and missing <= left - n:
            worst = max(worst, hypergeom.pmf(0, left, missing, n))
    return worst


@pytest.mark.parametrize(
    ("pool", "finds", "misses"), [(100, 10, 30), (1000, 40, 200), (60, 3, 57), (50, 20, 0)]
)
def test_the_certificate_is_the_hypergeometric_test(pool, finds, misses):
    found = [True] * finds + [False] * misses
    assert recall_p_value(found, pool) == pytest.approx(naive_p(found, pool, 0.95), abs=1e-12)


def test_nothing_found_certifies_nothing():
    assert recall_p_value([], 100) == 1.0
    assert recall_p_value([False] * 50, 100) == 1.0


def test_random_order_is_certified_wrongly_in_few_cases():
    """With items in random order, the test is what it says."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        order = rng.permutation(np.arange(400) < 30)
        n = 300
        p = recall_p_value(order[:n], 400)
        wrong += p < 0.05 and order[:n].sum() / 30 < 0.95
    assert wrong / 300 <= 0.07


def test_kappa_is_scikit_learns():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 200)
    b = np.where(rng.random(200) < 0.7, a, rng.integers(0, 4, 200))
    assert cohen_kappa(list(zip(a, b))) == pytest.approx(cohen_kappa_score(a, b))
    assert cohen_kappa([]) is None
    assert cohen_kappa([(1, 1), (1, 1)]) == 1.0


def test_settled_needs_three_in_a_row():
    assert not has_settled([0.995, 0.999])
    assert has_settled([0.5, 0.995, 0.999, 1.0])
    assert not has_settled([0.995, 0.5, 1.0])


def test_answers_for_other_reasons_are_no_evidence():
    """They leave the open items, and that is all."""
    found = [True] * 10 + [False] * 60
    none, some = [True] * 10 + [False] * 60, [True] * 40 + [False] * 30
    assert recall_p_value(found, 200, drawn=none) == 1.0
    assert recall_p_value(found, 200, drawn=some) == pytest.approx(recall_p_value(found[:40], 200))
    assert recall_p_value(found, 200, drawn=[True] * 70) == recall_p_value(found, 200)
    assert recall_p_value(found, 70, drawn=none) == 0.0  # nothing is left
