"""LASVM on a tree of merges: see ``TreeLASVMClassifier``. The algorithm is in ``core.lasvm.parts.merging``."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ...estimators.lasvm import LASVMClassifier
from ...estimators.params import shared_docs
from .base import CONSTRAINTS, DaskClassifier
from .growing import Growth
from .ledger import Entry, Node
from .running import running
from .tasks import Count


@shared_docs
class TreeLASVMClassifier(DaskClassifier):
    """Support vector classifier for data on several machines, or larger than memory.

    Each partition is learned on the worker that holds it, in one pass of LASVM. The support sets
    are merged, with their coefficients, in a tree. The model of the root is then sent to the
    partitions; each returns the rows that violate its optimality conditions, and the root learns
    them (a look back). If this is repeated until no partition has a violator (``passes=None``), the
    model is the exact SVM of all the data; after one look back (the default) it predicts about as
    well.

    Runs on the cluster of the default ``distributed.Client``; without a client, on Dask's local
    threads. With the same partitions and the same ``random_state`` the model is exactly the same,
    whatever the number of workers, even if some were lost during the fit.

    Parameters
    ----------
    C, kernel (Dask) : shared
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of all kernels except ``linear``. ``"scale"`` is computed from all partitions.
    degree (Dask), coef0 (Dask) : shared
    tol : float, default=1e-3
        Tolerance of the optimality conditions.
    passes : int or None, default=1
        Number of looks back at the partitions after the merges. 0: none, the least exact; None:
        until no partition has a violator. If the partitions misled the tree, for example because
        rows are sorted by class, up to ten looks are made even if ``passes`` is 1.
    max_violators : int, default=4096
        Maximum number of rows that a partition sends for each machine and look back.
    class_weight (Dask), partition_size, verbose : shared
    random_state : int, RandomState instance or None, default=0
        Seed for the order in which the rows of a partition are learned.

    Attributes
    ----------
    classes_ (Dask), n_partitions_, partition_bytes_ : shared
    n_passes_ : int
        Number of looks back.
    n_violators_ : list of int
        Number of violators found by each look back.
    converged_ : bool
        Whether the last look back found no violator, so that the model is the exact SVM.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class. ``to_local()`` has more such attributes.
    bytes_to_root_ : int
        Bytes that were sent to the root: support sets of the last merge, and violators.
    root_content_bytes_ : int
        Bytes of the rows and coefficients among them, as they are in memory.
    costs_ : dict
        For "leaf", "merge", "gradients", "look back" and "admit": the list of entries with processor
        seconds, kernel values, rows and bytes sent, one per task.
    n_kernel_evaluations_, n_features_in_, feature_names_in_ (Dask) : shared

    See Also
    --------
    CellLASVMClassifier : For data in which a large part of the rows are support vectors.

    Notes
    -----
    Three classes or more are learned one-vs-rest. One-vs-one (``decision="ovo"``) is not available here;
    ``onlinesvm.LASVMClassifier`` has it, for data that fit in memory.

    Examples
    --------
    >>> import dask.array as da; from sklearn.datasets import load_digits
    >>> from onlinesvm.dask import TreeLASVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = da.from_array(X, chunks=(500, 64)), da.from_array(y, chunks=500)
    >>> model = TreeLASVMClassifier(C=10, gamma=0.001, random_state=0).fit(X[:1500], y[:1500])
    >>> accuracy = model.score(X[1500:], y[1500:])  # lazy
    >>> bool(accuracy.compute() > 0.95)
    True
    >>> local = model.to_local()  # an ordinary LASVMClassifier
    >>> local.predict(X[:3].compute())
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "passes": [Interval(Integral, 0, None, closed="left"), None],
        "max_violators": [Interval(Integral, 2, None, closed="left")],
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
        passes: int | None = 1,
        max_violators: int = 4096,
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
        self.passes = passes
        self.max_violators = max_violators
        self.class_weight = class_weight
        self.partition_size = partition_size
        self.verbose = verbose
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn all partitions.

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
            growth = Growth(run, frame, partitions.parts, places, self.max_violators)
            root, counts = growth.grow(self.passes)
        self._note(whole, partitions)
        self._note_growth(root, counts)
        evaluations = sum(entry.kernel_values for entry in root.ledger)
        self._model = frame.fitted(root.support, evaluations, root.done)
        self.n_kernel_evaluations_ = evaluations
        self.n_support_ = self._model.n_support_
        if not root.done:
            warnings.warn(
                f"The root stopped before it reached tol={self.tol}: single-precision kernel values "
                "allow no further progress. Use a larger tol or a smaller C, or scale the features.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _note_growth(self, root: Node, counts: list[Count]) -> None:
        self.n_passes_ = len(counts)
        self.n_violators_ = [count.entered for count in counts]
        self.converged_ = bool(counts) and not counts[-1].entered and root.done
        self.costs_: dict[str, list[Entry]] = {}
        for entry in root.ledger:
            self.costs_.setdefault(entry.phase, []).append(entry)
        last = max(self.costs_["merge"], key=lambda entry: entry.level)
        at_root = [last, *self.costs_.get("admit", [])]
        self.bytes_to_root_ = sum(entry.received for entry in at_root)
        self.root_content_bytes_ = sum(entry.received_content for entry in at_root)

    def to_local(self) -> LASVMClassifier:
        """The model as an ordinary ``LASVMClassifier`` in memory.

        Returns
        -------
        model : LASVMClassifier
            Predicts the same; can be saved, exported, and trained further with ``partial_fit``. Its
            ``support_`` are row numbers over all partitions.
        """
        from copy import deepcopy

        check_is_fitted(self, "classes_")
        return deepcopy(self._model)
