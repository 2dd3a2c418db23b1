"""Models for other programs: LIBSVM's text, ONNX, a Python function."""
