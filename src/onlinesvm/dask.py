"""Kernel SVMs on Dask: data on several machines, or larger than memory.

``TreeLASVMClassifier`` learns each partition on the worker that holds it and merges the support
sets in a tree; with ``passes=None`` it is the exact SVM. ``CellLASVMClassifier`` divides the space
into cells with a small SVM each, for data with very many support vectors. Both run on the default
``distributed.Client``, or without one on Dask's local threads. See ``docs/guide/scale.md``.
"""

from .integrations.dask import CellLASVMClassifier, TreeLASVMClassifier

__all__ = ["CellLASVMClassifier", "TreeLASVMClassifier"]
