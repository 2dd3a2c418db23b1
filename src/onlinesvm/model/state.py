"""Estimators as named values, and back again: parameters, what every one has, its learner.

An estimator is made by its own constructor, which validates its parameters; what it has learned is
built from checked parts (``records``). Only the classes of ``ALGORITHMS`` can be made, by name.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from ..estimators.base import install, trained_of
from ..estimators.checks import Features
from ..estimators.labels import Indicators, LabelBook, Targets
from ..estimators.pair_labels import PairBook
from ..estimators.trained import Trained
from .errors import InvalidState, ModelFileError
from .fields import Fields, narrow

ALGORITHMS = {
    "LASVMClassifier": ("estimators.lasvm", "lasvm", "lasvm"),
    "LASVMRegressor": ("estimators.lasvm_values", "lasvm", "lasvm"),
    "LASVMOneClass": ("estimators.lasvm_values", "lasvm", "lasvm"),
    "HullerClassifier": ("estimators.huller", "huller", "huller"),
    "StreamSVMClassifier": ("estimators.streamsvm", "streamsvm", "streamsvm"),
    "NORMAClassifier": ("estimators.sgd", "sgd", "sgd"),
    "PegazClassifier": ("estimators.sgd", "sgd", "sgd"),
    "OLSVMClassifier": ("estimators.sgd", "sgd", "sgd"),
    "KernelPerceptronClassifier": ("estimators.perceptron", "sgd", "sgd"),
    "AveragedPerceptronClassifier": ("estimators.perceptron", "sgd", "sgd"),
    "BudgetPerceptronClassifier": ("estimators.perceptron", "perceptron", "perceptron"),
    "SimpleSVMClassifier": ("estimators.simplesvm", "simplesvm", "simplesvm"),
    "SimpleSVMRegressor": ("estimators.simplesvm_values", "simplesvm", "simplesvm"),
    "SimpleSVMOneClass": ("estimators.simplesvm_values", "simplesvm", "simplesvm"),
}
"""Class: the module of the class, the module of its record, and the record's name."""

VALUES = ("LASVMRegressor", "LASVMOneClass")
"""Online models that have no classes."""


def estimator_class(algorithm: str) -> Any:
    """The class of that name."""
    return getattr(import_module(f"onlinesvm.{ALGORITHMS[algorithm][0]}"), algorithm)


def _record(algorithm: str, kind: str) -> Any:
    _, module, name = ALGORITHMS[algorithm]
    return getattr(import_module(f"onlinesvm.model.records.{module}"), f"{name}_{kind}")


# -- writing ------------------------------------------------------------------------------


def algorithm_of(estimator: Any) -> str:
    """The name of the estimator's class; raises an error if model files do not support it."""
    name = type(estimator).__name__
    if name not in ALGORITHMS or type(estimator) is not estimator_class(name):
        raise ModelFileError(
            f"{name} cannot be saved as a model file: it is not one of {', '.join(ALGORITHMS)}. "
            "Use pickle."
        )
    return name


def check_no_code(estimator: Any) -> None:
    """Refuse parameters that are functions: a file contains only data."""
    for name, value in estimator.get_params(deep=False).items():
        if callable(value):
            remedy = (
                "use a built-in kernel (kernel='precomputed' takes the values of any function)"
                if name == "kernel"
                else "use a number instead"
            )
            raise ModelFileError(
                f"{name} is a Python function, and model files contain no code: {remedy}, or "
                "pickle the estimator."
            )


def state_of(estimator: Any, algorithm: str) -> dict[str, Any]:
    """What the estimator has learned."""
    trained = trained_of(estimator)
    assert trained is not None
    if trained.objects is not None:
        raise ModelFileError(
            "The model was trained on objects that are not rows of numbers, with a Python "
            "function as its kernel, and model files contain no code: pickle the estimator."
        )
    return {
        "n_features": int(estimator.n_features_in_),
        "feature_names": trained.features.names,
        **(_simple if _is_simple(algorithm) else _online)(trained, algorithm),
    }


def _is_simple(algorithm: str) -> bool:
    return ALGORITHMS[algorithm][1] == "simplesvm"


def _simple(trained: Trained, algorithm: str) -> dict[str, Any]:
    return {"learner": _record(algorithm, "fields")(trained)}


def _online(trained: Trained, algorithm: str) -> dict[str, Any]:
    from .records.common import (
        book_fields,
        class_table_fields,
        first_rows_fields,
        kernel_fields,
    )
    from .records.tasks import targets_fields

    book: Any = book_fields if isinstance(trained.encoder, LabelBook) else targets_fields
    return {
        "labels": book(trained.encoder),
        "kernel": kernel_fields(trained.kernel),
        "original": narrow(trained.original),
        **({} if trained.copies is None else {"copies": narrow(trained.copies)}),
        "first_rows": first_rows_fields(trained.first_rows),
        "packs": bool(trained.packs),
        "sparse": bool(trained.sparse),
        "centre": trained.centre,
        "n_iter": None if trained.n_iter is None else int(trained.n_iter),
        "fit_status": None if trained.fit_status is None else int(trained.fit_status),
        "class_table": class_table_fields(trained.class_weights),
        "shape_fit": list(map(int, trained.shape_fit or ())) or None,
        # Absent in files of models without: earlier versions can read these.
        **({} if trained.feature_weights is None else {"feature_weights": trained.feature_weights}),
        **_counts_of_labels(trained),
        **({} if trained.streamed is None else {"streamed": int(trained.streamed)}),
        **({"emptied": np.array(trained.emptied, np.int64)} if trained.emptied else {}),
        "learner": _record(algorithm, "fields")(trained.learner),
    }


def _counts_of_labels(trained: Trained) -> dict[str, Any]:
    counts = trained.n_iter_of_labels
    return {} if counts is None else {"n_iter_of_labels": narrow(counts)}


# -- reading ------------------------------------------------------------------------------


def estimator_of(algorithm: str, parameters: Any, fields: Fields) -> Any:
    """The estimator again."""
    estimator = _with_parameters(algorithm, parameters)
    count = fields.whole("n_features", 1)
    names = None if fields.absent("feature_names") else _names(fields, count)
    features = Features(algorithm, count, names)
    if _is_simple(algorithm):
        trained = _record(algorithm, "of")(fields.record("learner"), algorithm, features)
    else:
        trained = _online_of(algorithm, features, fields)
    fields.close()
    install(estimator, trained)
    return estimator


def _with_parameters(algorithm: str, parameters: Any) -> Any:
    """A new estimator; its own rules say which parameters are good."""
    kind = estimator_class(algorithm)
    if not isinstance(parameters, dict):
        raise InvalidState("its parameters are not a dictionary")
    known = kind().get_params(deep=False)
    for name, value in parameters.items():
        if name not in known:
            raise InvalidState(f"{algorithm} has no parameter {str(name)[:80]!r}")
        if callable(value):
            raise InvalidState(f"the parameter {name} is a function")
    estimator = kind(**parameters)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator._validate_params()
    except (ValueError, TypeError) as error:
        raise InvalidState(f"a parameter is not valid: {error}") from None
    return estimator


def _names(fields: Fields, count: int) -> np.ndarray:
    names = fields.take("feature_names")
    good = isinstance(names, np.ndarray) and names.shape == (count,) and names.dtype == object
    if not good or not all(type(name) is str for name in names):
        raise fields.wrong("feature_names", f"is not an array of {count} names")
    return names


def _feature_weights(fields: Fields, count: int) -> np.ndarray:
    weights = fields.array("feature_weights", np.float64, (count,), low=0.0)
    if not weights.any():
        raise fields.wrong("feature_weights", "are all zero")
    return weights


def _shape(fields: Fields) -> tuple[int, ...]:
    shape = fields.take("shape_fit")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise fields.wrong("shape_fit", "is not a shape")
    return tuple(shape)


def _knows(encoder: Any, y: np.ndarray) -> bool:
    """Whether these are labels that the encoder has given numbers."""
    if isinstance(encoder, LabelBook):
        return y.ndim == 1 and set(y.tolist()) <= set(encoder.numbers)
    if isinstance(encoder, Indicators):
        return y.shape == (len(y), len(encoder)) and bool(np.isin(y, (0, 1)).all())
    return True


def _online_of(algorithm: str, features: Features, fields: Fields) -> Trained:
    from ..core.lasvm.pairs import Pairs
    from ..core.lasvm.tasks import SeveralLabels
    from .records.common import (
        Context,
        book_of,
        centre_of,
        class_table_of,
        first_rows_of,
        kernel_of,
    )
    from .records.tasks import targets_of

    assert features.n_features is not None
    has_classes, d = algorithm not in VALUES, features.n_features
    labels = fields.record("labels")
    encoder: Any = (book_of if labels.has("labels") else targets_of)(labels)
    kind = LabelBook if has_classes else Targets
    several = algorithm == "LASVMClassifier" and isinstance(encoder, Indicators)
    if not several and (not isinstance(encoder, kind) or isinstance(encoder, Indicators)):
        raise labels.wrong("labels", f"are not those of a {algorithm}")
    kernel = kernel_of(fields.record("kernel"))
    original, first_rows = fields.array("original", np.int64, (None,), 0), None
    copies = None
    if fields.has("copies"):
        copies = fields.array("copies", np.int64, (len(original),), 1)
    if not fields.absent("first_rows"):
        first_rows = first_rows_of(fields.record("first_rows"), d)
        if not _knows(encoder, first_rows.y):
            raise fields.wrong("first_rows", "has labels that are not known")
    packs, sparse = fields.flag("packs"), fields.flag("sparse")
    centre = centre_of(fields, kernel, d)
    n_iter = None if fields.absent("n_iter") else fields.whole("n_iter")
    shape_fit = None if fields.absent("shape_fit") else _shape(fields)
    fit_status = None
    if fields.has("fit_status") and not fields.absent("fit_status"):  # not in the first files
        fit_status = fields.whole("fit_status", 0, 1)
    table = class_table_of(fields)
    factors = _feature_weights(fields, d) if fields.has("feature_weights") else None
    counts = None
    if fields.has("n_iter_of_labels"):
        counts = fields.array("n_iter_of_labels", np.int64, (None,), 0)
        if not isinstance(encoder, PairBook) or len(counts) > len(encoder):
            raise fields.wrong("n_iter_of_labels", "does not fit the labels")
    streamed = fields.whole("streamed") if fields.has("streamed") else None  # not in older files
    emptied = np.empty(0, np.int64)
    if fields.has("emptied"):
        emptied = fields.array("emptied", np.int64, (None,), 0, len(encoder) - 1)
    context = Context(kernel, d, len(encoder), len(original), streamed or 0)
    learner = _record(algorithm, "of")(fields.record("learner"), context)
    task = getattr(learner, "task", None)
    fits = isinstance(encoder, PairBook) == isinstance(task, Pairs)
    if not fits or several != isinstance(task, SeveralLabels):
        raise fields.wrong("learner", "has a task that does not fit the labels")
    return Trained(
        kernel, encoder, features, centre, packs, sparse, original,
        table if has_classes else None, first_rows,
        learner=learner, shape_fit=shape_fit, n_iter=n_iter, fit_status=fit_status,
        n_iter_of_labels=counts, feature_weights=factors, streamed=streamed,
        emptied=tuple(emptied.tolist()), copies=copies,
    )  # fmt: skip
