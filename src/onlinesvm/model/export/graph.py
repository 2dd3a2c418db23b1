"""A predictor as a graph of standard ONNX operators, not yet bound to any library.

    x' = (x - shift) / scale
    K  = exp(-gamma (|x'|^2 + |z|^2 - 2 x' z))        or another kernel function
    scores = K coef' + bias                          one Gemm for all machines
    probabilities = softmax(h(scores))               h: a line with bends (``calibration``)

The Laplacian kernel has no dot products: |x'_j - z_j| is summed over the features, some at a time.
Rows are shifted by the model's centre before they are multiplied, which preserves digits. If single
precision is still not enough (large norms or coefficients), the graph computes in double precision
internally, whatever its input is.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...core.kernel.kernel import DISTANCE_NAMES
from ...core.prequential.calibration import BENDS
from .predictor import CLASSIFIER, LABELS, ONE_CLASS, REGRESSOR, Predictor, Votes

AT_A_TIME = 8
"""Features whose differences are in memory at once."""

LEAST_VALUE = 2.0**-126
"""Least value of a kernel of a distance: far from all vectors, the sum of their coefficients decides."""

ENOUGH = 1e-5
"""Error of a score, by single-precision arithmetic, up to which the graph uses it."""


class Node(NamedTuple):
    """One operator."""

    operator: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any]
    more: tuple[str, ...] = ()  # outputs that nobody reads

    @property
    def outputs(self) -> list[str]:
        """All outputs."""
        return [self.output, *self.more]


class Graph:
    """Nodes in order, constants by name, and the names of the outputs."""

    def __init__(self, dtype: Any):
        self.dtype = np.dtype(dtype)
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, name: str, value: Any, dtype: Any = None) -> str:
        """A constant; numbers are of the type in which the graph computes."""
        self.constants[name] = np.asarray(value, self.dtype if dtype is None else dtype)
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """An operator; returns the name of its output."""
        output = f"{operator.lower()}_{len(self.nodes)}"
        more = (f"{output}_places",) if operator == "TopK" else ()
        self.nodes.append(Node(operator, list(inputs), output, attributes, more))
        return output


def single_precision_error(p: Predictor) -> float:
    """About how far single-precision arithmetic may move a score."""
    if not len(p.vectors):
        return 0.0
    squares = np.einsum("ij,ij->i", p.vectors, p.vectors)
    if p.kernel == "linear":
        return 0.0  # relative to the size of the terms, as everywhere
    if p.kernel == "laplacian":  # from differences: nothing cancels
        size = np.full(len(squares), 2.0)
    elif p.kernel == "rbf":
        size = 3.0 * p.gamma * squares + 20.0  # rows whose value is not zero are not much farther
    elif p.kernel == "sigmoid":
        size = p.gamma * squares + abs(p.coef0)
    elif p.kernel == "matern12":
        return _root_error(p, 2.0**-24)
    else:
        with np.errstate(over="ignore"):
            size = p.degree * (p.gamma * squares.max() + abs(p.coef0)) ** max(p.degree, 1)
    rounding = 2.0**-24 * (4.0 + np.sqrt(p.vectors.shape[1]))
    return float(rounding * (np.abs(p.coef) * size).sum(axis=1).max())


def _root_error(p: Predictor, unit: float) -> float:
    """The same for the Matern kernel: the root of what cancels, where a row is close to a vector."""
    squares = np.einsum("ij,ij->i", p.vectors, p.vectors)
    rounding = unit * (4.0 + np.sqrt(p.vectors.shape[1]))
    errors = np.abs(p.coef) * np.minimum(p.gamma * np.sqrt(3.0 * rounding * squares), 1.0)
    return float(errors.max())  # no row is close to many of them


def graph_of(p: Predictor, x: str, input_dtype: Any) -> tuple[Graph, dict[str, str]]:
    """The graph for rows ``x`` of ``input_dtype``, and its outputs.

    These are a value, or a label, scores and, where the model has them, probabilities. Several
    values, or labels, of an example are columns.
    """
    if not len(p.vectors):  # one of weight zero: older runtimes refuse products of no columns
        d = p.vectors.shape[1]
        p = p._replace(vectors=np.zeros((1, d)), coef=np.zeros((len(p.bias), 1)))
    wide = input_dtype == np.float64 or single_precision_error(p) > ENOUGH
    g = Graph(np.float64 if wide else np.float32)
    if g.dtype != input_dtype:
        x = g.add("Cast", x, to=g.dtype)
    scores = _scores(g, p, x)
    if p.votes is not None:
        return g, _voted(g, p, p.votes, scores, input_dtype)
    shown = _shown(g, scores, input_dtype)
    if p.kind == REGRESSOR:
        shown = _ascending(g, shown, len(p.coef)) if p.ascending else shown
        return g, {"value": shown if p.columns else _flat(g, shown)}
    if p.kind == LABELS:
        has = g.add("Greater", scores, g.constant("limit", 0.0))
        return g, {"label": g.add("Cast", has, to=np.dtype(np.int64)), "scores": shown}
    single = len(p.coef) == 1
    label = _label(g, p, _flat(g, scores) if single else scores)
    outputs = {"label": label, "scores": _flat(g, shown) if single else shown}
    if p.slopes is not None:
        outputs["probabilities"] = _shown(g, _probabilities(g, p.slopes, scores), input_dtype)
    return g, outputs


def _voted(g: Graph, p: Predictor, votes: Votes, values: str, dtype: Any) -> dict[str, str]:
    """The outputs of machines that are pairs of classes, from their values (``core.lasvm.pairs``)."""
    signs = votes.signs()
    wins = g.add("GreaterOrEqual", values, g.constant("even", 0.0))
    wins = g.add("Cast", wins, to=g.dtype)
    against = g.constant("against", (signs < 0).sum(axis=0))
    counted = g.add("Gemm", wins, g.constant("signs", signs), against)
    total = g.add("MatMul", values, "signs")
    size = g.add("Add", g.add("Abs", total), g.constant("unit", 1.0))
    total = g.add("Div", total, g.add("Mul", size, g.constant("three", 3.0)))
    scores = g.add("Add", counted, total)
    winner = g.add("ArgMax", scores if votes.break_ties else counted, axis=1, keepdims=0)
    label = _label_at(g, p, winner)
    shown = scores if votes.shape == "ovr" else values
    outputs = {"label": label, "scores": _shown(g, shown, dtype)}
    if p.slopes is not None:
        least = _exchanged(g, _least_margins(g, signs, values), winner, signs.shape[1])
        chances = _probabilities(g, p.slopes, least)
        outputs["probabilities"] = _shown(g, chances, dtype)
    return outputs


def _least_margins(g: Graph, signs: np.ndarray, values: str) -> str:
    """The smallest value of each class against another class, (n, classes)."""
    machines, classes = signs.shape
    each = np.zeros((machines, classes, classes - 1))
    for k in range(classes):
        own = np.flatnonzero(signs[:, k])
        each[own, k, np.arange(classes - 1)] = signs[own, k]
    every = g.add("MatMul", values, g.constant("own_pairs", each.reshape(machines, -1)))
    shape = g.constant("by_class", [-1, classes, classes - 1], np.int64)
    return g.add("ReduceMin", g.add("Reshape", every, shape), axes=[2], keepdims=0)


def _exchanged(g: Graph, scores: str, winner: str, classes: int) -> str:
    """Scores in which those of the winner by votes and of the best class are swapped."""
    column, places = (
        g.constant("first", [1], np.int64),
        g.constant("places", np.arange(classes), np.int64),
    )
    winner, best = g.add("Unsqueeze", winner, column), g.add("ArgMax", scores, axis=1, keepdims=1)
    of_winner, of_best = (
        g.add("Cast", g.add("Equal", places, place), to=g.dtype) for place in (winner, best)
    )
    top = g.add("ReduceMax", scores, axes=[1], keepdims=1)
    own = g.add("ReduceSum", g.add("Mul", scores, of_winner), column, keepdims=1)
    moved = g.add("Mul", g.add("Sub", of_winner, of_best), g.add("Sub", top, own))
    return g.add("Add", scores, moved)


def _ascending(g: Graph, values: str, columns: int) -> str:
    """Each row in ascending order."""
    return g.add("TopK", values, g.constant("all", [columns], np.int64), axis=1, largest=0)


def _shown(g: Graph, values: str, dtype: Any) -> str:
    """Values in the type of the graph's input."""
    return values if g.dtype == dtype else g.add("Cast", values, to=np.dtype(dtype))


def both_columns(g: Graph, scores: str) -> str:
    """Scores of two classes, (n,), as two columns: as other classifiers of skl2onnx have them."""
    column = g.add("Reshape", scores, g.constant("column", [-1, 1], np.int64))
    return g.add("Concat", g.add("Neg", column), column, axis=1)


def _probabilities(g: Graph, slopes: np.ndarray, scores: str) -> str:
    """P of each class, (n, classes), from scores (n, machines): ``calibration.probabilities``."""
    zero, within = g.constant("none", 0.0), []
    for k, bend in enumerate(BENDS):
        low, high = g.constant(f"bend_{k}_below", -bend), g.constant(f"bend_{k}_above", bend)
        within.append(g.add("Min", g.add("Max", scores, low), high))
    ends = [*within, scores]
    lengths = [within[0], *(g.add("Sub", end, begin) for begin, end in pairwise(ends))]
    parts = [g.add(half, length, zero) for length in lengths for half in ("Min", "Max")]
    terms = [
        g.add("Mul", part, g.constant(f"slope_{k}", slope))
        for k, (part, slope) in enumerate(zip(parts, slopes))
    ]
    logits = g.add("Sum", *terms)
    certain = g.constant("certain", 1e3), g.constant("minus_certain", -1e3)
    logits = g.add("Max", g.add("Min", logits, certain[0]), certain[1])
    if len(g.constants["bias"]) > 1:
        return g.add("Softmax", logits, axis=1)
    second = g.add("Sigmoid", logits)
    return g.add("Concat", g.add("Sigmoid", g.add("Neg", logits)), second, axis=1)


def _flat(g: Graph, values: str) -> str:
    shape = g.constant("flat", [-1], np.int64)
    return g.add("Reshape", values, shape)


def _scores(g: Graph, p: Predictor, x: str) -> str:
    if p.shift.any():
        x = g.add("Sub", x, g.constant("shift", p.shift))
    if (p.scale != 1.0).any():
        x = g.add("Div", x, g.constant("scale", p.scale))
    if p.kernel == "linear":
        values, coef = x, p.weights()
    else:
        values, coef = _kernel(g, p, x), p.coef
    scores = g.add("Gemm", values, g.constant("coef", coef.T), g.constant("bias", p.bias))
    if p.unit_length and p.kernel not in DISTANCE_NAMES:
        scores = g.add("Div", scores, _length(g, p, x))
    return scores


def _kernel(g: Graph, p: Predictor, x: str) -> str:
    if p.kernel not in DISTANCE_NAMES:
        return _of_dots(g, p, g.add("MatMul", x, g.constant("vectors", p.vectors.T)))
    close = p.kernel == "matern12" and _root_error(p, np.finfo(g.dtype).epsneg) > ENOUGH
    differences = p.kernel == "laplacian" or close
    distance = _differences(g, p, x) if differences else _squared_distance(g, p, x)
    if p.kernel == "matern12":
        distance = g.add("Sqrt", distance)
    values = g.add("Exp", g.add("Mul", distance, g.constant("minus_gamma", -p.gamma)))
    return g.add("Max", values, g.constant("least", LEAST_VALUE))


def _squared_distance(g: Graph, p: Predictor, x: str) -> str:
    """|x - z|^2 from dot products, (n, vectors)."""
    dots = g.add("MatMul", x, g.constant("vectors", p.vectors.T))
    squares = g.constant("squares", np.einsum("ij,ij->i", p.vectors, p.vectors)[None, :])
    twice = g.add("Mul", dots, g.constant("two", 2.0))
    distance = g.add("Sub", g.add("Add", _square(g, x), squares), twice)
    return g.add("Max", distance, g.constant("zero", 0.0))  # rounding can make it negative


def _differences(g: Graph, p: Predictor, x: str) -> str:
    """sum_j |x_j - z_j|, or sum_j (x_j - z_j)^2, (n, vectors), some features at a time."""
    total, middle, last = "", *(g.constant(f"axis_{k}", [k], np.int64) for k in (1, 2))
    for first in range(0, p.vectors.shape[1], AT_A_TIME):
        end = min(first + AT_A_TIME, p.vectors.shape[1])
        edges = (g.constant(f"feature_{k}", [k], np.int64) for k in (first, end))
        part = g.add("Unsqueeze", g.add("Slice", x, *edges, middle), middle)
        vectors = g.constant(f"vectors_{first}", p.vectors[None, :, first:end])
        apart = g.add("Sub", part, vectors)
        apart = g.add("Abs", apart) if p.kernel == "laplacian" else g.add("Mul", apart, apart)
        sum_ = g.add("ReduceSum", apart, last, keepdims=0)
        total = g.add("Add", total, sum_) if total else sum_
    return total


def _of_dots(g: Graph, p: Predictor, dots: str) -> str:
    """The polynomial or sigmoid kernel."""
    inner = g.add("Mul", dots, g.constant("gamma", p.gamma))
    inner = g.add("Add", inner, g.constant("coef0", p.coef0))
    if p.kernel == "sigmoid":
        return g.add("Tanh", inner)
    return g.add("Pow", inner, g.constant("degree", p.degree))


def _square(g: Graph, x: str) -> str:
    """|x|^2 of every row, (n, 1)."""
    return g.add("ReduceSum", g.add("Mul", x, x), g.constant("columns", [1], np.int64), keepdims=1)


def _length(g: Graph, p: Predictor, x: str) -> str:
    """sqrt(k(x, x)), one where that is zero."""
    square = _square(g, x)
    square = square if p.kernel == "linear" else _of_dots(g, p, square)
    zero = g.constant("zero", 0.0)
    length = g.add("Sqrt", g.add("Max", square, zero))
    return g.add("Where", g.add("Greater", length, zero), length, g.constant("one", 1.0))


def _label(g: Graph, p: Predictor, scores: str) -> str:
    if p.kind == ONE_CLASS:
        index = g.add("GreaterOrEqual", scores, g.constant("zero", 0.0))
        labels = g.constant("classes", [-1, 1], np.int64)
        return g.add("Gather", labels, g.add("Cast", index, to=np.dtype(np.int64)))
    assert p.kind == CLASSIFIER
    assert p.classes is not None
    if len(p.classes) > 2:
        index = g.add("ArgMax", scores, axis=1, keepdims=0)
    else:  # of one class alone, no score exceeds the limit
        limit = 0.0 if len(p.classes) == 2 else np.inf
        index = g.add("Greater", scores, g.constant("limit", limit))
        index = g.add("Cast", index, to=np.dtype(np.int64))
    return _label_at(g, p, index)


def _label_at(g: Graph, p: Predictor, index: str) -> str:
    """The labels of these places in ``classes_``."""
    assert p.classes is not None
    # Dates as text: NumPy would show those in nanoseconds as whole numbers.
    labels = p.classes.astype(str) if p.classes.dtype.kind in "mM" else p.classes
    return g.add("Gather", g.constant("classes", labels, label_type(labels)), index)


def label_type(classes: np.ndarray) -> Any:
    """The type in which labels leave the graph."""
    kinds = {"i": np.int64, "u": np.int64, "b": np.bool_, "f": np.float64}
    if classes.dtype == np.uint64 and classes.max() > np.iinfo(np.int64).max:
        return np.uint64
    return kinds.get(classes.dtype.kind, object)
