"""Scores of examples by models that have not learned them: cross-fitting from a finished model.

    for each fold B of the examples, until there are enough scores
        S' = S without B                       in a copy
        sum(alpha) = 0 again                   the rows that violate most take over
        optimise S'                            from where it stands: few steps
        second look                            examples near the margin that B had made unnecessary
        f'(x_i) for every i in B

A finished model has fitted its support vectors: their scores are on the margin or beyond, unlike
those of new examples. Scores noted before an example was learned are those of models that had seen
little. The models here have seen all but a fold of the examples.

Given: a learner, the examples it has learned and what is known of their slacks. Returned: decision
values (n, machines) of some of them, or scores of labels, and how many examples each stands for.

``held_out_values`` does the same for targets, which have no labels.

``held_rows`` does the same with nothing but the learner: the rows that it holds are scored by models
without them. Examples that it does not hold have no part in it, so that their scores are as they are.

``score_beginning`` does it at the end of a stream that was never more than its beginning.

``score_again`` makes all scores of a fit again after many support vectors were forgotten: scores of a model
that has changed much since say little about the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...examples import Examples
from ...kernel.kernel import Kernel
from ...prequential import residuals
from ...prequential.asides import Scored, copies_of
from ...runtime.interrupts import checkpoint
from ..learner import LASVM
from . import working_set
from .removal import remove
from .second_look import admit
from .slack_bounds import DataSet

GAP = 0.05
"""Gap to which the models of the folds are optimised, or that of the learner if it is larger:
scores of many need not be more precise than this. Of up to ``SMALL_SAMPLE`` examples: to tau."""

FOLDS, SMALL_SAMPLE, MORE_FOLDS = 5, 2000, 10
"""Folds of the examples, and those of up to ``SMALL_SAMPLE`` examples, where each of them matters."""

ENOUGH = 4096
"""Scores, of all labels together, after which the other folds are left alone: half as many suffice
of each of two labels, but all of a rarer one are wanted."""

SEVERAL = 1.5
"""Examples that a row stands for, from which on it has copies."""

VALUE_FOLDS, VALUE_GAP = 10, 0.01
"""The same of targets: their errors are what is wanted, in units of their spread."""

MANY = 0.05
"""Forgotten support vectors, as a share of the rows held, from which on scores are made again."""

_FEWEST = 64

_ANYWHERE = 1e100
"""Slack in units of a machine that no example has: those of a fold are told by an infinite one."""


class HeldOut(NamedTuple):
    """Scores of examples by models that have not learned them, in random order."""

    which: np.ndarray  # numbers of the examples
    scores: np.ndarray  # (n, machines)
    stands_for: np.ndarray  # how many examples of its label each stands for


def held_out(
    learner: LASVM, data: Examples, slacks: np.ndarray, most: int, rng: np.random.RandomState
) -> Iterator[HeldOut | None]:
    """Cross-fitted scores of at most ``most`` examples: the last thing yielded, after each fold.

    ``data.key`` are the numbers of the examples; the learner is not changed. ``slacks`` as in
    ``second_look``: examples near the margin may join the models of folds they are not in.
    """
    fold = _folds(data.label, rng)
    visited = _visited(data.label, fold)
    which, stands_for = _sample(data.label, np.flatnonzero(fold < visited), most, rng)
    scores = np.empty((len(which), learner.n_scores))
    for k in range(visited):
        checkpoint()
        part = np.flatnonzero(fold[which] == k)
        twin = _without(learner, fold == k, data, slacks)
        scores[part] = twin.scores_of(twin.decide(data.rows.take(which[part])))
        yield None
    yield HeldOut(which, scores, stands_for)


def held_out_values(
    learner: LASVM, data: Examples, slacks: np.ndarray, most: int, rng: np.random.RandomState
) -> Iterator[tuple[np.ndarray, np.ndarray] | None]:
    """As ``held_out`` for targets: at last, numbers of examples in random order and their values."""
    n = len(data.rows)
    fold = rng.permutation(n) % VALUE_FOLDS
    visited = min(VALUE_FOLDS, -(-VALUE_FOLDS * min(most, ENOUGH) // n))
    which = rng.permutation(np.flatnonzero(fold < visited))[:most]
    values = np.empty((len(which), learner.machines))
    for k in range(visited):
        checkpoint()
        part = np.flatnonzero(fold[which] == k)
        twin = _without(learner, fold == k, data, slacks, VALUE_GAP)
        values[part] = twin.decide(data.rows.take(which[part]))
        yield None
    yield which, values


def calibrate(
    learner: LASVM, data: Examples, slacks: np.ndarray, rng: np.random.RandomState
) -> Iterator[None]:
    """Cross-fitted values of targets replace those noted on the way, for the offsets of quantiles."""
    watch = learner.watch
    for found in held_out_values(learner, data, slacks, watch.most_scores, rng):
        if found is not None:
            which, values = found
            targets = learner.support.linear(data.label[which]).T
            watch.replace(values, targets, data.bound[which], data.key[which])
        yield


def _folds(label: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """The fold of each example: a model must lack the same share of every label."""
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), np.int64)
    fold[order] = np.arange(len(label)) % (MORE_FOLDS if len(label) <= SMALL_SAMPLE else FOLDS)
    return fold


def _visited(label: np.ndarray, fold: np.ndarray) -> int:
    """How many folds hold enough examples of each label."""
    counts = np.bincount(label)
    wanted = np.minimum(counts, max(_FEWEST, ENOUGH // len(counts)))
    folds = int(fold.max()) + 1
    found = np.zeros(len(counts), np.int64)
    for k in range(folds):
        found += np.bincount(label[fold == k], minlength=len(counts))
        if (found >= wanted).all():
            return k + 1
    return folds


def _sample(
    label: np.ndarray, among: np.ndarray, most: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Up to ``most`` of the examples in random order, rare labels first, and what each stands for."""
    among = rng.permutation(among)
    counts = np.bincount(label[among], minlength=int(label.max()) + 1)
    quota, left = np.zeros(len(counts), np.int64), most
    for place, k in enumerate(np.argsort(counts, kind="stable")):
        quota[k] = min(counts[k], left // (len(counts) - place))
        left -= quota[k]
    rank = np.empty(len(among), np.int64)
    for k in range(len(counts)):
        rank[label[among] == k] = np.arange(counts[k])
    which = among[rank < quota[label[among]]]
    return which, (np.bincount(label) / np.maximum(quota, 1))[label[which]]


def _without(
    learner: LASVM, gone: np.ndarray, data: Examples, slacks: np.ndarray, gap: float = GAP
) -> LASVM:
    """The learner as it would be without some of its examples, optimised to about this gap."""
    slot = learner.support.slots(data.key[gone])
    slot = slot[slot >= 0]
    if not len(slot):
        return learner
    twin, gap = _without_rows(learner, slot, len(data.rows), gap=gap)
    if not twin.singly:
        tolerances, others = twin.tolerances, np.where(gone, -np.inf, slacks)
        near = min(tolerances.near, _ANYWHERE)
        if len(admit(twin, data, others, near, tolerances.reenter * twin.support.unit)):
            _optimise(twin, gap)
    return twin


def _without_rows(
    learner: LASVM, slot: np.ndarray, n: int, kernel: Kernel | None = None, gap: float = GAP
) -> tuple[LASVM, float]:
    """A copy without the rows of these slots, and how far it is optimised, of a set of n examples."""
    twin = learner.twin(kernel)
    remove(twin, slot)
    precise = learner.tau if n <= SMALL_SAMPLE else max(learner.tau, gap)
    reached = np.where(np.isfinite(learner.delta), learner.delta / learner.unit, 0.0)
    gap = max(precise, float(reached.max()))
    _optimise(twin, gap)
    return twin, gap


def held_rows(learner: LASVM, copies: np.ndarray) -> HeldOut:
    """Scores of rows that the learner holds, by models without them; ``which`` are their slots.

    A row of several ``copies`` stays: the others would be there if one of them were not. Nothing is
    changed, and nothing counted as training.
    """
    support, n = learner.support, learner.support.n
    label, quiet = support.labels(np.arange(n)), replace(learner.kernel)
    fold = _folds(label, np.random.RandomState(0))
    which = np.flatnonzero(fold < _visited(label, fold))
    scores = np.empty((len(which), learner.n_scores))
    for k in np.unique(fold[which]):
        checkpoint()
        gone = np.flatnonzero((fold == k) & (copies < SEVERAL))
        twin = _without_rows(learner, gone, n, quiet)[0] if len(gone) else learner.twin(quiet)
        part = fold[which] == k
        scores[part] = twin.scores_of(twin.decide(support.rows().take(which[part])))
    share = np.bincount(label) / np.maximum(1, np.bincount(label[which], minlength=label.max() + 1))
    return HeldOut(which, scores, share[label[which]])


def values_without(learner: LASVM, slots: np.ndarray) -> np.ndarray:
    """Decision values (n, machines) of rows held, by the model without all of them.

    Nothing is changed, and nothing counted as training.
    """
    twin, _ = _without_rows(learner, slots, learner.n, replace(learner.kernel))
    return twin.decide(learner.support.rows().take(slots))


def score_held(learner: LASVM, copies: np.ndarray | None) -> Scored:
    """The same with labels and weights, as ``asides`` takes them; ``copies`` as there."""
    label, bound = learner.labels(np.arange(learner.n)), learner.support.a.bound[: learner.n]
    key = learner.support.a.key[: learner.n]
    found = held_rows(learner, copies_of(copies, key))
    which = found.which
    return Scored(found.scores, label[which], bound[which] * found.stands_for, key[which])


def score_beginning(learner: LASVM) -> None:
    """Of the beginning of a stream, scores by models without them replace those by models that knew less.

    All its examples are held, unless some were forgotten.
    """
    watch = learner.watch
    if watch is None or not watch.keeps_scores or not learner.begins or learner.n != learner.seen:
        return
    found, support = held_rows(learner, np.ones(learner.n)), learner.support
    which = found.which
    label, bound, key = support.labels(which), support.a.bound[which], support.a.key[which]
    watch.replace(found.scores, label, bound, found.stands_for, key)


def _optimise(learner: LASVM, gap: float) -> None:
    """The support set until delta <= gap. The bias of a machine left with one sign is that sign."""
    support = learner.support
    working_set.optimise_all(support, learner.kernel, gap, learner.cache_size)
    support.measure()
    support.settle_one_sided()


# -- after examples were forgotten ------------------------------------------------------


def score_again(learner: LASVM, left: DataSet) -> None:
    """The examples that are left, with their numbers, are scored by the model as it is now."""
    if learner.asides is not None and learner.asides.beyond is not None:
        _score_beyond(learner, left)
    watch = learner.watch
    if watch is not None and watch.keeps_scores and watch.replaced == watch.n:
        _score_held_out(learner, left)
    elif watch is not None and watch.is_cross_fitted and len(left.key) >= residuals.FEWEST:
        data, slacks, rng = _given(learner, left)
        for _ in calibrate(learner, data, slacks, rng):
            pass


def _score_beyond(learner: LASVM, left: DataSet) -> None:
    """Of examples that are not held, those whose scores were kept; held ones are scored on request."""
    beyond, held = learner.asides.beyond, learner.support.a.key[: learner.n]
    away = np.flatnonzero((beyond.key >= 0) & ~np.isin(beyond.key, held))
    beyond = beyond.take(away)
    scores = learner.scores_of(learner.decide(left.take(beyond.key).rows))
    learner.asides.beyond = beyond._replace(scores=scores.astype(np.float32))


def _score_held_out(learner: LASVM, left: DataSet) -> None:
    """Cross-fitted scores, as at the end of a fit."""
    watch, (data, slacks, rng) = learner.watch, _given(learner, left)
    *_, found = held_out(learner, data, slacks, watch.most_scores, rng)
    assert found is not None
    label, bound = data.label[found.which], data.bound[found.which]
    watch.replace(found.scores, label, bound, found.stands_for, found.which)


def _given(learner: LASVM, left: DataSet) -> tuple[Examples, np.ndarray, np.random.RandomState]:
    """The examples, their slacks by the model as it is, as far as they are known, and chance."""
    known = learner.known_slacks()
    slacks = np.full((learner.machines, len(left.key)), np.inf)
    if known is not None:
        slacks = known.slacks.astype(np.float64)
    return left.take(np.arange(len(left.key))), slacks, np.random.RandomState(0)
