"""LASVM for scikit-learn: see ``LASVMClassifier``. The algorithm is in ``core/lasvm``."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.lasvm.choose.criteria import SELECTIONS
from ..core.runtime.interrupts import Interruptible
from ..core.runtime.published import published
from ._lasvm import LASVMEstimator
from ._progress import RULES, EarlyStopping, hold_out
from .base import one_row, trained_of
from .classifier import KernelClassifier
from .labels import Indicators, LabelBook, check_indicators, is_indicator_matrix
from .pair_labels import PairBook
from .params import AT_LEAST_ONE, FEATURE_WEIGHTS, LASVM_CONSTRAINTS, POSITIVE, shared_docs
from .probabilities import chances, chances_of_present, check_alpha, sets_of, sets_of_present
from .trained import Trained, finite_cost

_WITHOUT = (
    "{} needs scores of examples from before they were learned, and this model has none (it was "
    "taught by an ActiveLearner, {}was merged from parts, stopped early, or is from a file of an "
    "older version): learn again with probability=True."
)

ONE_LABEL: dict[str, Any] = {
    "probability": False, "detect_drift": False, "selection": "random", "early_stopping": None,
    "class_weight": None, "window": None, "decision": "ovr",
}  # fmt: skip
"""Parameters that support one label per example only, and the values required if there are several;
of ``window`` only ``"auto"`` is meant."""


def _has_one_label(estimator: Any) -> bool:
    """Whether examples have one label each, as probabilities and prediction sets require."""
    trained = trained_of(estimator)
    if trained is not None and isinstance(trained.encoder, Indicators):
        raise AttributeError(
            "probabilities and prediction sets support one label per example; for several, wrap "
            "the classifier in sklearn.multiclass.OneVsRestClassifier."
        )
    return True


@shared_docs
class LASVMClassifier(LASVMEstimator, KernelClassifier):
    """Support vector classifier that learns one example at a time (LASVM).

    Maximises the dual of the soft-margin SVM ::

        max_a  sum_i a_i y_i - 1/2 sum_ij a_i a_j k(x_i, x_j)
        with   sum_i a_i = 0,   0 <= y_i a_i <= C

    by online iterations: PROCESS inserts a new example, REPROCESS improves the support set and
    removes rows that are no longer needed (Bordes, Ertekin, Weston, Bottou 2005, section 3.2). One
    pass over the data gives about the accuracy of the exact SVM; ``epochs="converge"`` gives the
    exact SVM.

    Several classes are learned one-vs-rest: one binary problem per class, all on the same kernel values.
    ``SVC`` is one-vs-one, so with three classes or more its decision values, coefficients and some
    predictions differ; those of two classes agree. ``decision="ovo"`` has one problem for each pair
    of classes instead, also on the same kernel values: with ``epochs="converge"`` it is ``SVC``'s
    model.

    Examples may have several labels: y is then a matrix of 0 and 1, dense or sparse, with one column
    for each label, and so are predictions (dense). There is one binary problem per label, all on
    the same kernel values. ``classes_`` are the numbers of the columns. Probabilities, drift detection,
    selection, early stopping and class weights support one label per example only.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin violation, as in ``SVC``. ``inf`` is the hard margin, for classes that
        can be separated.
    kernel (LASVM), gamma, degree, coef0, feature_weights : shared
    tol : float, default=1e-3
        Tolerance, the paper's tau: violations up to it are accepted.
    epochs : int or "converge", default=1
        Passes over the data in ``fit``; ``"converge"`` goes on until no example violates the
        optimality conditions by more than ``tol``, as fits of up to 1000 examples do in any case.
    block_size : int, default=2048
        Number of examples learned at a time. 1 is the algorithm as printed in the paper. Streams
        that deliver only a few examples per call are learned one by one in any case. With 64
        classes or more, ``fit`` learns all at once if the kernel values of all pairs fit in memory.
    window : int, "auto" or None, default=None
        Number of most recent examples that count. Examples that leave the window are removed
        exactly: after ``finish`` the model is the SVM of the last ``window`` examples. A class
        that does not occur in the window has probability 0 and is not predicted until it returns;
        it may be in prediction sets, which must contain it when it does. ``"auto"``: the examples since the last detected drift, at least 100 and at most 10,000.
    budget : shared
    policy : {"outlier", "oldest", "join"}, default="outlier"
        Which support vector is removed when the budget is full. ``"oldest"`` forgets fastest.
        ``"outlier"`` is best if nothing changes: three times out of four the one farthest on the
        wrong side of the boundary, otherwise the oldest. ``"join"`` moves a coefficient to the
        nearest neighbour. With ``"outlier"``, costs above 3 / k(x, x) are reduced to that value
        once the budget is full: with few support vectors a large C overfits.
    half_life : shared
    detect_drift : bool, default=False
        Whether to monitor the error rate of predictions made before their labels are learned, and
        to report a rise in ``drift_detected_`` and ``n_drifts_``. If it does not rise, about one
        false alarm occurs in ten million examples. Always on with ``window="auto"``.
    probability : bool, default=False
        Whether ``predict_proba``, ``predict_log_proba`` and ``predict_set`` are prepared while
        learning. If False, they are calibrated when they are first called: after ``fit`` on
        support vectors, scored by models without them, and on scores that ``fit`` has kept of the
        other examples; on a stream on the scores of up to 2,048 recent examples, each from before
        it was learned. If True, they are calibrated on up to 8,192 scores: ``fit`` cross-fits all
        of its examples, which takes about as long again, and does not merge duplicates; the sets
        of a stream follow a drift.
    selection : {"random", "gradient", "active", "autoactive"}, default="random"
        Which example is learned next. ``"random"``: in the order in which they come;
        ``"gradient"``: the most misclassified of ``sample_size`` random ones; ``"active"``: the
        one closest to the boundary, without using its label; ``"autoactive"``: the same, of a
        sample that ends with its fifth example within 1 + delta / 2 of the boundary, or its
        hundredth. In ``partial_fit``, examples farther from the boundary than that are skipped.
    sample_size : int, default=50
        Number of random examples among which ``"gradient"`` and ``"active"`` choose.
    max_examples : int or None, default=None
        Maximum number of examples learned in ``fit``; duplicates count as one. None: all.
    early_stopping : {"margin", "support", "score"} or None, default=None
        When ``fit`` stops early: when no unseen example lies inside the margin, when the number of
        support vectors stops growing, or when the accuracy on held-out examples stops improving.
    validation_fraction : float, default=0.1
        Share of the examples held out for ``early_stopping="score"``.
    n_iter_no_change : int, default=5
        Number of successive checks without improvement before ``fit`` stops. Each check follows
        after a tenth more iterations.
    delta_max : float or None, default=None
        REPROCESS is repeated until delta, the uncertainty of the threshold, is below this value
        (section 3.5). None: REPROCESS is run once, as printed in the paper.
    class_weight (cost), cache_size : shared
    shuffle : bool, default=True
        Whether ``fit`` visits the examples in random order. Without it, sorted rows do harm only
        with ``block_size=1`` or ``budget``, which score each example once. With ``window`` or
        ``half_life`` the order is always the order given.
    time_limit (finishing), n_jobs, random_state (LASVM) : shared
    decision : {"ovr", "ovo"}, default="ovr"
        How three classes or more are separated: ``"ovr"``, one machine per class against all
        others; ``"ovo"``, one per pair of classes, which vote, as in ``SVC``. The attributes are
        then those of ``SVC`` as well: support vectors are grouped by class, ``dual_coef_`` has the
        shape (n_classes - 1, n_SV), ``intercept_`` one value per pair. Memory grows with the number
        of pairs: with 100 classes there are 4,950. ``"ovo"`` is much better where a class lies
        between others, such as rings, or levels of a quantity. Not available with ``selection``.
        ``predict_proba``, ``predict_set`` and ``ActiveLearner`` use the smallest decision value of
        each class against another class; ``explain`` uses the mean of its values against
        the others.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Columns of ``decision_function``, as in ``SVC``. ``"ovr"``: one per class; with
        ``decision="ovo"`` the number of votes, and a confidence between -1/3 and 1/3. ``"ovo"``:
        one per pair of classes, positive for the first; not available for three classes or more
        with ``decision="ovr"``. For two classes both are the same.
    break_ties : bool, default=False
        With ``decision="ovo"``: whether ties in the votes are broken in favour of the most
        confident class, instead of the first. No effect with ``decision="ovr"``.
    shrinking, verbose (SVC), max_iter : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_, intercept_, n_support_ : shared
    feature_weights_ : shared
    class_weight_ : ndarray of shape (n_classes,)
        Weights that multiply ``C`` for each class.
    fit_status_, shape_fit_, n_kernel_evaluations_, n_iter_ (pairs) : shared
    n_looked_at_, n_learned_ : int
        With a ``selection`` other than ``"random"``: number of examples scored and learned.
    drift_detected_ : bool
        Whether a drift was detected in the last call that learned. This and the next two need
        ``detect_drift=True`` or ``window="auto"``.
    n_drifts_ : int
        Number of drifts detected.
    prequential_error_ : float
        Share of wrong predictions, each made before its label was learned, among up to 10,240
        recent examples.
    window_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.AutoSVMClassifier : Chooses kernel, C and gamma by itself.
    onlinesvm.SimpleSVMClassifier : Exact at every step; leave-one-out.
    onlinesvm.ActiveLearner : Chooses which examples to label.
    onlinesvm.dask.TreeLASVMClassifier : For data larger than memory.

    Notes
    -----
    Rows are stored in single precision. For the RBF kernel, which does not depend on the origin,
    they are centred by the median of the first block. Dense rows of mostly zeros are stored
    sparse. ``fit`` merges duplicates of an example into one whose cost is the sum of theirs, which
    is the same problem; its coefficient may then exceed ``C``.

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

    Probabilities, and sets of digits that contain the right one in nine of ten cases:

    >>> from sklearn.model_selection import train_test_split
    >>> A, B, a, b = train_test_split(X, y, test_size=297, random_state=0)
    >>> sure = LASVMClassifier(C=10, gamma=0.001, random_state=0).fit(A, a)
    >>> sure.predict_proba(B).shape
    (297, 10)
    >>> bool(0.85 < sure.predict_set(B)[range(297), b].mean() < 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LASVM_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "feature_weights": FEATURE_WEIGHTS,
        "window": [*LASVM_CONSTRAINTS["window"], StrOptions({"auto"})],
        "detect_drift": ["boolean"],
        "probability": ["boolean"],
        "selection": [StrOptions(set(SELECTIONS))],
        "sample_size": [AT_LEAST_ONE],
        "max_examples": [AT_LEAST_ONE, None],
        "early_stopping": [StrOptions(set(RULES)), None],
        "validation_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "n_iter_no_change": [AT_LEAST_ONE],
        "delta_max": [POSITIVE, None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision": [StrOptions({"ovr", "ovo"})],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        feature_weights: Any = None,
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
        random_state: Any = 0,
        decision: str = "ovr",
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        shrinking: bool = True,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.feature_weights = feature_weights
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
        self.decision = decision
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.shrinking = shrinking
        self.verbose = verbose
        self.max_iter = max_iter

    # -- learning -------------------------------------------------------------------------

    def _checks_of(self, y: Any) -> dict[str, Any] | None:
        return {"multi_output": True} if is_indicator_matrix(y) else super()._checks_of(y)

    def _checked(self, X: Any, y: Any, before: Trained | None) -> Any:
        given = super()._checked(X, y, before)
        if not is_indicator_matrix(given.y):
            return given
        known = None if before is None else before.encoder
        return given._replace(y=check_indicators(given.y, known))

    def _indicators(self, y: np.ndarray, classes: Any) -> Indicators:
        """The encoder of a y with one column per label; refuses settings for single labels."""
        if classes is not None:
            raise ValueError(
                "classes supports one label per example; here the columns of y are the labels."
            )
        self._check_labels(y.shape[1])
        if self._learns_weights:
            raise ValueError(
                "feature_weights='learn' supports one label per example: give the weights as "
                "numbers."
            )
        for name, plain in ONE_LABEL.items():
            value = getattr(self, name)
            if value != plain and not (name == "window" and value != "auto"):
                raise ValueError(
                    f"{name}={value!r} supports one label per example, and y has a column for "
                    f"each of {y.shape[1]} labels: use {name}={plain!r}."
                )
        return Indicators(y.shape[1])

    @property
    def _notes_scores(self) -> bool:
        """Whether scores are recorded before examples are learned (``core.prequential``)."""
        return self.probability or self.detect_drift or self.window == "auto"

    @property
    def _in_turn(self) -> bool:
        return self._is_bounded or (self.block_size == 1 and self.selection == "random")

    @property
    def _counts_copies(self) -> bool:
        return self.block_size == 1 or self._notes_scores or super()._counts_copies

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        learner = super()._make_learner(trained, data, n_labels)
        if self._shares is not None:
            return learner
        if self._notes_scores:
            from ..core.prequential.record import Prequential

            learner.watch = Prequential(
                learner.n_scores, probability=self.probability, drift=self.detect_drift,
                window=self.window == "auto",
            )  # fmt: skip
        one_label = not isinstance(trained.encoder, Indicators)
        if not self.probability and self.selection == "random" and one_label:
            from ..core.prequential.asides import Asides

            learner.asides = Asides(learner.n_scores)
        return learner

    def _settings(self, trained: Trained) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "tau": float(self.tol),
            "cache_size": self.cache_size,
            "block_size": self.block_size,
            "delta_max": np.inf if self.delta_max is None else float(self.delta_max),
            "task": self._task(trained),
        }
        if self.selection != "random":
            settings |= {"selection": self.selection, "sample_size": self.sample_size}
        return settings

    def _bounded_settings(self, trained: Trained) -> dict[str, Any]:
        from ..core.prequential.record import NARROWEST

        window = NARROWEST if self.window == "auto" else self.window
        return {"window": window, "cost": finite_cost(self.C), "task": self._task(trained)}

    def _task(self, trained: Trained) -> Any:
        """What the machines learn."""
        from ..core.lasvm.pairs import Pairs
        from ..core.lasvm.tasks import Classification, SeveralLabels

        if isinstance(trained.encoder, PairBook):
            return Pairs()
        if self._shares is not None:
            from ..core.lasvm.costs import ClassificationOfCosts

            return ClassificationOfCosts(self._shares, len(trained.encoder))
        if isinstance(trained.encoder, Indicators):
            return SeveralLabels(len(trained.encoder))
        return Classification()

    def _book(self, labels: Any = ()) -> LabelBook:
        return PairBook(labels) if self.decision == "ovo" else LabelBook(labels)

    def _decided(self, values: np.ndarray, encoder: Any) -> np.ndarray:
        if isinstance(encoder, PairBook):
            return encoder.votes(values, self.decision_function_shape)
        return super()._decided(values, encoder)

    @property
    def n_iter_(self) -> Any:
        """Number of examples learned by ``fit``; with ``decision="ovo"``, of the two classes of each pair."""
        trained = self._fitted("n_iter_")
        if isinstance(trained.encoder, PairBook) and trained.n_iter_of_labels is not None:
            return trained.encoder.sums_of_pairs(trained.n_iter_of_labels)
        return super().n_iter_

    def _winners(self, values: np.ndarray, encoder: Any, present: np.ndarray | None) -> np.ndarray:
        if not isinstance(encoder, PairBook):
            return super()._winners(values, encoder, present)
        self._check_ties()
        return encoder.winners(values, present, bool(self.break_ties))

    def _check_ties(self) -> None:
        one_vs_one = self.decision == self.decision_function_shape == "ovo"
        if one_vs_one and self.break_ties:
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties are broken by the "
                "decision function of shape 'ovr'."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _check_labels(self, n_labels: int) -> None:
        if self.budget is not None and self.budget < n_labels:
            raise ValueError(
                f"budget={self.budget} is too small for {n_labels} classes: each needs at least "
                "one support vector."
            )
        one_vs_rest = self.decision == "ovr" and n_labels > 2
        if one_vs_rest and self.decision_function_shape == "ovo":
            raise ValueError(
                f"decision_function_shape='ovo' needs one machine per pair of the {n_labels} "
                "classes, and decision='ovr' has one per class: use "
                "decision_function_shape='ovr', or decision='ovo'."
            )

    def _plan(self, data: Any, rng: Any) -> Any:
        """What the parameters say about epochs and when they end."""
        rule, held, enough = self.early_stopping, np.empty(0, np.int64), None
        if rule == "score":
            held = hold_out(data.label, self.validation_fraction, rng)
        if rule is not None:
            enough = EarlyStopping(rule, self.n_iter_no_change, data, held)
        most = self.max_examples or np.inf
        return super()._plan(data, rng)._replace(most=most, held=held, enough=enough)

    def _check_together(self) -> None:
        self._check_converge("max_examples", "early_stopping")
        if self.decision == "ovo" and self.selection != "random":
            raise ValueError(
                f"selection={self.selection!r} chooses by the distance from one boundary, and with "
                "decision='ovo' each pair of classes has its own: use selection='random'."
            )
        if self._notes_scores and self.selection != "random":
            raise ValueError(
                f"selection={self.selection!r} learns examples that are not representative; it "
                "cannot be combined with probability=True, detect_drift=True or window='auto'."
            )
        if self._is_bounded:
            for name, plain in (("selection", "random"), ("delta_max", None)):
                if getattr(self, name) != plain:
                    raise ValueError(
                        f"{name}={getattr(self, name)!r} cannot be combined with window, budget or "
                        f"half_life; use {name}={plain!r}."
                    )

    # -- how sure it is: probabilities and prediction sets --------------------------------

    def _scored(self, X: Any, method: str) -> tuple[Any, Any, np.ndarray]:
        """The view, its snapshot, and values of machines (n, machines) as learned.

        ``method`` is what the user has called.
        """
        check_is_fitted(self)
        view = self._view()
        record = view.noted or view.answered
        if record is None:
            view, record = self._answered(method)
        return view, record, view.values(X)

    def _answered(self, method: str) -> tuple[Any, Any]:
        """The view, and the calibration made on demand (``probability=False``)."""
        with published(self):
            view = self._view()
            view.answered = self._fitted(method).answered()
        if view.answered is None:
            raise NotFittedError(self._without(method))
        return view, view.answered

    def _without(self, method: str) -> str:
        """Message about a model that has no scores to calibrate on."""
        chosen = self.selection != "random"
        return _WITHOUT.format(method, f"learned with selection={self.selection!r}, " * chosen)

    @available_if(_has_one_label)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; the most probable one is what ``predict`` returns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        chances : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        with Interruptible():
            view, record, values = self._scored(X, "predict_proba")
            return self._chances(values, view.encoder, record.slopes, view.present)

    def _chances(
        self, values: np.ndarray, encoder: Any, slopes: np.ndarray, present: np.ndarray | None
    ) -> np.ndarray:
        """Probabilities (n, classes) from values of machines (n, machines)."""
        order, winners = encoder.order(), self._winners(values, encoder, present)
        scores = encoder.scores(values)
        if present is None:
            return chances(scores, order, slopes, winners)
        return chances_of_present(scores, present[order], slopes, winners)

    @available_if(_has_one_label)
    def predict_proba_one(self, x: Any) -> np.ndarray:
        """Probability of each class for one row: as ``predict_proba``, in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.

        Returns
        -------
        chances : ndarray of shape (n_classes,)
            In the order of ``classes_``.
        """
        x = one_row(x, "predict_proba_one", "predict_proba")
        if published(self).is_torn:
            return self.predict_proba(x[None, :])[0]
        with Interruptible(), published(self):
            values, encoder = self._decide_one(x)
            trained = self._fitted("predict_proba_one")
            noted = trained.noted() or trained.answered()
            if noted is None:
                raise NotFittedError(self._without("predict_proba_one"))
            return self._chances(values, encoder, noted.slopes, trained.present())[0]

    @available_if(_has_one_label)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        logs : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_has_one_label)
    def predict_set(self, X: Any, alpha: Any = 0.1) -> np.ndarray:
        """Predict sets of classes that contain the true one in a share 1 - alpha of cases.

        With ``probability=True`` the sets adapt while the model learns: over any long part of a
        stream, with each set computed before its example is learned, about a share alpha of the
        labels is outside its set, even if the distribution changes. Otherwise the sets are based on
        the last 2,048 scores. After ``fit`` they are those of conformal prediction from
        cross-fitted scores: for new examples of the same distribution, coverage differs from 1 -
        alpha by about 1 point if thousands of examples were learned, by 3 points if hundreds were.

        On a stream the share is alpha, in the long run, for 0.001, 0.002, 0.005, 0.01,
        0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3 and 0.4 to 0.9; sets for values
        between these are interpolated, and smaller values give all classes.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.
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
        with Interruptible():
            view, record, values = self._scored(X, "predict_set")
            scores = view.encoder.scores(values).reshape(len(values), -1)
            if view.remembered is None:
                return sets_of(scores, len(view.classes), record.q, float(alpha))
            return sets_of_present(scores, view.remembered[view.order], record.q, float(alpha))

    # -- drift of the stream ----------------------------------------------------------------

    def _detector(self, name: str) -> tuple[Any, Any]:
        watch = self._fitted(name).learner.watch
        if watch is None or watch.detector is None:
            raise AttributeError(
                f"{name} needs a drift detector: set detect_drift=True or window='auto' before the "
                "model learns."
            )
        return watch, watch.detector

    @property
    def drift_detected_(self) -> bool:
        """Whether a drift was detected in the last call that learned."""
        return bool(self._detector("drift_detected_")[0].drifted)

    @property
    def n_drifts_(self) -> int:
        """Number of drifts detected so far."""
        return int(self._detector("n_drifts_")[1].n_drifts)

    @property
    def prequential_error_(self) -> float:
        """Share of wrong predictions among recent examples, each made before it was learned."""
        return float(self._detector("prequential_error_")[1].error)

    # -- what it has chosen ---------------------------------------------------------------

    def _choices(self, name: str) -> tuple[int, int]:
        choices: tuple[int, int] | None = self._fitted(name).learner.choices()
        if choices is None:
            raise AttributeError(f"{name} is only available with a selection other than 'random'.")
        return choices

    @property
    def n_looked_at_(self) -> int:
        """Number of examples scored by ``selection``."""
        return self._choices("n_looked_at_")[0]

    @property
    def n_learned_(self) -> int:
        """Number of examples learned."""
        return self._choices("n_learned_")[1]
