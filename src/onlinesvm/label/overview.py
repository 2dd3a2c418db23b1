"""What a page shows beside the question: items, counts, unbiased accuracy, doubtful labels, the
map.

Nothing here changes anything.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from .choosing import drawn
from .measures import accuracy_interval, cohen_kappa, has_settled, recall_p_value
from .pool import Pool
from .queue import LARGE, Queue
from .record import Record
from .teaching import Follower, because, class_values, doubts, predicted, softened

ALIKE = 24
"""Number of similar items shown."""

DOUBTED = 500
"""Number of latest labels that are checked for doubtful ones."""

MAPPED = 4000
"""Items on the map."""

BRIEF = 400
"""Characters of a text in strips and grids."""


class Overview:
    """Views of one session."""

    def __init__(self, pool: Pool, record: Record, model: Follower, queue: Queue, X: Any):
        self.pool, self.record, self.model, self.queue = pool, record, model, queue
        self._X = X
        self._map: tuple[np.ndarray, np.ndarray] | None = None

    # -- items ----------------------------------------------------------------------------

    def item(self, number: int) -> dict[str, Any]:
        """Content, label and note of an item."""
        record, name = self.record, self.pool.source.ids[number]
        found = {"number": number, "id": name, **self.pool.source.content(number)}
        label = record.label_of(name)
        found["label"] = None if label is None else record.name(label)
        found["aside"] = name in record.aside
        notes = [given.note for given in record.given.get(name, {}).values() if given.note]
        found["note"] = notes[-1] if notes else ""
        return found

    def brief(self, number: int) -> dict[str, Any]:
        """An item in a few words, for strips and grids."""
        found = self.item(number)
        if found["kind"] == "text":
            found["text"] = found["text"][:BRIEF]
        if found["kind"] == "row":
            found["cells"] = found["cells"][:6]
        return found

    def belief(self, learner: Any, number: int) -> dict[str, Any] | None:
        """The model's prediction for an item; None while there is none."""
        classes, values = class_values(learner, [number])
        if len(classes) < 2:
            return None
        shares = softened(values)[0]
        names = [self.record.name(c) for c in classes]
        return {
            "label": names[int(shares.argmax())],
            "shares": {name: round(float(share), 4) for name, share in zip(names, shares)},
        }

    def because(self, number: int, belief: dict[str, Any] | None) -> list[dict[str, Any]]:
        """The labelled items that contribute most to the prediction."""
        label = None if belief is None else self.record.number(belief["label"])
        if label is None:
            return []
        return [self.brief(i) for i in because(self.model.learner, number, label)]

    # -- panel ----------------------------------------------------------------------------

    def panel(self, annotator: str, searched: int | None) -> dict[str, Any]:
        """Counts, unbiased accuracy, whether to stop, and the last answers."""
        record = self.record
        last = record.curve[-1] if record.curve else None
        accuracy = accuracy_interval(int(last["right"]), int(last["n"])) if last else None
        agreed = [point["agreed"] for point in record.curve if point.get("agreed") is not None]
        return {
            "labelled": len(record.labels),
            "aside": len(record.aside),
            "later": len(record.later),
            "open": self.pool.n_open,
            "pool": len(self.pool),
            "copies": len(self.pool) - self.pool.n_groups,
            "classes": [
                {"name": record.name(c), "count": count} for c, count in record.tally().items()
            ],
            "accuracy": None if accuracy is None else accuracy._asdict(),
            "curve": [_point(point) for point in record.curve[-200:]],
            "settled": has_settled(agreed),
            "certificate": None if searched is None else self.certificate(record.name(searched)),
            "undo": record.can_undo(annotator) is not None,
            "redo": record.can_redo(annotator) is not None,
            "strip": self._strip(annotator),
        }

    def _strip(self, annotator: str, n: int = 8) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        for action in self.record.last_actions(annotator, n):
            for change in reversed(action.changes):
                number = self.pool.number.get(change.item)
                if number is not None and len(out) < n:
                    out.append(self.brief(number) | {"later": change.due_after is not None})
        return out

    def certificate(self, label: str, target: float = 0.95) -> dict[str, Any] | None:
        """Whether enough of a class was found."""
        number = self.record.number(label)
        if number is None:
            return None
        found = [self.record.resolve(c) == number for c in self.record.labels.values()]
        drawn_for = [self.record.was_drawn_for(item, number) for item in self.record.labels]
        p = recall_p_value(found, self.pool.n_groups, target, drawn_for)
        return {"label": label, "found": sum(found), "target": target, "p": p}

    # -- finding --------------------------------------------------------------------------

    def search(self, words: str) -> list[dict[str, Any]]:
        """Items that contain the words."""
        found = self.pool.source.search(words) if words.strip() else []
        return [self.brief(number) for number in found]

    def alike(self, number: Any) -> list[dict[str, Any]]:
        """The open items most similar to this one, in a sample if the pool is large."""
        number = self.pool.check(number)
        free = self.pool.free(self.record, {number})
        candidates = drawn(free, LARGE, self.queue.rng(number, "alike"))
        if not len(candidates):
            return []
        values = self.model.learner.similarities(candidates, [number])[:, 0]
        order = np.argsort(-values, kind="stable")[:ALIKE]
        return [self.brief(i) for i in candidates[order].tolist()]

    # -- review ---------------------------------------------------------------------------

    def doubtful(self, n: int = 60) -> list[dict[str, Any]]:
        """Labels that the model contradicts, the most doubtful first."""
        lessons = self.model.taught[-DOUBTED:]
        values = doubts(self.model.learner, lessons)
        found = predicted(self.model.learner, [i for i, _ in lessons])
        order = [k for k in np.argsort(-values, kind="stable")[:n].tolist() if values[k] > -0.5]
        return [
            self.brief(lessons[k][0]) | {"predicted": self.record.name(int(found[k]))}
            for k in order
        ]

    def of_class(self, label: str, first: int = 0, n: int = 120) -> list[dict[str, Any]]:
        """Items with a label, the latest first."""
        record, number = self.record, self.record.number(label)
        items = (i for i, c in reversed(record.labels.items()) if record.resolve(c) == number)
        numbers = (self.pool.number[i] for i in items if i in self.pool.number)
        return [self.brief(i) for i in islice(numbers, first, first + n)]

    def disagreements(self) -> dict[str, Any]:
        """Items with several answers: agreement beyond chance, and those that differ."""
        pairs, differ = [], []
        for item, given in self.record.given.items():
            labels = {
                w: self.record.resolve(g.label) for w, g in given.items() if g.label is not None
            }
            if len(labels) < 2:
                continue
            first, second = [labels[w] for w in sorted(labels)[:2]]
            pairs.append((first, second))
            if len(set(labels.values())) > 1 and item in self.pool.number:
                names = {w: self.record.name(c) for w, c in labels.items()}
                differ.append(self.brief(self.pool.number[item]) | {"answers": names})
        return {"both": len(pairs), "kappa": cohen_kappa(pairs), "items": differ}

    # -- map ------------------------------------------------------------------------------

    def map(self) -> dict[str, Any]:
        """A sample of the pool in two dimensions, with predictions."""
        if self._map is None:
            sample = drawn(np.arange(len(self.pool)), MAPPED, self.queue.rng(0, "map"))
            self._map = np.sort(sample), flattened(self._X[np.sort(sample)])
        which, place = self._map
        classes = predicted(self.model.learner, which).tolist()
        labels = [self.record.label_of(self.pool.source.ids[i]) for i in which.tolist()]
        return {
            "items": which.tolist(),
            "x": place[:, 0].round(4).tolist(),
            "y": place[:, 1].round(4).tolist(),
            "predicted": [self.record.name(c) if c >= 0 else None for c in classes],
            "labelled": [label is not None for label in labels],
        }


def _point(point: dict[str, Any]) -> list[float]:
    found = accuracy_interval(int(point["right"]), int(point["n"]))
    assert found is not None
    return [point["labels"], found.value, found.low, found.high]


def flattened(X: Any) -> np.ndarray:
    """Two coordinates for each row: the directions of most variance, most of them within -1 to 1."""
    from sklearn.decomposition import PCA, TruncatedSVD

    if min(X.shape) < 4:
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
        found = np.zeros((X.shape[0], 2))
        found[:, : min(2, X.shape[1])] = dense[:, :2]
    elif hasattr(X, "tocsr"):
        found = TruncatedSVD(3, random_state=0).fit_transform(X)[:, 1:]
    else:
        found = PCA(2, random_state=0).fit_transform(X)
    size = np.percentile(np.abs(found), 99, axis=0)
    return np.asarray(np.clip(found / np.where(size > 0, size, 1.0), -1.2, 1.2))
