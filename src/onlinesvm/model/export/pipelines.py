"""A converter for skl2onnx, so that pipelines with an estimator of this library become ONNX.

from onlinesvm.model.export.pipelines import register_converters
register_converters()
skl2onnx.to_onnx(pipeline, X[:1].astype(numpy.float32))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ModelFileError
from ..state import ALGORITHMS, estimator_class
from .graph import graph_of, label_type
from .onnx import attributes_of, tensor_type
from .predictor import ONE_CLASS, REGRESSOR, predictor_of


def register_converters() -> None:
    """Make all estimators of this library known to skl2onnx.

    Outputs are ``label`` and ``scores`` (those of ``predict`` and ``decision_function``), or
    ``value`` for a regressor.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ModelFileError(
            "Converting pipelines needs the package skl2onnx: pip install skl2onnx."
        ) from error
    for name in ALGORITHMS:
        update_registered_converter(
            estimator_class(name), _alias(name), _shapes, _convert, parser=_parse
        )


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
    n = len(p.coef)
    scores = kind([None, n] if n > 1 else [None])
    if p.kind == REGRESSOR:
        return [("value", scores)]
    dtype = np.int64 if p.kind == ONE_CLASS or p.classes is None else label_type(p.classes)
    return [("label", _label_kind(dtype)([None])), ("scores", scores)]


def _label_kind(dtype: Any) -> Any:
    from skl2onnx.common import data_types

    return {
        np.int64: data_types.Int64TensorType,
        np.bool_: data_types.BooleanTensorType,
        np.float64: data_types.DoubleTensorType,
    }.get(dtype, data_types.StringTensorType)


def _shapes(operator: Any) -> None:
    """Shapes are those that the parser has declared."""
    n = operator.inputs[0].get_first_dimension()
    for output in operator.outputs:
        output.type.shape[0] = n


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """The nodes of the graph, under names that are new in the container."""
    from skl2onnx.common.data_types import DoubleTensorType

    source = operator.inputs[0]
    dtype = np.float64 if isinstance(source.type, DoubleTensorType) else np.float32
    graph, outputs = graph_of(predictor_of(operator.raw_operator), "X", np.dtype(dtype))
    names = {"X": source.full_name}
    for name, value in graph.constants.items():
        names[name] = scope.get_unique_variable_name(name)
        text = value.dtype.kind == "O"
        values = [str(v).encode("utf-8") for v in value.ravel()] if text else value.ravel().tolist()
        container.add_initializer(names[name], tensor_type(value.dtype), value.shape, values)
    for node in graph.nodes:
        names[node.output] = scope.get_unique_variable_name(node.output)
        container.add_node(
            node.operator, [names[i] for i in node.inputs], [names[node.output]], op_version=13,
            name=scope.get_unique_operator_name(node.operator), **attributes_of(node.attributes),
        )  # fmt: skip
    for (_, made), output in zip(outputs.items(), operator.outputs):
        container.add_node(
            "Identity", [names[made]], [output.full_name], op_version=13,
            name=scope.get_unique_operator_name("Identity"),
        )  # fmt: skip
