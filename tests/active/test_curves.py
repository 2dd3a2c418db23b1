"""Learning curves, and the library inside scikit-activeml."""

import numpy as np
import pytest
from digits_pool import BINARY, X
from sklearn.datasets import make_moons

from onlinesvm import LASVMClassifier
from onlinesvm.active.curve import labelling_curve
from onlinesvm.active.strategies import active


def test_learning_curves_and_their_picture():
    A, b = make_moons(400, noise=0.2, random_state=0)
    curves = labelling_curve(
        LASVMClassifier(C=10, gamma=1.0), A[:300], b[:300], A[300:], b[300:],
        ("active", "random", active), n_labels=50, n_points=5, n_runs=2, random_state=0,
    )  # fmt: skip
    assert [curve.selection for curve in curves] == ["active", "random", "active"]
    for curve in curves:
        assert curve.labels.tolist() == [10, 20, 30, 40, 50]
        for values in (curve.error, curve.n_support, curve.seconds):
            assert values.shape == (2, 5)
        assert (np.diff(curve.seconds, axis=1) > 0).all()
        assert (curve.n_support <= curve.labels).all()
        assert ((curve.error >= 0) & (curve.error <= 1)).all()
    np.testing.assert_array_equal(curves[0].error, curves[2].error)
    figure = curves.plot()
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 3


def test_inside_scikit_activeml():
    pool = pytest.importorskip("skactiveml.pool")
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.utils import MISSING_LABEL
    from sklearn.calibration import CalibratedClassifierCV

    labels = (BINARY[:400] > 0).astype(float)
    known = np.full(400, MISSING_LABEL)
    known[:20] = labels[:20]
    model = CalibratedClassifierCV(LASVMClassifier(C=10, gamma=0.001), ensemble=False, cv=3)
    wrapped = SklearnClassifier(model, classes=[0.0, 1.0], random_state=0)
    strategy = pool.UncertaintySampling(method="margin_sampling", random_state=0)
    for _ in range(15):
        question = strategy.query(X[:400], known, wrapped, batch_size=2)
        assert np.isnan(known[question]).all()
        known[question] = labels[question]
    wrapped.fit(X[:400], known)
    assert wrapped.score(X[400:], (BINARY[400:] > 0).astype(float)) > 0.8


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_labels": 0}, "n_labels must be an integer of at least 1; got 0"),
        ({"n_labels": -3}, "n_labels"),
        ({"n_labels": 2.5}, "n_labels"),
        ({"n_points": 0}, "n_points"),
        ({"n_runs": 0}, "n_runs"),
        ({"y_pool": BINARY[:90]}, "X_pool has 100 examples, but y_pool 90 labels"),
        ({"y_pool": BINARY[:110]}, "X_pool has 100 examples, but y_pool 110 labels"),
        ({"y_test": BINARY[:9]}, "X_test has 50 examples, but y_test 9 labels"),
        ({"X_test": X[:0], "y_test": BINARY[:0]}, "X_test is empty"),
        ({"X_pool": X[:0], "y_pool": BINARY[:0]}, "X_pool is empty"),
        ({"y_pool": [None] * 100}, "label"),
        ({"y_pool": np.zeros((100, 2))}, "y_pool has 2 columns, but y_test is 1d: both must"),
        ({"y_pool": np.linspace(0, 1, 100)}, "label type"),
    ],
)
def test_what_makes_no_curve(changes, words):
    given = {"X_pool": X[:100], "y_pool": BINARY[:100], "X_test": X[:50], "y_test": BINARY[:50]}
    with pytest.raises(ValueError, match=words):
        labelling_curve(LASVMClassifier(), **(given | {"n_labels": 10} | changes))


def test_one_class_is_a_flat_curve():
    labels = np.ones(100, int)
    (curve,) = labelling_curve(
        LASVMClassifier(), X[:100], labels, X[:50], BINARY[:50], ["active"], n_labels=10, n_points=2
    )
    assert (curve.error == np.mean(BINARY[:50] != 1)).all()
