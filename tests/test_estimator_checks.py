"""scikit-learn's own checks, on every public estimator."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import onlinesvm

ESTIMATORS = [
    public
    for name in onlinesvm.__all__
    if inspect.isclass(public := getattr(onlinesvm, name)) and issubclass(public, BaseEstimator)
]

_SEQUENTIAL = (
    "an example of weight 2 is not two examples to an algorithm that visits them one after "
    "another and stops short of the optimum; LASVM with epochs='converge' is tested for it"
)

# For each estimator, the checks it cannot pass, with the reason.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "LASVMClassifier": {
        "check_sample_weight_equivalence_on_dense_data": _SEQUENTIAL,
        "check_sample_weight_equivalence_on_sparse_data": _SEQUENTIAL,
    },
}


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(
    [estimator() for estimator in ESTIMATORS], expected_failed_checks=expected_failures
)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", list(EXPECTED_FAILURES))
def test_every_expected_failure_is_of_a_public_estimator_and_has_a_reason(name):
    assert name in onlinesvm.__all__
    assert all(len(reason) > 20 for reason in EXPECTED_FAILURES[name].values())


@pytest.mark.parametrize("block_size", [16, 2048])
def test_weights_are_repetitions_at_convergence(block_size):
    """What the expected failures above are about, where the algorithm does reach the optimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    weight = rng.integers(0, 4, size=60)
    settings = {"epochs": "converge", "tol": 1e-4, "block_size": block_size, "random_state": 0}
    weighted = onlinesvm.LASVMClassifier(gamma=0.5, **settings).fit(X, y, sample_weight=weight)
    repeated = onlinesvm.LASVMClassifier(gamma=0.5, **settings)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=2e-3
    )
