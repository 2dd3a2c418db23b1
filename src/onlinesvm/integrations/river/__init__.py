"""River's kinds of model around the estimators; users import them as ``onlinesvm.river``."""

from ...core.runtime.dependencies import check_installed

check_installed(("river",), "onlinesvm.river", "river")

from .classifiers import BudgetPerceptronClassifier, LASVMClassifier  # noqa: E402
from .values import LASVMOneClass, LASVMRegressor  # noqa: E402

__all__ = ["BudgetPerceptronClassifier", "LASVMClassifier", "LASVMOneClass", "LASVMRegressor"]
