"""A model as a Python file: NumPy, numbers, and a function ``predict(X)``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...core.prequential.calibration import BENDS
from ..atomic import atomic_write
from ..errors import ModelFileError, not_written
from .predictor import CLASSIFIER, LABELS, ONE_CLASS, REGRESSOR, Predictor, Votes, predictor_of

MOST_NUMBERS = 20_000
"""Maximum number of numbers in a file: about 400 kB of text."""

_HEAD = '''"""A {what} with {n} vectors, {features} features and the {kernel} kernel.

Written by onlinesvm {version}. Needs NumPy.
"""

import numpy as np

'''

_KERNEL = {
    "linear": "dots",
    "poly": "(GAMMA * dots + COEF0) ** DEGREE",
    "sigmoid": "np.tanh(GAMMA * dots + COEF0)",
}

_DECIDE = '''
def {name}(X):
    """Decision values of the rows of X, {shape}."""
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != len(SHIFT):
        raise ValueError(f"X has the shape {{X.shape}}; it must have rows of {{len(SHIFT)}} features.")
    X = (X - SHIFT) / SCALE
{kernel}
    values = K @ COEF.T + BIAS
{length}    return {result}

'''

_SQUARES = 'np.einsum("ijk,ijk->ij", differences, differences)'

_DISTANCE = {
    "rbf": _SQUARES,
    "laplacian": "np.abs(differences).sum(axis=2)",
    "matern12": f"np.sqrt({_SQUARES})",
}

_OF_DISTANCE = """    differences = X[:, None, :] - VECTORS[None, :, :]
    K = np.maximum(np.exp(-GAMMA * {distance}), 2.0**-126)  # far from all vectors the sum of COEF decides"""

_LENGTH = """    dots = np.einsum("ij,ij->i", X, X)
    length = np.sqrt(np.maximum({kernel}, 0.0))
    values /= np.where(length > 0, length, 1.0)[:, None]
"""

_VOTES = '''
def votes(values):
    """Votes of all pairs for each class, plus its confidence in (-1/3, 1/3)."""
    count, total = np.zeros((len(values), len(CLASSES))), np.zeros((len(values), len(CLASSES)))
    for value, i, j in zip(values.T, FIRST, SECOND):
        count[:, i] += value >= 0
        count[:, j] += value < 0
        total[:, i] += value
        total[:, j] -= value
    return count + total / (3 * (np.abs(total) + 1))


def decision_function(X):
    """Decision values of the rows of X, {shape}."""
    return {result}


def predict(X):
    """The prediction for each row of X."""
    return CLASSES[{winner}.argmax(axis=1)]
'''

_MARGINS = '''

def least_margins(values):
    """By how much each class beats the one that it beats least; the best is the winner by votes."""
    least = np.full((len(values), len(CLASSES)), np.inf)
    for value, i, j in zip(values.T, FIRST, SECOND):
        least[:, i] = np.minimum(least[:, i], value)
        least[:, j] = np.minimum(least[:, j], -value)
    rows, best, own = np.arange(len(values)), least.argmax(axis=1), {winner}.argmax(axis=1)
    top, lower = least[rows, best], least[rows, own]
    least[rows, best], least[rows, own] = lower, top
    return least
'''

_PROBABILITY = '''

def predict_proba(X):
    """Probability of each class, (n, classes), in the order of CLASSES."""
    values = {scores}.reshape(len(X), -1)
    within = [np.zeros_like(values), *(np.clip(values, -b, b) for b in BENDS), values]
    lengths = np.diff(within, axis=0)
    parts = [half(length, 0.0) for length in lengths for half in (np.minimum, np.maximum)]
    logits = sum(slope * part for slope, part in zip(SLOPES, parts))
    logits = np.clip(logits, -1e3, 1e3)
    if logits.shape[1] == 1:
        logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)
'''


def export_python(
    estimator: Any,
    path: str | os.PathLike[str],
    preprocessing: dict[str, Any] | None = None,
) -> None:
    """Write a small model as a Python file that needs only NumPy.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with a built-in kernel other than ``precomputed``.
    path : str or path-like
        The file. It defines ``predict(X)`` (a column per target, quantile or label, where there are
        several) and ``decision_function(X)`` for arrays of rows, and
        ``predict_proba(X)`` if the model has probabilities.
    preprocessing : dict or None, default=None
        ``mean`` and ``scale`` of a standardisation; it becomes part of the functions.

    See Also
    --------
    onlinesvm.export.export_onnx : For any ONNX runtime.
    onlinesvm.export.export_libsvm : For programs built on LIBSVM.

    Examples
    --------
    >>> import os, runpy, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.export import export_python
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LASVMClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris_model.py")
    ...     export_python(model, path)
    ...     predict = runpy.run_path(path)["predict"]
    >>> bool((predict(X) == model.predict(X)).all())
    True
    """
    text = source_of(predictor_of(estimator, preprocessing))
    try:
        with atomic_write(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as error:
        raise not_written(path, error) from error


def source_of(p: Predictor) -> str:
    """The text of the file."""
    if p.kernel == "linear":
        weights = p.weights()
        p = p._replace(vectors=weights, coef=np.eye(len(weights)))
    count = p.vectors.size + p.coef.size
    if count > MOST_NUMBERS:
        raise ModelFileError(
            f"The model has {count} numbers, and a Python file may contain at most "
            f"{MOST_NUMBERS}: export it to ONNX, or train a smaller one, such as one with a "
            "budget."
        )
    return _head(p) + _constants(p) + "\n" + _functions(p)


def _head(p: Predictor) -> str:
    from ... import __version__

    n, d = p.vectors.shape
    return _HEAD.format(what=p.kind, n=n, features=d, kernel=p.kernel, version=__version__)


def _constants(p: Predictor) -> str:
    values = {
        "SHIFT": p.shift,
        "SCALE": p.scale,
        "VECTORS": p.vectors,
        "COEF": p.coef,
        "BIAS": p.bias,
    }
    lines = []
    for name, array in values.items():
        shape = f".reshape{array.shape}" if array.ndim == 2 else ""  # also where there are none
        lines.append(f"{name} = np.array({_listed(array)}){shape}")
    lines += [f"GAMMA = {p.gamma!r}", f"COEF0 = {p.coef0!r}", f"DEGREE = {p.degree!r}"]
    if p.classes is not None:
        lines.append(f"CLASSES = {_labels(p.classes)}")
    if p.votes is not None:
        lines.append(f"FIRST, SECOND = {p.votes.first.tolist()!r}, {p.votes.second.tolist()!r}")
    if p.slopes is not None:
        lines.append(f"SLOPES, BENDS = {p.slopes.tolist()!r}, {BENDS!r}")
    return "\n".join(lines) + "\n"


def _listed(array: np.ndarray) -> str:
    """Numbers as text from which each comes back exactly."""
    if array.ndim == 1:
        return repr(array.tolist())
    return "[\n" + "".join(f"    {row.tolist()!r},\n" for row in array) + "]"


def _labels(classes: np.ndarray) -> str:
    """Labels as an array of their own type, in which whole numbers and dates stay what they are."""
    if classes.dtype.kind in "OU":
        return f"np.array({classes.tolist()!r})"
    values = classes.view(np.int64) if classes.dtype.kind in "mM" else classes
    return f"np.array({values.tolist()!r}, dtype={classes.dtype.name!r})"


def _functions(p: Predictor) -> str:
    length = ""
    if p.kernel in _DISTANCE:
        kernel = _OF_DISTANCE.format(distance=_DISTANCE[p.kernel])
    else:
        kernel = f"    dots = X @ VECTORS.T\n    K = {_KERNEL[p.kernel]}"
        length = _LENGTH.format(kernel=_KERNEL[p.kernel]) if p.unit_length else ""
    many = p.columns or len(p.coef) > 1
    if p.votes is not None:
        text = _DECIDE.format(
            name="pair_values", shape="(n, pairs)", kernel=kernel, length=length, result="values"
        )
        return text + _voting(p, p.votes)
    shape = ("(n, classes)" if p.kind == CLASSIFIER else f"(n, {len(p.coef)})") if many else "(n,)"
    text = _DECIDE.format(
        name="decision_function", shape=shape, kernel=kernel, length=length,
        result="np.sort(values, axis=1)" if p.ascending else "values" if many else "values[:, 0]",
    )  # fmt: skip
    text += '\ndef predict(X):\n    """The prediction for each row of X."""\n'
    text += "    values = decision_function(X)\n"
    if p.kind == ONE_CLASS:
        return text + "    return np.where(values >= 0, 1, -1)\n"
    if p.kind == LABELS:
        return text + "    return (values > 0).astype(int)\n"
    if p.kind == REGRESSOR or p.classes is None:
        return text + "    return values\n"
    if len(p.classes) == 1:
        return text + "    return np.repeat(CLASSES, len(values))\n"
    index = "values.argmax(axis=1)" if many else "(values > 0).astype(int)"
    text += f"    return CLASSES[{index}]\n"
    if p.slopes is None:
        return text
    return text + _PROBABILITY.format(scores="decision_function(X)")


def _voting(p: Predictor, votes: Votes) -> str:
    """The functions of a model whose machines are pairs of classes."""
    by_class, counted = votes.shape == "ovr", "votes(pair_values(X))"
    winner = "{}" if votes.break_ties else "np.rint({})"
    text = _VOTES.format(
        shape="(n, classes)" if by_class else "(n, pairs)",
        result=counted if by_class else "pair_values(X)",
        winner=winner.format(counted),
    )
    if p.slopes is None:
        return text
    text += _MARGINS.format(winner=winner.format("votes(values)"))
    return text + _PROBABILITY.format(scores="least_margins(pair_values(X))")
