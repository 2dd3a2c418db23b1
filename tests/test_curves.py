"""Learning curves, and the library inside scikit-activeml."""

import numpy as np
import pytest
from digits_pool import BINARY, X
from sklearn.datasets import make_moons

from onlinesvm import LASVMClassifier
from onlinesvm.curves import learning_curve
from onlinesvm.selection import active


def test_learning_curves_and_their_picture():
    A, b = make_moons(400, noise=0.2, random_state=0)
    curves = learning_curve(
        LASVMClassifier(C=10, gamma=1.0), A[:300], b[:300], A[300:], b[300:],
        ("active", "random", active), n_labels=50, n_points=5, n_runs=2, random_state=0,
    )  # fmt: skip
    assert [curve.strategy for curve in curves] == ["active", "random", "active"]
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
