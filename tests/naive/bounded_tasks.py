"""Slow twins of LASVM with a bounded memory for values and for novelty."""

import numpy as np

from .bounded import MOST, SEEDS, NaiveBounded


class NaiveValues(NaiveBounded):
    """One target; the slope of the objective jumps by two epsilon at a coefficient of zero."""

    epsilon = 0.0

    def lo(self, k):
        return -self.bound[k]

    def hi(self, k):
        return self.bound[k]

    def slack(self, k):
        return abs(self.gradient(k) - self.bias) - self.epsilon

    def of_label(self, k):
        return self.S

    def right(self, s):
        return self.gradient(s) - (self.epsilon if self.alpha[s] >= 0 else -self.epsilon)

    def left(self, s):
        return self.gradient(s) - (self.epsilon if self.alpha[s] > 0 else -self.epsilon)

    def extremes(self):
        up, down = self.can_rise(), self.can_fall()
        return max(up, key=self.right, default=None), min(down, key=self.left, default=None)

    def rise(self, i, j):
        return self.right(i) - self.left(j)

    def middle(self, i, j):
        return (self.right(i) + self.left(j)) / 2

    def process(self, k):
        i, j = self.extremes()
        self.search(*((k, j) if self.gradient(k) > self.bias else (i, k)))

    def bring_down(self, s, size):
        while abs(self.alpha[s]) > size:
            rest = abs(self.alpha[s]) - size
            if self.alpha[s] > 0:
                self.move(max([r for r in self.can_rise() if r != s], key=self.right), s, rest)
            else:
                self.move(s, min([r for r in self.can_fall() if r != s], key=self.left), rest)
            if abs(abs(self.alpha[s]) - size) <= 1e-15 * rest:
                self.alpha[s] = np.copysign(size, self.alpha[s]) if size else 0.0

    def move(self, i, j, step):
        end_i = 0.0 if self.alpha[i] < 0 else self.hi(i)
        end_j = 0.0 if self.alpha[j] > 0 else self.lo(j)
        room_i, room_j = end_i - self.alpha[i], self.alpha[j] - end_j
        step = min(step, room_i, room_j)
        self.alpha[i] = end_i if step >= room_i else self.alpha[i] + step
        self.alpha[j] = end_j if step >= room_j else self.alpha[j] - step
        for s in self.S:
            self.grad[s] -= step * (self.K[i, s] - self.K[j, s])


class NaiveNovelty(NaiveBounded):
    """One class: the coefficients sum to ``nu`` times the weights in the window."""

    nu = 0.5

    def __init__(self, K, weight, tau, **settings):
        super().__init__(K, np.zeros(len(K)), 1.0, tau, **settings)
        self.weight, self.gone = weight, 0.0

    def lo(self, k):
        return 0.0

    def hi(self, k):
        return self.bound[k]

    def slack(self, k):
        return self.gradient(k) - self.bias

    def of_label(self, k):
        return self.S

    def mass(self):
        """Of the window, without what made way; with a window and no budget, or the other way."""
        first = max(0, self.clock - (self.window or np.inf))
        return self.nu * self.weight[int(first) : self.clock].sum() - self.gone

    def become(self, s, value):
        step = value - self.alpha[s]
        self.alpha[s] = value
        for r in self.S:
            self.grad[r] -= step * self.K[s, r]
        return step

    def balance(self):
        rest = self.mass()
        for s in self.S:
            rest -= self.alpha[s]
        while abs(rest) > 1e-12 * self.mass():
            i, j = self.extremes()
            s = i if rest > 0 else j
            if s is None:
                return
            end = self.hi(s) if rest > 0 else 0.0
            if abs(rest) < abs(end - self.alpha[s]):
                self.become(s, self.alpha[s] + rest)
                return
            rest -= self.become(s, end)

    def push_out(self, s):
        if self.budget:
            self.gone += self.alpha[s]
        self.become(s, 0.0)
        self.release(s)

    def learn(self, k):
        score = self.bias - self.gradient(k)
        self.clock += 1  # what it brings counts from now on
        brings = self.nu * self.weight[k]
        for s in reversed(list(self.S)):
            if self.window and s <= k - self.window:
                self.push_out(s)
        self.gone += brings
        self.balance()
        room = sum(self.bound[s] for s in self.S) - self.mass() - brings
        if len(self.S) < SEEDS or self.slack(k) > 0 or room < 0:
            self.grad[k] = self.gradient(k)
            self.S.append(k)
            self.alpha[k], self.bound[k], self.born[k] = 0.0, self.weight[k], k
        self.gone -= brings
        self.balance()
        self.reprocess(MOST)
        for s in reversed(list(self.S)):
            idle = self.alpha[s] == 0.0 and len(self.S) > SEEDS
            if idle and np.isfinite(self.gap()) and self.slack(s) < -self.beyond:
                self.release(s)
        if self.budget and len(self.S) > self.budget:
            self.make_way()
            self.reprocess(0)
        return score

    def reprocess(self, most):
        super().reprocess(most)
        i, j = self.extremes()
        if (i is None) != (j is None):
            self.bias = self.gradient(j if i is None else i)
