"""Kernel support vector machines that learn one example at a time.

The names listed here are public, and so are those of the modules ``onlinesvm.exceptions``,
``onlinesvm.export``, ``onlinesvm.persistence``, ``onlinesvm.streams``, ``onlinesvm.tables``,
``onlinesvm.river`` and ``onlinesvm.dask``. All other modules are private: what is in them may change in
any release.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .active.curve import labelling_curve
    from .active.learner import ActiveLearner
    from .auto.estimators import AutoSVMClassifier, AutoSVMRegressor
    from .estimators.huller import HullerClassifier
    from .estimators.lasvm import LASVMClassifier
    from .estimators.lasvm_values import LASVMOneClass, LASVMRegressor
    from .estimators.perceptron import (
        AveragedPerceptronClassifier,
        BudgetPerceptronClassifier,
        KernelPerceptronClassifier,
    )
    from .estimators.sgd import NORMAClassifier, OLSVMClassifier, PegazClassifier
    from .estimators.simplesvm import SimpleSVMClassifier
    from .estimators.simplesvm_values import SimpleSVMOneClass, SimpleSVMRegressor
    from .estimators.streamsvm import StreamSVMClassifier
    from .model.export.pipelines import register_onnx
    from .model.files import load_model, save_model
    from .stream.fitting import fit_stream
    from .stream.readers import open_reader

__all__ = [
    "ActiveLearner",
    "AutoSVMClassifier",
    "AutoSVMRegressor",
    "AveragedPerceptronClassifier",
    "BudgetPerceptronClassifier",
    "HullerClassifier",
    "KernelPerceptronClassifier",
    "LASVMClassifier",
    "LASVMOneClass",
    "LASVMRegressor",
    "NORMAClassifier",
    "OLSVMClassifier",
    "PegazClassifier",
    "SimpleSVMClassifier",
    "SimpleSVMOneClass",
    "SimpleSVMRegressor",
    "StreamSVMClassifier",
    "__version__",
    "fit_stream",
    "labelling_curve",
    "load_model",
    "open_reader",
    "register_onnx",
    "save_model",
]

_MODULES = {
    "ActiveLearner": "active.learner",
    "AutoSVMClassifier": "auto.estimators",
    "AutoSVMRegressor": "auto.estimators",
    "AveragedPerceptronClassifier": "estimators.perceptron",
    "BudgetPerceptronClassifier": "estimators.perceptron",
    "HullerClassifier": "estimators.huller",
    "KernelPerceptronClassifier": "estimators.perceptron",
    "LASVMClassifier": "estimators.lasvm",
    "LASVMOneClass": "estimators.lasvm_values",
    "LASVMRegressor": "estimators.lasvm_values",
    "NORMAClassifier": "estimators.sgd",
    "OLSVMClassifier": "estimators.sgd",
    "PegazClassifier": "estimators.sgd",
    "SimpleSVMClassifier": "estimators.simplesvm",
    "SimpleSVMOneClass": "estimators.simplesvm_values",
    "SimpleSVMRegressor": "estimators.simplesvm_values",
    "StreamSVMClassifier": "estimators.streamsvm",
    "fit_stream": "stream.fitting",
    "labelling_curve": "active.curve",
    "load_model": "model.files",
    "open_reader": "stream.readers",
    "register_onnx": "model.export.pipelines",
    "save_model": "model.files",
}

_SUBMODULES = ("exceptions", "export", "persistence", "streams", "tables")
"""Public modules without optional dependencies; ``onlinesvm.river`` and ``onlinesvm.dask`` must be
imported explicitly."""

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Import public names on first access: importing scikit-learn takes a second."""
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_SUBMODULES})
