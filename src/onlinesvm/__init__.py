"""Kernel support vector machines that learn one example at a time."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .active.curve import labelling_curve
from .active.learner import ActiveLearner
from .estimators.huller import HullerClassifier
from .estimators.lasvm import LASVMClassifier
from .estimators.lasvm_one_class import LASVMOneClass
from .estimators.lasvm_regressor import LASVMRegressor
from .estimators.perceptron import (
    AveragedPerceptronClassifier,
    BudgetPerceptronClassifier,
    KernelPerceptronClassifier,
)
from .estimators.sgd import NORMAClassifier, OLSVMClassifier, PegazClassifier
from .estimators.simplesvm import SimpleSVMClassifier
from .estimators.simplesvm_one_class import SimpleSVMOneClass
from .estimators.simplesvm_regressor import SimpleSVMRegressor
from .estimators.streamsvm import StreamSVMClassifier

if TYPE_CHECKING:
    from .model.files import load_model
    from .stream.fitting import fit_stream
    from .stream.readers import open_reader

__all__ = [
    "ActiveLearner",
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
]

_LATE = {
    "fit_stream": "onlinesvm.stream.fitting",
    "load_model": "onlinesvm.model.files",
    "open_reader": "onlinesvm.stream.readers",
}

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Files and streams are imported when they are asked for."""
    if name in _LATE:
        return getattr(importlib.import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
