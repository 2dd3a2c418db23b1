"""LASVM that chooses its examples (lasvm-2005, section 4.3, "Randomized Search").

    repeat   pick M random examples among those not yet processed
             k <- the best of them by the criterion             (``criteria.py``)
             PROCESS(k), REPROCESS

With ``block_size == 1`` it is this, step by step. Else the candidates of T steps ahead are scored
in one fused product, and the T chosen are learned in one block step (``core/lasvm/block.py``).

Notes
-----
*Look-ahead.* Within T steps the scores are those of the model at their beginning. T is a
twentieth of the support set, so that what the T examples change in the decision function is
small beside the difference between one random sample of M candidates and the next; T is 1 while
the support set is small and changes fast.

*Weights.* Examples are drawn in proportion to their cost: copies that were merged into one example
of greater cost are drawn with the probability of all their copies together.

*No eviction.* A block step optimises further than one REPROCESS does; after it, examples at zero
are not evicted, because section 3.5 warns of the loss. They are few: most examples chosen close to
the boundary stay support vectors.

*Streams.* ``learn`` looks at each example that comes and learns those that the criterion wants:
within 1 + delta / 2 of the boundary (active), y f < 1 + delta / 2 (gradient, eq. 11). Examples of
a label of which fewer than ``SEEDS`` were learned, or none is a support vector, always are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...examples import Examples
from ...kernel.rows import Rows
from ...runtime.interrupts import checkpoint
from ..block import block as lasvm_block
from ..learner import LASVM
from ..online.memory import SEEDS
from .criteria import (
    AUTOACTIVE,
    GRADIENT,
    MOST_SAMPLED,
    NEAR_ENOUGH,
    agreement,
    best_of,
    distance,
    sets_of_equal_size,
    sets_until_enough,
)

LOOK_AHEAD = 20
"""Examples chosen at once: the size of the support set divided by this number."""


class SelectiveLASVM(LASVM):
    """LASVM with a criterion for which examples to learn."""

    def __init__(self, *args: Any, selection: str, sample_size: int, **settings: Any):
        super().__init__(*args, **settings)
        self.selection, self.sample_size = selection, sample_size
        self.n_looked_at = 0
        self._learned = np.zeros(self.n_labels, np.int64)  # examples learned of each label
        self._set_size = float(
            MOST_SAMPLED
        )  # candidates that AUTOACTIVE recently needed for a choice
        self.everything = False  # whether a stream is learned without choosing

    def choices(self) -> tuple[int, int]:
        """Examples judged, and examples learned."""
        return self.n_looked_at, int(self._learned.sum())

    def learn_everything(self) -> None:
        """From now on learn every example that is given."""
        super().learn_everything()
        self.everything = True

    def add_label(self) -> None:
        """One more label, of which nothing was learned."""
        super().add_label()
        self._learned = np.append(self._learned, 0)

    def score(self, rows: Rows) -> np.ndarray:
        """Decision values (n, machines). Counts as training."""
        return self.kernel.product(rows, *self.support.expansion()) + self.support.a.bias

    def _judge(self, fresh: Examples) -> np.ndarray:
        """One number an example; the smallest is to be learned first."""
        values = self.score(fresh.rows)
        return agreement(values, fresh.label) if self.selection == GRADIENT else distance(values)

    @property
    def reach(self) -> float:
        """1 + delta / 2: how far from the boundary an example still matters (eq. 11)."""
        delta = self.support.a.delta.max()
        return 1.0 + delta / 2 if np.isfinite(delta) else np.inf

    def _ahead(self) -> int:
        """How many examples are chosen by one look at the candidates."""
        most = 1 if self.singly else self.block_size
        return int(np.clip(self.support.n // LOOK_AHEAD, 1, most))

    # -- a data set at hand ---------------------------------------------------------------

    def choose(self, data: Examples, rng: np.random.RandomState, urn: Urn) -> Iterator[np.ndarray]:
        """Online iterations until the urn is empty; yields the examples of each step."""
        slot_of = np.full(len(data.rows), -1)
        slot_of[self.support.a.key[: self.support.n]] = np.arange(self.support.n)
        chosen = self._seeds(data, rng, urn)
        while len(chosen):
            urn.remove(chosen)
            self._learn_chosen(data.take(chosen), slot_of)
            yield chosen
            chosen = self._choose(data, rng, urn)

    def _seeds(self, data: Examples, rng: np.random.RandomState, urn: Urn) -> np.ndarray:
        """Step 1: a few random examples of each class, where it has none yet."""
        if self.support.n:
            return self._choose(data, rng, urn)
        order = rng.permutation(np.flatnonzero(urn.weight))
        return np.concatenate([order[data.label[order] == c][:SEEDS] for c in range(self.n_labels)])

    def _choose(self, data: Examples, rng: np.random.RandomState, urn: Urn) -> np.ndarray:
        """The next examples, one for each step ahead."""
        steps = min(self._ahead(), urn.steps)
        auto = self.selection == AUTOACTIVE
        size = self.sample_size
        if auto:  # as many as the sets before needed; a single set must not end for want of them
            size = (
                MOST_SAMPLED
                if steps == 1
                else int(np.clip(1.2 * self._set_size, NEAR_ENOUGH, MOST_SAMPLED))
            )
        candidates = urn.draw(steps * size, rng)
        if not len(candidates):
            return candidates
        scores = self._judge(data.take(candidates))
        self.n_looked_at += len(scores)
        if auto:
            sets = sets_until_enough(scores, self.reach, steps)
            self._set_size = sets[-1][1] / len(sets)
        else:
            sets = sets_of_equal_size(len(scores), -(-len(scores) // steps))
        # Two sets may have the same best example; it is learned once.
        return np.unique(candidates[best_of(scores, sets)])

    def _learn_chosen(self, fresh: Examples, slot_of: np.ndarray) -> None:
        self._learned += np.bincount(fresh.label, minlength=self.n_labels)
        if self.singly:
            self.learn_singly(fresh, slot_of)
            return
        self.values.drop()
        slot = self.support.slots(fresh.key)
        lasvm_block.learn_block(self.support, self.kernel, fresh, slot)
        self._reduce_delta()

    # -- a stream -------------------------------------------------------------------------

    def learn(self, fresh: Examples, noted: bool = True) -> None:
        """Examples of a stream, in order; only those that the criterion wants are learned."""
        if self.everything:
            super().learn(fresh, noted)
            return
        first = 0
        while first < len(fresh.rows):
            if first:
                checkpoint()
            part = fresh.take(slice(first, first + self._ahead()))
            first += len(part.rows)
            wanted = np.flatnonzero(self._wanted(part))
            self.n_looked_at += len(part.rows)
            if len(wanted):
                self._learned += np.bincount(part.label[wanted], minlength=self.n_labels)
                super().learn(part.take(wanted))

    def learn_again(self, again: Examples) -> None:
        """Examples that come again are chosen again, as others."""
        self.learn(again, noted=False)

    def learn_one(
        self, x: np.ndarray, label: int, bound: float, diagonal: float, key: int = -1
    ) -> bool:
        """As ``learn`` with one dense row; False as in ``LASVM.learn_one``."""
        if self.everything:
            return super().learn_one(x, label, bound, diagonal, key)
        rows = Rows.of(x[None, :], absolute=self.kernel.absolute)
        if rows.squares[0] > self.kernel.far:
            return False
        fresh = Examples(rows, *(np.array([value]) for value in (label, bound, diagonal, key)))
        self.n_looked_at += 1
        if self._wanted(fresh)[0]:
            self._learned[label] += 1
            if not super().learn_one(x, label, bound, diagonal, key):
                super().learn(fresh)
        return True

    def _wanted(self, fresh: Examples) -> np.ndarray:
        """Whether each example is worth learning."""
        present = np.bincount(self.support.a.label[: self.support.n], minlength=self.n_labels)
        if np.count_nonzero(present) < 2:
            return np.ones(len(fresh.rows), bool)
        always = (self._learned[fresh.label] < SEEDS) | (present[fresh.label] == 0)
        return always | (self._judge(fresh) < self.reach)


class Urn:
    """Examples not yet processed, drawn in proportion to their weight, copies allowed.

    Removed ones are drawn and thrown away until they are half; then the urn is filled again.
    """

    def __init__(self, weight: np.ndarray, steps: float = np.inf):
        self.weight = weight.copy()
        self.steps = int(min(steps, len(weight)))  # how many examples may still be removed
        self._fill()

    def _fill(self) -> None:
        self._possible = np.flatnonzero(self.weight)
        self._total = np.cumsum(self.weight[self._possible])
        self._left = len(self._possible)

    def remove(self, which: np.ndarray) -> None:
        self.weight[which] = 0.0
        self.steps = max(0, self.steps - len(which))
        self._left -= len(which)
        if self._left < len(self._possible) // 2:
            self._fill()

    def draw(self, count: int, rng: np.random.RandomState) -> np.ndarray:
        """``count`` examples; if there are no more than that, all of them in random order."""
        if self._left <= count:
            return rng.permutation(np.flatnonzero(self.weight))
        drawn = [np.empty(0, np.int64)]
        while (missing := count - sum(map(len, drawn))) > 0:
            height = rng.random_sample(missing) * self._total[-1]
            place = np.searchsorted(self._total, height, side="right")
            found = self._possible[np.minimum(place, len(self._possible) - 1)]
            drawn.append(found[self.weight[found] > 0])
        return np.concatenate(drawn)
