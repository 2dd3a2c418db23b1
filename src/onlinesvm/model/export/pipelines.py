"""A converter for skl2onnx, so that pipelines with an estimator of this library become ONNX.

    onlinesvm.register_onnx()
    skl2onnx.to_onnx(pipeline, X[:1].astype(numpy.float32))

An estimator by itself, or at the end of a pipeline, has the outputs of ``export_onnx``. Inside
another estimator (``CalibratedClassifierCV``, ``VotingClassifier``) it has two, which the other one
declares: a label, and one column per class of scores or probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.runtime.dependencies import require
from ..state import ALGORITHMS, estimator_class
from .graph import Graph, both_columns, graph_of, label_type
from .onnx import attributes_of, tensor_type
from .predictor import LABELS, ONE_CLASS, REGRESSOR, predictor_of


def register_onnx() -> None:
    """Register all estimators of this library with skl2onnx.

    ``skl2onnx.to_onnx`` then converts pipelines that contain them. Outputs are ``label`` and
    ``scores`` (those of ``predict`` and ``decision_function``), with ``probability=True`` also
    ``probabilities``; or ``value`` for a regressor. Calling it twice does no harm.

    See Also
    --------
    onlinesvm.export.export_onnx : Exports one estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from onlinesvm import LASVMClassifier, register_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), LASVMClassifier(random_state=0)).fit(X, y)
    >>> register_onnx()
    >>> graph = to_onnx(pipeline, X[:1].astype(np.float32), target_opset=17)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    """
    skl2onnx = require("skl2onnx", "Converting pipelines", "onnx")
    for name in ALGORITHMS:
        skl2onnx.update_registered_converter(
            estimator_class(name), _alias(name), _shapes, _convert, parser=_parse,
            options={"raw_scores": [True, False], "zipmap": [True, False, "columns"]},
        )  # fmt: skip


def _alias(name: str) -> str:
    return f"Onlinesvm{name}"


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the operator with its outputs."""
    operator = scope.declare_local_operator(_alias(type(model).__name__), model)
    operator.inputs.append(inputs[0])
    kind = inputs[0].type.__class__
    for name, made in _outputs(model, kind):
        operator.outputs.append(scope.declare_local_variable(name, made))
    return operator.outputs


def _outputs(model: Any, kind: Any) -> list[tuple[str, Any]]:
    p = predictor_of(model)
    n = p.n_scores
    scores = kind([None, n] if p.columns or n > 1 else [None])
    if p.kind == REGRESSOR:
        return [("value", scores)]
    if p.kind == LABELS:
        return [("label", _label_kind(np.int64)([None, n])), ("scores", scores)]
    made = [("label", _label_kind(_label_type(p))([None])), ("scores", scores)]
    if p.slopes is not None and p.classes is not None:
        made.append(("probabilities", kind([None, len(p.classes)])))
    return made


def _label_type(p: Any) -> Any:
    return np.int64 if p.kind == ONE_CLASS or p.classes is None else label_type(p.classes)


def _label_kind(dtype: Any) -> Any:
    from skl2onnx.common import data_types

    return {
        np.int64: data_types.Int64TensorType,
        np.uint64: data_types.UInt64TensorType,
        np.bool_: data_types.BooleanTensorType,
        np.float64: data_types.DoubleTensorType,
    }.get(dtype, data_types.StringTensorType)


def _shapes(operator: Any) -> None:
    """Shapes are those that the parser has declared; or two outputs, declared by another estimator."""
    n = operator.inputs[0].get_first_dimension()
    if _is_inside(operator):
        p = predictor_of(operator.raw_operator)
        operator.outputs[0].type = _label_kind(_label_type(p))([n])
        operator.outputs[1].type.shape = [n, max(p.n_scores, 2)]
        return
    for output in operator.outputs:
        output.type.shape[0] = n


def _is_inside(operator: Any) -> bool:
    """Whether another estimator has declared the outputs: without shapes, as it does not know them."""
    shape = operator.outputs[-1].type.shape
    return len(operator.outputs) == 2 and (not shape or operator.outputs[1].raw_name != "scores")


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of the graph, under names that are new in the container."""
    from skl2onnx.common.data_types import DoubleTensorType

    source, model = operator.inputs[0], operator.raw_operator
    dtype = np.float64 if isinstance(source.type, DoubleTensorType) else np.float32
    graph, outputs = graph_of(predictor_of(model), "X", np.dtype(dtype))
    shown = list(outputs.values())
    if _is_inside(operator):
        raw = scope.get_options(model, {"raw_scores": False}, fail=False)["raw_scores"]
        shown = [outputs["label"], _columns(graph, outputs, bool(raw))]
    names = _add(scope, container, graph, source.full_name)
    for made, output in zip(shown, operator.outputs, strict=True):
        container.add_node(
            "Identity", [names[made]], [output.full_name], op_version=13,
            name=scope.get_unique_operator_name("Identity"),
        )  # fmt: skip


def _columns(graph: Graph, outputs: dict[str, str], raw: bool) -> str:
    """One column per class: probabilities, or scores where these are asked for or all there is."""
    if "probabilities" in outputs and not raw:
        return outputs["probabilities"]
    many = len(graph.constants["bias"]) > 1
    return outputs["scores"] if many else both_columns(graph, outputs["scores"])


def _add(scope: Any, container: Any, graph: Graph, source: str) -> dict[str, str]:
    """Put a graph into the container; returns its names there."""
    names = {"X": source}
    for name, value in graph.constants.items():
        names[name] = scope.get_unique_variable_name(name)
        text = value.dtype.kind == "O"
        values = [str(v).encode("utf-8") for v in value.ravel()] if text else value.ravel().tolist()
        container.add_initializer(names[name], tensor_type(value.dtype), value.shape, values)
    for node in graph.nodes:
        names |= {made: scope.get_unique_variable_name(made) for made in node.outputs}
        container.add_node(
            node.operator, [names[i] for i in node.inputs], [names[o] for o in node.outputs],
            op_version=13, name=scope.get_unique_operator_name(node.operator), **attributes_of(node.attributes),
        )  # fmt: skip
    return names
