"""The Huller for scikit-learn: see ``HullerClassifier``; the algorithm: ``core/huller``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from ._progress import FitProgress
from .classifier import KernelClassifier
from .params import KERNEL_CONSTRAINTS, shared_docs
from .trained import Trained

_MOST_EPOCHS, _MOST_SWEEPS = 100, 1000

_PROGRESS = 1e-9
"""With ``epochs="converge"``, ``fit`` stops after an epoch that reduces the distance of the hulls
by less than this share."""

if TYPE_CHECKING:
    from ..core.huller.learner import Huller


@shared_docs
class HullerClassifier(KernelClassifier):
    """Hard-margin support vector classifier that learns one example at a time (the Huller).

    Minimises the distance between the convex hulls of the two classes ::

        min |X_P - X_N|^2,   X_P = sum_P a_i x_i,   X_N = sum_N a_j x_j,   a >= 0
        with  sum_P a_i = sum_N a_j = 1                                       (eqs. 1, 2)

    whose median hyperplane is the hard-margin SVM's. UPDATE (figure 3) moves one of the two
    points along the line to an example, by eqs. (4) to (6); the scalars that it needs follow by
    eqs. (7) and (8). It is applied alternately to the next new example, which it may insert, and
    to a random support vector, which it may remove (figure 4). X_P and X_N start as averages of
    the first five examples of their classes. Several classes are learned one-vs-rest
    (``SVC`` is one-vs-one): one binary problem per class, all on the same kernel values.

    Parameters
    ----------
    C : float or None, default=None
        None or ``inf``: the hard margin, for separable classes. A number: quadratic slack,
        ``1/2 |w|^2 + C/2 sum_i slack_i^2``, the hard margin under the kernel k + I/C (section 6).
    kernel, gamma, degree, coef0 : shared
    tol : float, default=1e-3
        Tolerance: examples that violate their margin, of width 1, by no more than this are not
        inserted.
    epochs : int or "converge", default=1
        Passes over the data in ``fit``; ``"converge"`` continues until no example violates its
        margin by more than ``tol``.
    max_sweeps : int, default=10
        Maximum number of times that the finishing step updates every support vector; 0 is the
        paper's algorithm, which has no such step.
    class_weight : dict, "balanced" or None, default=None
        Weights that multiply ``C`` for each class; needs ``C``. ``"balanced"`` only in ``fit``.
    cache_size, shuffle (any order), time_limit (finishing), n_jobs : shared
    random_state : int, RandomState instance or None, default=None
        Seed of the order and of the support vectors that are updated.

    Attributes
    ----------
    classes_, support_vectors_, support_ : shared
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Signed coefficients, scaled so that the margins are at +1 and -1.
    gamma_, coef_, intercept_, n_support_, n_kernel_evaluations_, n_features_in_ : shared
    feature_names_in_ : shared

    See Also
    --------
    onlinesvm.LASVMClassifier : Linear slack; first choice for noisy data.
    onlinesvm.SimpleSVMClassifier : The same problems, exact at every step.

    Notes
    -----
    The decision function is eq. (3) times ``2 / |X_P - X_N|^2``, which makes the margins +1 and -1.
    With ``C``, k(x, x) + 1/C replaces k(x, x) of training examples while learning;
    ``decision_function`` never adds the 1/C. Without ``C``, data that cannot be separated has no
    solution: the two points meet, learning stops with a ``ConvergenceWarning``, and the model stays
    as it was before they met. Weights scale ``C``, so without ``C`` they are not supported.

    References
    ----------
    A. Bordes, L. Bottou. The Huller: a simple and efficient online SVM. ECML 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import HullerClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = HullerClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.95)
    True

    For noisy labels use the quadratic slack:

    >>> soft = HullerClassifier(C=10, random_state=0).fit(X[:1500], y[:1500] % 2)
    >>> bool(soft.score(X[1500:], y[1500:] % 2) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither")],
        "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"converge"})],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float | None = None,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        epochs: int | str = 1,
        max_sweeps: int = 10,
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
        self.max_sweeps = max_sweeps
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _is_hard(self) -> bool:
        return self.C is None or bool(np.isinf(self.C))

    @property
    def _in_turn(self) -> bool:
        return False  # a call of many examples is learned in blocks

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Huller:
        from ..core.huller.learner import Huller

        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return Huller(
            trained.kernel, data.rows, n_labels, quadratic=not self._is_hard, tol=float(self.tol),
            sweeps=self.max_sweeps, cache_size=self.cache_size, seed=seed,
        )  # fmt: skip

    def _weights(self, y: np.ndarray, encoder: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        if self._is_hard and (sample_weight is not None or self.class_weight is not None):
            raise ValueError(
                f"The hard margin (C={self.C}) does not support sample_weight or class_weight: "
                "it has no cost that they could scale. Set C for the quadratic slack."
            )
        return super()._weights(y, encoder, sample_weight)

    def _teach(self, trained: Trained, data: Any, due: np.ndarray) -> None:
        was_stuck = trained.learner is not None and trained.learner.stuck
        super()._teach(trained, data, due)
        if self._fitted("").learner.stuck and not was_stuck:
            self._warn_touching(stacklevel=5)

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """Figure 4 in epochs (section 5), then the finishing step."""
        learner, n = trained.learner, len(data.rows)
        converge = self.epochs == "converge"
        order = np.arange(n)
        done, last = not converge, np.inf
        for epoch in range(_MOST_EPOCHS if converge else int(self.epochs)):
            order = rng.permutation(n) if self.shuffle else order
            yield from progress.epoch(f"epoch {epoch + 1}", learner.epoch(data, order), None)
            if progress.stopped or learner.stuck:
                break
            if converge:
                reached = learner.finish(_MOST_SWEEPS)
                yield
                done = reached and learner.largest_violation(data) <= self.tol
                if done or learner.distance() > (1 - _PROGRESS) * last:
                    break
                last = learner.distance()
        learner.finish()
        self._tell(learner, done or progress.stopped)

    def _tell(self, learner: Any, done: bool) -> None:
        """Warn if the problem has no solution, or if the fit has not reached it."""
        if learner.stuck or (self._is_hard and self.max_sweeps and not learner.separates()):
            self._warn_touching(stacklevel=8)
        elif not done:
            warnings.warn(
                f"The Huller stopped before it reached tol={self.tol}: single-precision kernel "
                "values allow no further progress. Use a larger tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=7,
            )

    def _warn_touching(self, stacklevel: int) -> None:
        advice = (
            "if more epochs do not help, the classes cannot be separated: set C for the "
            "quadratic slack"
            if self._is_hard
            else "use a smaller C, or scale the features"
        )
        warnings.warn(
            "The hulls of two classes touch or nearly so, and the margin between them has no "
            f"solution yet; {advice}.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._is_hard  # on classes that overlap
        return tags
