"""One fit of a data set in memory (lasvm-2005, section 3.2): epochs, second look, finishing step.

    epochs        online iterations over the examples, in order or as a criterion chooses them
    second look   examples that were turned away near the margin are judged again
    finish        the support set is optimised until delta <= tau
    held out      where probabilities are wanted, examples are scored by models without them
    converge      examples that violate are admitted until none is left: the exact SVM; also where
                  it costs next to nothing and each example matters: there are few of them (``BEGINNING``), or few
                  of some class and few support vectors (not in the listing)

``Fit.stages`` gives these one after another, each as an iterator of steps; between two steps the
model is consistent, so the caller may stop there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..examples import Examples
from ..prequential.residuals import FEWEST
from .block.block import LOOKS
from .block.held_out import calibrate, held_out
from .choose.selection import SelectiveLASVM, Urn
from .learner import BEGINNING, LASVM
from .tasks import Classification

_NOBODY = np.empty(0, np.int64)

RARE = 100
"""Number of examples of a class up to which every fit converges ..."""

FEW_VECTORS = 0.05
"""... where support vectors are no more than this share of the examples."""


class Stage(NamedTuple):
    """Part of a fit: its name if it is worth telling, its steps, and their number if known."""

    name: str | None
    steps: Iterator[Any]
    n_steps: int | None


class Plan(NamedTuple):
    """What a fit is to do."""

    epochs: int = 1
    converge: bool = False
    shuffle: bool = True
    most: float = np.inf  # maximum number of examples to learn
    held: np.ndarray = _NOBODY  # examples that are never learned
    enough: Callable[[LASVM, int, np.ndarray], bool] | None = None
    """Asked after each step, with the number of examples learned and those not yet learned in this
    epoch; true ends the epochs."""
    most_steps: int | None = None  # maximum number of pair steps of each machine


class Fit:
    """A fit under way. ``slacks[m, i]`` is example i's last known slack for machine m."""

    def __init__(self, learner: LASVM, data: Examples, rng: np.random.RandomState, plan: Plan):
        self.learner, self.data, self.rng, self.plan = learner, data, rng, plan
        self.slacks = np.full((learner.machines, len(data.rows)), np.inf)  # not judged yet
        self.n_iter = 0  # examples learned
        self.n_iter_of_labels: np.ndarray | None = None  # of each label, where machines are pairs
        if learner.task.partial:
            self.n_iter_of_labels = np.zeros(learner.n_labels, np.int64)
        self.stopped = False  # by ``plan.enough``
        self.reached = True  # whether the finishing step reached its tolerance
        self.exhausted = False  # whether some machine has made all the steps that it may
        if plan.most_steps is not None:
            learner.support.left = np.full(learner.machines, plan.most_steps)

    @property
    def _left(self) -> float:
        return self.plan.most - self.n_iter

    @property
    def _selective(self) -> bool:
        return isinstance(self.learner, SelectiveLASVM)

    def stages(self) -> Iterator[Stage]:
        """The parts of the fit. The steps of each are to be taken before the next is asked for."""
        for epoch in range(self.plan.epochs):
            yield self._epoch(f"epoch {epoch + 1}")
            if self.stopped or self._left < 1:
                self.slacks[np.isposinf(self.slacks)] = -np.inf  # not asked for: never learned
                break
        self.slacks[:, self.plan.held] = -np.inf
        if not self._selective:
            yield Stage(None, self._look_again(), 1)
        yield Stage(None, self._finish(), 1)
        if self._converges:
            steps = self.learner.converge(self.data, self.slacks, self.reached)
            yield Stage("converge" if self.plan.converge else None, steps, None)
            self.reached = self.learner.converged
            if self.reached:
                self.learner.keep_slacks(self.slacks, self.data.bound)
        if self._makes_probabilities:
            yield Stage(None, self._score_held_out(), None)
        elif self._calibrates:
            yield Stage(None, calibrate(self.learner, self.data, self.slacks, self.rng), None)

    @property
    def _converges(self) -> bool:
        """Whether the fit goes on until no example violates."""
        return self.plan.converge or self._is_cheap()

    @property
    def _makes_probabilities(self) -> bool:
        """Whether scores are wanted, and the order of the examples meant nothing."""
        watch = self.learner.watch
        return self.learner.memory is None and watch is not None and watch.keeps_scores

    @property
    def _calibrates(self) -> bool:
        """Whether quantiles are to be calibrated, and the order of the examples meant nothing."""
        watch = self.learner.watch
        wanted = self.learner.memory is None and watch is not None and watch.offsets is not None
        return wanted and len(self.data.rows) >= FEWEST

    def _is_cheap(self) -> bool:
        """Whether each example matters, all were learned in blocks, and to converge costs little."""
        in_blocks = self.learner.memory is None and not self.learner.singly
        n = len(self.data.rows)
        if self._selective or self.stopped or not in_blocks or len(self.plan.held):
            return False
        if n > self.n_iter:
            return False
        return n <= BEGINNING or self.learner.support.task.is_smooth or self._has_rare_class()

    def _has_rare_class(self) -> bool:
        """Whether some class has few examples, and there are few support vectors."""
        task, n = self.learner.task, len(self.data.rows)
        if not isinstance(task, Classification):
            return False
        vectors = np.count_nonzero(self.learner.support.alpha().any(axis=0))
        rarest = task.rarest(self.data.label[self.data.bound > 0])
        return bool(rarest <= RARE and vectors <= FEW_VECTORS * n)

    def _epoch(self, name: str) -> Stage:
        """One pass over what may be learned."""
        if self._selective:
            return Stage(name, self._chosen(), None)
        n = len(self.data.rows)
        order = self.rng.permutation(n) if self.plan.shuffle else np.arange(n)
        if len(self.plan.held):
            order = order[~np.isin(order, self.plan.held)]
        order = order[: int(min(self._left, n))]
        count = self.learner.n_steps(len(order)) if self.plan.enough is None else None
        return Stage(name, self._in_order(order), count)

    def _in_order(self, order: np.ndarray) -> Iterator[int]:
        """Examples as they come (section 3.2)."""
        before, seen = self.n_iter, 0
        for done in self.learner.epoch(self.data, order, self.slacks, before == 0):
            self.n_iter = before + done
            if self.n_iter_of_labels is not None:
                labels = self.data.label[order[seen:done]]
                self.n_iter_of_labels += np.bincount(labels, minlength=self.learner.n_labels)
            seen = done
            yield done
            if self._is_enough(order[done:]):
                return

    def _chosen(self) -> Iterator[int]:
        """Examples as the criterion wants them (section 4.3)."""
        assert isinstance(self.learner, SelectiveLASVM)
        weight = self.data.bound.copy()
        weight[self.plan.held] = 0.0
        urn = Urn(weight, self._left)
        for chosen in self.learner.choose(self.data, self.rng, urn):
            self.n_iter += len(chosen)
            yield len(chosen)
            if self._is_enough(np.flatnonzero(urn.weight)):
                return

    def _is_enough(self, unseen: np.ndarray) -> bool:
        if self.plan.enough is not None:
            self.stopped = self.plan.enough(self.learner, self.n_iter, unseen)
        left = self.learner.support.left
        self.stopped |= left is not None and not left.any()
        return self.stopped

    def _look_again(self) -> Iterator[None]:
        self.learner.second_look(self.data, self.slacks)
        yield

    def _finish(self) -> Iterator[None]:
        self.reached = _finish(self.learner, self.plan.converge)
        for _ in range(0 if self._selective or self._converges else LOOKS):
            if not self.learner.admit_misled(self.data, self.slacks):
                break
            self.reached = _finish(self.learner, self.plan.converge)
        if self.learner.watch is not None and self.plan.shuffle:
            self.learner.watch.use_quantiles()
        yield

    def lift_limits(self) -> None:
        """However it ended: the learner may go on from here."""
        left, self.learner.support.left = self.learner.support.left, None
        self.exhausted = left is not None and not left.all()

    def keep_beyond(self) -> None:
        """However it ended: keep scores of examples that are not stored, for later calibration."""
        in_blocks = self.learner.memory is None and not self.learner.singly
        if in_blocks and not self._selective:
            self.learner.keep_beyond(self.slacks, self.data)

    def _score_held_out(self) -> Iterator[None]:
        """Cross-fitted scores replace those noted on the way (``held_out``)."""
        watch = self.learner.watch
        assert watch is not None
        for found in held_out(self.learner, self.data, self.slacks, watch.most_scores, self.rng):
            if found is not None:
                label, bound = self.data.label[found.which], self.data.bound[found.which]
                watch.replace(found.scores, label, bound, found.stands_for, found.which)
            yield


def _finish(learner: LASVM, converge: bool) -> bool:
    """The finishing step: to tau, or, in a fit that need not converge, as far as its task asks for."""
    if converge or learner.memory is not None:
        return bool(learner.finish())
    support = learner.support
    done = learner.finish(max(learner.tau, support.task.enough(support.unit)))
    support.buffers.clear()
    return done


def wind_up(learner: LASVM, briefly: bool) -> None:
    """What a fit that is cut short still needs: finished roughly, then, unless ``briefly``, in full.

    Steps on the last blocks alone leave biases and coefficients far from any optimum, the farther the
    larger the support set is. The rough part is most of what finishing is worth, and cheap; all
    machines have it before one goes on.
    """
    learner.finish(max(learner.tau, learner.tolerances.rough))
    if not briefly:
        _finish(learner, converge=False)
