"""Parameters that several estimators share: the values that they may have."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from ..core.kernel.kernel import KERNEL_NAMES
from ..core.lasvm.policies import POLICIES

Constraints = dict[str, list[Any]]

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
}

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
