"""A pipeline split into transformers, applied to the pool once, and the model that learns.

    Pipeline([t_1, ..., t_k, model])     ->     X = t_k(... t_1(X_pool)),   model on X

Transformers that are fitted are used as they are; else they are fitted on the pool.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def is_fitted(model: Any) -> bool:
    """Whether a model or transformer has learned something, or need not."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


class Transformers:
    """Copies of a pipeline's transformers, all steps but the last."""

    def __init__(self, pipeline: Pipeline):
        self._pipeline = deepcopy(pipeline)
        self._steps = [
            step
            for _, step in self._pipeline.steps[:-1]
            if step is not None and step != "passthrough"
        ]

    def prepare(self, X: Any) -> Any:
        """The pool transformed, by transformers fitted on it unless they are fitted already."""
        if all(is_fitted(step) for step in self._steps):
            return self.transform(X)
        for step in self._steps:
            try:
                X = step.fit(X).transform(X)  # exactly as later rows are transformed
            except (TypeError, ValueError) as error:
                error.add_note(
                    f"{type(step).__name__} could not be fitted on the pool, which has no "
                    "labels; if it needs labels, fit the pipeline on labelled examples first."
                )
                raise
        return X

    def transform(self, X: Any) -> Any:
        """Further examples, transformed."""
        for step in self._steps:
            X = step.transform(X)
        return X

    def before(self, model: Any) -> Pipeline:
        """The pipeline whose last step is ``model``; always the same object."""
        name = self._pipeline.steps[-1][0]
        self._pipeline.steps[-1] = (name, model)
        return self._pipeline


def take_apart(estimator: Any) -> tuple[Transformers | None, Any]:
    """Copies of the transformers, if any, and of the model; refuses what cannot be taught."""
    is_pipeline = isinstance(estimator, Pipeline)
    model = estimator.steps[-1][1] if is_pipeline else estimator
    if isinstance(model, OutlierMixin | RegressorMixin):
        raise TypeError(f"{type(model).__name__} is no classifier: an active learner needs one.")
    for method in ("partial_fit", "decision_function"):
        if not hasattr(model, method):
            raise TypeError(
                f"{type(model).__name__} has no {method}: an active learner needs both "
                "partial_fit and decision_function."
            )
    return Transformers(estimator) if is_pipeline else None, deepcopy(model)
