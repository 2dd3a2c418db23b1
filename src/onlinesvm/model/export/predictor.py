"""The parts of an estimator that exports need: expansion, kernel, labels.

    f_m(x) = sum_s coef[m, s] k((x - shift) / scale, vector_s) + bias_m

``vectors`` are in the coordinates in which they are kept: shifted by the model's centre (kernels of a distance), and
standardised if a running standardisation goes with the model. ``shift`` and ``scale`` lead there from
the features as users have them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ...core.kernel.kernel import KERNEL_NAMES
from ...estimators.base import view_of
from ...estimators.labels import Indicators, QuantileTargets, Targets
from ...estimators.pair_labels import PairBook
from ..errors import ModelFileError
from ..state import algorithm_of

CLASSIFIER, REGRESSOR, ONE_CLASS = "classifier", "regressor", "one class"
LABELS = "classifier of several labels per example"

KINDS = {
    "SimpleSVMRegressor": REGRESSOR,
    "SimpleSVMOneClass": ONE_CLASS,
    "LASVMRegressor": REGRESSOR,
    "LASVMOneClass": ONE_CLASS,
}
"""Estimators that are no classifiers."""

VANISHING = 1e30
"""Divided by this, a feature of weight zero is zero in single precision, and the centre is zero there."""

NEVER = -1e30
"""Decision value of a class that is not to be predicted, in single precision too."""

KERNELS = tuple(name for name in KERNEL_NAMES if name != "precomputed")


class Votes(NamedTuple):
    """Of machines that are pairs of classes: which ones, and how they decide."""

    first: np.ndarray  # place of the class for which machine m is positive
    second: np.ndarray
    vector_class: np.ndarray  # place of the class of each vector
    shape: str  # of the decision function: "ovr" or "ovo"
    break_ties: bool

    def signs(self) -> np.ndarray:
        """+1 where a machine is for a class, -1 where it is against it, (machines, classes)."""
        rows, made = (
            np.arange(len(self.first)),
            np.zeros((len(self.first), int(self.second[-1]) + 1)),
        )
        made[rows, self.first], made[rows, self.second] = 1.0, -1.0
        return made


class Predictor(NamedTuple):
    """A finished model, independent of the estimator that it came from."""

    kind: str
    kernel: str
    gamma: float
    degree: int
    coef0: float
    vectors: np.ndarray  # (n, n_features) float64
    coef: np.ndarray  # (machines, n), machines in the order of the classes
    bias: np.ndarray  # (machines,)
    classes: np.ndarray | None
    unit_length: bool  # f is divided by sqrt(k(x, x))
    shift: np.ndarray  # (n_features,)
    scale: np.ndarray  # (n_features,)
    slopes: np.ndarray | None = None  # of the probabilities: see core/prequential/calibration.py
    votes: Votes | None = None  # None: one machine per class, or one for two
    columns: bool = False  # predictions have one column per machine, also if there is one machine
    ascending: bool = False  # machines are quantiles, whose values are sorted

    @property
    def n_scores(self) -> int:
        """Number of decision values of an example."""
        if self.votes is not None and self.votes.shape == "ovr" and self.classes is not None:
            return len(self.classes)
        return len(self.coef)

    def weights(self) -> np.ndarray:
        """Of the linear kernel: one weight vector per machine, for rows shifted and scaled."""
        return self.coef @ self.vectors


def predictor_of(estimator: Any, preprocessing: dict[str, Any] | None = None) -> Predictor:
    """The predictor of a fitted estimator, with the standardisation before it, if there is one."""
    check_is_fitted(estimator)
    _check_single(estimator)
    name = algorithm_of(estimator)
    kind = KINDS.get(name, CLASSIFIER)
    simple = name.startswith("SimpleSVM")
    made = _of_simplesvm(estimator, kind) if simple else _of_online(estimator, kind)
    if made.kernel not in KERNELS:
        raise ModelFileError(
            f"A model with a {made.kernel} kernel cannot be exported: other programs cannot "
            f"compute it. Use one of the kernels {', '.join(KERNELS[:-1])} and {KERNELS[-1]}."
        )
    mean, scale = standardisation(preprocessing, made.vectors.shape[1])
    # made: x' = x / made.scale - its centre, for x that is standardised.
    return made._replace(shift=mean + scale * made.scale * made.shift, scale=scale * made.scale)


def _check_single(estimator: Any) -> None:
    """Refuse what has an estimator in it, and say where it is."""
    name, inside = type(estimator).__name__, None
    if hasattr(estimator, "best_estimator_"):
        found = estimator.best_estimator_
        inside = "best_estimator_" + ("[-1]" if isinstance(found, Pipeline) else "")
    elif isinstance(estimator, Pipeline):
        inside = "last step, pipeline[-1]"
    if inside is not None:
        raise ModelFileError(
            f"A {name} cannot be exported as a whole: export its {inside}, whose features are what the "
            "steps before it make of a row. skl2onnx converts pipelines of scikit-learn's transformers "
            "after onlinesvm.export.register_onnx()."
        )


def standardisation(
    preprocessing: dict[str, Any] | None, n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and scale, zero and one where there is no standardisation."""
    given = preprocessing or {}
    others = sorted(
        key for key in given if key not in ("mean", "scale", "schema") and given[key] is not None
    )
    if others:
        raise ModelFileError(
            f"The preprocessing {', '.join(map(repr, others))} cannot be exported with the "
            "model: only a standardisation, given as 'mean' and 'scale', can. Train on features "
            "that are already preprocessed."
        )
    mean = _feature_values(given.get("mean"), 0.0, "mean", n_features)
    scale = _feature_values(given.get("scale"), 1.0, "scale", n_features)
    if not (scale > 0).all():
        raise ModelFileError("The preprocessing has a scale that is not positive; replace it by 1.")
    return mean, scale


def _feature_values(value: Any, default: float, name: str, n_features: int) -> np.ndarray:
    if value is None:
        return np.full(n_features, default)
    values = np.asarray(value, np.float64)
    if values.shape != (n_features,) or not np.isfinite(values).all():
        raise ModelFileError(
            f"The {name} of the preprocessing has the shape {values.shape}; it must have one "
            f"finite number for each of the {n_features} features of the model."
        )
    return values


def _of_online(estimator: Any, kind: str) -> Predictor:
    view = view_of(estimator)
    trained, model, kernel, encoder = view.trained, view.model, view.kernel, view.encoder
    d, centre = trained.features.n_features, trained.centre
    kind = LABELS if isinstance(encoder, Indicators) else kind
    callable_or_table = kernel.name not in KERNELS
    vectors = np.empty((0, d)) if callable_or_table else _dense(model.rows.to_array())
    return Predictor(
        kind, kernel.name, float(kernel.gamma), int(kernel.degree), float(kernel.coef0),
        vectors, encoder.shown(model.coef), encoder.shown(_bias(view)),
        view.classes.copy() if kind == CLASSIFIER else None, bool(model.unit_length),
        np.zeros(d) if centre is None else centre, _scale(trained.feature_weights, d),
        _slopes(view), _votes(estimator, view), kind == LABELS or _has_columns(encoder),
        isinstance(encoder, QuantileTargets),
    )  # fmt: skip


def _bias(view: Any) -> np.ndarray:
    """Biases of the machines; a class without examples that count is never predicted."""
    bias = np.array(view.model.bias, np.float64)
    if view.present is not None and _has_machine_each(view):
        bias[~view.present] = NEVER
    return bias


def _has_machine_each(view: Any) -> bool:
    """Whether each class has a machine of its own; else there are two classes, or pairs, which vote."""
    return len(view.classes) > 2 and not isinstance(view.encoder, PairBook)


def _has_columns(encoder: Any) -> bool:
    """Whether predicted values have two dimensions, as the y that was learned, or are quantiles."""
    return isinstance(encoder, Targets) and encoder.two_dimensional


def _votes(estimator: Any, view: Any) -> Votes | None:
    """How pairs of three classes or more decide; None where there are none."""
    if not isinstance(view.encoder, PairBook) or len(view.classes) < 3:
        return None
    first, second = np.triu_indices(len(view.classes), 1)
    place = view.encoder.places()[view.model.label]
    shape, break_ties = estimator.decision_function_shape, bool(estimator.break_ties)
    return Votes(first, second, place, shape, break_ties and shape == "ovr")


def _scale(weights: np.ndarray | None, d: int) -> np.ndarray:
    """What features are divided by in place of a multiplication by their weights."""
    if weights is None:
        return np.ones(d)
    return np.where(weights > 0, 1.0 / np.where(weights > 0, weights, 1.0), VANISHING)


def _slopes(view: Any) -> np.ndarray | None:
    """The slopes of h for scores in the order of the classes; None without probabilities."""
    record = view.noted if view.present is None or _has_machine_each(view) else None
    if record is None or len(view.classes) < 2:
        return None
    slopes = np.asarray(record.calibration.slopes, np.float64)
    # Two labels that came in another order: -h(-f), whose halves have changed places.
    swapped = len(view.order) == 2 and view.order[1] == 0
    return slopes.reshape(-1, 2)[:, ::-1].ravel() if swapped else slopes


def _of_simplesvm(estimator: Any, kind: str) -> Predictor:
    view = view_of(estimator)
    learner, kernel, centre = view.learner, view.kernel, view.trained.centre
    d = view.trained.features.n_features
    vectors, coef = (
        _simple_expansion(learner) if kernel.name in KERNELS else (np.empty((0, d)),) * 2
    )
    bias = learner.readings()[0]
    if kernel.name in KERNELS:
        coef, bias = view.encoder.shown(coef), view.encoder.shown(bias)
    return Predictor(
        kind, kernel.name, float(kernel.gamma), int(kernel.degree), float(kernel.coef0), vectors,
        coef, bias, view.classes.copy() if kind == CLASSIFIER else None, False,
        np.zeros(d) if centre is None else centre, np.ones(d),
    )  # fmt: skip


def _simple_expansion(learner: Any) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and coefficients; of a matrix of low rank, those of its pivots."""
    features = learner.features
    if features is None:
        which, coef = learner.expansion()
        return _dense(learner.rows.take(which).values), coef
    weights = np.array([m.coefficients() for m in learner.machines]) @ learner.source.Z
    weights *= learner.readings()[1][:, None]
    if features.given is None:
        return _dense(features.pivots.values), weights @ features.T.T
    if learner.rows.kernel.name != "linear" or weights.shape[1] != learner.rows.values.shape[1]:
        raise ModelFileError(
            "low_rank is a Python function, which cannot be exported: use a number of columns."
        )
    return weights, np.eye(len(weights))


def _dense(values: Any) -> np.ndarray:
    if sparse.issparse(values):
        if values.shape[0] * values.shape[1] > LARGEST:
            raise ModelFileError(
                f"{values.shape[0]} support vectors of {values.shape[1]} features are too many for a "
                "dense export; use a smaller model, such as one with a budget."
            )
        values = values.toarray()
    return np.asarray(values, np.float64)


LARGEST = 2**27
"""Numbers of a dense export: a gigabyte."""
