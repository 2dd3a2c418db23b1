"""LIBSVM's model text, which ``svm-predict`` and everything built on LIBSVM reads.

Two classes make one file, more classes one file per class, in which label 1 is that class and -1
are all others; the class whose file gives the largest decision value is the prediction.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic import atomic_write, is_special
from ..errors import ModelFileError, not_written
from .predictor import CLASSIFIER, REGRESSOR, Predictor, predictor_of

_KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}

NO_PROBABILITIES = (
    "LIBSVM's model text has no place for the probabilities of this model: labels and decision values "
    "are written, probabilities are not. Export to ONNX or Python to keep them."
)


def export_libsvm(
    estimator: Any,
    path: str | os.PathLike[str],
    preprocessing: dict[str, Any] | None = None,
) -> list[Path]:
    """Write a model as LIBSVM's text.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with a linear, polynomial, RBF or sigmoid kernel.
    path : str or path-like
        The file. With more than two classes, files ``name.1.ending``, ``name.2.ending``, ... are
        written, in the order of ``classes_``.
    preprocessing : dict or None, default=None
        ``mean`` and ``scale`` of a standardisation. LIBSVM's text can express it with a linear
        kernel, and with an RBF kernel if all scales are equal. ``feature_weights`` of the
        estimator are a scale as well.

    Returns
    -------
    paths : list of Path
        The files written.

    See Also
    --------
    onlinesvm.export.export_onnx : For any ONNX runtime.
    onlinesvm.export.export_python : For Python with NumPy.

    Notes
    -----
    Labels of LIBSVM are whole numbers of 32 bits. Where those of the model are not, two classes are written as
    0 and 1, their places in ``classes_``.

    Probabilities are not written, which a warning says: LIBSVM's are those of one sigmoid.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.export import export_libsvm
    >>> model = LASVMClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in export_libsvm(model, os.path.join(folder, "iris.model"))]
    ['iris.1.model', 'iris.2.model', 'iris.3.model']
    """
    predictor = predictor_of(estimator, preprocessing)
    if predictor.kernel not in _KERNELS:
        raise ModelFileError(
            f"LIBSVM's model text has no {predictor.kernel} kernel: export to ONNX or Python."
        )
    predictor = _in_raw_features(predictor)
    if predictor.slopes is not None:
        warnings.warn(NO_PROBABILITIES, UserWarning, stacklevel=2)
    machines, path = len(predictor.coef), Path(path)
    paths = [path]
    labels = _labels(predictor)
    if machines > 1:
        if is_special(path):
            raise ModelFileError(
                f"{path} is no regular file, and {machines} machines need as many files; give the "
                "path of a file."
            )
        paths = [path.with_name(f"{path.stem}.{m + 1}{path.suffix}") for m in range(machines)]
        labels = (1, -1)
    for m, each in enumerate(paths):
        try:
            with atomic_write(each) as file:
                for line in _lines(predictor, m, labels):
                    file.write(f"{line}\n".encode("ascii"))
        except OSError as error:
            raise not_written(each, error) from error
    return paths


def _in_raw_features(p: Predictor) -> Predictor:
    """The predictor of features as they are: without shift and scale."""
    zero, one = np.zeros_like(p.shift), np.ones_like(p.scale)
    if p.kernel == "linear" and not p.unit_length:
        weights = p.weights() / p.scale
        bias = p.bias - weights @ p.shift
        return p._replace(
            vectors=weights, coef=np.eye(len(weights)), bias=bias, shift=zero, scale=one
        )
    if p.kernel == "rbf" and (p.scale == p.scale[0]).all():
        gamma = p.gamma / float(p.scale[0]) ** 2
        return p._replace(vectors=p.vectors * p.scale + p.shift, gamma=gamma, shift=zero, scale=one)
    if p.kernel in ("poly", "sigmoid") and not p.shift.any() and not p.unit_length:
        return p._replace(vectors=p.vectors / p.scale, scale=one)
    if p.shift.any() or (p.scale != 1.0).any():
        raise ModelFileError(
            f"LIBSVM's model text has no place for a standardisation before the {p.kernel} kernel, nor "
            "for feature_weights: export to ONNX or Python, or standardise and weight the data before "
            "training."
        )
    return p


def _labels(p: Predictor) -> tuple[int, int]:
    """The labels of positive and negative decision values, for two classes."""
    if p.kind != CLASSIFIER or p.classes is None or len(p.classes) > 2:
        return 1, -1
    if len(p.classes) < 2:
        raise ModelFileError(
            "LIBSVM's model text needs two classes, and the model has seen one; let it learn more."
        )
    # LIBSVM reads labels as 32-bit integers.
    whole = p.classes.dtype.kind in "iubf" and bool(
        ((p.classes == np.round(p.classes)) & (np.abs(p.classes.astype(float)) < 2**31)).all()
    )
    negative, positive = p.classes.tolist() if whole else (0, 1)
    return int(positive), int(negative)


def _lines(p: Predictor, m: int, labels: tuple[int, int]) -> Iterator[str]:
    coef = p.coef[m]
    order = np.flatnonzero(coef)
    kinds = {CLASSIFIER: "c_svc", REGRESSOR: "epsilon_svr"}
    yield f"svm_type {kinds.get(p.kind, 'one_class')}"
    yield f"kernel_type {_KERNELS[p.kernel]}"
    if p.kernel == "poly":
        yield f"degree {p.degree}"
    if p.kernel != "linear":
        yield f"gamma {p.gamma!r}"
    if p.kernel in ("poly", "sigmoid"):
        yield f"coef0 {p.coef0!r}"
    yield "nr_class 2"
    yield f"total_sv {len(order)}"
    yield f"rho {-float(p.bias[m])!r}"
    if p.kind == CLASSIFIER:
        positive = coef[order] > 0  # vectors stand class by class, as LIBSVM has them
        order = np.concatenate([order[positive], order[~positive]])
        yield f"label {labels[0]} {labels[1]}"
        yield f"nr_sv {int(positive.sum())} {int((~positive).sum())}"
    yield "SV"
    for s in order.tolist():
        row = p.vectors[s]
        where = np.flatnonzero(row)
        values = " ".join(f"{j + 1}:{v!r}" for j, v in zip(where.tolist(), row[where].tolist()))
        yield f"{float(coef[s])!r} {values} "
