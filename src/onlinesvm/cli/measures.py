"""What ``evaluate`` tells: tables of classes, deviations of values, outliers that were flagged."""

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
