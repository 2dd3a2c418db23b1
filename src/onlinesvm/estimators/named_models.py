"""An estimator of rows behind names of features: what the models for River have in common."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from .named_rows import NamedRows
from .widening import widen


class NamedModel:
    """Dictionaries in, around one estimator. Subclasses name its class, and have its parameters."""

    _kind: ClassVar[Any]
    _fixed: ClassVar[dict[str, Any]] = {"n_jobs": None}

    def __init__(self) -> None:
        self._rows = NamedRows()
        self._model: Any = None

    @property
    def estimator(self) -> Any:
        """The estimator within, for its fitted attributes; None before anything was learned."""
        return self._model

    @property
    def feature_names(self) -> list[Any]:
        """Names of the features learned so far, in the order of the estimator's columns."""
        return list(self._rows.columns)

    def _learn_named(self, x: dict[Any, Any], hand_over: Any) -> None:
        """Learn one example; ``hand_over`` gives a model the row."""
        row, before = self._rows.learned(x)
        if before is None and self._model is not None:
            hand_over(self._model, row)
        else:
            self._learn_new_names(before, lambda model: hand_over(model, row))

    def _learn_new_names(self, before: dict[Any, int] | None, learn: Any) -> None:
        """Learn examples that may have names never seen before; an error leaves all as it was."""
        rows, model = self._rows, self._model
        if model is None:
            model = self._make()
        elif rows.width > model.n_features_in_ and not widen(model, rows.width, dense=True):
            rows.columns = rows.columns if before is None else before
            raise ValueError(f"{type(self).__name__} cannot take new names with these settings.")
        try:
            learn(model)
        except Exception:
            if self._model is None:
                self._rows = NamedRows()
            elif before is not None:
                rows.columns = before
            raise
        self._model = model

    def _make(self) -> Any:
        """The estimator, with the parameters of this object."""
        names = inspect.signature(type(self)).parameters
        own = {name: getattr(self, name) for name in names}
        if own.get("kernel") == "precomputed":
            raise ValueError("kernel='precomputed' has no features to name; use another kernel.")
        return self._kind(**own, **self._fixed)
