"""SimpleSVM for classification: see ``SimpleSVMClassifier``. The engine is ``core/simplesvm``."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._simplesvm import SimpleSVMEstimator
from .base import Absent
from .classifier import KernelClassifier
from .labels import LabelBook
from .params import SIMPLESVM_CONSTRAINTS, shared_docs
from .probabilities import chances, check_alpha, sets_of
from .trained import Trained


@shared_docs
class SimpleSVMClassifier(SimpleSVMEstimator, KernelClassifier):
    """Exact support vector classifier that keeps its optimum while examples come and go.

    Solves ::

        min_a  1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j) - sum_i a_i
        with   sum_i y_i a_i = 0,   0 <= a_i <= C

    by an active-set method: violators of the optimality conditions join a working set one at a
    time, whose linear system is solved exactly from a factor that is updated (Vishwanathan, Smola,
    Murty 2003). ``margin`` and ``nu`` choose among four problems. Several classes
    are learned one-vs-rest: one binary problem per class, all on the same kernel values.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin violation. ``inf`` is ``margin="hard"``, which has none.
    kernel : shared
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of all kernels except ``linear``. ``"scale"`` is 1 / (n_features * X.var()); on
        a stream, X means the first 100 rows. For ``laplacian`` and ``matern12`` as in
        ``LASVMClassifier``.
    degree, coef0 : shared
    margin : {"linear", "quadratic", "hard"}, default="linear"
        ``"linear"`` is the problem of ``SVC``; ``"quadratic"`` charges C/2 for the square of a
        violation; ``"hard"`` allows none.
    nu : float or None, default=None
        In (0, 1]: bound on the share of margin errors, in place of ``C``, as in ``NuSVC``.
    tol : shared
    low_rank : int, float, "linear", callable or None, default=None
        Replace the kernel matrix by ZZ' of low rank: an int is the number of columns of an
        incomplete Cholesky, a float in (0, 1) its tolerance relative to the largest diagonal;
        ``"linear"`` takes X itself as Z (with ``kernel="linear"``); a callable maps examples to
        their rows of Z.
    init : {"closest", "pairs", "random"}, default="closest"
        The pair of examples to start from: the closest pair (Algorithm 2), the closest of 59
        random pairs, or a random one.
    selection : {"block", "sweep", "random"}, default="block"
        Which violators are added next: the worst of all, the next in order, or the worst of 59
        random examples.
    block_size, max_sweeps, class_weight (cost), cache_size (SimpleSVM), time_limit, n_jobs : shared
    random_state : int, RandomState instance or None, default=None
        Seed for the starting pair and for random selection.

    Attributes
    ----------
    classes_, support_vectors_, support_ (SimpleSVM), dual_coef_, gamma_ (SimpleSVM), coef_ : shared
    intercept_, n_support_, shape_fit_ (SimpleSVM), fit_status_ (SimpleSVM) : shared
    n_kernel_evaluations_, n_sweeps_, kkt_violation_ : shared
    dual_objective_ : ndarray of shape (n_machines,)
        The minimised objective.
    n_features_in_, feature_names_in_ (SimpleSVM) : shared

    See Also
    --------
    onlinesvm.LASVMClassifier : For more rows, streams and noise.
    onlinesvm.SimpleSVMRegressor : The same for values.
    onlinesvm.SimpleSVMOneClass : The same for novelty.

    Notes
    -----
    Kernel values are in double precision. All examples are kept, because any of them may become a
    support vector when others are forgotten; memory grows with the square of the number of support
    vectors that are strictly within their bounds, except with ``low_rank``.

    References
    ----------
    S.V.N. Vishwanathan, A.J. Smola, M.N. Murty. SimpleSVM. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from onlinesvm import SimpleSVMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = SimpleSVMClassifier(C=1.0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.95)
    True
    >>> bool(model.leave_one_out_error() < 0.05)
    True
    >>> model = model.partial_fit(X[400:], y[400:]).forget([0, 1, 2])
    >>> bool(model.kkt_violation_ < 1e-5)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SIMPLESVM_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "margin": [StrOptions({"linear", "quadratic", "hard"})],
        "nu": [Interval(Real, 0.0, 1.0, closed="right"), None],
        "init": [StrOptions({"closest", "pairs", "random"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        margin: str = "linear",
        nu: float | None = None,
        tol: float = 1e-5,
        low_rank: Any = None,
        init: str = "closest",
        selection: str = "block",
        block_size: int = 256,
        max_sweeps: int | None = None,
        class_weight: Any = None,
        cache_size: float = 200,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.margin = margin
        self.nu = nu
        self.tol = tol
        self.low_rank = low_rank
        self.init = init
        self.selection = selection
        self.block_size = block_size
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------

    learn_one: Any = Absent("use partial_fit.")
    decision_one: Any = Absent("use decision_function.")
    predict_one: Any = Absent("use predict.")
    class_weight_: Any = Absent("see class_weight.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to a data set.

        Parameters
        ----------
        X (square), y (labels), sample_weight : shared

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it has what was learned so far.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more examples; afterwards the solution is that of all stored examples.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples, one or many. ``gamma="scale"`` is estimated from the first 100 rows.
        y : array-like of shape (n_samples,)
            Labels; new ones are accepted.
        classes, sample_weight : shared

        Returns
        -------
        self : object
            The classifier.
        """
        return super().partial_fit(X, y, classes, sample_weight)

    @property
    def _in_turn(self) -> bool:
        return False  # all examples are learned together

    def _check_forget(self, gone: np.ndarray) -> None:
        super()._check_forget(gone)
        trained = self._fitted("")
        learner, book = trained.learner, trained.encoder
        counts = learner.weight > 0
        lost = np.setdiff1d(learner.target[counts], learner.target[counts & ~gone])
        if len(lost):
            label = book.classes[np.flatnonzero(book.order() == lost[0])[0]]
            raise ValueError(
                f"All examples of class {label} would be forgotten; keep at least one of "
                "positive weight."
            )
        self._check_nu(learner.target[~gone], learner.weight[~gone], book)

    def _check_nu(self, target: np.ndarray, weight: np.ndarray, book: LabelBook) -> None:
        if self.nu is None:
            return
        if self.margin != "linear":
            raise ValueError(f"nu needs margin='linear'; got margin={self.margin!r}.")
        largest = self._task(book).largest_nu(target, weight)
        if self.nu > largest:
            raise ValueError(
                f"nu={self.nu} is infeasible for this balance of classes: at most {largest:.6g}."
            )

    @property
    def _margin(self) -> str:
        """``margin``; "hard" if ``C`` is infinite."""
        return "hard" if np.isinf(self.C) and self.nu is None else self.margin

    def _check_prepared(self, trained: Trained, data: Any) -> None:
        super()._check_prepared(trained, data)
        self._check_nu(data.label, data.bound, trained.encoder)

    def _teach(self, trained: Trained, data: Any, due: np.ndarray) -> None:
        label, bound, kept = data.label, data.bound, trained.learner
        if kept is not None:
            label, bound = np.append(kept.target, label), np.append(kept.weight, bound)
        self._check_nu(label, bound, trained.encoder)
        super()._teach(trained, data, due)

    def _task(self, encoder: Any) -> Any:
        from ..core.simplesvm.tasks import Classification

        return Classification(self._margin, float(self.C), self.nu, len(encoder))

    def _explained(self, error: Exception) -> Exception:
        """The engine's errors in the user's words."""
        if type(error).__name__ != "NoSolutionError":
            return error
        if self._margin == "quadratic":
            return ValueError(
                f"C={self.C} is too large for margin='quadratic' on these examples: 1/C vanishes "
                "beside kernel values in double precision, or does not outweigh a kernel that is "
                "not positive definite. Use a smaller C or margin='linear', or scale the features."
            )
        if self._margin == "hard":
            return ValueError(
                "The classes cannot be separated, so the hard margin has no solution (examples "
                "that are equal but labelled differently are enough). Use margin='quadratic' or "
                "margin='linear', or another kernel."
            )
        return error

    # -- each example by the model without it ---------------------------------------------

    def leave_one_out_decision(self) -> np.ndarray:
        """Decision values of the stored examples, each by the model without that example.

        Returns
        -------
        values : ndarray of shape (n_kept,) or (n_kept, n_classes)
            In the order in which the examples were given. NaN where no model is left.
        """
        values, trained = self._leave_one_out()
        return np.asarray(trained.encoder.scores(values))

    def leave_one_out_error(self) -> float:
        """Share of the stored examples that are misclassified by the model without them.

        Returns
        -------
        error : float
            Between 0 and 1. An example without which there is no model counts as wrong.
        """
        values, trained = self._leave_one_out()
        book, lost = trained.encoder, np.isnan(values.sum(axis=1))
        truth = book.places()[trained.learner.target]
        return float(np.mean((book.winners(values) != truth) | lost))

    # -- how sure it is: probabilities and prediction sets --------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; the most probable one is what ``predict`` returns.

        They are calibrated on ``leave_one_out_decision``, which is computed in every call, so pass
        many examples at once.

        Parameters
        ----------
        X : shared

        Returns
        -------
        chances : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        view = self._view()
        values, book = view.values(X), view.encoder
        return chances(
            book.scores(values), book.order(), self._calibrated().slopes, book.winners(values)
        )

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : shared

        Returns
        -------
        logs : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict_set(self, X: Any, alpha: Any = 0.1) -> np.ndarray:
        """Predict sets of classes that contain the true one in a share 1 - alpha of cases.

        Conformal prediction from ``leave_one_out_decision`` (the jackknife), which is computed in
        every call, so pass many examples at once.

        Parameters
        ----------
        X : shared
        alpha : float, default=0.1
            Share of labels that may be outside, between 0 and 1.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class, in the order of ``classes_``, is in the set. A set may contain all
            classes, or none: if the model is wrong less often than alpha, and the example is
            unlike the others.
        """
        check_alpha(alpha)
        view = self._view()
        values = view.values(X)
        scores = view.encoder.scores(values).reshape(len(values), -1)
        return sets_of(scores, len(view.encoder), self._calibrated().q, float(alpha))

    def _calibrated(self) -> Any:
        """The calibration from leave-one-out values of the stored examples.

        Without the only example of a label, nothing speaks for the label: the value is that of an
        example on the margin of the other side. Weights of classes say nothing about how frequent
        they are.
        """
        from ..core.prequential.asides import answer_from

        values, trained = self._leave_one_out()
        label = trained.learner.target
        other = np.where((label == 0) & (values.shape[1] == 1), 1.0, -1.0)[:, None]
        weight = trained.learner.weight / trained.label_weights()[label]
        return answer_from(np.where(np.isnan(values), other, values), label, weight)
