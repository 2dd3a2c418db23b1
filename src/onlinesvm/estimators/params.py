"""Parameters and attributes that several estimators share: valid values and documentation.

A docstring refers to shared entries in a line such as ``kernel, gamma : shared``; ``shared_docs``
replaces it by the text of ``ENTRIES``, with the default values of the signature.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial
from inspect import Parameter, signature
from numbers import Integral, Real
from types import FunctionType
from typing import Any, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.kernel.kernel import KERNEL_NAMES, nearest_kernel
from ..core.lasvm.online.policies import POLICIES

Constraints = dict[str, list[Any]]

T = TypeVar("T", bound=type)

POSITIVE = Interval(Real, 0.0, None, closed="neither")
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

KERNEL_CONSTRAINTS: Constraints = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "time_limit": [POSITIVE, None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}

LASVM_CONSTRAINTS: Constraints = {
    **KERNEL_CONSTRAINTS,
    "tol": [POSITIVE],
    "epochs": [AT_LEAST_ONE, StrOptions({"converge"})],
    "block_size": [AT_LEAST_ONE],
    "window": [Interval(Integral, 2, None, closed="left"), None],
    "budget": [Interval(Integral, 2, None, closed="left"), None],
    "policy": [StrOptions(set(POLICIES))],
    "half_life": [Interval(Real, 1.0, None, closed="left"), None],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "shuffle": ["boolean"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "shrinking": ["boolean"],
    "verbose": ["verbose"],
}

FEATURE_WEIGHTS: list[Any] = ["array-like", StrOptions({"learn"}), None]

SIMPLESVM_CONSTRAINTS: Constraints = {
    **KERNEL_CONSTRAINTS,
    "tol": [POSITIVE],
    "low_rank": [
        AT_LEAST_ONE,
        Interval(Real, 0.0, 1.0, closed="neither"),
        StrOptions({"linear"}),
        callable,
        None,
    ],
    "selection": [StrOptions({"block", "sweep", "random"})],
    "block_size": [AT_LEAST_ONE],
    "max_sweeps": [AT_LEAST_ONE, None],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
}


# -- documentation ------------------------------------------------------------------------

ENTRIES = """
averaging : {"last", "average"}
    Final coefficients: those after the last step, or the average over all steps.
block_size : int
    Number of violators that are added at a time.
block_size (LASVM) : int
    Number of examples learned at a time.
budget : int or None
    Maximum number of support vectors. With a window or a budget, examples are learned one by
    one, in the order given, at a constant cost; ``block_size`` has no effect then.
budget (River) : int or None
    Maximum number of support vectors; None: no limit. Without window, budget and half-life the
    memory is not bounded.
C : float
    Cost of a margin violation.
cache_size : float
    Memory for kernel values among support vectors, in MB.
cache_size (gradient) : float
    Memory for kernel columns that a later epoch uses again, in MB.
cache_size (SimpleSVM) : float
    Memory in MB, half of it for the factor, half for kernel values.
class_weight : dict, "balanced" or None
    Weights that multiply the loss of each class. ``"balanced"`` is available in ``fit`` only.
class_weight (cost) : dict, "balanced" or None
    Weights that multiply ``C`` for each class. ``"balanced"`` is available in ``fit`` only.
class_weight (Dask) : dict, "balanced" or None
    Weights that multiply ``C`` for each class.
classes_ : ndarray
    Labels known so far, sorted.
classes_ (Dask) : ndarray
    Labels of all partitions, sorted.
classes : array-like of shape (n_classes,)
    Labels to expect; accepted for compatibility with scikit-learn, never required.
coef0 : float
    Constant of ``poly`` and ``sigmoid``.
coef0 (Dask) : float
    Constant term of the kernels poly and sigmoid.
coef_ : {ndarray, CSR matrix} of shape (n_machines, n_features)
    Weight vectors; linear kernel only. Sparse if X is.
coef_ (SimpleSVM) : ndarray of shape (1, n_features)
    Weight vectors; linear kernel only.
degree : int
    Degree of ``poly``.
degree (Dask) : int
    Degree of the polynomial kernel.
dual_coef_ : {ndarray, CSR matrix} of shape (n_machines, n_SV)
    Signed coefficients; sparse if X is.
dual_coef_ (novelty) : ndarray of shape (1, n_SV)
    Coefficients.
dual_objective_ : ndarray of shape (1,)
    The minimised objective.
epochs : int
    Passes over the data in ``fit``.
epochs (LASVM) : int or "converge"
    Passes over the data in ``fit``; ``"converge"`` continues until no example violates the
    optimality conditions by more than ``tol``.
epsilon : float
    Errors up to this size cost nothing.
feature_names_in_ : ndarray
    Names of the features; only if X has feature names.
feature_names_in_ (Dask) : ndarray
    Names of the features; only if X is a data frame or a folder of Parquet.
feature_names_in_ (SimpleSVM) : ndarray
    Names of the features; only if X has feature names.
feature_weights : "learn", array-like of shape (n_features,) or None
    Factors by which the features are multiplied before the kernel is computed; None: no weights.
    ``"learn"`` learns them from up to 3,000 examples: the root mean squared gradient of the
    decision function along each feature, in up to five rounds. The round is selected by scores
    of examples that were not learned; all weights are one if no round is clearly better.
    ``partial_fit`` learns them once, from the first 1,000 rows. ``gamma="scale"`` is that of the rows
    before learned weights, which preserve the mean distance of two rows, but after given ones.
feature_weights_ : ndarray of shape (n_features,)
    Factor of each feature; for features of the same scale, a larger one means that the model
    depends more on the feature. All one without ``feature_weights``.
fit_status_ : int
    0 if the last ``fit`` or ``finish`` reached ``tol``, else 1.
fit_status_ (SimpleSVM) : int
    0 if the solution is optimal, 1 if ``max_sweeps`` was reached first.
gamma : {"scale", "auto"} or float
    Coefficient of all kernels except ``linear``. ``"scale"`` is 1 / (n_features * X.var());
    for ``laplacian`` 1 / X.std(axis=0).sum(), for ``matern12`` 1 / sqrt(X.var(axis=0).sum()).
    On a stream, X means the first 100 rows.
gamma (River) : {"scale", "auto"} or float
    Coefficient of all kernels except ``linear``. ``"scale"`` is
    1 / (features * variance of their values), estimated from the first 100 examples; for
    ``laplacian`` 1 / (sum of the features' standard deviations), for ``matern12``
    1 / sqrt(sum of their variances). ``"auto"`` is 1 / features of the first example.
gamma (SimpleSVM) : {"scale", "auto"} or float
    Coefficient of all kernels except ``linear``, as in ``LASVMClassifier``.
gamma_ : float
    Value of gamma in use; only for kernels that have one.
gamma_ (SimpleSVM) : float
    Value of gamma in use; only for kernels that have one.
half_life : float or None
    Number of examples after which the cost of an old one has halved.
half_life (novelty) : float or None
    Number of examples after which the weight of an old one has halved.
intercept_ : ndarray of shape (n_machines,)
    Biases.
intercept_ (gradient) : ndarray of shape (n_machines,)
    Zeros: the algorithm has no bias.
intercept_ (perceptron) : ndarray of shape (n_machines,)
    Zeros: the bias remains zero.
intercept_ (SimpleSVM) : ndarray of shape (1,)
    Bias.
kernel : {"linear", "poly", "rbf", "laplacian", "matern12", "sigmoid", "precomputed"} or callable
    Kernel; ``laplacian`` is exp(-gamma sum_j abs(x_j - z_j)), ``matern12`` exp(-gamma norm(x - z)).
    A callable takes arrays of shapes (n, d) and (m, d) and returns (n, m) values.
kernel (Dask) : {"linear", "poly", "rbf", "laplacian", "matern12", "sigmoid"} or callable
    Kernel; a callable takes two arrays and must be available on the workers.
kernel (LASVM) : {"linear", "poly", "rbf", "laplacian", "matern12", "sigmoid", "precomputed"} or callable
    Kernel; ``laplacian`` is exp(-gamma sum_j abs(x_j - z_j)), ``matern12`` exp(-gamma norm(x - z)).
    A callable takes arrays of shapes (n, d) and (m, d) and returns (n, m) values. If
    the X of ``fit`` is a list of objects, such as strings, it takes arrays of n and m objects.
kernel (River) : {"rbf", "laplacian", "matern12", "linear", "poly", "sigmoid"}
    Kernel; ``laplacian`` is exp(-gamma sum_j abs(x_j - z_j)), ``matern12`` exp(-gamma norm(x - z)).
kkt_violation_ : float
    Largest contribution of an example to the KKT gap.
low_rank : int, float, "linear", callable or None
    Replace the kernel matrix by one of low rank, as in ``SimpleSVMClassifier``.
max_iter : int
    Maximum number of pair steps of each machine in ``fit``, as in ``SVC``; -1: no limit. A fit that
    reaches the limit warns, and ``fit_status_`` is 1. Not available with ``block_size=1``,
    ``window``, ``budget`` or ``half_life``.
max_sweeps : int or None
    Maximum number of sweeps.
n_features_in_ : int
    Number of features.
n_iter_ : int
    Number of examples learned by ``fit``; duplicates count as one.
n_iter_ (pairs) : int or ndarray of shape (n_classes * (n_classes - 1) / 2,)
    Number of examples learned by ``fit``; duplicates count as one. With ``decision="ovo"``, an array
    with one number for each pair of classes, as in ``SVC``: the examples of these two classes.
n_jobs : int or None
    Number of threads. -1 means all cores; None means 1, unless in a ``joblib.parallel_config``.
n_kernel_evaluations_ : int
    Number of kernel values computed while learning.
n_partitions_ : int
    Number of partitions.
n_support_ : ndarray of shape (n_classes,)
    Number of support vectors of each class.
n_support_ (number) : ndarray of shape (1,)
    Number of support vectors.
n_sweeps_ : int
    Number of sweeps.
nu : float
    Upper bound on the share of examples outside, lower bound on the share of support vectors.
offset_ : float
    ``score_samples(X) - offset_`` is the decision function.
outputs : {"cached", "expansion"}
    How ``fit`` computes the outputs of the examples. ``"cached"`` stores them for the whole data
    set and adds the kernel columns of each block: time then depends on the number of examples
    and epochs, not on ``C`` and ``gamma``. ``"expansion"`` computes them from the support
    vectors, as ``partial_fit`` always does: time depends on the number of support vectors. The
    steps are the same.
partition_bytes_ : int
    Size of the largest partition in memory.
partition_size : int or None
    Number of rows per partition if X has no partitions (NumPy, CSR, large Parquet files); None: 50,000.
policy : {"outlier", "oldest", "join"}
    Which support vector is removed when the budget is full; ``"oldest"`` forgets fastest.
random_state : int, RandomState instance or None
    Seed for the order of the examples.
random_state (LASVM) : int, RandomState instance or None
    Seed for the order of the examples; None: a different order, and a slightly different model,
    at each ``fit``.
selection : {"block", "sweep", "random"}
    Which violators are added next, as in ``SimpleSVMClassifier``.
sample_weight : array-like of shape (n_samples,)
    Weights that multiply the cost of each example.
sample_weight (bound) : array-like of shape (n_samples,)
    Weights that multiply the bound of each example.
shape_fit_ : tuple of int
    Shape of the X given to ``fit``.
shape_fit_ (SimpleSVM) : tuple of int
    Number of stored examples and number of features.
shrinking : bool
    Not used; present for compatibility with ``SVC``. The finishing step always shrinks.
shuffle : bool
    Whether ``fit`` visits the examples in random order, the same in every epoch.
shuffle (any order) : bool
    Whether ``fit`` visits the examples in random order.
shuffle (LASVM) : bool
    Whether ``fit`` visits the examples in random order. With ``window`` or ``half_life`` the
    order is always the order given.
support_ : ndarray of shape (n_SV,)
    Row indices of the support vectors in the X given to ``fit``, in ascending order; -1 for
    support vectors learned from a stream.
support_ (SimpleSVM) : ndarray of shape (n_SV,)
    Indices of the support vectors among the examples learned, in ascending order.
support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
    Support vectors.
time_limit : float or None
    Seconds after which ``fit`` stops with a warning and keeps what it has learned;
    ``partial_fit`` continues from there.
time_limit (finishing) : float or None
    Seconds after which ``fit`` ends with a warning. It stops learning early enough for the
    finishing step; ``partial_fit`` continues from there.
tol : float
    Learning stops when no example contributes more than this to the KKT gap.
verbose : bool
    Whether to show a progress bar.
verbose (SVC) : bool
    Not used; present for compatibility with ``SVC``. scikit-learn's callbacks show progress.
window : int or None
    Number of most recent examples that count; None: no limit.
window_ : int
    Number of examples that count, with ``window`` or ``half_life``.
x : array-like of shape (n_features,)
    Features.
X : {array-like, CSR matrix} of shape (n_samples, n_features)
    Examples.
X (or objects) : {array-like, CSR matrix} of shape (n_samples, n_features)
    Examples; with ``kernel="precomputed"`` the square matrix of kernel values. With a
    callable kernel it may be a list of objects of any type, such as strings.
X (square) : {array-like, CSR matrix} of shape (n_samples, n_features)
    Examples; with ``kernel="precomputed"`` the square matrix of kernel values.
X (stream) : {array-like, CSR matrix} of shape (n_samples, n_features)
    Examples. ``gamma="scale"`` is estimated from the first 100 rows.
y (labels) : array-like of shape (n_samples,)
    Labels.
"""
"""Entries of docstrings. A word in brackets distinguishes entries of the same name."""


def with_nearest_kernel(error: ValueError, kernel: Any) -> ValueError:
    """scikit-learn's error about a parameter; for an unknown kernel, with the most similar name."""
    if not isinstance(kernel, str) or kernel in KERNEL_NAMES:
        return error
    hint = nearest_kernel(kernel)
    return type(error)(f"{error}{hint}") if hint else error


_SHARED_LINE = re.compile(r"^( *)(\S.*?) : shared$", re.M)
_ENTRY = re.compile(r"^(\S.*?) : (.*)\n((?:    .*\n?)+)", re.M)


def shared_docs(cls: T) -> T:
    """Class decorator: entries of docstrings that say ``: shared`` become those of ``ENTRIES``.

    ``kernel, gamma (River) : shared`` stands for two entries; the word in brackets chooses among
    several of the same name. A default value is that of the signature.
    """
    for documented in (cls, *vars(cls).values()):
        if isinstance(documented, type | FunctionType) and documented.__doc__:
            with_entries = partial(_filled, documented)
            documented.__doc__ = _SHARED_LINE.sub(with_entries, documented.__doc__)
    return cls


def _filled(documented: Any, line: re.Match[str]) -> str:
    """The entries that a line of a docstring stands for."""
    indent, names = line.groups()
    given = signature(documented).parameters
    text = "\n".join(_entry(name.strip(), given) for name in names.split(","))
    return indent + text.replace("\n", f"\n{indent}")


def _entry(key: str, given: Mapping[str, Parameter]) -> str:
    kind, text = _entries()[key]
    name = key.partition(" (")[0]
    default = given[name].default if name in given else Parameter.empty
    if default is not Parameter.empty:
        kind += f", default={_written(default)}"
    return f"{name} : {kind}\n{text}"


def _written(default: Any) -> str:
    """A default value as documentation has it."""
    if isinstance(default, str):
        return f'"{default}"'
    if isinstance(default, float) and 0.0 < default < 0.01:
        return re.sub(r"e-0?(\d+)", r"e-\1", f"{default:.0e}")
    return repr(default)


@cache
def _entries() -> dict[str, tuple[str, str]]:
    """Documentation of each parameter and attribute: its type, and the indented text."""
    return {name: (kind, text.rstrip()) for name, kind, text in _ENTRY.findall(ENTRIES)}
