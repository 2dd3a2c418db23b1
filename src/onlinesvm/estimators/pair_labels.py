"""Labels of a one-vs-one model, whose machines are pairs of them (``core.lasvm.pairs``).

Users see pairs in the order (0, 1), (0, 2), ..., (1, 2), ... of ``classes_``, positive for the first of
each, and two classes positive for the second: all as in ``SVC``.
"""

from __future__ import annotations

import numpy as np

from ..core.lasvm.pairs import count_votes, least_margins, mean_margins
from .labels import LabelBook


class PairBook(LabelBook):
    """Labels, and how the values of the machines for pairs of them are combined."""

    @property
    def _has_pairs(self) -> bool:
        return len(self) > 2

    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The places in ``classes`` of each pair, in the order in which users see them."""
        first, second = np.triu_indices(len(self), 1)
        return first, second

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Machines (axis 0) in the order in which users see them, a copy."""
        if not self._has_pairs:
            return super().shown(values)
        first, second = (self.order()[place] for place in self._pairs())
        later = np.maximum(first, second)
        machine = later * (later - 1) // 2 + np.minimum(first, second)
        sign = np.where(first == later, 1.0, -1.0)
        return values[machine] * sign.reshape(-1, *[1] * (values.ndim - 1)) + 0.0  # and no -0.0

    def scores(self, values: np.ndarray) -> np.ndarray:
        """The smallest value of each class against another class; two classes: one column."""
        if not self._has_pairs:
            return super().scores(values)
        return least_margins(values, len(self))[:, self.order()]

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Machines (axis 0) as means over the pairs of each class, which preserves sums."""
        if not self._has_pairs:
            return super().shares(values)
        return mean_margins(values, len(self))[self.order()]

    def votes(self, values: np.ndarray, shape: str) -> np.ndarray:
        """The decision function of ``SVC``, with ``shape`` "ovr" or "ovo"."""
        if not self._has_pairs:
            return super().scores(values)
        if shape == "ovo":
            return self.shown(values.T).T
        return count_votes(values, len(self))[:, self.order()]

    def winners(
        self, values: np.ndarray, present: np.ndarray | None = None, break_ties: bool = False
    ) -> np.ndarray:
        """Places of the predicted classes: most votes; of a tie the first, or the most confident."""
        if not self._has_pairs:
            return super().winners(values, present)
        votes = self.votes(values, "ovr")
        return self.highest(votes if break_ties else np.rint(votes), present)

    def sums_of_pairs(self, counts: np.ndarray) -> np.ndarray:
        """Counts of labels, by number, summed for the two labels of each pair as users see them."""
        counts = np.pad(counts, (0, len(self) - len(counts)))[self.order()]  # a label may be new
        first, second = self._pairs()
        return counts[first] + counts[second]

    def sorted_vectors(self, numbers: np.ndarray, label: np.ndarray) -> np.ndarray:
        """The order of support vectors in which users see them: by class, then by row."""
        return np.lexsort((numbers, self.places()[label]))

    def compressed(self, coef: np.ndarray, label: np.ndarray) -> np.ndarray:
        """``dual_coef_`` as ``SVC`` has it, (classes - 1, n), from coefficients as users see them.

        Row j of a support vector of class i is its coefficient against class j, or j + 1 from i on:
        it has none in the machines of other pairs.
        """
        if not self._has_pairs:
            return coef
        place, rows = self.places()[label], np.arange(len(label))
        made = np.zeros((len(self) - 1, len(label)))
        for m, (i, j) in enumerate(zip(*self._pairs(), strict=True)):
            of_i, of_j = rows[place == i], rows[place == j]
            made[j - 1, of_i], made[i, of_j] = coef[m, of_i], coef[m, of_j]
        return made
