"""LASVM for scikit-learn: see ``LASVMClassifier``. The algorithm is in ``core/lasvm``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.kernel.kernel import Kernel
from ..core.lasvm.criteria import SELECTIONS
from .base import KERNEL_CONSTRAINTS, OnlineKernelClassifier
from .drift import DriftAttributes
from .lasvm_bounded import BOUNDED_CONSTRAINTS, BoundedMemory
from .lasvm_run import LASVMRun
from .lasvm_selection import SelectionCounts
from .probabilities import Probabilities
from .stopping import RULES, EarlyStopping, hold_out
from .weights import finite_cost

NARROWEST = 100
"""The window at the beginning, with ``window="auto"``: the least that drifts leave."""


class LASVMClassifier(
    Probabilities, DriftAttributes, BoundedMemory, LASVMRun, SelectionCounts, OnlineKernelClassifier
):
    """Support vector classifier that learns one example at a time (LASVM).

    Maximises the dual of the soft-margin SVM ::

        max_a  sum_i a_i y_i - 1/2 sum_ij a_i a_j k(x_i, x_j)
        with   sum_i a_i = 0,   0 <= y_i a_i <= C

    by online iterations: PROCESS brings a fresh example in, REPROCESS improves the support set
    and drops what it no longer needs (Bordes, Ertekin, Weston, Bottou 2005, section 3.2). One
    pass over the data gives about the accuracy of the exact SVM; ``epochs="converge"`` gives the
    exact SVM.

    Several classes are learned one-vs-rest: one machine per class, all on the same kernel values.
    ``SVC`` is one-vs-one, so with three classes or more its decision values, coefficients and some
    predictions differ; those of two classes agree. For ``SVC``'s predictions on three classes or
    more, use ``sklearn.multiclass.OneVsOneClassifier(LASVMClassifier(epochs="converge"))``.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin violation, as in ``SVC``. ``inf`` is the hard margin, for classes that
        can be separated.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        Kernel. A callable takes arrays of shapes (n, d) and (m, d) and returns (n, m) values. If
        the X of ``fit`` is a list of objects, such as strings, it takes arrays of n and m objects.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of ``rbf``, ``poly`` and ``sigmoid``. ``"scale"`` is
        1 / (n_features * X.var()); on a stream, X stands for the first 100 rows.
    degree : int, default=3
        Degree of ``poly``.
    coef0 : float, default=0.0
        Constant of ``poly`` and ``sigmoid``.
    tol : float, default=1e-3
        The paper's tau: violations up to it are left alone.
    epochs : int or "converge", default=1
        Passes over the data in ``fit``; ``"converge"`` goes on until no example violates the
        optimality conditions by more than ``tol``, as fits of up to 1000 examples do in any case.
    block_size : int, default=2048
        Examples learned at once. 1 follows the paper's listing to the letter. Streams that
        bring only a few examples at a time are learned one by one in any case.
    window : int, "auto" or None, default=None
        Number of most recent examples that count. What leaves the window leaves the model, exactly:
        after ``finish`` it is the SVM of the last ``window`` examples. A class that does not
        occur in the window is not predicted until it comes back. ``"auto"``: those since the
        last drift that was noticed, at least 100 and at most 10,000.
    budget : int or None, default=None
        Maximum number of support vectors. With a window or a budget, examples are learned one by
        one, in the order given, at a constant cost; ``block_size`` has no meaning then.
    policy : {"outlier", "oldest", "join"}, default="outlier"
        Which support vector makes way when the budget is full. ``"oldest"`` forgets fastest;
        ``"outlier"`` is best where nothing changes: three times of four the one that is farthest
        on the wrong side, else the oldest; ``"join"`` moves a coefficient to the nearest neighbour.
        With ``"outlier"``, costs above 3 / k(x, x) count as that once support vectors have to make
        way: few of them at a high cost would fit themselves, not the examples they stand for.
    half_life : float or None, default=None
        Number of examples after which the cost of an old one has shrunk to one half.
    detect_drift : bool, default=False
        Whether to watch the error rate of predictions made before their labels are learned, and to
        show in ``drift_detected_`` and ``n_drifts_`` when it rises. Of 100 streams without a drift
        at most one ever raises an alarm. Always on with ``window="auto"``.
    probability : bool, default=False
        Whether to offer ``predict_proba``, ``predict_log_proba`` and ``predict_set``. They are made
        of scores of up to 8,192 examples by models that had not learned them: on a stream those
        noted before each example was learned, after ``fit`` those of cross-fitting, which takes
        about as long again as the fit. ``fit`` then does not merge copies.
    selection : {"random", "gradient", "active", "autoactive"}, default="random"
        Which example next. ``"random"`` takes them as they come; ``"gradient"`` the most
        misclassified of ``sample_size`` random ones; ``"active"`` the one closest to the
        boundary, without a look at its label; ``"autoactive"`` the same, of a sample that ends
        with its fifth example within 1 + delta / 2 of the boundary, or its hundredth. In
        ``partial_fit``, examples farther from the boundary than that are skipped.
    sample_size : int, default=50
        Random examples among which ``"gradient"`` and ``"active"`` choose.
    max_examples : int or None, default=None
        Maximum number of examples learned in ``fit``, copies counting as one; None: all.
    early_stopping : {"margin", "support", "score"} or None, default=None
        When ``fit`` stops before: when no unseen example lies inside the margin, when the number
        of support vectors stalls, or when the accuracy on held-out examples does.
    validation_fraction : float, default=0.1
        Share of the examples held out for ``early_stopping="score"``.
    n_iter_no_change : int, default=5
        Checks in a row without improvement before ``fit`` stops. Each comes after a tenth more
        iterations.
    delta_max : float or None, default=None
        REPROCESS is repeated until delta, the uncertainty of the threshold, is below (section
        3.5). None: REPROCESS is run once, as listed.
    class_weight : dict, "balanced" or None, default=None
        Weights that multiply ``C`` for each class. ``"balanced"`` only in ``fit``.
    cache_size : float, default=200
        Memory for kernel values among support vectors, in MB.
    shuffle : bool, default=True
        Whether ``fit`` visits the examples in random order. Rows that are sorted are no harm
        without it, except with ``block_size=1`` or ``budget``, which look at each example once.
        With ``window`` or ``half_life`` the order is always the order given.
    time_limit : float or None, default=None
        Seconds after which ``fit`` ends with what was learned so far, and a warning;
        ``partial_fit`` goes on from there.
    n_jobs : int or None, default=-1
        Number of threads. -1 is all cores; None is 1, unless in a ``joblib.parallel_config``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order.

    Attributes
    ----------
    classes_ : ndarray
        Labels known so far, sorted.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
        Support vectors.
    support_ : ndarray of shape (n_SV,)
        Their row indices in the X given to ``fit``, in ascending order; -1 for support vectors
        learned from a stream.
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Signed coefficients.
    gamma_ : float
        Value of gamma in use; only for kernels that have one.
    coef_ : ndarray of shape (n_machines, n_features)
        Weight vectors; linear kernel only.
    intercept_ : ndarray of shape (n_machines,)
        Biases.
    n_support_ : ndarray of shape (n_classes,)
        Support vectors of each class.
    class_weight_ : ndarray of shape (n_classes,)
        Weights that multiply ``C`` for each class.
    fit_status_ : int
        0 if the last ``fit`` or ``finish`` reached ``tol``, else 1.
    shape_fit_ : tuple of int
        Shape of the X given to ``fit``.
    n_kernel_evaluations_ : int
        Kernel values computed while learning.
    n_iter_ : int
        Examples learned by ``fit``, copies counting as one.
    n_looked_at_, n_learned_ : int
        With a ``selection`` other than ``"random"``: examples judged, and examples learned.
    drift_detected_ : bool
        Whether the last call that learned has noticed a drift. This and the next two need
        ``detect_drift=True`` or ``window="auto"``.
    n_drifts_ : int
        Number of drifts noticed.
    prequential_error_ : float
        Share of wrong predictions, each made before its label was learned, among up to 10,240
        recent examples.
    window_ : int
        Examples that count, with ``window`` or ``half_life``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features; only if X has feature names.

    Notes
    -----
    Rows are kept in single precision, shifted by the first block's median for the RBF kernel,
    which does not notice; dense rows of mostly zeros are kept sparse. ``fit`` counts copies of
    an example as one whose cost is the sum of theirs, which is the same problem; its coefficient
    may then exceed ``C``.

    References
    ----------
    Bordes, Ertekin, Weston, Bottou. Fast Kernel Classifiers with Online and Active Learning, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits; from onlinesvm import LASVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LASVMClassifier(C=10, gamma=0.001, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.95)
    True

    A stream, in pieces of any size:

    >>> stream = LASVMClassifier(C=10, gamma=0.001)
    >>> for start in range(0, 1500, 100):
    ...     stream = stream.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(stream.finish().score(X[1500:], y[1500:]) > 0.9)
    True

    Probabilities, and sets of digits that hold the right one in nine of ten cases:

    >>> from sklearn.model_selection import train_test_split
    >>> A, B, a, b = train_test_split(X, y, test_size=297, random_state=0)
    >>> sure = LASVMClassifier(C=10, gamma=0.001, probability=True, random_state=0).fit(A, a)
    >>> sure.predict_proba(B).shape
    (297, 10)
    >>> bool(0.85 < sure.predict_set(B)[range(297), b].mean() < 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"converge"})],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        **BOUNDED_CONSTRAINTS,
        "window": [*BOUNDED_CONSTRAINTS["window"], StrOptions({"auto"})],
        "detect_drift": ["boolean"],
        "probability": ["boolean"],
        "selection": [StrOptions(set(SELECTIONS))],
        "sample_size": [Interval(Integral, 1, None, closed="left")],
        "max_examples": [Interval(Integral, 1, None, closed="left"), None],
        "early_stopping": [StrOptions(set(RULES)), None],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "delta_max": [Interval(Real, 0.0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean"],
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
        epochs: int | str = 1,
        block_size: int = 2048,
        window: int | str | None = None,
        budget: int | None = None,
        policy: str = "outlier",
        half_life: float | None = None,
        detect_drift: bool = False,
        probability: bool = False,
        selection: str = "random",
        sample_size: int = 50,
        max_examples: int | None = None,
        early_stopping: str | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        delta_max: float | None = None,
        class_weight: Any = None,
        cache_size: float = 200,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.epochs = epochs
        self.block_size = block_size
        self.window = window
        self.budget = budget
        self.policy = policy
        self.half_life = half_life
        self.detect_drift = detect_drift
        self.probability = probability
        self.selection = selection
        self.sample_size = sample_size
        self.max_examples = max_examples
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.delta_max = delta_max
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _notes_scores(self) -> bool:
        """Whether scores of examples are noted before they are learned (``core.prequential``)."""
        return self.probability or self.detect_drift or self.window == "auto"

    def _make_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> Any:
        self._check_together()
        learner = self._plain_learner(kernel, rows, n_labels)
        if self._notes_scores:
            from ..core.prequential.record import Prequential

            learner.watch = Prequential(
                learner.machines, probability=self.probability, drift=self.detect_drift,
                window=self.window == "auto",
            )  # fmt: skip
        return learner

    def _more(self, learner: Any) -> dict[str, Any]:
        return self._snapshot(learner)

    def _plain_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> Any:
        if self._is_bounded:
            window = NARROWEST if self.window == "auto" else self.window
            cost = finite_cost(self.C)
            return self._bounded_learner(kernel, rows, n_labels, window=window, cost=cost)
        settings: dict[str, Any] = {
            "tau": float(self.tol),
            "cache_size": self.cache_size,
            "block_size": self.block_size,
            "delta_max": np.inf if self.delta_max is None else float(self.delta_max),
        }
        if self.selection == "random":
            from ..core.lasvm.learner import LASVM

            return LASVM(kernel, rows, n_labels, **settings)
        from ..core.lasvm.selection import SelectiveLASVM

        return SelectiveLASVM(
            kernel, rows, n_labels, selection=self.selection, sample_size=self.sample_size,
            **settings,
        )  # fmt: skip

    def _check_labels(self, n_labels: int) -> None:
        if self.budget is not None and self.budget < n_labels:
            raise ValueError(
                f"budget={self.budget} is too small for {n_labels} classes: each needs at least "
                "one support vector."
            )

    def _prepare(self, data: Any) -> Any:
        """Copies of an example become one of greater cost, where they need not be counted."""
        from ..core.lasvm.duplicates import merge_duplicates

        listed = self.block_size == 1 or self._is_bounded or self._notes_scores
        return data if listed or self.kernel == "precomputed" else merge_duplicates(data)

    def _plan(self, data: Any, rng: np.random.RandomState) -> Any:
        """What the parameters say about epochs and when they end."""
        from ..core.lasvm.fitting import Plan

        self._check_together()
        converge, rule = self.epochs == "converge", self.early_stopping
        held, enough = np.empty(0, np.int64), None
        if rule == "score":
            held = hold_out(data.label, self.validation_fraction, rng)
        if rule is not None:
            enough = EarlyStopping(rule, self.n_iter_no_change, data, held)
        epochs, most = 1 if converge else int(self.epochs), self.max_examples or np.inf
        shuffle = self.shuffle and not self._in_order
        return Plan(epochs, converge, shuffle, most, held, enough)

    def _check_together(self) -> None:
        """Refuse settings that contradict each other."""
        self._check_converge("max_examples", "early_stopping")
        if self._notes_scores and self.selection != "random":
            raise ValueError(
                f"selection={self.selection!r} learns examples that are not like the others; it cannot "
                "be combined with probability=True, detect_drift=True or window='auto'."
            )
        if self._is_bounded:
            for name, plain in (("selection", "random"), ("delta_max", None)):
                if getattr(self, name) != plain:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} cannot be combined with window, budget or "
                        f"half_life; use {name}={plain!r}."
                    )
