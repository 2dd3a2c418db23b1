"""Checks of the arrays of scikit-learn's transformers: consistent shapes, finite numbers.

An array of another shape may be broadcast, and one with NaN turns every row into NaN: without
checks, a manipulated file would give a pipeline that is silently wrong, or an error far from its
cause.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InvalidState

LEARNED = {
    "StandardScaler": {"mean_": "d", "var_": "d", "scale_": "d"},
    "MinMaxScaler": dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), "d"),
    "MaxAbsScaler": {"max_abs_": "d", "scale_": "d"},
    "RobustScaler": {"center_": "d", "scale_": "d"},
    "PowerTransformer": {"lambdas_": "d"},
    "QuantileTransformer": {"quantiles_": "qd", "references_": "q"},
    "SimpleImputer": {"statistics_": "d"},
    "PCA": {"components_": "kd", "mean_": "d", "explained_variance_": "k", "singular_values_": "k"},
    "TruncatedSVD": {"components_": "kd", "explained_variance_": "k", "singular_values_": "k"},
    "TfidfTransformer": {"idf_": "d"},
    "VarianceThreshold": {"variances_": "d"},
}
"""Arrays of each class with a letter per axis: d for input features, others as the arrays say. An
array that is None, or that a version of scikit-learn does not have, is not checked."""

NO_GAPS = ("PCA", "TruncatedSVD", "TfidfTransformer")
"""Classes that take no NaN, and so have none."""


def check_arrays(transformer: Any, name: str) -> None:
    """Refuse arrays whose shapes do not agree with one another, or that are not finite."""
    learned = vars(transformer)
    sizes = {"d": _width(learned, name)}
    _check_names(learned, sizes["d"], name)
    arrays = {
        attribute: (learned[attribute], axes)
        for attribute, axes in LEARNED.get(name, {}).items()
        if learned.get(attribute) is not None
    }
    for attribute, (array, axes) in arrays.items():
        _check_shape(array, axes, sizes, f"{name}.{attribute}")
    columns = [array for array, axes in arrays.values() if axes[-1] == "d"]
    unused = False if name in NO_GAPS else _without_numbers(columns)
    for attribute, (array, axes) in arrays.items():
        _check_finite(array, axes, unused, f"{name}.{attribute}")
    _check_categories(learned, sizes["d"], name)
    _check_vocabulary(learned, name)


def _width(learned: dict[str, Any], name: str) -> int | None:
    width = learned.get("n_features_in_")
    if width is not None and not (isinstance(width, int | np.integer) and width > 0):
        raise InvalidState(f"{name}.n_features_in_ is not a number of features")
    return None if width is None else int(width)


def _check_names(learned: dict[str, Any], width: int | None, name: str) -> None:
    names = learned.get("feature_names_in_")
    if names is not None and not (isinstance(names, np.ndarray) and names.shape == (width,)):
        raise InvalidState(f"{name}.feature_names_in_ is not an array of {width} names")


def _check_shape(array: Any, axes: str, sizes: dict[str, int | None], where: str) -> None:
    """An array with the sizes known so far; sizes that are not known yet are those it has."""
    if not isinstance(array, np.ndarray) or array.ndim != len(axes):
        raise InvalidState(f"{where} is not an array of {len(axes)} dimensions")
    for axis, found in zip(axes, array.shape):
        if sizes.setdefault(axis, found) != found:
            raise InvalidState(
                f"{where} has the shape {array.shape}, which is not that of the others"
            )


def _without_numbers(arrays: list[np.ndarray]) -> np.ndarray | bool:
    """Which features nothing was learned of: a column of gaps alone is NaN in every array."""
    empty = [_is_nan(array).reshape(-1, array.shape[-1]).all(axis=0) for array in arrays]
    return np.logical_and.reduce(empty) if empty else False


def _check_finite(array: np.ndarray, axes: str, unused: np.ndarray | bool, where: str) -> None:
    if array.dtype.kind == "O":  # what an imputer fills in may be text
        return
    if array.dtype.kind not in "fiub":
        raise InvalidState(f"{where} is not an array of numbers")
    allowed = _is_nan(array) & unused if axes[-1] == "d" else False
    if not (np.isfinite(array) | allowed).all():
        raise InvalidState(f"{where} has values that are not finite")


def _is_nan(array: np.ndarray) -> np.ndarray:
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)


def _check_categories(learned: dict[str, Any], width: int | None, name: str) -> None:
    found = learned.get("categories_")
    if found is not None and not (
        isinstance(found, list)
        and len(found) == width
        and all(isinstance(each, np.ndarray) and each.ndim == 1 and len(each) for each in found)
    ):
        raise InvalidState(f"{name}.categories_ is not a list of {width} arrays")


def _check_vocabulary(learned: dict[str, Any], name: str) -> None:
    """Every column has one word."""
    words = learned.get("vocabulary_")
    if words is None:
        return
    if not isinstance(words, dict) or not all(
        isinstance(column, int | np.integer) for column in words.values()
    ):
        raise InvalidState(f"{name}.vocabulary_ does not give a column for each word")
    if sorted(words.values()) != list(range(len(words))):
        raise InvalidState(f"{name}.vocabulary_ has columns twice, or leaves some out")
