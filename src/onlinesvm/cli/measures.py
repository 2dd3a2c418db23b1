"""The measures of ``evaluate``: tables of classes, errors of values, flagged outliers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

Pair = tuple[list[Any], list[Any]]
"""True and predicted labels of some rows."""


def counts_of(pairs: Iterable[Pair]) -> Counter[tuple[Any, Any]]:
    """How often each pair of a true and a predicted label occurs."""
    counts: Counter[tuple[Any, Any]] = Counter()
    for truth, found in pairs:
        counts.update(zip(truth, found, strict=True))
    return counts


def confusion(counts: Counter[tuple[Any, Any]]) -> tuple[list[Any], np.ndarray]:
    """Classes in order, and counts: rows are true labels, columns are predictions."""
    classes = sorted({label for pair in counts for label in pair}, key=lambda v: (str(type(v)), v))
    return classes, np.array([[counts[true, found] for found in classes] for true in classes])


def of_classes(classes: list[Any], matrix: np.ndarray) -> dict[str, Any]:
    """Error, and precision and recall of each class."""
    n, right = int(matrix.sum()), np.diag(matrix)
    table = []
    for k, name in enumerate(classes):
        true, found = int(matrix[k].sum()), int(matrix[:, k].sum())
        precision = right[k] / found if found else 0.0
        recall = right[k] / true if true else 0.0
        both = precision + recall
        table.append({
            "class": name, "rows": true, "precision": float(precision), "recall": float(recall),
            "f1": float(2 * precision * recall / both) if both else 0.0,
        })  # fmt: skip
    return {
        "rows": n,
        "error": float(1 - right.sum() / n),
        "mistakes": int(n - right.sum()),
        "classes": classes,
        "confusion": matrix.tolist(),
        "per_class": table,
    }


class Ranking:
    """AUC and log loss of a classifier's scores and probabilities, in constant memory.

    Up to ``MOST`` scores are kept, of rows evenly spaced in the source: if there are more, every
    other one is dropped, and AUC is that of the sample. Log loss is a sum over all rows.
    """

    MOST = 1 << 22

    def __init__(self, classes: list[Any]):
        self._number = {label: k for k, label in enumerate(classes)}
        self._scores: list[np.ndarray] = []
        self._truth: list[np.ndarray] = []
        self._every, self._count, self._kept = 1, 0, 0
        self._loss, self._judged, self._all_known = 0.0, 0, True
        self.classes, self.some_known = classes, False

    def add(self, truth: list[Any], scores: np.ndarray, probabilities: np.ndarray | None) -> None:
        """More rows: labels, scores (n,) or (n, classes), probabilities (n, classes) or None."""
        y = np.array([self._number.get(label, -1) for label in truth])
        self._all_known &= bool((y >= 0).all())
        self.some_known |= bool((y >= 0).any())
        chosen = (self._count + np.arange(len(y))) % self._every == 0
        self._count += len(y)
        self._scores.append(scores[chosen])
        self._truth.append(y[chosen])
        self._kept += self._scores[-1].size
        while self._kept > self.MOST:
            self._halve()
        if probabilities is not None and self._all_known:
            right = probabilities[np.arange(len(y)), y]
            self._loss -= float(np.log(np.maximum(right, np.finfo(float).eps)).sum())
            self._judged += len(y)

    def _halve(self) -> None:
        self._scores = [np.concatenate(self._scores)[::2]]
        self._truth = [np.concatenate(self._truth)[::2]]
        self._every, self._kept = 2 * self._every, self._scores[0].size

    def result(self) -> dict[str, Any]:
        """``auc`` (several classes: the mean over each against the others), ``log_loss``.

        None where there are labels that the model does not know, or one class only.
        """
        if not self._all_known or not self._truth:
            return {"auc": None, "log_loss": None}
        y, scores = np.concatenate(self._truth), np.concatenate(self._scores)
        found: dict[str, Any] = {
            "auc": self._auc(y, scores),
            "log_loss": self._loss / self._judged if self._judged else None,
        }
        return found if self._every == 1 else {**found, "auc_rows": len(y)}

    def _auc(self, y: np.ndarray, scores: np.ndarray) -> float | None:
        from sklearn.metrics import roc_auc_score

        columns = {1: scores} if scores.ndim == 1 else dict(enumerate(scores.T))
        sides = {k: y == k for k in columns}
        areas = [
            roc_auc_score(side, columns[k])
            for k, side in sides.items()
            if side.any() and not side.all()
        ]
        return float(np.mean(areas)) if areas else None


class Deviations:
    """Sums over values and their predictions. Variances are merged without cancellation."""

    def __init__(self) -> None:
        self.n, self.absolute, self.squared = 0, 0.0, 0.0
        self._mean, self._spread = 0.0, 0.0

    def add(self, truth: list[Any], found: list[Any]) -> None:
        """More rows."""
        y, f = np.array(truth, float), np.array(found, float)
        self.absolute += float(np.abs(y - f).sum())
        self.squared += float(((y - f) ** 2).sum())
        total, step = self.n + len(y), float(y.mean()) - self._mean
        self._spread += float(((y - y.mean()) ** 2).sum()) + step**2 * self.n * len(y) / total
        self._mean += step * len(y) / total
        self.n = total

    def result(self) -> dict[str, Any]:
        """The measures; no R² where all values are equal."""
        squared = self.squared / self.n
        return {
            "rows": self.n,
            "mean_absolute_error": self.absolute / self.n,
            "mean_squared_error": squared,
            "root_mean_squared_error": float(np.sqrt(squared)),
            "r2": 1.0 - self.squared / self._spread if self._spread > 0 else None,
        }


def of_outliers(counts: Counter[tuple[Any, Any]]) -> dict[str, Any]:
    """How many rows were flagged, of all and of each label that the file has (None: no label)."""
    labels = sorted({true for true, _ in counts}, key=lambda v: (str(type(v)), v))
    rows = {label: counts[label, 1] + counts[label, -1] for label in labels}
    total, flagged = sum(rows.values()), sum(counts[label, -1] for label in labels)
    table = [
        {"label": label, "rows": rows[label], "flagged": counts[label, -1],
         "share_flagged": counts[label, -1] / rows[label]}
        for label in labels
    ]  # fmt: skip
    result = {"rows": total, "flagged": flagged, "share_flagged": flagged / total}
    return result if labels == [None] else {**result, "per_label": table}
