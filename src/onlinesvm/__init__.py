"""Kernel support vector machines that learn one example at a time."""

from __future__ import annotations

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
    "labelling_curve",
]

__version__ = "0.1.0"
