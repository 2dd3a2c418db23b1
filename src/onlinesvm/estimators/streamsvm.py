"""StreamSVM for scikit-learn: ``StreamSVMClassifier``; the algorithm: ``core/streamsvm``."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .classifier import UnweightedClassifier
from .params import KERNEL_CONSTRAINTS, shared_docs
from .trained import Trained

if TYPE_CHECKING:
    from ..core.streamsvm.learner import StreamSVM


@shared_docs
class StreamSVMClassifier(UnweightedClassifier):
    """One-pass l2-SVM without bias, from enclosing balls of a stream (StreamSVM).

    Finds a small ball around the examples ::

        min_c max_n |c - z_n|,   z_n = (y_n phi(x_n), e_n / sqrt(C))

    whose centre is the weight vector of ::

        min_w  |w|^2 + C sum_n slack_n^2 - 2 rho,   y_n w phi(x_n) >= rho - slack_n

    when all phi(x_n) have length 1. Each example is seen once: one inside a ball is ignored,
    one outside becomes a ball of radius zero, and when there are more than ``n_balls`` balls,
    some merge (section "A Streaming Algorithm"). With ``n_balls=1`` that is the paper's update
    w + (1 - R/d)/2 (y x - w). Several classes are learned one-vs-rest
    (``SVC`` is one-vs-one): one binary problem per class.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the squared slacks.
    n_balls : int, default=32
        Number of balls K. With more balls the result is closer to the exact ball. The paper used 6
        to 8.
    kernel, gamma, degree, coef0 : shared
    merge : {"all", "pair"}, default="all"
        Which balls are merged when there are more than ``n_balls``. ``"all"`` (look-ahead): all but
        one are single examples outside of it; when there are ``n_balls`` of them, they are merged
        with the ball into the smallest one that encloses them. ``"pair"``: balls of any radius; the
        two whose common ball is smallest are merged.
    normalize : bool, default=True
        Whether phi(x) is divided by its length sqrt(k(x, x)), as the algorithm assumes. With
        the linear kernel: rows of unit norm. Where the length is zero, phi(x) stays zero, as
        in ``Normalizer``. The RBF kernel has unit length by itself.
    shuffle (any order), time_limit, n_jobs, random_state : shared

    Attributes
    ----------
    classes_ : shared
    coef_ : ndarray of shape (n_machines, n_features)
        Weight vectors, scaled so that the margins are at +1 and -1; linear kernel only.
    radius_ : ndarray of shape (n_machines,)
        Radius of the ball of each binary problem.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
        Rows of the expansion. With the linear kernel examples are not kept, and these are the
        weight vectors.
    support_ : shared
    dual_coef_ : ndarray of shape (n_machines, n_SV)
        Coefficients.
    gamma_ : shared
    intercept_ : ndarray of shape (n_machines,)
        Zeros: there is no bias.
    n_support_ : ndarray of shape (n_classes,)
        Number of examples of each class that entered a ball.

    n_kernel_evaluations_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.LASVMClassifier : More accurate; ``budget`` bounds its memory.
    onlinesvm.BudgetPerceptronClassifier : Bounded memory with any kernel.

    Notes
    -----
    Linear kernel: a binary problem keeps ``n_balls`` * (n_features + 1) numbers, the slacks and
    the inner products of its centres, and nothing that grows with the stream. Other kernels: the
    expansion over the examples that entered a ball.

    The text starts its slack at 1 and adds 1 in each update; the axes of length 1/sqrt(C) that it
    defines give 1/C and 1/C, which is what is done here. The hyperplane passes through the origin:
    add a constant feature if a bias is needed. A label that first appears during a stream is
    learned from the examples that follow it. Weights have no meaning in this geometry and are not
    supported.

    References
    ----------
    P. Rai, H. Daumé III, S. Venkatasubramanian. Single Pass SVM using Minimum Enclosing Ball of
    Streaming Data. 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import StreamSVMClassifier
    >>> X, y = load_digits(n_class=2, return_X_y=True)
    >>> stream = StreamSVMClassifier(n_balls=8)
    >>> for start in range(0, 300, 20):
    ...     stream = stream.partial_fit(X[start:start + 20], y[start:start + 20])
    >>> bool(stream.score(X[300:], y[300:]) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "n_balls": [Interval(Integral, 1, None, closed="left")],
        "merge": [StrOptions({"all", "pair"})],
        "normalize": ["boolean"],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        n_balls: int = 32,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        merge: str = "all",
        normalize: bool = True,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.C = C
        self.n_balls = n_balls
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.merge = merge
        self.normalize = normalize
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> StreamSVM:
        from ..core.streamsvm.learner import StreamSVM

        return StreamSVM(
            trained.kernel, data.rows, n_labels, n_balls=self.n_balls, together=self.merge == "all",
            normalize=self.normalize,
        )  # fmt: skip

    def _examples(self, trained: Trained, X: Any, y: Any, weight: np.ndarray) -> Any:
        data = super()._examples(trained, X, y, weight)
        if self.normalize and not (data.diagonal >= 0).all():
            row = int(np.argmin(data.diagonal >= 0))
            raise ValueError(
                f"k(x, x) of row {row} is negative under the {trained.kernel.name} kernel, so the "
                "row has no length to divide by; use another kernel, or set normalize=False."
            )
        return data

    def _view_extras(self, trained: Trained) -> dict[str, Any]:
        learner = trained.learner
        return {"radius": learner.final()[2].copy(), "entered": learner.entered.copy()}

    @property
    def radius_(self) -> np.ndarray:
        """Radius of each machine's ball."""
        view = self._seen("radius_")
        radius: np.ndarray = view.more["radius"]
        return radius[view.order] if len(view.order) > 2 else radius.copy()

    @property
    def n_support_(self) -> np.ndarray:
        """Examples of each class that entered a ball."""
        view = self._seen("n_support_")
        return view.more["entered"][view.order]
