"""Classifiers for River: see ``onlinesvm.river``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from river import base

from ...estimators import lasvm, perceptron
from ...estimators.base import trained_of
from ...estimators.classifier import UnweightedClassifier, check_new_labels
from ...estimators.labels import unique_labels
from ...estimators.named_rows import NamedModel
from ...estimators.params import shared_docs
from ...estimators.probabilities import check_alpha, has_probabilities

__all__ = ["BudgetPerceptronClassifier", "LASVMClassifier"]


class _Adapter(NamedModel, base.MiniBatchClassifier):
    """Dictionaries and data frames in, labels and probabilities out, around one estimator.

    Subclasses name its class, and have parameters of the same names.
    """

    @property
    def _multiclass(self) -> bool:
        return True

    # -- learning -------------------------------------------------------------------------

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn one example. Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x
            Features: names and finite numbers.
        y
            Label; it may be a new one.
        w
            Weight that multiplies the cost of the example.
        """
        self._check_single(y, "label")
        self._learn_named(x, lambda model, row: self._hand_over(model, row, y, w))

    def _hand_over(self, model: Any, row: np.ndarray, y: Any, w: float) -> None:
        if w == 1.0:
            model.learn_one(row, y)
        elif not isinstance(model, UnweightedClassifier):
            model.learn_one(row, y, w)
        else:
            raise ValueError(
                f"{type(self).__name__} does not support weights: it has no cost that w={w} "
                "could scale."
            )

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn the rows of a data frame in order, as ``learn_one`` does.

        Invalid input raises an error and changes nothing.

        Parameters
        ----------
        X
            Features: a column for each name, finite numbers.
        y
            Labels, one for each row.
        """
        values, rows = self._rows.check_frame(X), self._rows
        labels = np.asarray(y)
        if labels.shape != (len(values),):
            what = (
                f"{labels.size} labels" if labels.ndim == 1 else f"labels of shape {labels.shape}"
            )
            raise ValueError(f"There are {len(values)} rows, but {what}.")
        if not len(labels):
            return
        self._check_labels(labels)
        before = rows.columns
        rows.extend(X.columns)
        self._learn_new_names(before, lambda m: _learn_parts(m, rows.matrix(X, values), labels))

    def _check_labels(self, labels: np.ndarray) -> None:
        """Refuse labels that the model could not learn, before it has learned any of them."""
        fresh = unique_labels(labels)
        if self._model is not None:
            check_new_labels(self._model, fresh)

    # -- predicting -----------------------------------------------------------------------

    def _answers(self) -> list[Any]:
        return _labels(self._model)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label of one example; None before the first example.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        return None if self._model is None else _plain(self._model.predict_one(row))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of each label; empty before the first example.

        Those of LASVM are calibrated on the scores of recent examples from before they were
        learned. Those of the perceptron are computed from the decision values (the logistic
        function of twice the value; with several classes, in proportion to these): they rank the
        labels, but are not calibrated.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row, model = self._rows.known(x), self._model
        if model is None:
            return {}
        labels = _labels(model)
        if has_probabilities(model):
            share = model.predict_proba_one(row)
        else:
            share = _shares(np.atleast_2d(model.decision_one(row)), len(labels))[0]
        return dict(zip(labels, share.tolist(), strict=True))

    def predict_many(self, X: Any) -> Any:
        """The label of each row of a data frame, as a series; None before the first example.

        Parameters
        ----------
        X
            Features. Names that were never learned are left out.
        """
        import pandas as pd

        values, model = self._rows.check_frame(X), self._model
        if model is None:
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        if not len(X):
            return pd.Series(model.classes_[:0], index=X.index)
        return pd.Series(model.predict(self._rows.matrix(X, values)), index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """The probabilities of each row of a data frame, as a frame with a column for each label.

        Parameters
        ----------
        X
            Features. Names that were never learned are left out.
        """
        import pandas as pd

        values, model = self._rows.check_frame(X), self._model
        if model is None:
            return pd.DataFrame(index=X.index)
        labels, rows = _labels(model), self._rows.matrix(X, values)
        if not len(X):
            share = np.empty((0, len(labels)))
        elif has_probabilities(model):
            share = model.predict_proba(rows)
        else:
            decided = model.decision_function(rows)
            share = _shares(decided[:, None] if decided.ndim == 1 else decided, len(labels))
        return pd.DataFrame(share, index=X.index, columns=labels)


def _learn_parts(model: Any, X: np.ndarray, labels: np.ndarray) -> None:
    """Learn rows in order, with a new call at each row that has a new label."""
    trained = trained_of(model)
    known = () if trained is None else trained.encoder.numbers
    _, first = np.unique(labels, return_index=True)
    cuts = {int(k) for k in first if labels[k : k + 1].tolist()[0] not in known}
    ends = sorted(cuts | {0, len(labels)})
    for start, end in pairwise(ends):
        model.partial_fit(X[start:end], labels[start:end])


def _plain(label: Any) -> Any:
    """A label as Python has it."""
    return label.item() if isinstance(label, np.generic) else label


def _labels(model: Any) -> list[Any]:
    """Labels known so far, sorted."""
    trained = trained_of(model)
    return [] if trained is None else list(trained.encoder.classes.tolist())


def _shares(values: np.ndarray, n_labels: int) -> np.ndarray:
    """Numbers between 0 and 1 that rank labels as decision values do; they sum up to one."""
    if n_labels == 1:
        return np.ones((len(values), 1))
    positive = 0.5 * (1.0 + np.tanh(values))  # the logistic function of two times the value
    if n_labels == 2:
        return np.hstack([1.0 - positive, positive])
    above = np.exp(2.0 * np.minimum(values - values.max(axis=1, keepdims=True), 0.0))
    return np.asarray(above / above.sum(axis=1, keepdims=True))


@shared_docs
class LASVMClassifier(_Adapter):
    """Support vector classifier that learns one example at a time, in bounded memory (LASVM).

    Features should be of about the same scale: put ``river.preprocessing.StandardScaler`` in front.
    The defaults are those that did best on seven streams scaled in this way, most of which drift.
    See ``onlinesvm.LASVMClassifier`` for the algorithm, and ``docs/guide/streams.md`` for the
    choice of parameters.

    Parameters
    ----------
    C, kernel (River), gamma (River), degree, coef0 : shared
    window : int, "auto" or None, default=None
        Number of most recent examples that count; None: all. ``"auto"``: those since the last
        detected drift, at least 100 and at most 10,000.
    budget (River), policy, half_life : shared
    class_weight : dict or None, default=None
        Weights that multiply ``C`` for each label.
    probability : bool, default=False
        Whether probabilities are calibrated on up to 8,192 scores of recent examples instead of
        2,048, and prediction sets follow a drift. Examples are scored before they are learned.
    detect_drift : bool, default=False
        Whether to monitor the error rate of predictions made before their labels are learned: see
        ``drift_detected_``. Always on with ``window="auto"``.
    decision : {"ovr", "ovo"}, default="ovr"
        Three labels or more: one machine for each label against the others, or one for each pair of
        labels, which vote, as in ``SVC``.

    See Also
    --------
    onlinesvm.LASVMClassifier : The same with scikit-learn's interface.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from onlinesvm.river import LASVMClassifier
    >>> model = preprocessing.StandardScaler() | LASVMClassifier()
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> accuracy.get() > 0.88
    True

    Features may appear and disappear:

    >>> model = LASVMClassifier()
    >>> model.learn_one({"rain": 1.0, "wind": 0.2}, "stay")
    >>> model.learn_one({"rain": 0.0, "sun": 0.9}, "go")
    >>> model.predict_one({"sun": 1.0})
    'go'
    """

    _kind = lasvm.LASVMClassifier

    def __init__(
        self,
        C: float = 4.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        window: int | str | None = None,
        budget: int | None = 1000,
        policy: str = "oldest",
        half_life: float | None = 1000,
        class_weight: dict[Any, float] | None = None,
        probability: bool = False,
        detect_drift: bool = False,
        decision: str = "ovr",
    ):
        super().__init__()
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.window = window
        self.budget = budget
        self.policy = policy
        self.half_life = half_life
        self.class_weight = class_weight
        self.probability = probability
        self.detect_drift = detect_drift
        self.decision = decision

    def predict_set_one(self, x: dict[Any, Any], alpha: float = 0.1) -> set[Any]:
        """The set of labels that contains the true one in a share 1 - alpha of cases.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        alpha
            Share of labels that may be outside, between 0 and 1.
        """
        check_alpha(alpha)
        row, model = self._rows.known(x), self._model
        if model is None:
            return set()
        inside = model.predict_set(row[None, :], alpha)[0]
        return {label for label, held in zip(_labels(model), inside, strict=True) if held}

    @property
    def drift_detected_(self) -> bool:
        """Whether the last example revealed a drift (``detect_drift``, ``window="auto"``)."""
        return self._model is not None and bool(self._model.drift_detected_)

    @property
    def n_drifts_(self) -> int:
        """Number of drifts detected so far."""
        return 0 if self._model is None else int(self._model.n_drifts_)

    @property
    def prequential_error_(self) -> float:
        """Share of wrong predictions among recent examples, each made before it was learned."""
        return float("nan") if self._model is None else float(self._model.prequential_error_)


@shared_docs
class BudgetPerceptronClassifier(_Adapter):
    """Kernel perceptron with a bounded number of support vectors.

    See ``onlinesvm.BudgetPerceptronClassifier`` for the algorithm.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors.
    margin : float, default=0.0
        An example is added when its margin is at most this.
    kernel (River), gamma (River), degree, coef0 : shared

    See Also
    --------
    onlinesvm.BudgetPerceptronClassifier : The same with scikit-learn's interface.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from onlinesvm.river import BudgetPerceptronClassifier
    >>> model = preprocessing.StandardScaler() | BudgetPerceptronClassifier(budget=100)
    >>> accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    >>> accuracy.get() > 0.8
    True
    """

    _kind = perceptron.BudgetPerceptronClassifier

    def __init__(
        self,
        budget: int = 500,
        margin: float = 0.0,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
    ):
        super().__init__()
        self.budget = budget
        self.margin = margin
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
