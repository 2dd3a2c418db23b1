"""Models for programs that do not have this library: ONNX, LIBSVM's text, a Python file.

``register_onnx`` makes the estimators known to ``skl2onnx``, which converts whole pipelines.
"""

from .model.export.libsvm import export_libsvm
from .model.export.onnx import export_onnx
from .model.export.pipelines import register_onnx
from .model.export.python import export_python

__all__ = ["export_libsvm", "export_onnx", "export_python", "register_onnx"]
