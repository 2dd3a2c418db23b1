"""Kernel support vector machines that learn one example at a time."""

from __future__ import annotations

from .estimators.lasvm import LASVMClassifier

__all__ = ["LASVMClassifier", "__version__"]

__version__ = "0.1.0"
