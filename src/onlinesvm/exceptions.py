"""The errors that this library raises, as one tree.

``OnlineSVMError``
    ``ModelFileError`` (also a ``ValueError``)
    ``StreamError`` (also a ``ValueError``)
    ``LabelError`` (also a ``ValueError``)
    ``MissingDependencyError`` (also an ``ImportError`` and a ``ValueError``)
    ``CacheSizeError`` (also a ``MemoryError``)

Invalid parameters and arrays raise the same errors as in scikit-learn: ``ValueError``,
``TypeError``, ``sklearn.exceptions.NotFittedError``.
"""

from __future__ import annotations

__all__ = [
    "CacheSizeError",
    "LabelError",
    "MissingDependencyError",
    "ModelFileError",
    "OnlineSVMError",
    "StreamError",
]


class OnlineSVMError(Exception):
    """Base class of all errors below; the message says what is wrong, where, and what to do.

    Examples
    --------
    >>> from onlinesvm import load_model
    >>> from onlinesvm.exceptions import OnlineSVMError
    >>> try:
    ...     load_model("no-such-file.safetensors")
    ... except OnlineSVMError as error:
    ...     print(error)
    no-such-file.safetensors does not exist; give the path of a file that was saved.
    """


class ModelFileError(OnlineSVMError, ValueError):
    """A model cannot be written, read or exported."""


class StreamError(OnlineSVMError, ValueError):
    """Data cannot be read; the message names the file and the line."""


class LabelError(OnlineSVMError, ValueError):
    """A labelling session cannot be opened, or cannot do what was asked."""


class MissingDependencyError(OnlineSVMError, ImportError, ValueError):
    """An optional package is not installed; the message has the command that installs it."""


class CacheSizeError(MemoryError, OnlineSVMError):  # in this order Distributed can copy it
    """SimpleSVM needs more memory than ``cache_size`` allows."""
