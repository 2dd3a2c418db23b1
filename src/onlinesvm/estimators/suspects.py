"""Examples whose labels are probably wrong.

Examples that are not support vectors lie beyond the margin on the side of their label, and agree
with the model. A support vector has pulled the decision function towards its own label, by about

    a_i d_i^2,     d_i the distance of phi(x_i) from the span of other examples

(Chapelle and Vapnik's span: the others would have learned what is within their span without it).
f(x_i) - a_i d_i^2 is therefore the decision value by all others. The score of a label is this value
for its class minus that for the best other class: negative if the others contradict the label, and
the lower the clearer they do. The span is that of a sample of support vectors, with a ridge,
because labels are noisy.

Wrong labels mislead the others, too. So those that are contradicted are removed from the model, all of
them, which is then optimised again, and scores their labels a second time (where the algorithm can do
that). The score is the mean of both; the second counts twice. The first is not left out, because a
model without the examples that are hard to tell apart knows less about those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..core.runtime.threads import one_blas_thread

SECOND = 2 / 3
"""Weight of the scores by the model without all examples that are contradicted."""

SAMPLE, RIDGE = 300, 0.1
"""Number of support vectors in the sample for the span, and the ridge as a share of k(x, x)."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """Examples whose labels may be wrong, the most doubtful first."""

    index: np.ndarray
    """Row in the X given to ``fit``; -1 if learned from a stream."""
    position: np.ndarray
    """Index in ``support_vectors_``."""
    label: np.ndarray
    """Its label."""
    suggestion: np.ndarray
    """The label predicted by the other examples."""
    score: np.ndarray
    """Score of the label by the other examples; negative if they contradict it."""


def suspects(
    view: Any, n: int | None, known: np.ndarray | None = None, without: Any = None
) -> Suspects:
    """The n support vectors with the lowest scores; None: all with a negative score.

    ``known``: values of the machines for the support vectors, where they need not be computed.
    ``without``: a function that gives values of the machines for some of the support vectors, by the model
    without these.
    """
    if view.kernel.name == "precomputed":
        raise ValueError(
            "suspects compares support vectors with each other, and they are not stored with "
            "kernel='precomputed': pass the kernel as a function of two arrays."
        )
    label = view.encoder.places()[view.label_numbers()]
    values = view.support_values() if known is None else known
    scores = _of_classes(view, values - (view.terms() * _own_part(view)).T)
    absent: Any = [] if view.present is None else np.flatnonzero(~view.present[view.order])
    doubted = np.flatnonzero(_margins(scores, label, absent) < 0.0)
    again = without(doubted) if without is not None and len(doubted) else None
    if again is not None:
        scores[doubted] += SECOND * (_of_classes(view, again) - scores[doubted])
    score = _margins(scores, label, absent)
    scores[:, absent] = -np.inf  # never suggested
    said = scores.argmax(axis=1)
    order = np.argsort(score, kind="stable")
    order = order[score[order] < 0.0] if n is None else order[:n]
    return Suspects(
        view.support[order], order, view.classes[label[order]], view.classes[said[order]],
        score[order],
    )  # fmt: skip


def _of_classes(view: Any, values: np.ndarray) -> np.ndarray:
    """Scores (n, classes) from values of the machines."""
    scores: np.ndarray = view.encoder.scores(values)
    return np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores.copy()


def _margins(scores: np.ndarray, label: np.ndarray, absent: Any) -> np.ndarray:
    """The score of the label of each example, minus the best of another that is not ``absent``.

    The score itself, where no other is left to contradict it.
    """
    rows = np.arange(len(label))
    others = scores.copy()
    others[:, absent] = -np.inf
    others[rows, label] = -np.inf
    best = others.max(axis=1)
    return np.asarray(scores[rows, label] - np.where(best > -np.inf, best, 0.0))


def _own_part(view: Any) -> np.ndarray:
    """d^2 of every support vector."""
    diagonal = view.diagonal()
    n = len(diagonal)
    if n < 2:
        return diagonal
    some = np.sort(np.random.RandomState(0).permutation(n)[:SAMPLE])
    values = view.similarities(some)
    ridge = RIDGE * max(float(np.abs(diagonal).mean()), 1e-300)
    with one_blas_thread():  # several would wait for each other where other programs run
        among = cholesky(values[some] + ridge * np.eye(len(some)), lower=True)
        parts = solve_triangular(among, values.T, lower=True, overwrite_b=True, check_finite=False)
        inverse = solve_triangular(among, np.eye(len(some)), lower=True)
    distance = diagonal - np.einsum("ij,ij->j", parts, parts)
    alone = 1.0 / np.einsum("ij,ij->j", inverse, inverse) - ridge
    distance[some] = alone  # from the span of the rest of the sample
    return np.clip(distance, 0.0, np.maximum(diagonal, 0.0))
