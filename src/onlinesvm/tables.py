"""Tables of numbers, categories and dates as rows for a kernel.

``AutoSVMClassifier`` and ``AutoSVMRegressor`` use it as the first step of their pipeline.
"""

from .auto.tables import TableEncoder

__all__ = ["TableEncoder"]
