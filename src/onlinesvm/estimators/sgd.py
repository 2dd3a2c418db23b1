"""NORMA, Pegaz and OL SVM for scikit-learn. The steps are in ``core/sgd``."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._progress import FitProgress
from .classifier import KernelClassifier
from .params import AT_LEAST_ONE, KERNEL_CONSTRAINTS, POSITIVE, shared_docs
from .trained import Trained

if TYPE_CHECKING:
    from ..core.sgd.learner import ExpansionLearner


class StochasticGradientClassifier(KernelClassifier):
    """Base of the three classifiers of stochastic gradient descent."""

    _rule = "NORMA"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [POSITIVE],
        "epochs": [AT_LEAST_ONE],
        "averaging": [StrOptions({"last", "average"})],
        "outputs": [StrOptions({"cached", "expansion"})],
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
        epochs: int = 1,
        averaging: str = "last",
        outputs: str = "cached",
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
        self.epochs = epochs
        self.averaging = averaging
        self.outputs = outputs
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> ExpansionLearner:
        from ..core.sgd import steps as sgd
        from ..core.sgd.learner import ExpansionLearner

        return ExpansionLearner(
            trained.kernel, data.rows, n_labels, rule=getattr(sgd, self._rule),
            average=self.averaging == "average", has_bias=getattr(self, "fit_intercept", False),
            cached=self.outputs == "cached", every_column=True, cache_size=self.cache_size,
        )  # fmt: skip

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """The paper's lists shuffle once and keep that order in every epoch."""
        learner, n = trained.learner, len(data.rows)
        order = rng.permutation(n) if self.shuffle else np.arange(n)
        for epoch in range(self.epochs):
            steps = learner.epoch(data, order, epoch == self.epochs - 1)
            yield from progress.epoch(f"epoch {epoch + 1}", steps, None)
            if progress.stopped:
                break
        learner.finish()


@shared_docs
class NORMAClassifier(StochasticGradientClassifier):
    """Stochastic gradient descent on the regularised hinge loss, NORMA.

    Minimises ::

        R(o) = C sum_i max(0, 1 - y_i o(x_i)) + 1/2 |o|^2,   o(x) = sum_i a_i k(x, x_i)   (1, 4)

    by List 1 of Kecman and Melki (2016). Step t, with eta = C sqrt(2 / t), shrinks every
    coefficient but the example's own, a_j <- (1 - eta / C) a_j, and sets a_i <- eta y_i if
    y_i o(x_i) <= 1. The influence of old examples decreases, so NORMA follows a stream that changes.

    Several classes are learned one-vs-rest: one binary problem per class, all on the same kernel
    values. For a label that first appears during a stream, a new binary problem is created, which
    starts by learning the current support vectors as negative examples, with its own steps.

    Parameters
    ----------
    C, kernel, gamma, degree, coef0, epochs, averaging, outputs, class_weight : shared
    cache_size (gradient), shuffle, time_limit, n_jobs, random_state : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_, intercept_ (gradient) : shared
    n_support_, n_kernel_evaluations_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.OLSVMClassifier : Does not shrink old coefficients.
    onlinesvm.PegazClassifier : Shrinks all coefficients alike.
    onlinesvm.LASVMClassifier : Converges to the SVM.

    Notes
    -----
    With this step, 1 - eta / C is negative at t = 1, when there is nothing to shrink, and zero at
    t = 2, which forgets the first example, as in the paper. The list resets i to 0 after an epoch,
    where 1 is meant. An example that is visited again and no longer violates its margin keeps its
    coefficient without shrinking, as in the paper. Shrinking costs one multiplication per step (a
    common scale). Rows whose coefficient has fallen below 2**-60 of the largest are removed: they
    change no output. So about 30 sqrt(t) support vectors are kept after t examples.
    Weights multiply the step eta y_i, not the shrinking.

    References
    ----------
    V. Kecman, G. Melki. Fast Online Algorithms for Support Vector Machines. IEEE SoutheastCon,
    2016. (List 1; after J. Kivinen, A. Smola, R. Williamson, 2002.)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import NORMAClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = NORMAClassifier(C=10, gamma=0.001, averaging="average", random_state=0)
    >>> model = model.fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.8)
    True
    """

    _rule = "NORMA"


@shared_docs
class PegazClassifier(StochasticGradientClassifier):
    """Stochastic gradient descent on the regularised hinge loss, Pegaz.

    Minimises ::

        R(o) = C sum_i max(0, 1 - y_i o(x_i)) + 1/2 |o|^2,   o(x) = sum_i a_i k(x, x_i)   (1, 4)

    by List 2 of Kecman and Melki (2016): at step t the coefficients are a = eta beta with
    eta = C sqrt(2 / t); if y_i o(x_i) <= 1, beta_i <- beta_i + y_i. It is Pegasos without the
    projection.


    Several classes are learned one-vs-rest: one binary problem per class, all on the same kernel
    values. For a label that first appears during a stream, a new binary problem is created, which
    starts by learning the current support vectors as negative examples, with its own steps.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a margin violation. It scales the decision function, and with it which examples
        violate the margin.
    kernel, gamma, degree, coef0, epochs, averaging, outputs, class_weight : shared
    cache_size (gradient), shuffle, time_limit, n_jobs, random_state : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_, intercept_ (gradient) : shared
    n_support_, n_kernel_evaluations_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.NORMAClassifier : Forgets the oldest examples.
    onlinesvm.OLSVMClassifier : Does not shrink old coefficients.
    onlinesvm.LASVMClassifier : Converges to the SVM.

    Notes
    -----
    The list resets i to 0 after an epoch, where 1 is meant. The paper says that Pegaz and NORMA
    agree after one epoch; by the lists they do not, since NORMA's coefficients shrink by a product
    of factors and Pegaz's by the step alone. Weights multiply the increments of beta.

    References
    ----------
    V. Kecman, G. Melki. Fast Online Algorithms for Support Vector Machines. IEEE SoutheastCon,
    2016. (List 2; after S. Shalev-Shwartz, S. Ben-David, 2014.)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import PegazClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PegazClassifier(C=10, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.8)
    True
    """

    _rule = "PEGAZ"


@shared_docs
class OLSVMClassifier(StochasticGradientClassifier):
    """Online SVM by stochastic gradient descent on the hinge loss in the primal (OL SVM).

    Minimises ::

        R(o) =   sum_i max(0, 1 - y_i o(x_i))                      loss="hinge"              (2)
        R(o) = C sum_i max(0, 1 - y_i o(x_i)) + 1/2 |o|^2          loss="regularized_hinge"  (1)
        o(x) = sum_i a_i k(x, x_i) + b                                                       (7)

    by Lists 3b and 3a of Kecman and Melki (2016). Step t, with eta = C sqrt(2 / t), looks at the
    cached output o_i of the next example. If y_i o_i < 1, a_i <- a_i + eta y_i, and the kernel
    column is added to all outputs, o <- o + eta y_i k(:, x_i). The regularised loss also shrinks
    the example's own coefficient, a_i <- (1 - eta / C) a_i, unless y_i o_i = 1.

    Several classes are learned one-vs-rest: one binary problem per class, all on the same kernel
    values. For a label that first appears during a stream, a new binary problem is created, which
    starts by learning the current support vectors as negative examples, with its own steps.

    Parameters
    ----------
    C : float, default=1.0
        Scale of the step; with ``loss="regularized_hinge"`` the cost of a margin violation.
    kernel, gamma, degree, coef0 : shared
    loss : {"hinge", "regularized_hinge"}, default="hinge"
        Loss (2), List 3b, or loss (1), List 3a.
    fit_intercept : bool, default=False
        Whether to learn a bias, b <- b + eta y_i for violators (eq. 6). Positive definite kernels
        do not need one.
    epochs, averaging, outputs, class_weight, cache_size (gradient), shuffle, time_limit : shared
    n_jobs, random_state : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_ : shared
    intercept_ : ndarray of shape (n_machines,)
        Bias of each machine; zeros without ``fit_intercept``.
    n_support_, n_kernel_evaluations_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.NORMAClassifier : Forgets the oldest examples.
    onlinesvm.PegazClassifier : Shrinks all coefficients alike.
    onlinesvm.LASVMClassifier : Converges to the SVM.

    Notes
    -----
    The lists reset i to 0 after an epoch, where 1 is meant. On a stream, or in one epoch, the two
    losses give the same model: an example that comes for the first time has no coefficient to
    shrink. Weights multiply the step eta y_i, not the shrinking.

    References
    ----------
    V. Kecman, G. Melki. Fast Online Algorithms for Support Vector Machines. IEEE SoutheastCon,
    2016. (Lists 3a and 3b, eqs. 6 and 7.)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import OLSVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = OLSVMClassifier(C=10, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StochasticGradientClassifier._parameter_constraints,
        "loss": [StrOptions({"hinge", "regularized_hinge"})],
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        loss: str = "hinge",
        fit_intercept: bool = False,
        epochs: int = 1,
        averaging: str = "last",
        outputs: str = "cached",
        class_weight: Any = None,
        cache_size: float = 200,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        super().__init__(
            C=C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, epochs=epochs,
            averaging=averaging, outputs=outputs, class_weight=class_weight, cache_size=cache_size,
            shuffle=shuffle, time_limit=time_limit, n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.loss = loss
        self.fit_intercept = fit_intercept

    @property
    def _rule(self) -> str:  # type: ignore[override]
        return self.loss.upper()
