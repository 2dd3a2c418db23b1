"""The SVC of the comparison computes what our model computes."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.predicting import svc_of
from onlinesvm import LASVMClassifier


@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix])
def test_the_svc_has_our_support_vectors(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 3, 1)
    model = LASVMClassifier(C=2, gamma=0.5, random_state=0).fit(make(X), y)
    svc = svc_of(model, make(X), y)
    assert svc.support_vectors_.shape[0] == len(model.support_)
    np.testing.assert_allclose(
        svc.decision_function(make(X)), model.decision_function(make(X)), atol=1e-4
    )
    np.testing.assert_array_equal(svc.predict(make(X)), model.predict(make(X)))
