"""The public online classifiers, and how tests make one of each."""

import inspect

import numpy as np
import pytest
from scipy import sparse

import onlinesvm
from onlinesvm.estimators.classifier import KernelClassifier
from onlinesvm.estimators.pool_access import has_pool_access

ONLINE = [
    public
    for name in onlinesvm.__all__
    if inspect.isclass(public := getattr(onlinesvm, name)) and issubclass(public, KernelClassifier)
]

every_online = pytest.mark.parametrize("kind", ONLINE, ids=lambda kind: kind.__name__)

OWN = [kind for kind in ONLINE if has_pool_access(kind())]
every_own = pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.__name__)

_RNG = np.random.default_rng(0)
DENSE = _RNG.normal(size=(90, 40)) * (_RNG.random((90, 40)) < 0.4)
Y = (DENSE[:, 0] + DENSE[:, 1] > 0).astype(int)
CSR = sparse.csr_matrix(DENSE)

FIRST = 30  # examples of a first block, which settles what stays


def parameters(kind):
    return inspect.signature(kind).parameters


def make(kind, **settings):
    """The classifier with a seed and a fixed kernel, and those of ``settings`` that it has."""
    settings = {"random_state": 0, "gamma": 0.3, **settings}
    return kind(**{name: value for name, value in settings.items() if name in parameters(kind)})


def learns_singly(kind):
    """Whether one example at a time is how it learns, or can be made to be."""
    allowed = kind._parameter_constraints.get("block_size", [])
    return "block_size" not in parameters(kind) or any(1 in values for values in allowed)


def one_by_one(kind, **settings):
    return make(kind, **({"block_size": 1} if learns_singly(kind) else {}), **settings)


def finish(model):
    """The finishing step, of those that have one."""
    return model.finish() if hasattr(model, "finish") else model
