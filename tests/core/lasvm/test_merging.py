"""Support sets of parts merge into the SVM of all: feasible, with true gradients, exact at the end."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from onlinesvm import LASVMClassifier
from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.parts import merging

GAMMA, C, TOL = 0.5, 5.0, 1e-3
SEED = np.array([0, 0], np.uint32)


def noisy(n=600, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes > 2) * (X[:, 2] > 0.5)
    return X, np.where(rng.random(n) < 0.1, 0, y)


def kernel():
    return Kernel("rbf", GAMMA, n_jobs=1)


def examples(X, y, which):
    rows = Rows.of(X[which])
    n = len(which)
    return Examples(rows, y[which], np.full(n, C), np.ones(n), np.asarray(which))


def leaves(X, y, cuts, n_labels=2):
    parts = [examples(X, y, which) for which in cuts]
    return [merging.leaf(part, kernel(), n_labels, TOL, SEED) for part in parts], parts


def whole(support):
    n = support.n
    return support.rows().to_array(), support.alpha(), support.linear(), n


def dual(support):
    X, alpha, linear, _ = whole(support)
    K = rbf_kernel(X, gamma=GAMMA)
    return float((alpha * linear).sum() - 0.5 * np.einsum("mi,ij,mj", alpha, K, alpha))


def assert_sound(support, tolerance=1e-4):
    """Sums, bounds and gradients (of members) as the problem says."""
    X, alpha, linear, n = whole(support)
    lo, hi = support.bounds()
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-8)
    assert (alpha >= lo).all()
    assert (alpha <= hi).all()
    true = linear - alpha @ rbf_kernel(X, gamma=GAMMA)
    member = support.a.member[:, :n]
    np.testing.assert_allclose(support.a.grad[:, :n][member], true[member], atol=tolerance)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_union_is_feasible_and_its_gradients_are_those_of_the_formula(classes):
    X, y = noisy(classes=classes)
    sets, _ = leaves(X, y, np.array_split(np.arange(600), 3), classes)
    merged = merging.union(sets)
    merged.a.grad[:, : merged.n] = merging.gradients(sets, kernel())
    merged.a.member[:, : merged.n] = True
    assert_sound(merged)
    assert merged.n == sum(part.n for part in sets)


@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_in_pieces_are_the_same_to_the_last_bit(classes):
    X, y = noisy(classes=classes)
    sets, _ = leaves(X, y, np.array_split(np.arange(600), 2), classes)
    n = sum(part.n for part in sets)
    cuts = [0, 5, n // 3, n // 2 + 1, n]
    pieces = [merging.gradients(sets, kernel(), a, b) for a, b in zip(cuts, cuts[1:])]
    assert np.array_equal(np.concatenate(pieces, axis=1), merging.gradients(sets, kernel()))


def test_a_merge_never_lowers_the_dual_and_is_sound():
    X, y = noisy()
    sets, _ = leaves(X, y, np.array_split(np.arange(600), 2))
    before = dual(merging.union(sets))
    merged, done = merging.merge(sets, kernel(), TOL)
    assert done
    assert dual(merged) > before
    assert_sound(merged)
    assert merged.alpha().any(axis=0).all()  # rows at zero have left


def to_the_end(sets, parts, most=50):
    root, _ = merging.merge(sets, kernel(), TOL)
    for looks in range(1, 100):
        model = merging.root_model(root, TOL)
        found = [merging.violators(model, kernel(), part, most) for part in parts]
        if not any(len(few.examples.rows) for few in found):
            return root, looks
        assert max(few.joins.sum(axis=1).max() for few in found) <= most
        root, _ = merging.admit(root, kernel(), TOL, found)
        assert len(np.unique(root.a.key[: root.n])) == root.n  # nobody is there twice
    raise AssertionError("no end")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("order", ["random", "sorted"])
def test_run_to_the_end_it_is_the_exact_svm(classes, order):
    X, y = noisy(classes=classes)
    if order == "sorted":
        X, y = X[np.argsort(y, kind="stable")], np.sort(y)
    sets, parts = leaves(X, y, np.array_split(np.arange(600), 4), classes)
    root, looks = to_the_end(sets, parts)
    exact = LASVMClassifier(C=C, gamma=GAMMA, epochs="converge", random_state=0).fit(X, y)
    wanted = dual(exact._trained.learner.support)
    assert abs(dual(root) - wanted) < 1e-4 * wanted
    assert looks > 1
    assert_sound(root)


def test_admitting_leaves_the_root_as_it_was():
    X, y = noisy()
    sets, parts = leaves(X, y, np.array_split(np.arange(600), 2))
    root, _ = merging.merge(sets, kernel(), TOL)
    before = pickle.dumps(root)
    found = [merging.violators(merging.root_model(root, TOL), kernel(), p, 100) for p in parts]
    first, _ = merging.admit(root, kernel(), TOL, found)
    assert pickle.dumps(root) == before
    second, _ = merging.admit(root, kernel(), TOL, found)
    assert np.array_equal(first.alpha(), second.alpha())


def test_parts_of_one_class_send_a_bounded_number_of_rows():
    X, _ = noisy(n=5000)
    ones = np.ones(5000, int)
    alone = merging.leaf(examples(X, ones, np.arange(5000)), kernel(), 2, TOL, SEED)
    assert 0 < alone.n <= merging.REPRESENTATIVES
    twice, _ = merging.merge([alone, alone], kernel(), TOL)
    assert 0 < twice.n <= merging.REPRESENTATIVES
    assert twice.a.bias[0] == 1.0


def test_members_are_never_sent_again_and_too_many_violators_are_a_mixture():
    X, y = noisy(n=2000)
    sets, _ = leaves(X, y, [np.arange(100), np.arange(100, 200)])
    root, _ = merging.merge(sets, kernel(), TOL)
    model = merging.root_model(root, TOL)
    data = examples(X, y, np.arange(2000))
    found = merging.violators(model, kernel(), data, 40)
    assert not np.isin(found.examples.key, root.a.key[: root.n]).any()
    assert len(found.examples.rows) == 40
    assert found.withheld > 40
    model = root.linear(found.examples.label) - found.grad + root.a.bias[:, None]
    slack = 1.0 - (root.linear(found.examples.label) * model)[0]
    assert (slack > 0).all()
    assert np.sort(slack)[5] < 0.5 < np.sort(slack)[-15]  # not the worst alone


def test_sparse_support_sets_travel_small_and_whole():
    X, y = noisy()
    X[X < 0] = 0.0
    rows = Rows.of(sparse.csr_matrix(X))
    data = Examples(rows, y, np.full(600, C), np.ones(600), np.arange(600))
    support = merging.leaf(data, kernel(), 2, TOL, SEED)
    sent = pickle.dumps(support)
    assert len(sent) < 600 * 3 * 8
    assert np.array_equal(
        pickle.loads(sent).rows().to_array().toarray(), X[support.a.key[: support.n]]
    )
