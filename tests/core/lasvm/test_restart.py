"""After rows have left, a model goes on from its free coefficients, with gradients that are right."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor
from onlinesvm.core.lasvm.block import removal, second_look, smo
from onlinesvm.core.lasvm.block import restart as restarting
from onlinesvm.core.lasvm.block.restart import shift_sum

X, Y = make_classification(1500, 6, n_informative=5, n_redundant=0, flip_y=0.1, random_state=0)
MANY, LABELS = make_classification(
    900, 6, n_informative=5, n_redundant=0, n_classes=4, flip_y=0.1, random_state=1
)
ROWS, VALUES = make_friedman1(800, noise=1.0, random_state=0)

CASES = {
    "two classes": (LASVMClassifier(C=5.0, gamma=0.2), X, Y),
    "large C, wide kernel": (LASVMClassifier(C=100.0, gamma=0.01), X, Y),
    "linear": (LASVMClassifier(C=1.0, kernel="linear"), X, Y),
    "four classes": (LASVMClassifier(C=5.0, gamma=0.2), MANY, LABELS),
    "pairs of classes": (LASVMClassifier(C=5.0, gamma=0.2, decision="ovo"), MANY, LABELS),
    "values": (LASVMRegressor(C=5.0, gamma=0.5, epsilon=0.3), ROWS, VALUES),
    "quantiles": (LASVMRegressor(C=5.0, gamma=0.5, quantile=[0.2, 0.8]), ROWS, VALUES),
    "one class": (LASVMOneClass(gamma=0.2, nu=0.2), X, None),
}


def strongest(model, count):
    coef = np.abs(np.asarray(model.dual_coef_))
    return model.support_[np.argsort(-coef.max(axis=0), kind="stable")[:count]]


def errors(learner):
    """Of the gradients of members, of the sums of the coefficients, and beyond the bounds."""
    support = learner.support
    alpha, (lo, hi) = support.alpha(), support.bounds()
    product = learner.kernel.product(support.rows(), support.rows(), alpha).T
    wrong = support.a.grad[:, : support.n] - (support.linear() - product)
    total = learner.task.nu * learner.counted.total if learner.task.nu else 0.0
    return (
        np.abs(wrong[support.a.member[:, : support.n]]).max(),
        np.abs(alpha.sum(axis=1) - total).max(),
        np.maximum(lo - alpha, alpha - hi).max(),
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [1, 10, 150])
def test_gradients_sums_and_bounds_are_right(name, count):
    estimator, rows, y = CASES[name]
    model = deepcopy(estimator).set_params(epochs="converge", random_state=0).fit(rows, y)
    model.forget(strongest(model, count), rows, *(() if y is None else (y,)))
    size = np.abs(model._trained.learner.support.alpha()).sum(axis=1).max()
    gradients, sums, beyond = errors(model._trained.learner)
    assert gradients < 1e-6 * size
    assert sums < 1e-9 * size
    assert beyond <= 0.0
    assert model.forget_report_["reached_tol"]


def test_a_single_row_is_made_up_for_without_the_finishing_step(monkeypatch):
    model = LASVMClassifier(C=5.0, gamma=0.2, epochs="converge", random_state=0).fit(X, Y)
    gaps = []
    monkeypatch.setattr(
        restarting._Machine,
        "write_back",
        lambda self, usual=restarting._Machine.write_back: (gaps.append(self._gap()), usual(self)),
    )
    for row in strongest(model, 20):
        gaps.clear()
        again = deepcopy(model).forget(row, X, Y)
        assert gaps
        assert max(gaps) <= 1e-3
        assert again.forget_report_["gap"] <= 1e-3


def test_it_saves_steps_of_the_finishing_step(monkeypatch):
    rows, y = make_classification(
        2000, 6, n_informative=5, n_redundant=0, flip_y=0.1, random_state=0
    )
    settings = {"C": 100.0, "gamma": 0.02, "epochs": "converge", "random_state": 0}
    model, made = LASVMClassifier(**settings).fit(rows, y), []
    solve = smo.solve

    def counted(*given):
        made.append(solve(*given))
        return made[-1]

    monkeypatch.setattr(smo, "solve", counted)
    gone, taken = strongest(model, 10), []
    for restarts in (True, False):
        made.clear()
        with monkeypatch.context() as changed:
            if not restarts:
                changed.setattr(removal, "restart", lambda *given: None)
                changed.setattr(second_look, "restart", lambda *given: None)
            deepcopy(model).forget(gone, rows, y)
        taken.append(sum(steps for steps, _ in made))
    assert taken[0] < 0.85 * taken[1]


def test_it_is_the_svm_of_what_is_left_where_nearly_all_goes():
    model = LASVMClassifier(C=5.0, gamma=0.2, epochs="converge", tol=1e-4).fit(X, Y)
    gone = strongest(model, len(model.support_))  # no free coefficient is left to take over
    left = np.setdiff1d(np.arange(len(X)), gone)
    model.forget(gone, X, Y)
    peer = SVC(C=5.0, gamma=0.2, tol=1e-6).fit(X[left], Y[left])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


@pytest.mark.parametrize("excess", [-5.0, -1.0, 0.3, 4.0])
def test_sums_are_shifted_where_it_gains_most(excess):
    rng = np.random.default_rng(0)
    lo, hi = np.zeros(20), np.ones(20)
    alpha, grad, first = rng.uniform(size=20), rng.normal(size=20), rng.uniform(size=20) < 0.5
    changed = shift_sum(alpha, grad, lo, hi, excess, first)
    assert alpha.sum() - changed.sum() == pytest.approx(excess)
    assert (changed >= lo).all()
    assert (changed <= hi).all()
    moved = changed != alpha
    assert not moved[~first].any() or (np.isin(changed[first], [0.0, 1.0])).all()
    gain = grad if excess > 0 else -grad
    part = first if not moved[~first].any() else ~first
    assert gain[part & moved].max() <= gain[part & ~moved].min(initial=np.inf)


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("seed", [1, 2, 4])
def test_machines_start_again_where_all_support_vectors_go(seed, decision):
    """Also those of which no row of one sign is held any more."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(150, 6))
    y = (rows @ rng.normal(size=(6, 4)) + 0.3 * rng.normal(size=(150, 4))).argmax(1)
    settings = {"C": 0.3, "kernel": "linear", "epochs": "converge", "tol": 1e-4}
    model = LASVMClassifier(decision=decision, **settings).fit(rows, y)
    gone = model.support_
    left = np.setdiff1d(np.arange(len(y)), gone)
    assert len(np.unique(y[left])) == 4
    model.forget(gone, rows, y)
    fresh = LASVMClassifier(decision=decision, **settings).fit(rows[left], y[left])
    np.testing.assert_allclose(
        model._trained.learner.support.dual(), fresh._trained.learner.support.dual(), rtol=1e-3
    )
    peer = SVC(C=0.3, kernel="linear", tol=1e-6).fit(rows[left], y[left])
    if decision == "ovo":
        np.testing.assert_array_equal(model.predict(rows[left]), peer.predict(rows[left]))
