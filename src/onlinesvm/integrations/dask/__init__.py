"""Classifiers whose data lie in Dask's partitions; users import them as ``onlinesvm.dask``."""

from __future__ import annotations

try:
    import dask as _dask
except ImportError:  # pragma: no cover - tests have it
    raise ImportError(
        "onlinesvm.dask needs Dask, which is not installed: pip install 'onlinesvm[dask]'."
    ) from None

from .cells import CellLASVMClassifier
from .tree import TreeLASVMClassifier

__all__ = ["CellLASVMClassifier", "TreeLASVMClassifier"]

del _dask
