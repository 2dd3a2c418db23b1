"""scikit-learn's own checks, on every public estimator."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import onlinesvm

ESTIMATORS = [
    public
    for name in onlinesvm.__all__
    if inspect.isclass(public := getattr(onlinesvm, name)) and issubclass(public, BaseEstimator)
]

_SEQUENTIAL = (
    "an example of weight 2 is not two examples to an algorithm that visits them one after "
    "another and stops short of the optimum; LASVM with epochs='converge' is tested for it below"
)
_SCALE = "gamma='scale' depends on the rows as given; with a gamma of its own it is tested below"

_COPIES = (
    "probabilities come from leave-one-out values, and without one of two copies there is the other; "
    "the decision values are tested below"
)

_EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# For each estimator, the checks it cannot pass, with the reason.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "LASVMClassifier": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "LASVMOneClass": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "LASVMRegressor": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "NORMAClassifier": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "OLSVMClassifier": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "PegazClassifier": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
    "SimpleSVMClassifier": dict.fromkeys(_EQUIVALENCE, _COPIES),
    "SimpleSVMOneClass": dict.fromkeys(_EQUIVALENCE, _SCALE),
    "HullerClassifier": dict.fromkeys(_EQUIVALENCE, _SEQUENTIAL),
}


# Settings with which an estimator is checked instead of, or beside, its defaults.
SETTINGS: dict[str, list[dict[str, object]]] = {
    "HullerClassifier": [{"C": 1.0}],  # the hard margin refuses weights
    "OLSVMClassifier": [{}, {"fit_intercept": True}],
    "SimpleSVMClassifier": [{"gamma": 0.1}],  # "scale" depends on the rows, not on their weights
    "SimpleSVMRegressor": [{"gamma": 0.1}],
    "StreamSVMClassifier": [{}, {"kernel": "rbf", "normalize": False}],
}


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(
    [
        estimator(**settings)
        for estimator in ESTIMATORS
        for settings in SETTINGS.get(estimator.__name__, [{}])
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn(estimator, check, short_race):
    check(estimator)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if hasattr(e, "partial_fit")])
def test_weights_are_in_the_signatures_of_those_that_take_them(estimator):
    refuses = estimator.__name__.endswith("PerceptronClassifier") or "Stream" in estimator.__name__
    assert has_fit_parameter(estimator(), "sample_weight") == (not refuses)
    parameters = inspect.signature(estimator.partial_fit).parameters
    assert ("sample_weight" in parameters) == (not refuses)


@pytest.mark.parametrize("name", list(EXPECTED_FAILURES))
def test_every_expected_failure_is_of_a_public_estimator_and_has_a_reason(name):
    assert name in onlinesvm.__all__
    assert all(len(reason) > 20 for reason in EXPECTED_FAILURES[name].values())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LASVMClassifier", {"epochs": "converge", "tol": 1e-4, "block_size": 16}),
        ("LASVMClassifier", {"epochs": "converge", "tol": 1e-4, "block_size": 2048}),
        ("LASVMRegressor", {"epochs": "converge", "tol": 1e-4, "block_size": 16}),
        ("LASVMOneClass", {"epochs": "converge", "tol": 1e-4, "block_size": 16}),
        ("SimpleSVMClassifier", {}),
        ("SimpleSVMRegressor", {}),
        ("SimpleSVMOneClass", {}),
    ],
)
def test_weights_are_repetitions_where_the_optimum_is_reached(name, settings):
    """What the expected failures above are about, with gamma the same for both."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    weight = rng.integers(0, 4, size=60)
    weighted, repeated = (getattr(onlinesvm, name)(gamma=0.5, **settings) for _ in range(2))
    weighted.fit(X, y, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    output = "predict" if name.endswith("Regressor") else "decision_function"
    np.testing.assert_allclose(
        getattr(weighted, output)(X), getattr(repeated, output)(X), atol=2e-3
    )
