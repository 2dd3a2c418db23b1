"""Predictions and errors of a model on a source, block by block."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..stream.blocks import Block
from ..stream.errors import StreamError
from ..stream.learning import located, loss_of
from ..stream.reader import Reader
from ..stream.standardising import RunningScale


class Loaded:
    """A model with what turns rows of a source into rows of the model."""

    def __init__(self, estimator: Any, preprocessing: dict[str, Any] | None):
        self.estimator = estimator
        if "pipeline" in (preprocessing or {}):
            raise StreamError(
                "The model was saved as a scikit-learn pipeline, which the command line cannot "
                "run; use onlinesvm.load_model in Python."
            )
        facts = (preprocessing or {}).get("standardize")
        self.scale = None if facts is None else RunningScale.from_json(facts)
        # Rows are arrays, in the order of the names that a model was fitted with: see _by_name.
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)

    def rows(self, block: Block, reader: Reader) -> Any:
        """The block's rows as the model takes them; raises an error if they do not fit."""
        X, known = self._by_name(block.X, reader), self.estimator.n_features_in_
        if X.shape[1] != known:
            raise StreamError(
                f"{reader.name} has {X.shape[1]} features, but the model was trained on "
                f"{known}; give it the same columns (is the label among them? name it with --label)."
            )
        return X if self.scale is None else self.scale.apply(X)

    def _by_name(self, X: Any, reader: Reader) -> Any:
        """The columns of a model that was fitted to a data frame, in its order; others are left out."""
        known, there = getattr(self.estimator, "feature_names_in_", None), reader.feature_names()
        if known is None or there is None or list(known) == there:
            return X
        missing = [name for name in known if name not in there]
        if missing:
            from ..stream.table import listed

            raise StreamError(
                f"{reader.name} has no column '{missing[0]}', on which the model was trained; it "
                f"has {listed(there)}."
            )
        return X[:, [there.index(name) for name in known]]

    def blocks(self, reader: Reader, size: int = 2048) -> Iterator[Block]:
        """Rows as the model takes them, and labels, as they arrive."""
        for block in reader.arriving(size):
            yield replace(block, X=self.rows(block, reader))


def score_source(training: Any, test: Any) -> float | None:
    """Mean loss of a trained model on a reader or on arrays; see ``learning.measure_of``."""
    if test is None:
        return None
    loaded = Loaded(training.estimator, training.preprocessing())
    estimator = training.estimator
    if isinstance(test, tuple):
        from ..stream.memory import MemoryReader

        test = MemoryReader(*test)
    total, loss = 0, 0.0
    for block in loaded.blocks(test):
        with located(block, test.place):
            loss += loss_of(estimator, block.X, block.y) or 0.0
        total += block.n
    return loss / total
