"""Drive ``core.lasvm`` one example at a time next to its twin, and compare all they have.

Kernel values are float32 in both; everything else is float64 and computed in the same order of
operations, so equality is asked for to the last bit: no tolerance, and no path that parts from
its twin because a rounding made another pair the most violating one.
"""

import numpy as np

from naive.lasvm import NaiveOneVsRest
from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.learner import LASVM


class Lockstep:
    """A learner and its twin on the same examples."""

    def __init__(self, X, label, kernel=None, C=1.0, tau=1e-3, cache_size=1.0, weight=1.0):
        self.kernel = kernel or Kernel("rbf", gamma=0.5)
        label = np.asarray(label)
        n = len(label)
        rows = Rows.of(X)
        bound = np.broadcast_to(np.asarray(C * weight, np.float64), n).copy()
        self.data = Examples(rows, label, bound, self.kernel.diagonal(rows), np.arange(n))
        self.K = self.kernel.block(rows, rows)
        self.kernel.n_evaluations = 0
        self.learner = LASVM(
            self.kernel, rows, int(label.max()) + 1, tau=tau, cache_size=cache_size,
            block_size=1,
        )  # fmt: skip
        K = self.K.astype(np.float64)
        np.fill_diagonal(K, self.data.diagonal)
        self.twin = NaiveOneVsRest(K, label, bound, tau, self.a.positive.tolist())
        self.slot_of = np.full(n, -1)
        self.n_compared = 0

    @property
    def support(self):
        return self.learner.support

    @property
    def a(self):
        return self.learner.support.a

    def visit(self, k):
        """PROCESS(k) and REPROCESS in the code, through the very loops that ``fit`` uses."""
        self.learner.learn_singly(self.data.take(np.array([k])), self.slot_of)

    def run(self, order):
        """Both visit all examples in ``order``, compared after each."""
        for k in order:
            self.visit(k)
            self.twin.visit(k)
            self.compare()

    def finish(self):
        """Both run the finishing step; evicted examples are gone from ``slot_of`` too."""
        self.learner.finish()
        self.twin.finish()
        self.slot_of[:] = -1
        self.slot_of[self.a.key[: self.support.n]] = np.arange(self.support.n)
        self.compare()

    def compare(self):
        for m in range(len(self.twin.machines)):
            self.compare_machine(m)
        self.check_rows()
        self.check_cache()

    def compare_machine(self, m):
        """S, alpha, g, b and delta of machine m are the twin's, bit for bit."""
        a, n, twin = self.a, self.support.n, self.twin.machines[m]
        member = a.member[m, :n]
        slots = np.flatnonzero(member)
        keys = a.key[slots]
        assert set(keys.tolist()) == twin.S
        assert_same(a.alpha[m, slots], twin.alpha[keys])
        assert_same(a.grad[m, slots], twin.g[keys])
        assert (a.bias[m], a.delta[m]) == (twin.b, twin.delta)
        assert not a.alpha[m, :n][~member].any(), "a coefficient outside S"
        self.n_compared += 1

    def check_rows(self):
        """Each slot's row, label, bound are those of the example it says it is."""
        support, a, n = self.support, self.a, self.support.n
        keys = a.key[:n]
        assert len(set(keys.tolist())) == n
        assert a.member[:, :n].any(axis=0).all(), "a row that no machine keeps"
        held, wanted = support.rows(), self.data.rows.take(keys)
        assert_same(dense(held), dense(wanted))
        assert_same(held.squares, wanted.squares)
        for name in ("label", "bound", "diagonal"):
            assert_same(getattr(a, name)[:n], getattr(self.data, name)[keys])
        where = np.full(len(self.slot_of), -1)
        where[keys] = np.arange(n)
        assert_same(self.slot_of, where)

    def check_cache(self):
        """Every kept row holds its example's kernel values; all pages are accounted for."""
        c, n = self.learner.values.cache, self.support.n
        keys, kept = self.a.key[:n], np.flatnonzero(c.pages[:n])
        width = -(-n // c.pool.shape[1])
        assert (c.pages[kept] == width).all()
        assert not c.pages[n:].any()
        pages = c.table[kept, :width]
        wanted = self.K[np.ix_(keys[kept], keys)]
        wanted[np.arange(len(kept)), kept] = self.a.diagonal[kept]
        assert_same(c.pool[pages].reshape(len(kept), -1)[:, :n], wanted)
        free = c.free[: c.count[0]]
        assert_same(np.sort(np.append(pages.ravel(), free)), np.arange(len(c.pool)))


def assert_same(actual, expected):
    """Equal to the last bit; the slow message only where they are not."""
    if not np.array_equal(actual, expected):
        np.testing.assert_array_equal(actual, expected)


def dense(rows):
    values = rows.to_array()
    return values if isinstance(values, np.ndarray) else values.toarray()
