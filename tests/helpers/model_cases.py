"""Models of every class and kind of state, for the tests of model files."""

import numpy as np
from scipy import sparse

import onlinesvm

RNG = np.random.default_rng(7)
X = RNG.normal(size=(330, 6))
Y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.8)
WORDS = np.array(["no", "yes", "perhaps"])[Y]
VALUES = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=len(X))
CSR = sparse.csr_matrix(np.where(abs(X) > 0.6, X, 0.0))
FAR = X * 1e4

# Name: class, settings, examples, targets.
CASES = {
    "LASVM": ("LASVMClassifier", {}, X, WORDS),
    "LASVM one by one": ("LASVMClassifier", {"block_size": 1, "gamma": 0.3}, X, Y),
    "LASVM budget": ("LASVMClassifier", {"budget": 40}, X, Y),
    "LASVM budget, small cache": ("LASVMClassifier", {"budget": 60, "cache_size": 1e-5}, X, Y),
    "LASVM active": ("LASVMClassifier", {"selection": "active"}, X, Y),
    "LASVM gradient": ("LASVMClassifier", {"selection": "gradient", "block_size": 1}, X, Y),
    "LASVM delta": ("LASVMClassifier", {"delta_max": 0.5, "kernel": "poly", "degree": 2}, X, Y),
    "LASVM sparse": ("LASVMClassifier", {"C": 10.0}, CSR, Y),
    "LASVM far": ("LASVMClassifier", {"gamma": 0.3}, FAR, Y),
    "LASVM linear": ("LASVMClassifier", {"kernel": "linear"}, X, Y > 1),
    "LASVM laplacian": ("LASVMClassifier", {"kernel": "laplacian"}, X, WORDS),
    "LASVM laplacian, far, sparse": (
        "LASVMClassifier",
        {"kernel": "laplacian", "gamma": 0.3},
        sparse.csr_matrix(FAR),
        Y,
    ),
    "LASVM laplacian window": ("LASVMClassifier", {"kernel": "laplacian", "window": 60}, X, Y),
    "LASVM matern12": ("LASVMClassifier", {"kernel": "matern12", "budget": 40}, X, Y),
    "LASVM matern12, far": ("LASVMClassifier", {"kernel": "matern12", "gamma": 0.3}, FAR, Y),
    "SimpleSVM laplacian": ("SimpleSVMClassifier", {"kernel": "laplacian"}, CSR, Y),
    "SimpleSVM matern12": ("SimpleSVMClassifier", {"kernel": "matern12"}, X, Y),
    "LASVM window": ("LASVMClassifier", {"window": 60, "half_life": 40.0}, X, Y),
    "LASVM join": ("LASVMClassifier", {"budget": 40, "window": 150, "policy": "join"}, X, WORDS),
    "LASVM sparse budget": ("LASVMClassifier", {"budget": 30, "policy": "oldest"}, CSR, Y),
    "LASVM far window": ("LASVMClassifier", {"window": 50, "gamma": 0.3}, FAR, Y),
    "LASVM values": ("LASVMRegressor", {}, X, VALUES),
    "LASVM two targets": ("LASVMRegressor", {"gamma": 0.3}, CSR, np.stack([VALUES, X[:, 0]], 1)),
    "LASVM novelty": ("LASVMOneClass", {"nu": 0.2}, X, None),
    "LASVM values window": ("LASVMRegressor", {"window": 60}, X, np.stack([VALUES, X[:, 0]], 1)),
    "LASVM values budget": ("LASVMRegressor", {"budget": 40, "half_life": 80.0}, CSR, VALUES),
    "LASVM novelty window": ("LASVMOneClass", {"nu": 0.2, "window": 60}, X, None),
    "LASVM novelty budget": ("LASVMOneClass", {"budget": 20, "half_life": 50.0}, X, None),
    "Huller": ("HullerClassifier", {"C": 1.0, "gamma": 0.3}, X, Y),
    "Huller, small cache": ("HullerClassifier", {"C": 1.0, "cache_size": 1e-5}, X, Y),
    "StreamSVM": ("StreamSVMClassifier", {"n_balls": 5}, X, Y),
    "StreamSVM rbf": ("StreamSVMClassifier", {"n_balls": 5, "kernel": "rbf"}, X, Y),
    "NORMA": ("NORMAClassifier", {"averaging": "average"}, X, WORDS),
    "Pegaz": ("PegazClassifier", {}, CSR, Y),
    "OLSVM": ("OLSVMClassifier", {"fit_intercept": True}, X, Y),
    "OLSVM regularised": ("OLSVMClassifier", {"loss": "regularized_hinge"}, X, Y),
    "perceptron": ("KernelPerceptronClassifier", {}, X, Y),
    "averaged": ("AveragedPerceptronClassifier", {}, X, WORDS),
    "budget perceptron": ("BudgetPerceptronClassifier", {"budget": 40}, X, Y),
    "budget perceptron, no cache": (
        "BudgetPerceptronClassifier",
        {"budget": 40, "cache_size": 1e-5},
        X,
        Y,
    ),
    "SimpleSVM": ("SimpleSVMClassifier", {}, X, Y),
    "SimpleSVM, small cache": ("SimpleSVMClassifier", {"cache_size": 0.4, "C": 0.2}, X, Y),
    "SimpleSVM weighted": (
        "SimpleSVMClassifier",
        {"class_weight": {"no": 3.0, "perhaps": 0.5}},
        X,
        WORDS,
    ),
    "SimpleSVM quadratic, low rank": (
        "SimpleSVMClassifier",
        {"margin": "quadratic", "low_rank": 20, "gamma": 0.2},
        X,
        Y,
    ),
    "SimpleSVM linear": ("SimpleSVMClassifier", {"low_rank": "linear", "kernel": "linear"}, X, Y),
    "SimpleSVM nu": ("SimpleSVMClassifier", {"nu": 0.3, "selection": "random"}, X, Y > 0),
    "SimpleSVM sparse": ("SimpleSVMClassifier", {"selection": "sweep"}, CSR, WORDS),
    "SVR": ("SimpleSVMRegressor", {"epsilon": 0.1}, X, VALUES),
    "one class": ("SimpleSVMOneClass", {"nu": 0.2}, X, None),
}

FIRST = ["LASVM", "Huller", "NORMA", "SimpleSVM", "SVR", "StreamSVM rbf", "budget perceptron"]
"""Cases whose first rows are kept until gamma is estimated."""


def make(name):
    kind, settings, _, _ = CASES[name]
    return getattr(onlinesvm, kind)(**{"random_state": 0, **settings})


def learn(model, name, first, last, step=None):
    """Rows first .. last of the case, in steps."""
    _, _, rows, targets = CASES[name]
    for begin in range(first, last, step or last - first):
        part = slice(begin, min(last, begin + (step or last)))
        model.partial_fit(rows[part], *(() if targets is None else (targets[part],)))
    return model


def fitted(name, n=200):
    _, _, rows, targets = CASES[name]
    return make(name).fit(rows[:n], *(() if targets is None else (targets[:n],)))


def outputs(model, rows):
    """What the model says: decision values, or predictions of a regressor."""
    decide = getattr(model, "decision_function", model.predict)
    return decide(rows)
