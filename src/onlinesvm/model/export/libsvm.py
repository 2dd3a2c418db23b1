"""LIBSVM's model text, which ``svm-predict`` and everything built on LIBSVM reads.

Two classes make one file, and so do more where machines are pairs of classes, which is LIBSVM's own form.
Of a model with one machine per class there is one file per class, in which label 1 is that class and -1
are all others; the class whose file gives the largest decision value is the prediction. Several targets,
quantiles, or labels of an example have a file each, too.
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
from .predictor import CLASSIFIER, LABELS, REGRESSOR, Predictor, Votes, predictor_of

_KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}

NO_PROBABILITIES = "LIBSVM's model text cannot contain the probabilities of this model: labels and decision values are written, probabilities are not. Export to ONNX or Python to keep them."


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
        The file. With more than two classes and one machine for each, files ``name.1.ending``,
        ``name.2.ending``, ... are written, in the order of ``classes_``; with ``decision="ovo"``
        there is one file. For several targets, quantiles, or labels per example (1 or 0), there is
        one file for each as well.
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
    LIBSVM's labels are 32-bit integers. If those of the model are not, two classes, or all with
    ``decision="ovo"``, are written as 0, 1, ..., their positions in ``classes_``.

    Files of quantiles are those of their machines: if the predictions of two of them cross, sort
    them, as ``predict`` does.

    Probabilities are not written, with a warning: LIBSVM's are those of a single sigmoid.

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
    if predictor.votes is not None:
        _write(path, _pair_lines(predictor, predictor.votes))
        return [path]
    paths = [path]
    labels = _labels(predictor)
    if machines > 1:
        if is_special(path):
            raise ModelFileError(
                f"{path} is not a regular file, and {machines} machines need one file each; "
                "give the path of a file."
            )
        paths = [path.with_name(f"{path.stem}.{m + 1}{path.suffix}") for m in range(machines)]
        labels = (1, 0) if predictor.kind == LABELS else (1, -1)
    for m, each in enumerate(paths):
        _write(each, _lines(predictor, m, labels))
    return paths


def _write(path: Path, lines: Iterator[str]) -> None:
    try:
        with atomic_write(path) as file:
            for line in lines:
                file.write(f"{line}\n".encode("ascii"))
    except OSError as error:
        raise not_written(path, error) from error


def _in_raw_features(p: Predictor) -> Predictor:
    """The predictor of features as they are: without shift and scale."""
    zero, one = np.zeros_like(p.shift), np.ones_like(p.scale)
    if p.kernel == "linear" and not p.unit_length:
        weights = p.weights() / p.scale
        bias = p.bias - weights @ p.shift
        # Of pairs of classes, a weight vector is a support vector of the first class of its pair.
        votes = p.votes and p.votes._replace(vector_class=p.votes.first)
        return p._replace(
            vectors=weights,
            coef=np.eye(len(weights)),
            bias=bias,
            shift=zero,
            scale=one,
            votes=votes,
        )
    if p.kernel == "rbf" and (p.scale == p.scale[0]).all():
        gamma = p.gamma / float(p.scale[0]) ** 2
        return p._replace(vectors=p.vectors * p.scale + p.shift, gamma=gamma, shift=zero, scale=one)
    if p.kernel in ("poly", "sigmoid") and not p.shift.any() and not p.unit_length:
        return p._replace(vectors=p.vectors / p.scale, scale=one)
    if p.shift.any() or (p.scale != 1.0).any():
        raise ModelFileError(
            f"LIBSVM's model text cannot contain a standardisation before the {p.kernel} kernel, "
            "nor feature_weights: export to ONNX or Python, or standardise and weight the data "
            "before training."
        )
    return p


def _labels(p: Predictor) -> tuple[int, int]:
    """The labels of positive and negative decision values, for two classes."""
    if p.kind != CLASSIFIER or p.classes is None or len(p.classes) > 2:
        return 1, -1
    if len(p.classes) < 2:
        raise ModelFileError(
            "LIBSVM's model text needs two classes, and the model has seen only one; train it "
            "on both."
        )
    negative, positive = _numbers(p.classes)
    return positive, negative


def _numbers(classes: np.ndarray) -> list[int]:
    """Classes as LIBSVM reads them, as 32-bit integers; their places where they are none."""
    whole = classes.dtype.kind in "iubf" and bool(
        ((classes == np.round(classes)) & (np.abs(classes.astype(float)) < 2**31)).all()
    )
    return [int(label) for label in (classes.tolist() if whole else range(len(classes)))]


def _lines(p: Predictor, m: int, labels: tuple[int, int]) -> Iterator[str]:
    coef = p.coef[m]
    order = np.flatnonzero(coef)
    yield from _head(p)
    yield "nr_class 2"
    yield f"total_sv {len(order)}"
    yield f"rho {-float(p.bias[m])!r}"
    if p.kind in (CLASSIFIER, LABELS):
        positive = coef[order] > 0  # vectors stand class by class, as LIBSVM has them
        order = np.concatenate([order[positive], order[~positive]])
        yield f"label {labels[0]} {labels[1]}"
        yield f"nr_sv {int(positive.sum())} {int((~positive).sum())}"
    yield "SV"
    for s in order.tolist():
        yield _vector_line(coef[s : s + 1], p.vectors[s])


def _pair_lines(p: Predictor, votes: Votes) -> Iterator[str]:
    """All pairs of classes in one file; a vector has a coefficient against each other class."""
    assert p.classes is not None
    k, n = len(p.classes), len(p.vectors)
    coef = np.zeros((k - 1, n))
    for m, (i, j) in enumerate(zip(votes.first, votes.second, strict=True)):
        of_i, of_j = votes.vector_class == i, votes.vector_class == j
        coef[j - 1, of_i], coef[i, of_j] = p.coef[m, of_i], p.coef[m, of_j]
    yield from _head(p)
    yield f"nr_class {k}"
    yield f"total_sv {n}"
    yield f"rho {' '.join(repr(-b) for b in p.bias.tolist())}"
    yield f"label {' '.join(map(str, _numbers(p.classes)))}"
    counts = np.bincount(votes.vector_class, minlength=k).tolist()
    yield f"nr_sv {' '.join(map(str, counts))}"
    yield "SV"
    for s in np.argsort(votes.vector_class, kind="stable").tolist():
        yield _vector_line(coef[:, s], p.vectors[s])


def _vector_line(coef: np.ndarray, row: np.ndarray) -> str:
    where = np.flatnonzero(row)
    values = " ".join(f"{j + 1}:{v!r}" for j, v in zip(where.tolist(), row[where].tolist()))
    return f"{' '.join(map(repr, coef.tolist()))} {values} "


def _head(p: Predictor) -> Iterator[str]:
    kinds = {CLASSIFIER: "c_svc", LABELS: "c_svc", REGRESSOR: "epsilon_svr"}
    yield f"svm_type {kinds.get(p.kind, 'one_class')}"
    yield f"kernel_type {_KERNELS[p.kernel]}"
    if p.kernel == "poly":
        yield f"degree {p.degree}"
    if p.kernel != "linear":
        yield f"gamma {p.gamma!r}"
    if p.kernel in ("poly", "sigmoid"):
        yield f"coef0 {p.coef0!r}"
