"""ONNX models from standard operators: the kernel once for all machines, one Gemm, a look-up."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...core.runtime.dependencies import require
from ..atomic import atomic_write
from ..errors import ModelFileError, not_written
from .graph import Graph, graph_of
from .predictor import LABELS, LARGEST, Predictor, predictor_of

OPSET = 17
IR_VERSION = 8


def export_onnx(
    estimator: Any,
    path: str | os.PathLike[str],
    preprocessing: dict[str, Any] | None = None,
    *,
    dtype: Any = np.float32,
) -> None:
    """Write a model as an ONNX graph.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator with a built-in kernel other than ``precomputed``.
    path : str or path-like
        The file.
    preprocessing : dict or None, default=None
        ``mean`` and ``scale`` of a standardisation; it becomes part of the graph.
    dtype : {numpy.float32, numpy.float64}, default=numpy.float32
        Type of the input ``X`` and of the scores.

    See Also
    --------
    onlinesvm.register_onnx : For pipelines.
    onlinesvm.export.export_libsvm : For programs built on LIBSVM.
    onlinesvm.export.export_python : For Python with NumPy.

    Notes
    -----
    Classifiers have the outputs ``label`` and ``scores``, which are those of ``predict`` and
    ``decision_function``, and with ``probability=True`` also ``probabilities``, those of
    ``predict_proba``; regressors have ``value``. Several targets, quantiles or labels of an example
    are columns, as in ``predict``.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.export import export_onnx
    >>> model = LASVMClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.onnx")
    ...     export_onnx(model, path)
    ...     os.path.getsize(path) > 1000
    True
    """
    data = onnx_model(estimator, preprocessing, dtype=dtype).SerializeToString(deterministic=True)
    try:
        with atomic_write(path) as file:
            file.write(data)
    except OSError as error:
        raise not_written(path, error) from error


def onnx_model(
    estimator: Any, preprocessing: dict[str, Any] | None = None, *, dtype: Any = np.float32
) -> Any:
    """The ``onnx.ModelProto`` that ``export_onnx`` writes."""
    onnx = require("onnx", "Exporting to ONNX", "onnx")
    dtype = np.dtype(dtype)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ModelFileError(f"dtype must be float32 or float64 for an ONNX model, not {dtype}.")
    p = predictor_of(estimator, preprocessing)
    if p.vectors.size > LARGEST:
        raise ModelFileError(
            f"{len(p.vectors)} support vectors of {p.vectors.shape[1]} features are too many for "
            "an ONNX file; use a smaller model, such as one with a budget."
        )
    graph, outputs = graph_of(p, "X", dtype)
    made = onnx.helper.make_graph(
        [*_nodes(graph, outputs)], "onlinesvm", [_value("X", dtype, ["N", p.vectors.shape[1]])],
        [_output(name, graph, p, dtype) for name in outputs], _constants(graph),
    )  # fmt: skip
    from ... import __version__

    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(
        made, opset_imports=opset, producer_name="onlinesvm", producer_version=__version__
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model


def tensor_type(dtype: Any) -> int:
    """ONNX's number of a NumPy type; text is of type object."""
    import onnx

    if np.dtype(dtype).kind == "O":
        return int(onnx.TensorProto.STRING)
    return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def attributes_of(attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes as ONNX has them: types become numbers."""
    return {
        name: tensor_type(value) if isinstance(value, np.dtype) else value
        for name, value in attributes.items()
    }


def _nodes(graph: Graph, outputs: dict[str, str]) -> Any:
    """The operators; the last ones give the outputs their names."""
    import onnx

    for node in graph.nodes:
        yield onnx.helper.make_node(
            node.operator, node.inputs, node.outputs, **attributes_of(node.attributes)
        )
    for name, source in outputs.items():
        yield onnx.helper.make_node("Identity", [source], [name])


def _constants(graph: Graph) -> list[Any]:
    import onnx

    made = []
    for name, value in graph.constants.items():
        if value.dtype.kind == "O":
            texts = [str(v).encode("utf-8") for v in value.ravel()]
            kind = onnx.TensorProto.STRING
            made.append(onnx.helper.make_tensor(name, kind, value.shape, texts))
        else:
            made.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
    return made


def _value(name: str, dtype: Any, shape: list[Any]) -> Any:
    import onnx

    return onnx.helper.make_tensor_value_info(name, tensor_type(dtype), shape)


def _output(name: str, graph: Graph, p: Predictor, dtype: Any) -> Any:
    if name == "label" and p.kind == LABELS:
        return _value(name, np.int64, ["N", p.n_scores])
    if name == "label":
        return _value(name, graph.constants["classes"].dtype, ["N"])
    if name == "probabilities":
        assert p.classes is not None
        return _value(name, dtype, ["N", len(p.classes)])
    many = p.columns or p.n_scores > 1
    return _value(name, dtype, ["N", p.n_scores] if many else ["N"])
