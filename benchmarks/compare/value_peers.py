"""Adapters for libraries that predict values, and for those that detect novelty.

Each is given the data set's C, γ, ε or ν and has its own defaults for everything else.
"""

from __future__ import annotations

import os
from typing import Any

from benchmarks.datasets import Dataset

COMPONENTS = 1000
"""Landmarks of the Nyström approximation."""

# --- values ---------------------------------------------------------------------------------------


def regressor(data: Any, seed: int) -> Any:
    """Ours, one pass."""
    from onlinesvm import LASVMRegressor

    return LASVMRegressor(C=data.C, gamma=data.gamma, epsilon=data.epsilon, random_state=seed)


def converged_regressor(data: Any, seed: int) -> Any:
    """Ours, to the exact SVR."""
    return regressor(data, seed).set_params(epochs="converge")


def sklearnex_svr(data: Any, seed: int) -> Any:
    """OneDAL's exact SVR."""
    from sklearnex.svm import SVR

    return SVR(C=data.C, gamma=data.gamma, epsilon=data.epsilon)


def sklearn_svr(data: Any, seed: int) -> Any:
    """LIBSVM's exact SVR."""
    from sklearn.svm import SVR

    return SVR(C=data.C, gamma=data.gamma, epsilon=data.epsilon)


def kernel_ridge(data: Any, seed: int) -> Any:
    """Squared errors instead of the tube, the same penalty; a matrix of all pairs, and a copy."""
    from sklearn.kernel_ridge import KernelRidge

    needed = 2 * 8 * len(data.y_train) ** 2
    if needed > 0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise MemoryError(f"the kernel matrix and its factor need {needed / 2**30:.0f} GB")
    return KernelRidge(kernel="rbf", gamma=data.gamma, alpha=1 / (2 * data.C))


def nystroem_ridge(data: Any, seed: int) -> Any:
    """Ridge regression on a kernel of low rank."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    landmarks = min(COMPONENTS, len(data.y_train))
    features = Nystroem(gamma=data.gamma, n_components=landmarks, random_state=seed)
    return make_pipeline(features, Ridge(alpha=1 / (2 * data.C)))


def boosted_trees(data: Any, seed: int) -> Any:
    """What many would take instead of a kernel."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


# --- novelty --------------------------------------------------------------------------------------


def one_class(data: Any, seed: int) -> Any:
    """Ours, one pass."""
    from onlinesvm import LASVMOneClass

    return LASVMOneClass(nu=data.nu, gamma=data.gamma, random_state=seed)


def sklearn_one_class(data: Any, seed: int) -> Any:
    """LIBSVM's exact one."""
    from sklearn.svm import OneClassSVM

    return OneClassSVM(nu=data.nu, gamma=data.gamma)


def isolation_forest(data: Dataset, seed: int) -> Any:
    """Trees of random cuts, no kernel."""
    from sklearn.ensemble import IsolationForest

    return IsolationForest(random_state=seed, n_jobs=-1)
