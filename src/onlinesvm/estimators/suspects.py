"""Examples whose labels a model doubts.

Examples that are no support vectors lie beyond the margin on the side of their label: nobody doubts them.
A support vector has pulled the decision function towards its own label, by about

    a_i d_i^2,     d_i the distance of phi(x_i) from the span of other examples

(Chapelle and Vapnik's span: what is within the span of others, these would have learned without it).
Without that, all others judge it: f(x_i) - a_i d_i^2. The score of a label is this value for its class,
less that for the best other class: negative where the others say something else, and the more so the
surer they are. The span is that of a sample of support vectors, with a ridge, for labels have noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

SAMPLE, RIDGE = 300, 0.1
"""Support vectors whose span stands for that of all, and the ridge as a share of k(x, x)."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Examples whose labels may be wrong, the most doubtful first."""

    index: np.ndarray
    """Row in the X given to ``fit``; -1 for a stream's."""
    position: np.ndarray
    """Where the example stands in ``support_vectors_``."""
    label: np.ndarray
    """Its label."""
    suggestion: np.ndarray
    """What the other examples say."""
    score: np.ndarray
    """By how much they say so: negative where they doubt the label."""


def suspects(view: Any, n: int | None) -> Suspects:
    """The n support vectors that the others doubt most; None: all that they doubt."""
    if view.kernel.name == "precomputed":
        raise ValueError(
            "suspects compares support vectors with each other, and kernel='precomputed' does not keep "
            "them: pass the kernel as a function of two arrays."
        )
    label = view.encoder.places()[view.label_numbers()]
    scores = view.encoder.scores(view.support_values() - (view.terms() * _own_part(view)).T)
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], axis=1)
    rows = np.arange(len(label))
    own, others = scores[rows, label], scores.copy()
    others[rows, label] = -np.inf
    score, said = own - others.max(axis=1), scores.argmax(axis=1)
    order = np.argsort(score, kind="stable")
    order = order[score[order] < 0.0] if n is None else order[:n]
    return Suspects(
        view.support[order], order, view.classes[label[order]], view.classes[said[order]],
        score[order],
    )  # fmt: skip


def _own_part(view: Any) -> np.ndarray:
    """d^2 of every support vector: what its own term adds that others would not."""
    diagonal = view.diagonal()
    n = len(diagonal)
    if n < 2:
        return diagonal
    some = np.sort(np.random.RandomState(0).permutation(n)[:SAMPLE])
    values = view.similarities(some)
    ridge = RIDGE * max(float(np.abs(diagonal).mean()), 1e-300)
    among = cho_factor(values[some] + ridge * np.eye(len(some)))
    distance = diagonal - np.einsum("ij,ji->i", values, cho_solve(among, values.T))
    alone = 1.0 / np.diagonal(cho_solve(among, np.eye(len(some)))) - ridge
    distance[some] = alone  # from the span of the rest of the sample
    return np.clip(distance, 0.0, np.maximum(diagonal, 0.0))
