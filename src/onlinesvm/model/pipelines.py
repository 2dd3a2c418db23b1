"""Pipelines of scikit-learn's transformers with an estimator of this library at the end, as data.

A transformer is written as the name of its class, one of ``TRANSFORMERS``, and its attributes; these
are numbers, text, arrays and other transformers, never functions. When it is read, an object of that
class gets those attributes: nothing is imported by name, and no code from a file is run.

    ("object", class, {attribute: value})      a transformer, or a pipeline of them
    ("list" | "tuple", [value, ...])           containers, which may hold transformers
    ("dict", [[key, value], ...])
    ("words", {text, length})                  a large vocabulary: its words in the order of their columns
    ("slice", [start, stop, step])
    ("dtype" | "type", name)                   a NumPy type
    ("value", value)                           whatever ``encoding`` can write
    ("model",)                                 the estimator at the end, which the file holds
"""

from __future__ import annotations

import inspect
from collections import UserList
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from .errors import InvalidState, ModelFileError
from .transformers import check_arrays

TRANSFORMERS = {
    "Pipeline": "sklearn.pipeline",
    "FeatureUnion": "sklearn.pipeline",
    "ColumnTransformer": "sklearn.compose",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "RobustScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "PowerTransformer": "sklearn.preprocessing",
    "QuantileTransformer": "sklearn.preprocessing",
    "OneHotEncoder": "sklearn.preprocessing",
    "OrdinalEncoder": "sklearn.preprocessing",
    "TargetEncoder": "sklearn.preprocessing",
    "LabelEncoder": "sklearn.preprocessing",
    "LabelBinarizer": "sklearn.preprocessing",
    "TableEncoder": "onlinesvm.auto.tables",
    "FunctionTransformer": "sklearn.preprocessing",  # without a function: "passthrough"
    "SimpleImputer": "sklearn.impute",
    "MissingIndicator": "sklearn.impute",
    "PCA": "sklearn.decomposition",
    "TruncatedSVD": "sklearn.decomposition",
    "CountVectorizer": "sklearn.feature_extraction.text",
    "TfidfVectorizer": "sklearn.feature_extraction.text",
    "TfidfTransformer": "sklearn.feature_extraction.text",
    "HashingVectorizer": "sklearn.feature_extraction.text",
    "VarianceThreshold": "sklearn.feature_selection",
}
"""Classes that a file may contain, with their modules."""

OF_A_PROCESS = ("_stop_words_id", "_sklearn_version")
"""Attributes that are not learned."""

DEEPEST = 30
"""Attributes and steps within one another, each of which is three levels of ``encoding``."""

LARGE_VOCABULARY = 1000
"""Words from which a vocabulary is written as arrays, not as JSON."""

_KINDS = ("list", "tuple", "dict", "words", "slice", "dtype", "type", "value")

_TYPES = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "O")
}


def split(pipeline: Any) -> tuple[Any, dict[str, Any]]:
    """The estimator at the end of a fitted pipeline, and the whole pipeline as data without it."""
    if type(pipeline) is not Pipeline or not pipeline.steps:
        raise ModelFileError(
            f"{type(pipeline).__name__} cannot be saved: save_model takes an estimator of onlinesvm, or "
            f"a scikit-learn Pipeline that ends with one. {_instead(pipeline)}"
        )
    import sklearn

    model = pipeline.steps[-1][1]
    tree = _tree(pipeline, "pipeline", model)
    return model, {"pipeline": tree, "scikit-learn": sklearn.__version__}


def _instead(model: Any) -> str:
    inside = getattr(model, "best_estimator_", None)
    if hasattr(inside, "predict"):
        return "Save its best_estimator_, or use pickle or skops."
    return "Use pickle, or skops."


def joined(facts: dict[str, Any], model: Any) -> Pipeline:
    """The pipeline again."""
    if set(facts) != {"pipeline", "scikit-learn"} or not isinstance(facts["scikit-learn"], str):
        raise InvalidState("its pipeline is malformed")
    pipeline = _Reader(model, facts["scikit-learn"]).value(facts["pipeline"])
    if type(pipeline) is not Pipeline or not _ends_with(pipeline, model):
        raise InvalidState("its pipeline does not end with the model")
    return pipeline


def _ends_with(pipeline: Pipeline, model: Any) -> bool:
    steps = pipeline.steps
    return bool(
        isinstance(steps, list)
        and all(isinstance(step, tuple) and len(step) == 2 for step in steps)
        and steps
        and steps[-1][1] is model
    )


# -- writing ------------------------------------------------------------------------------


def _tree(value: Any, where: str, model: Any) -> tuple[Any, ...]:
    if value is model:
        return ("model",)
    if where.count(".") > DEEPEST:
        raise ModelFileError(f"{where} is nested too deeply for a model file: use pickle.")
    name = type(value).__name__
    if name in TRANSFORMERS and type(value) is _class(name):
        return "object", name, _attributes(value, where, model)
    if isinstance(value, list | tuple | UserList):
        parts = [_tree(part, f"{where}.{k}", model) for k, part in enumerate(value)]
        return "tuple" if isinstance(value, tuple) else "list", parts
    if _is_large_vocabulary(value):
        return "words", _words(value)
    if type(value) is dict:
        pairs = value.items()
        return "dict", [[key, _tree(part, f"{where}.{key}", model)] for key, part in pairs]
    if isinstance(value, slice):
        return "slice", [value.start, value.stop, value.step]
    if isinstance(value, np.dtype):
        return "dtype", value.name
    if isinstance(value, type) and issubclass(value, np.generic):
        return "type", np.dtype(value).name
    if hasattr(value, "get_params") or callable(value):
        raise ModelFileError(_not_data(value, where))
    return "value", value


def _is_large_vocabulary(value: Any) -> bool:
    """A column for each of many words: too much for the header of a file."""
    return (
        type(value) is dict
        and len(value) >= LARGE_VOCABULARY
        and all(type(word) is str for word in value)
        and all(isinstance(column, int | np.integer) for column in value.values())
        and sorted(value.values()) == list(range(len(value)))
    )


def _words(vocabulary: dict[str, Any]) -> dict[str, np.ndarray]:
    lines = [
        word.encode("utf-8", "surrogatepass")
        for word in sorted(vocabulary, key=vocabulary.__getitem__)
    ]
    return {
        "text": np.frombuffer(b"".join(lines), np.uint8),
        "length": np.array([len(line) for line in lines], np.int64),
    }


def _attributes(transformer: Any, where: str, model: Any) -> dict[str, Any]:
    if getattr(transformer, "memory", None) is not None:
        raise ModelFileError(
            f"{where} has a memory, which is a folder of pickles: set memory=None to save it."
        )
    return {
        name: _tree(value, f"{where}.{name}", model)
        for name, value in sorted(vars(transformer).items())
        if name not in OF_A_PROCESS
    }


def _not_data(value: Any, where: str) -> str:
    name = getattr(value, "__name__", type(value).__name__)
    return f"{where} is {name}, which model files do not support: they contain data, never code, and of scikit-learn the classes {', '.join(TRANSFORMERS)}. Use pickle, or skops."


def _class(name: str) -> Any:
    return getattr(import_module(TRANSFORMERS[name]), name)


# -- reading ------------------------------------------------------------------------------


class _Reader:
    """Restores values from what ``_tree`` wrote; anything else is an ``InvalidState``."""

    def __init__(self, model: Any, version: str):
        self.model, self.version = model, version

    def value(self, tree: Any) -> Any:
        if not isinstance(tree, tuple) or not tree or not isinstance(tree[0], str):
            raise InvalidState("a value of its pipeline is malformed")
        kind, *parts = tree
        if (kind, len(parts)) == ("model", 0):
            return self.model
        if (kind, len(parts)) == ("object", 2):
            return self._object(*parts)
        if len(parts) == 1 and kind in _KINDS:
            return getattr(self, f"_{kind}")(parts[0])
        raise InvalidState(f"its pipeline has a value of the kind {kind[:40]!r}")

    def _object(self, name: Any, attributes: Any) -> Any:
        if (
            not isinstance(name, str)
            or name not in TRANSFORMERS
            or not isinstance(attributes, dict)
        ):
            raise InvalidState(f"its pipeline has a step {str(name)[:80]!r}, which is not known")
        kind = _class(name)
        for attribute in attributes:
            is_own = attribute.isidentifier() and not attribute.startswith("__")
            if not is_own or hasattr(kind, attribute):  # a method, or a property
                raise InvalidState(f"{name} has no attribute {attribute[:80]!r}")
        values = {key: self.value(part) for key, part in attributes.items()}
        made = self._with_parameters(kind, values)
        made.__setstate__({**values, "_sklearn_version": self.version})
        self._check_parameters(made, name)
        check_arrays(made, name)
        return made

    def _with_parameters(self, kind: Any, values: dict[str, Any]) -> Any:
        """A new transformer, made by its constructor from the parameters among its attributes."""
        names = inspect.signature(kind).parameters
        missing = [name for name in names if name not in values]
        if missing:
            raise InvalidState(f"a parameter of its {kind.__name__} is missing: {missing[0]}")
        return kind(**{name: values[name] for name in names})

    def _check_parameters(self, made: Any, name: str) -> None:
        """Check parameters by the transformer's own rules."""
        try:
            if name not in ("Pipeline", "FeatureUnion", "ColumnTransformer"):
                made._validate_params()
            if getattr(made, "memory", None) is not None:
                raise ValueError("memory is not None")
        except (ValueError, TypeError, AttributeError) as error:
            raise InvalidState(f"a parameter of its {name} is not valid: {error}") from None

    def _list(self, parts: Any) -> list[Any]:
        if not isinstance(parts, list):
            raise InvalidState("a list of its pipeline is malformed")
        return [self.value(part) for part in parts]

    def _tuple(self, parts: Any) -> tuple[Any, ...]:
        return tuple(self._list(parts))

    def _dict(self, pairs: Any) -> dict[Any, Any]:
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float)
            for pair in pairs
        ):
            raise InvalidState("a dictionary of its pipeline is malformed")
        return {key: self.value(part) for key, part in pairs}

    def _words(self, fields: Any) -> dict[str, int]:
        if not isinstance(fields, dict) or set(fields) != {"text", "length"}:
            raise InvalidState("a vocabulary of its pipeline is malformed")
        text, length = fields["text"], fields["length"]
        if not _is_joined_text(text, length):
            raise InvalidState("a vocabulary of its pipeline is malformed")
        ends, raw = np.cumsum(length).tolist(), text.tobytes()
        try:
            words = [
                raw[end - size : end].decode("utf-8", "surrogatepass")
                for end, size in zip(ends, length.tolist())
            ]
        except UnicodeDecodeError:
            raise InvalidState("a vocabulary of its pipeline is malformed") from None
        found = {word: column for column, word in enumerate(words)}
        if len(found) < len(words):
            raise InvalidState("a vocabulary of its pipeline has a word twice")
        return found

    def _slice(self, parts: Any) -> slice:
        good = isinstance(parts, list) and len(parts) == 3
        if not good or not all(part is None or type(part) in (int, str) for part in parts):
            raise InvalidState("a slice of its pipeline is malformed")
        return slice(*parts)

    def _type(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in _TYPES:
            raise InvalidState("a type of its pipeline is not known")
        return _TYPES[name]

    def _dtype(self, name: Any) -> np.dtype[Any]:
        return np.dtype(self._type(name))

    def _value(self, value: Any) -> Any:
        return value


def _is_joined_text(text: Any, length: Any) -> bool:
    """Whether these are the bytes of words one after the other, and their lengths."""
    arrays = isinstance(text, np.ndarray) and isinstance(length, np.ndarray)
    if not arrays or (text.dtype, length.dtype, text.ndim, length.ndim) != (
        np.uint8,
        np.int64,
        1,
        1,
    ):
        return False
    within = ((length >= 0) & (length <= len(text))).all()
    return bool(within and length.sum() == len(text))
