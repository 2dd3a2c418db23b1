"""The model of a session for use elsewhere: a model file, and predictions for the whole pool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..active.learner import ActiveLearner
from .errors import LabelError
from .features import fitted_vectorizer
from .session import Session
from .sources import Texts, beside

CHUNK = 2000
"""Items predicted at once."""


def final_model(session: Session) -> Any:
    """A classifier trained on all labels, by their names, with probabilities."""
    record, pool = session.record, session.pool
    lessons = pool.lessons(record, record.labels.items())
    if len({label for _, label in lessons}) < 2:
        raise LabelError("A model needs labels of at least two classes; label more items first.")
    prepared = session.prepared
    learner = ActiveLearner(prepared.estimator(probability=True), prepared.X, random_state=0)
    learner.teach([i for i, _ in lessons], [record.name(label) for _, label in lessons])
    return learner.estimator


def save_final_model(session: Session, path: Path) -> None:
    """A model file; of texts with the transformers, so that it takes texts."""
    from ..model.files import save_model

    model: Any = final_model(session)
    if isinstance(session.source, Texts) and session.prepared.kernel == "linear":
        vectorizer, _ = fitted_vectorizer(session.source, session.source.texts.to_pylist())
        model = Pipeline([("features", vectorizer), ("model", model)])
    save_model(model, path)


def predictions(session: Session) -> Iterator[dict[str, Any]]:
    """Label, probabilities and what is known of every item of the pool, in its order."""
    model = final_model(session)
    source, X = session.source, session.prepared.X
    names = [str(name) for name in model.classes_]
    for first in range(0, len(source), CHUNK):
        part = model.predict_proba(X[first : first + CHUNK])
        for k, shares in enumerate(np.asarray(part)):
            label = session.record.label_of(source.ids[first + k])
            found = {
                "id": source.ids[first + k],
                "predicted": names[int(shares.argmax())],
                "label": None if label is None else session.record.name(label),
                **{f"p_{name}": round(float(p), 6) for name, p in zip(names, shares)},
            }
            yield beside(found, source.row(first + k))
