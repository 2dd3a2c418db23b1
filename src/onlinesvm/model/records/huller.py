"""The Huller's learning state: rows, and a pair of hulls for each machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.huller.learner import Huller
from ...core.huller.steps import (
    INSERTED,
    NN,
    NP,
    PP,
    SEEDED_N,
    SEEDED_P,
    SEEDS,
    STEPS,
    STUCK,
    Hulls,
    N,
)
from ...core.kernel.buffers import Buffers
from ..fields import Fields, narrow
from .common import (
    LARGEST_CACHE,
    Context,
    blank,
    kept_fields,
    kept_of,
    keys_of,
    labels_of,
    positives,
    store_fields,
    store_of,
)

_COUNTS = {"seeded_n": SEEDED_N, "seeded_p": SEEDED_P, "steps": STEPS, "inserted": INSERTED}


def huller_fields(learner: Huller) -> dict[str, Any]:
    """Everything that the Huller needs to go on as if it had never stopped."""
    kept = learner.kept_rows()
    return {
        "slack": bool(learner.quadratic),
        "tol": float(learner.tol),
        "sweeps": int(learner.sweeps),
        "cache_size": float(learner.cache_size),
        "rng": learner.rng,
        "store": store_fields(learner.store),
        "key": narrow(learner.key),
        "label": narrow(learner.label),
        "ridge": learner.ridge,
        "hulls": [_hull_fields(h, k) for h, k in zip(learner.hulls, kept)],
    }


def _hull_fields(h: Hulls, kept: Any) -> dict[str, Any]:
    n = int(h.state[N])
    return {
        "beta": h.beta[:n],
        "handle": narrow(h.handle[:n]),
        "key": narrow(h.key[:n]),
        "ridge": h.ridge[:n],
        "scalar": h.scalar,
        "stuck": bool(h.state[STUCK]),
        "kept": kept_fields(kept),
        **{name: int(h.state[place]) for name, place in _COUNTS.items()},
    }


def huller_of(fields: Fields, context: Context) -> Huller:
    """The learner again."""
    learner = blank(Huller)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.quadratic, learner.tol = fields.flag("slack"), fields.number("tol", 0.0)
    learner.sweeps = fields.whole("sweeps")
    learner.cache_size = fields.number("cache_size", 0.0, LARGEST_CACHE)
    learner.rng = fields.take("rng")
    if not isinstance(learner.rng, np.random.Generator):
        raise fields.wrong("rng", "is not a random generator")
    learner.store, learner.buffers = store_of(fields.record("store"), context), Buffers()
    n = learner.store.n
    learner.key, learner.label = keys_of(fields, n, context), labels_of(fields, n, context)
    learner.ridge = fields.array("ridge", np.float64, (n,), low=0.0)
    learner.positive = positives(context.n_labels).tolist()
    machines = len(learner.positive)
    parts = fields.records("hulls", machines)
    pairs = [_hull_of(part, n, context, machines) for part in parts]
    learner.hulls, learner.kept = [hull for hull, _ in pairs], [kept for _, kept in pairs]
    learner.caches = [None] * machines
    fields.close()
    return learner


def _hull_of(fields: Fields, stored: int, context: Context, machines: int) -> tuple[Hulls, Any]:
    beta = fields.array("beta", np.float64, (None,), -2.0, 2.0)
    n = len(beta)
    state = np.zeros(9, np.int64)
    state[N], state[STUCK] = n, fields.flag("stuck")
    for name, place in _COUNTS.items():
        state[place] = fields.whole(name, 0, SEEDS if name.startswith("seeded") else 2**53)
    hull = Hulls(
        beta=beta,
        handle=fields.array("handle", np.int64, (n,), 0, stored - 1),
        key=keys_of(fields, n, context),
        ridge=fields.array("ridge", np.float64, (n,), low=0.0),
        scalar=fields.array("scalar", np.float64, (4,), infinite=True),
        state=state,
    )
    kept = None if fields.absent("kept") else kept_of(fields.record("kept"), n, machines)
    fields.close()
    if len(np.unique(hull.handle)) != n:
        raise fields.wrong("handle", "has a row twice")
    if not np.isfinite(hull.scalar[:3]).all():
        raise fields.wrong("scalar", "has values that are not finite")
    both = (beta > 0).any() and (beta < 0).any()
    if both and not hull.scalar[PP] - 2.0 * hull.scalar[NP] + hull.scalar[NN] > 0.0:
        raise fields.wrong("scalar", "gives two hulls no distance")
    if both != (state[SEEDED_N] > 0 and state[SEEDED_P] > 0):
        raise fields.wrong("beta", "does not fit the classes seen")
    return hull, kept
