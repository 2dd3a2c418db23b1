"""Model files: everything that an estimator has learned, as data, without code.

A file is in safetensors format: the arrays as they are, and in the header one JSON text:

``format_version``    of this layout; readers refuse newer ones
``library_version``   of onlinesvm when the file was written
``algorithm``         the name of a public class
``parameters``        its constructor's
``classes``           labels, sorted, as users see them; None for regressors
``state``             what was learned: see ``records``
``preprocessing``     preprocessing of the features before the model, or None
``summary``           facts about the training, given by the caller, or None
``arrays``            further arrays of the caller
``checksum``          SHA-256 of all of this and of the arrays

The same model always gives the same bytes: keys are sorted, and there are no dates in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..core.runtime.published import published
from ..exceptions import OnlineSVMError
from .atomic import atomic_write
from .container import Layout, TensorInfo, checksum, read_layout, read_tensors, to_bytes
from .encoding import Decoder, Encoder, Unsupported
from .errors import InvalidState, ModelFileError, damaged, not_written
from .fields import Fields
from .state import ALGORITHMS, algorithm_of, check_no_code, estimator_of, state_of

FORMAT_VERSION = 1

_KEYS = {
    "format_version", "library_version", "algorithm", "parameters", "classes", "state",
    "preprocessing", "summary", "arrays", "checksum",
}  # fmt: skip


class LoadedModel(NamedTuple):
    """What is in a model file.

    Parameters
    ----------
    estimator : estimator
        The saved estimator.
    preprocessing : dict or None
        Preprocessing of the features before the model.
    summary : dict or None
        Facts about the training: the ``extra`` of ``save_model``.
    arrays : dict of str to ndarray
        Further arrays that were saved.
    header : dict
        ``format_version``, ``library_version``, ``algorithm``, ``checksum``.
    """

    estimator: Any
    preprocessing: dict[str, Any] | None
    summary: dict[str, Any] | None
    arrays: dict[str, np.ndarray]
    header: dict[str, Any]


# -- writing ------------------------------------------------------------------------------


def write_model(
    path: str | os.PathLike[str],
    estimator: Any,
    *,
    preprocessing: dict[str, Any] | None = None,
    summary: dict[str, Any] | None = None,
    arrays: dict[str, np.ndarray] | None = None,
) -> None:
    """Write a fitted estimator to a file, completely or not at all.

    Parameters
    ----------
    path : str or path-like
        The file; an existing one is replaced.
    estimator : estimator
        A fitted estimator of this library.
    preprocessing : dict or None, default=None
        Preprocessing of the features before the model: numbers, text, lists, dictionaries, arrays.
    summary : dict or None, default=None
        Facts about the training, of the same kinds.
    arrays : dict of str to ndarray, or None, default=None
        Further arrays to save, such as those of a checkpoint.

    Raises
    ------
    ModelFileError
        If the estimator contains something that model files do not support, or the file cannot be
        written.

    See Also
    --------
    onlinesvm.persistence.read_model : Reads all of it.
    onlinesvm.save_model : Writes only the estimator or pipeline.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.persistence import read_header, read_model, write_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LASVMClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     write_model(path, model, summary={"flowers": len(X)})
    ...     header, found = read_header(path), read_model(path)
    >>> header["algorithm"], found.summary
    ('LASVMClassifier', {'flowers': 150})
    """
    data = model_bytes(estimator, preprocessing=preprocessing, summary=summary, arrays=arrays)
    try:
        with atomic_write(path) as file:
            file.write(data)
    except OSError as error:
        raise not_written(path, error) from error


def save_model(
    model: Any, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None
) -> None:
    """Write an estimator, or a scikit-learn pipeline that ends with one, to a model file.

    ``load_model`` restores it. The file contains data, never code: pipelines may contain
    scikit-learn's common transformers (scalers, imputers, encoders, ``ColumnTransformer``, ``PCA``,
    text vectorisers) whose parameters are not functions. The file is written completely or not at
    all.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator of this library, or a fitted ``sklearn.pipeline.Pipeline`` whose last step is
        one.
    path : str or path-like
        The file, usually with the ending ``.safetensors``; an existing file is replaced.
    extra : dict or None, default=None
        Facts to save with the model: numbers, text, lists, dictionaries and arrays.

    Raises
    ------
    ModelFileError
        If model files do not support the class of a step, or the file cannot be written.

    See Also
    --------
    onlinesvm.load_model : Reads the file.
    onlinesvm.export.export_onnx : For programs without this library.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from onlinesvm import LASVMClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), LASVMClassifier(random_state=0)).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     save_model(pipeline, path)
    ...     again = load_model(path)
    >>> bool((again.predict(X) == pipeline.predict(X)).all())
    True
    """
    preprocessing = None
    if hasattr(model, "steps") or type(model).__name__ not in ALGORITHMS:
        from .pipelines import split

        model, preprocessing = split(model)
    write_model(path, model, preprocessing=preprocessing, summary=extra)


def model_bytes(
    estimator: Any,
    *,
    preprocessing: dict[str, Any] | None = None,
    summary: dict[str, Any] | None = None,
    arrays: dict[str, np.ndarray] | None = None,
) -> bytes:
    """The file that ``write_model`` writes."""
    check_is_fitted(estimator)
    algorithm = algorithm_of(estimator)
    check_no_code(estimator)
    try:
        estimator._validate_params()  # a file with others could not be read again
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"The model cannot be saved: {error}") from None
    encoder = Encoder()
    with published(estimator):  # not in the middle of a change made by another thread
        facts = {
            "parameters": estimator.get_params(deep=False),
            "classes": _classes(estimator),
            "state": state_of(estimator, algorithm),
            "preprocessing": preprocessing,
            "summary": summary,
            "arrays": arrays or {},
        }
        try:
            header = {name: encoder.encode(value, name) for name, value in facts.items()}
        except (Unsupported, TypeError) as error:
            raise ModelFileError(f"The model cannot be saved: {error}. Use pickle.") from error
        header["format_version"], header["library_version"] = FORMAT_VERSION, _version()
        header["algorithm"] = algorithm
        header["checksum"] = checksum(_canonical(header), encoder.tensors)
        return to_bytes(_canonical(header), encoder.tensors)


def _canonical(header: dict[str, Any]) -> str:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _version() -> str:
    from .. import __version__

    return __version__


def _classes(estimator: Any) -> list[Any] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    if isinstance(classes, np.ndarray) and classes.dtype.kind in "mM":
        raise ModelFileError(
            f"The model cannot be saved: its labels are of type {classes.dtype}, and model files "
            "hold numbers and text. Train on text labels, such as y.astype(str), or use pickle."
        )
    return list(classes.tolist())


# -- reading ------------------------------------------------------------------------------


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model file written by ``save_model``, ``estimator.save`` or the command line.

    Loading runs no code. Everything in the file is checked before it is used.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator : estimator or Pipeline
        The estimator; it predicts and continues to learn as if it had never been saved. A pipeline,
        if one was saved.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, or of a newer format.

    See Also
    --------
    onlinesvm.save_model : Writes the file.
    onlinesvm.persistence.read_header : Reads only the header.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier, load_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LASVMClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     model.save(path)
    ...     again = load_model(path)
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    found = read_model(path)
    if "pipeline" not in (found.preprocessing or {}):
        return found.estimator
    from .pipelines import joined

    try:
        return joined(found.preprocessing or {}, found.estimator)
    except Exception as error:
        raise damaged(path, error if isinstance(error, InvalidState) else repr(error)) from error


def read_model(path: str | os.PathLike[str]) -> LoadedModel:
    """Read everything that is in a model file.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    model : LoadedModel
        Estimator, preprocessing, summary, arrays, and facts of the header.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, or of a newer format.

    See Also
    --------
    onlinesvm.persistence.write_model : Writes the file.
    onlinesvm.load_model : Reads only the estimator or pipeline.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.persistence import read_model
    >>> model = LASVMClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     model.save(path, extra={"trained on": "iris"})
    ...     found = read_model(path)
    >>> found.summary, found.header["algorithm"]
    ({'trained on': 'iris'}, 'LASVMClassifier')
    """
    return _read(path, lambda: _open(path))


def _read(path: Any, opened: Callable[[], IO[bytes]]) -> LoadedModel:
    """``path`` is how errors call it."""
    try:
        with opened() as file:
            layout = read_layout(file)
            header = _header(path, layout.metadata)
            tensors = read_tensors(file, layout)
        _check_sum(header, tensors)
        return _loaded(header, Decoder(tensors, layout.tensors))
    except ModelFileError:
        raise
    except OSError as error:
        raise _not_read(path, error) from error
    except Exception as error:  # whatever is wrong with a file, the caller sees one kind of error
        raise damaged(path, error if isinstance(error, InvalidState) else repr(error)) from error


def data_of(estimator: Any) -> bytes | None:
    """The model file of an estimator; None where it cannot be one."""
    try:
        return model_bytes(estimator)
    except (OnlineSVMError, NotFittedError):
        return None


def estimator_from(data: bytes, kind: type) -> Any:
    """The estimator of this class that is in such a file."""
    name = "The state of the estimator"
    made = _read(name, lambda: BytesIO(data)).estimator
    if type(made) is not kind:
        raise damaged(name, f"it is that of a {type(made).__name__}, not of a {kind.__name__}")
    return made


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the header of a model file, without its arrays.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    header : dict
        ``format_version``, ``library_version``, ``algorithm``, ``parameters``, ``classes``,
        ``n_features``, ``feature_names`` (how many, or None), ``preprocessing``, ``summary``,
        ``arrays``, ``tensors`` (type and shape by name), ``file_size``, ``checksum``. An array
        inside is given by its type and shape.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, or of a newer format.

    See Also
    --------
    onlinesvm.persistence.read_model : Reads the arrays, too.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.persistence import read_header
    >>> model = LASVMClassifier(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.safetensors")
    ...     model.save(path)
    ...     header = read_header(path)
    >>> header["classes"], header["n_features"]
    ([0, 1, 2], 4)
    """
    try:
        with _open(path) as file:
            layout = read_layout(file)
        return _described(_header(path, layout.metadata), layout)
    except ModelFileError:
        raise
    except OSError as error:
        raise _not_read(path, error) from error
    except Exception as error:
        raise damaged(path, error if isinstance(error, InvalidState) else repr(error)) from error


def _described(header: dict[str, Any], layout: Layout) -> dict[str, Any]:
    """The header with its values, and facts about the file."""
    decoder = Decoder(None, layout.tensors)
    facts = {name: decoder.decode(header[name]) for name in sorted(_KEYS)}
    state = facts.pop("state")
    if not isinstance(state, dict):
        raise InvalidState("its state is not a record")
    named = state.get("feature_names")
    facts["n_features"] = state.get("n_features")
    facts["feature_names"] = len(named) if isinstance(named, np.ndarray | list) else None
    facts["tensors"] = {n: (t.dtype, t.shape) for n, t in sorted(layout.tensors.items())}
    facts["file_size"] = layout.file_size
    return facts


def _open(path: str | os.PathLike[str]) -> Any:
    if Path(path).is_dir():
        raise IsADirectoryError(21, "it is a folder", str(path))
    return open(path, "rb")


def _not_read(path: Any, error: OSError) -> ModelFileError:
    if isinstance(error, FileNotFoundError):
        return ModelFileError(f"{path} does not exist; give the path of a file that was saved.")
    return ModelFileError(
        f"{path} cannot be read: {error.strerror or error}. Give the path of a model file, and "
        "check its permissions."
    )


def _header(path: Any, metadata: str) -> dict[str, Any]:
    try:
        header = json.loads(metadata)
    except (ValueError, RecursionError):
        raise InvalidState("its description is not JSON") from None
    if not isinstance(header, dict) or type(header.get("format_version")) is not int:
        raise InvalidState("its format version is missing")
    if header["format_version"] > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {header['format_version']}, written by onlinesvm "
            f"{str(header.get('library_version'))[:40]}; this is onlinesvm {_version()}, which "
            f"reads versions up to {FORMAT_VERSION}. Upgrade onlinesvm to load it."
        )
    if header["format_version"] < 1:
        raise InvalidState(f"there is no format version {header['format_version']}")
    if set(header) != _KEYS:
        raise InvalidState("its description lacks an entry, or has one too many")
    if header["algorithm"] not in ALGORITHMS:
        raise InvalidState(f"its algorithm {str(header['algorithm'])[:80]!r} is unknown")
    return header


def _check_sum(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    said = header["checksum"]
    found = checksum(_canonical({k: v for k, v in header.items() if k != "checksum"}), tensors)
    if said != found:
        raise InvalidState("its checksum is wrong, so some bytes have changed since it was written")


def _loaded(header: dict[str, Any], decoder: Decoder) -> LoadedModel:
    parts = {name: decoder.decode(header[name]) for name in sorted(_KEYS)}
    decoder.close()
    for name in ("preprocessing", "summary"):
        if not isinstance(parts[name], dict | None):
            raise InvalidState(f"its {name} is not a dictionary")
    arrays = parts["arrays"]
    if not isinstance(arrays, dict) or not all(isinstance(a, np.ndarray) for a in arrays.values()):
        raise InvalidState("its arrays are malformed")
    estimator = estimator_of(
        header["algorithm"], parts["parameters"], Fields(parts["state"], "state")
    )
    facts = {
        name: parts[name] for name in ("format_version", "library_version", "algorithm", "checksum")
    }
    return LoadedModel(estimator, parts["preprocessing"], parts["summary"], arrays, facts)


__all__ = [
    "FORMAT_VERSION",
    "LoadedModel",
    "TensorInfo",
    "load_model",
    "read_header",
    "read_model",
    "save_model",
    "write_model",
]
