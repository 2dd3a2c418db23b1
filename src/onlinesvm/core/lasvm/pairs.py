"""One-vs-one: one machine for each pair of classes, all over one support set.

    machine m of labels a < b      p = +1 for b,  -1 for a,  0 for all others
    bounds                         0 where p = 0: such a row has no part in the machine

Machines are numbered by their later label, so that a label which comes late adds machines at the end:

    m = b (b - 1) / 2 + a          (0, 1), (0, 2), (1, 2), (0, 3), ...

Two labels make one machine, the same as one-vs-rest. Each machine votes for one of its labels; the
label with most votes is the prediction, as in LIBSVM.
"""

from __future__ import annotations

import numpy as np

from .tasks import Classification


def n_pairs(n_labels: int) -> int:
    """Number of machines; there is one before the second label comes."""
    return max(1, n_labels * (n_labels - 1) // 2)


def labels_of_pairs(machines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two labels of each machine: the one that it calls -1, and the one that it calls +1."""
    later = ((1.0 + np.sqrt(1.0 + 8.0 * machines)) / 2.0).astype(np.int64)
    return machines - later * (later - 1) // 2, later


def count_votes(values: np.ndarray, n_labels: int) -> np.ndarray:
    """Votes for each label, and its summed confidence squeezed into (-1/3, 1/3), (n, labels).

    Values are those of the machines, (n, machines). Rounded, the result is the number of votes; it
    is what ``SVC`` has as ``decision_function_shape="ovr"``.
    """
    votes, total = np.zeros((len(values), n_labels)), np.zeros((len(values), n_labels))
    for m, (a, b) in enumerate(zip(*labels_of_pairs(np.arange(values.shape[1])), strict=True)):
        for_later = values[:, m] > 0.0
        votes[:, b] += for_later
        votes[:, a] += ~for_later
        total[:, b] += values[:, m]
        total[:, a] -= values[:, m]
    return votes + total / (3.0 * (np.abs(total) + 1.0))


def least_margins(values: np.ndarray, n_labels: int) -> np.ndarray:
    """By how much each label beats the one that it beats least, (n, labels); negative: it loses.

    A label that wins all its votes is the only one above zero. These are in units of the margin, as
    votes are not, and so say how near a decision was. Values that are not known are NaN.
    """
    least = np.full((len(values), n_labels), np.inf)
    for m, (a, b) in enumerate(zip(*labels_of_pairs(np.arange(values.shape[1])), strict=True)):
        np.fmin(least[:, b], values[:, m], out=least[:, b])
        np.fmin(least[:, a], -values[:, m], out=least[:, a])
    return least


def mean_margins(values: np.ndarray, n_labels: int) -> np.ndarray:
    """Values of machines (axis 0) as means over the pairs of each label, (labels, ...): linear."""
    total = np.zeros((n_labels, *values.shape[1:]))
    for m, (a, b) in enumerate(zip(*labels_of_pairs(np.arange(len(values))), strict=True)):
        total[b] += values[m]
        total[a] -= values[m]
    return total / (n_labels - 1)


class Pairs(Classification):
    """One machine for each pair of labels."""

    partial = True

    def positives(self, n_labels: int) -> list[int]:
        """The numbers of the machines."""
        return list(range(n_pairs(n_labels)))

    def added(self, n_labels: int) -> list[int]:
        """The machines that the last of these labels, at least three, adds: one for each other."""
        return list(range(n_pairs(n_labels - 1), n_pairs(n_labels)))

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these labels, (machines, n); zero where a machine has another pair."""
        earlier, later = labels_of_pairs(positive)
        return (labels == later[:, None]) * 1.0 - (labels == earlier[:, None])

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b; -inf where an example has no part in a machine."""
        return np.where(linear == 0.0, -np.inf, linear * residual)

    def n_scores(self, n_labels: int) -> int:
        """Number of scores of an example: one for each label, one for two labels."""
        return 1 if n_labels <= 2 else n_labels

    def scores(self, values: np.ndarray, n_labels: int) -> np.ndarray:
        """Scores of labels (n, labels) from values of machines (n, machines)."""
        return values if n_labels <= 2 else least_margins(values, n_labels)
