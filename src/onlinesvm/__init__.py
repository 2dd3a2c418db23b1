"""Kernel support vector machines that learn one example at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .active.curve import labelling_curve
from .active.learner import ActiveLearner
from .estimators.huller import HullerClassifier
from .estimators.lasvm import LASVMClassifier
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

__all__ = [
    "ActiveLearner",
    "AveragedPerceptronClassifier",
    "BudgetPerceptronClassifier",
    "HullerClassifier",
    "KernelPerceptronClassifier",
    "LASVMClassifier",
    "NORMAClassifier",
    "OLSVMClassifier",
    "PegazClassifier",
    "SimpleSVMClassifier",
    "SimpleSVMOneClass",
    "SimpleSVMRegressor",
    "StreamSVMClassifier",
    "__version__",
    "labelling_curve",
    "load_model",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``load_model`` is imported when it is asked for."""
    if name == "load_model":
        from .model.files import load_model

        return load_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
