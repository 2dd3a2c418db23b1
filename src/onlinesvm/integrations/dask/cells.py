"""One LASVM per cell of space: see ``CellLASVMClassifier``. The algorithm is in ``core.lasvm.parts.cells``."""

from __future__ import annotations

import warnings
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ...estimators.params import shared_docs
from .base import CONSTRAINTS, DaskClassifier
from .cell_tasks import CellModel, cell_model
from .running import running


@shared_docs
class CellLASVMClassifier(DaskClassifier):
    """Support vector classifier that divides the space into cells with one SVM each.

    For data in which a large part of the rows are support vectors, and a kernel that is narrow
    compared with the spread of the data: time grows with the number of rows, not with its square.
    Cells are those of mini-batch k-means on a sample of the rows. A row is predicted by the machine
    of its own cell.

    Runs on the cluster of the default ``distributed.Client``; without a client, on Dask's local
    threads. Rows are sent to the worker that learns their cell.

    Parameters
    ----------
    C, kernel (Dask) : shared
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of all kernels except ``linear``. ``"scale"`` is computed from all rows.
    degree (Dask), coef0 (Dask) : shared
    tol : float, default=1e-3
        Tolerance of the optimality conditions, in each cell.
    n_cells : int, default=64
        Number of cells; at most one per row of the sample.
    overlap : float, default=0.1
        A row is also learned in other cells whose centre is at most ``1 + overlap`` times as far
        away as that of its own cell. A larger overlap means more rows per cell and fewer errors at
        its edges.
    class_weight (Dask), partition_size, verbose : shared
    random_state : int, RandomState instance or None, default=0
        Seed for the clusters and for the order of the rows.

    Attributes
    ----------
    classes_ (Dask) : shared
    n_cells_ : int
        Number of cells.
    cell_sizes_ : ndarray of shape (n_cells,)
        Number of rows learned by each cell.
    cell_support_ : ndarray of shape (n_cells,)
        Number of support vectors of each cell.
    n_partitions_, partition_bytes_, n_kernel_evaluations_, n_features_in_ : shared
    feature_names_in_ (Dask) : shared

    See Also
    --------
    TreeLASVMClassifier : The SVM of all rows, if there are few support vectors.

    Notes
    -----
    Three classes or more are learned one-vs-rest. One-vs-one (``decision="ovo"``) is not available here;
    ``onlinesvm.LASVMClassifier`` has it, for data that fit in memory.

    Examples
    --------
    >>> import numpy as np; from onlinesvm.dask import CellLASVMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))  # a board of 4 x 4 squares
    >>> y = np.floor(2 * X).sum(axis=1) % 2
    >>> model = CellLASVMClassifier(C=100, gamma=10, n_cells=8, random_state=0)
    >>> bool(model.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "n_cells": [Interval(Integral, 1, None, closed="left")],
        "overlap": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        n_cells: int = 64,
        overlap: float = 0.1,
        class_weight: Any = None,
        partition_size: int | None = None,
        verbose: bool = False,
        random_state: Any = 0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.n_cells = n_cells
        self.overlap = overlap
        self.class_weight = class_weight
        self.partition_size = partition_size
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn all cells.

        Parameters
        ----------
        X : Dask array, Dask data frame, list of delayed, folder of Parquet, array-like or CSR matrix
            Examples. A list of delayed contains arrays, or pairs (X, y) if ``y`` is None.
        y : Dask array, series, column name, list of delayed or array-like, default=None
            Labels; the name of their column if X is a data frame or a folder of Parquet.

        Returns
        -------
        self : object
            The fitted classifier. An error, or Ctrl-C, cancels all tasks and changes nothing.
        """
        with running(bool(self.verbose)) as run:
            partitions, whole, frame = self._first_look(run, X, y)
            places = self._places(whole)
            model, fits = cell_model(
                run, frame, partitions.parts, places, self.n_cells, float(self.overlap)
            )
        self._note(whole, partitions)
        self._model = model
        self.n_cells_ = len(fits)
        self.cell_sizes_ = np.array([fit.n_rows for fit in fits])
        self.cell_support_ = np.array([len(fit.model.rows) for fit in fits])
        self.n_kernel_evaluations_ = sum(fit.kernel_values for fit in fits)
        missed = sum(not fit.done for fit in fits)
        if missed:
            warnings.warn(
                f"{missed} of {len(fits)} cells stopped before they reached tol={self.tol}: "
                "single-precision kernel values allow no further progress. Use a larger tol or a "
                "smaller C, or scale the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def to_local(self) -> CellModel:
        """Return the cells and their SVMs as a model in memory, without Dask.

        Returns
        -------
        model : CellModel
            Has ``predict`` and ``decision_function``.
        """
        check_is_fitted(self, "classes_")
        return deepcopy(self._model)
