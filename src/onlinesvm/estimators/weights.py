"""How much each example weighs: ``sample_weight`` times the weight of its class, checked."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_sample_weight


def check_sample_weight(sample_weight: Any, X: Any, y: np.ndarray | None = None) -> np.ndarray:
    """Finite weights, none negative and not all zero; ones if ``sample_weight`` is None.

    Of a classifier's labels ``y``, more than one must be left with a positive weight.
    """
    given = np.asarray(sample_weight)
    if given.dtype.kind in "biuf" and given.size:
        if (given <= 0).all():
            raise ValueError(
                "Invalid input - all samples have zero or negative weights: there is nothing to "
                "learn."
            )
        if y is not None and given.shape == y.shape and (given > 0).any():
            check_two_classes(y, given)
    return _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True
    )


def class_table(class_weight: Any, y: np.ndarray, labels: np.ndarray | None) -> dict[Any, float]:
    """Weights of the classes; a class that is not in the table has weight one.

    ``labels`` are the unique labels of ``y``, or None on a stream, where "balanced" is unknown.
    """
    if class_weight is None:
        return {}
    if isinstance(class_weight, dict):
        _check_table(class_weight)
    elif labels is None:
        raise ValueError(
            f"class_weight={class_weight!r} needs all labels at once: use fit, or pass the weights "
            "as a dictionary."
        )
    if labels is None:
        return dict(class_weight)
    weights = compute_class_weight(class_weight, classes=labels, y=y)
    return dict(zip(labels.tolist(), weights.tolist()))


def example_weights(
    sample_weight: Any, class_weight: Any, y: np.ndarray, labels: np.ndarray | None
) -> tuple[np.ndarray, dict[Any, float]]:
    """Weight of each example, class_weight times sample_weight, and the weights of the classes.

    ``labels`` are the unique labels of ``y``, or None on a stream, which may begin with one class.
    """
    weight = check_sample_weight(sample_weight, y, None if labels is None else y)
    table = class_table(class_weight, y, labels)
    return scaled_by_class(weight, table, y), table


def scaled_by_class(weight: np.ndarray, table: dict[Any, float], y: np.ndarray) -> np.ndarray:
    """``weight`` times the weight of each example's class in the table."""
    if not table:
        return weight
    labels, which = np.unique(y, return_inverse=True)
    scale = np.array([table.get(label, 1.0) for label in labels.tolist()], np.float64)[which]
    with np.errstate(over="ignore"):
        weight = weight * scale
    if not np.isfinite(weight).all():
        raise ValueError("class_weight times sample_weight is too large for double precision.")
    if not weight.any():
        raise ValueError(
            "Invalid input - all samples have zero or negative weights (class_weight times "
            "sample_weight): there is nothing to learn."
        )
    return weight


def check_two_classes(label: np.ndarray, weight: np.ndarray) -> None:
    """Refuse weights that leave the examples of one class only."""
    label = label[weight > 0]
    if (label == label[0]).all():
        raise ValueError(
            "Invalid input - all samples with positive weights belong to the same class; the "
            "number of classes has to be greater than one."
        )


def _check_table(class_weight: dict[Any, Any]) -> None:
    for label, value in class_weight.items():
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0:
            raise ValueError(
                f"class_weight of class {label!r} must be a finite number that is not negative; "
                f"got {value!r}."
            )
