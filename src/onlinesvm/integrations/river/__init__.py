"""River's kinds of model around the estimators; users import them as ``onlinesvm.river``."""

from .classifiers import BudgetPerceptronClassifier, LASVMClassifier
from .values import LASVMOneClass, LASVMRegressor

__all__ = ["BudgetPerceptronClassifier", "LASVMClassifier", "LASVMOneClass", "LASVMRegressor"]
