"""Importance weights that make chosen examples representative of their pool.

Questions of active learning lie near the boundary: their scores are not representative. Examples
are sorted by a score t into bins that hold equal numbers of those chosen, and

    weight of an example = share of the pool in its bin / share of the chosen in its bin

A question depends on its example and on earlier labels, not on its own label: near the boundary labels
given t are as in the pool.

Given: scores (n, machines) of the chosen, by models that have not learned them, and of the others
in the pool. t is the decision value of two labels, else the distance between the two best.

Notes
-----
Far from the boundary they are not quite. Where the first labels of a region agreed, nothing more was
asked, and scores are far; where they did not, questions went on until scores were near. So labels of
chosen examples with a far score agree with it too often (with very noisy labels and few questions 92 %
of those beyond twice the margin, of the pool 78 %). Weights of any score cannot correct this; labels of
random examples do. Folds of successive questions do in part, but where labels are few and not noisy their
models are much worse than the one that is served.
"""

from __future__ import annotations

import numpy as np

PER_BIN, MOST_BINS = 20, 5
"""Chosen examples in a bin, at least, and the maximum number of bins: few in a bin make weights of
chance, few bins do not tell far from near."""


def pool_weights(chosen: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Number of examples of the pool that each chosen example represents."""
    own, rest = _place(chosen), _place(others)
    bins = int(np.clip(len(own) // PER_BIN, 1, MOST_BINS))
    edges = np.unique(np.quantile(own, np.linspace(0.0, 1.0, bins + 1)[1:-1]))
    bin_of, n = np.searchsorted(edges, own, side="right"), len(edges) + 1
    count = np.bincount(bin_of, minlength=n)
    pool = count + np.bincount(np.searchsorted(edges, rest, side="right"), minlength=n)
    return np.asarray((pool / np.maximum(count, 1))[bin_of])


def _place(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        return scores[:, 0]
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])
