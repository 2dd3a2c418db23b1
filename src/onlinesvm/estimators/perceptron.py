"""Kernel perceptrons for scikit-learn, the baselines of the LASVM paper (section 2.2)."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils._param_validation import Interval

from .classifier import UnweightedClassifier
from .params import AT_LEAST_ONE, KERNEL_CONSTRAINTS, shared_docs
from .sgd import StochasticGradientClassifier
from .trained import Trained

if TYPE_CHECKING:
    from ..core.sgd.learner import ExpansionLearner
    from ..core.sgd.perceptron import BudgetPerceptron

PERCEPTRON_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "epochs": [AT_LEAST_ONE],
    "shuffle": ["boolean"],
}


@shared_docs
class KernelPerceptronClassifier(UnweightedClassifier):
    """The kernel perceptron (Aizerman, Braverman, Rozonoer 1964).

    Looks for any o(x) = sum_i a_i k(x, x_i) with y_i o(x_i) > 0 for all examples. For each example
    in turn: if y_t o(x_t) <= 0, it joins the support vectors with a_t = y_t (steps 3 and 4 of
    the listing in section 2.2 of Bordes et al. 2005). It stops changing if a solution exists; on
    noisy data the number of support vectors keeps growing.

    Several classes are learned one-vs-rest (``SVC`` is one-vs-one): one binary problem per class,
    all on the same kernel values. For a label that first appears during a stream, a new binary
    problem is created, which starts by learning the current support vectors as negative examples.

    Parameters
    ----------
    kernel, gamma, degree, coef0, epochs, shuffle, time_limit, n_jobs, random_state : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_ : shared
    intercept_ (perceptron), n_support_, n_kernel_evaluations_, n_features_in_ : shared
    feature_names_in_ : shared

    See Also
    --------
    onlinesvm.AveragedPerceptronClassifier : Generalises better.
    onlinesvm.BudgetPerceptronClassifier : Bounded number of support vectors.
    onlinesvm.LASVMClassifier : Maximises the margin.

    Notes
    -----
    t counts iterations: an example that is misclassified again in a later epoch is added again, so
    its coefficients add up. ``sample_weight`` and ``class_weight`` are not supported: the
    algorithm has no cost that they could scale.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast Kernel Classifiers with Online and Active
    Learning. JMLR 6, 2005, section 2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import KernelPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelPerceptronClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.9)
    True
    """

    _averages = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PERCEPTRON_CONSTRAINTS

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epochs: int = 1,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.epochs = epochs
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> ExpansionLearner:
        from ..core.sgd.learner import ExpansionLearner
        from ..core.sgd.steps import PERCEPTRON

        return ExpansionLearner(
            trained.kernel, data.rows, n_labels, rule=PERCEPTRON, average=self._averages
        )

    _run = StochasticGradientClassifier._run


@shared_docs
class AveragedPerceptronClassifier(UnweightedClassifier):
    """The averaged kernel perceptron (Freund and Schapire 1998).

    Runs the kernel perceptron and decides by the average of all its states so far ::

        o(x) = 1/T sum_t o_t(x),    o_t the perceptron after example t

    so each state is weighted by the number of examples that it survived. The average is kept as
    one running sum per coefficient, not as copies of the states.

    Several classes are learned one-vs-rest (``SVC`` is one-vs-one): one binary problem per class,
    all on the same kernel values. For a label that first appears during a stream, a new binary
    problem is created, which starts by learning the current support vectors as negative examples.

    Parameters
    ----------
    kernel, gamma, degree, coef0, epochs, shuffle, time_limit, n_jobs, random_state : shared

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_ : shared
    intercept_ (perceptron), n_support_, n_kernel_evaluations_, n_features_in_ : shared
    feature_names_in_ : shared

    See Also
    --------
    onlinesvm.KernelPerceptronClassifier : Predicts with the last coefficients.
    onlinesvm.LASVMClassifier : Maximises the margin.

    Notes
    -----
    The voted perceptron of the same paper takes the majority of signs instead, which needs all
    states; its authors find the average about as good. The problem of a label is averaged over
    all examples since its start, including the support vectors it started with. ``sample_weight``
    and ``class_weight`` are not supported: the algorithm has no cost that they could scale.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast Kernel Classifiers with Online and Active
    Learning. JMLR 6, 2005, section 2.2.
    Y. Freund, R. Schapire. Large Margin Classification Using the Perceptron Algorithm. 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import AveragedPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = AveragedPerceptronClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.9)
    True
    """

    _averages = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PERCEPTRON_CONSTRAINTS

    __init__ = KernelPerceptronClassifier.__init__
    _make_learner = KernelPerceptronClassifier._make_learner
    _run = StochasticGradientClassifier._run


@shared_docs
class BudgetPerceptronClassifier(UnweightedClassifier):
    """A kernel perceptron with a maximum number of support vectors.

    Crammer, Kandola and Singer's rule as listed in section 2.2 of Bordes et al. (2005): if
    y_t o(x_t) <= margin, example t joins with a_t = y_t (4a); if there are now more support
    vectors than the budget, the one that is best classified without its own term is removed (4b) ::

        argmax_i  y_i (o(x_i) - a_i k(x_i, x_i))

    Several classes are learned one-vs-rest (``SVC`` is one-vs-one): one binary problem per class,
    on shared support vectors. The budget counts rows; the value of 4b of a row is the smallest one
    of the problems that use it. For a label that first appears during a stream, a new binary problem
    is created, which starts by learning the current support vectors as negative examples.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors, the paper's N.
    margin : float, default=0.0
        Examples with a smaller margin join; the paper's beta. The scale is that of the kernel.
    kernel, gamma, degree, coef0, epochs : shared
    shuffle : bool, default=True
        Whether ``fit`` visits the examples in random order, a new one in every epoch.
    time_limit, n_jobs, random_state : shared
    cache_size : float, default=200
        Memory for kernel values among support vectors, in MB. If they do not fit, a
        kernel row is computed for each removal.

    Attributes
    ----------
    classes_, support_vectors_, support_, dual_coef_, gamma_, coef_ : shared
    intercept_ (perceptron), n_support_, n_kernel_evaluations_, n_features_in_ : shared
    feature_names_in_ : shared

    See Also
    --------
    onlinesvm.LASVMClassifier : Has a ``budget``, too, and maximises the margin.
    onlinesvm.StreamSVMClassifier : Constant memory with the linear kernel.

    Notes
    -----
    t counts iterations: an example that is visited again in a later epoch may join again as another
    support vector. With noisy labels the rule keeps examples with wrong labels, because the others
    never classify them well: unless the budget is much larger than their number, the model fails,
    while the averaged perceptron does not. Of several examples that are classified equally well the
    oldest is removed. ``sample_weight`` and ``class_weight`` are not supported: the algorithm has
    no cost that they could scale.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast Kernel Classifiers with Online and Active
    Learning. JMLR 6, 2005, section 2.2.
    K. Crammer, J. Kandola, Y. Singer. Online Classification on a Budget. NIPS 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import BudgetPerceptronClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BudgetPerceptronClassifier(budget=300, random_state=0).fit(X[:1500], y[:1500])
    >>> bool(model.score(X[1500:], y[1500:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PERCEPTRON_CONSTRAINTS,
        "budget": [AT_LEAST_ONE],
        "margin": [Interval(Real, 0.0, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        budget: int = 500,
        margin: float = 0.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epochs: int = 1,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        cache_size: float = 200,
    ):
        KernelPerceptronClassifier.__init__(
            self, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, epochs=epochs,
            shuffle=shuffle, time_limit=time_limit, n_jobs=n_jobs, random_state=random_state,
        )  # fmt: skip
        self.budget = budget
        self.margin = margin
        self.cache_size = cache_size

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> BudgetPerceptron:
        from ..core.sgd.perceptron import BudgetPerceptron

        return BudgetPerceptron(
            trained.kernel, data.rows, n_labels, budget=self.budget, margin=float(self.margin),
            cache_size=self.cache_size,
        )  # fmt: skip
