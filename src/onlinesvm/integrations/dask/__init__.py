"""Classifiers whose data lie in Dask's partitions; users import them as ``onlinesvm.dask``."""

from __future__ import annotations

from ...core.runtime.dependencies import check_installed

check_installed(("dask", "distributed"), "onlinesvm.dask", "dask")

from .cells import CellLASVMClassifier  # noqa: E402
from .tree import TreeLASVMClassifier  # noqa: E402

__all__ = ["CellLASVMClassifier", "TreeLASVMClassifier"]
