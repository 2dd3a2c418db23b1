"""Kernel SVMs on Dask: data on several machines, or larger than memory.

``TreeLASVMClassifier`` learns every partition where it lies and merges support sets in a tree; run
to the end it is the exact SVM. ``CellLASVMClassifier`` cuts the space into cells with a small SVM
each, for data with very many support vectors. Both run on the default ``distributed.Client``, or
without one on Dask's local threads. See ``docs/guide/scale.md``.
"""

from .integrations.dask import CellLASVMClassifier, TreeLASVMClassifier

__all__ = ["CellLASVMClassifier", "TreeLASVMClassifier"]
