"""A slow, obvious twin of LASVM with a bounded memory: dictionaries, one example at a time.

Gradients are maintained by the same operations in the same order as in the code, so that ties,
which every direction search leaves behind, are told apart in the same way.
"""

import numpy as np

OUTLIER, OLDEST, JOIN = "outlier", "oldest", "join"
YOUNG, SEEDS, MOST, SLACK, PRESSED = 50, 5, 20, 0.2, 3.0


class NaiveBounded:
    """One binary machine over the rows of a kernel matrix; examples are their numbers."""

    def __init__(self, K, y, C, tau, window=None, budget=None, half_life=None, policy=OUTLIER,
                 cost=None):  # fmt: skip
        self.cost = cost
        self.K, self.y, self.C, self.tau = K, y, C, tau
        self.window, self.budget, self.half_life, self.policy = window, budget, half_life, policy
        self.S, self.alpha, self.bound, self.grad = [], {}, {}, {}
        self.bias, self.clock, self.turn, self.removals = 0.0, 0, 0, 0
        self.born = {}
        self.beyond = SLACK

    # -- what follows from the coefficients -----------------------------------------------

    def gradient(self, k):
        if k in self.grad:
            return self.grad[k]
        total = self.y[k]
        for s in self.S:
            if self.alpha[s] != 0.0:
                total -= self.alpha[s] * self.K[k, s]
        return total

    def lo(self, k):
        return 0.0 if self.y[k] > 0 else -self.bound[k]

    def hi(self, k):
        return self.bound[k] if self.y[k] > 0 else 0.0

    def can_rise(self):
        return [s for s in self.S if self.alpha[s] < self.hi(s)]

    def can_fall(self):
        return [s for s in self.S if self.alpha[s] > self.lo(s)]

    def slack(self, k):
        return self.y[k] * (self.gradient(k) - self.bias)

    def of_label(self, k):
        return [s for s in self.S if self.y[s] == self.y[k]]

    # -- steps ----------------------------------------------------------------------------

    def move(self, i, j, step):
        room_i, room_j = self.hi(i) - self.alpha[i], self.alpha[j] - self.lo(j)
        self.alpha[i] = self.hi(i) if step >= room_i else self.alpha[i] + step
        self.alpha[j] = self.lo(j) if step >= room_j else self.alpha[j] - step
        for s in self.S:
            self.grad[s] -= step * (self.K[i, s] - self.K[j, s])

    def middle(self, i, j):
        return (self.gradient(i) + self.gradient(j)) / 2

    def rise(self, i, j):
        return self.gradient(i) - self.gradient(j)

    def process(self, k):
        i, j = self.extremes()
        if i is not None and j is not None:
            self.search(*((k, j) if self.y[k] > 0 else (i, k)))

    def search(self, i, j):
        rise = self.rise(i, j)
        if i == j or rise <= self.tau:
            return
        flat = 1e-12 * min(1.0, max(self.K[i, i], self.K[j, j]))
        curvature = max(self.K[i, i] + self.K[j, j] - 2 * self.K[i, j], flat)
        room = min(self.hi(i) - self.alpha[i], self.alpha[j] - self.lo(j))
        self.move(i, j, min(rise / curvature, room))

    def extremes(self):
        up, down = self.can_rise(), self.can_fall()
        return (
            max(up, key=self.gradient) if up else None,
            min(down, key=self.gradient) if down else None,
        )

    def reprocess(self, most):
        for _ in range(most):
            i, j = self.extremes()
            if i is None or j is None or self.rise(i, j) <= self.tau:
                break
            self.search(i, j)
        i, j = self.extremes()
        if i is not None and j is not None:
            self.bias = self.middle(i, j)
        elif i is not None or j is not None:
            self.bias = 1.0 if i is not None else -1.0

    def bring_down(self, s, size):
        while abs(self.alpha[s]) > size:
            rest = abs(self.alpha[s]) - size
            if self.alpha[s] > 0:
                best = max([r for r in self.can_rise() if r != s], key=self.gradient)
                room = self.hi(best) - self.alpha[best]
                self.move(best, s, min(rest, room))
            else:
                best = min([r for r in self.can_fall() if r != s], key=self.gradient)
                room = self.alpha[best] - self.lo(best)
                self.move(s, best, min(rest, room))
            if abs(abs(self.alpha[s]) - size) <= 1e-15 * rest:
                self.alpha[s] = np.copysign(size, self.alpha[s]) if size else 0.0

    def release(self, s):
        """The last row takes the place of the one that goes."""
        place = self.S.index(s)
        last = self.S.pop()
        if last != s:
            self.S[place] = last
        del self.alpha[s], self.bound[s], self.born[s], self.grad[s]

    def push_out(self, s):
        self.bring_down(s, 0.0)
        self.release(s)

    def make_way(self):
        protected = self.budget // 8
        free = [s for s in self.S if len(self.of_label(s)) > protected]
        idle = [s for s in free if self.alpha[s] == 0.0 and np.isfinite(self.gap())]
        if idle:
            self.push_out(min(idle, key=self.slack))
            return
        self.removals += 1
        old = [s for s in free if self.born[s] <= self.clock - YOUNG]
        wrong = [s for s in old if self.slack(s) > 1.0]
        if self.policy == JOIN:
            pairs = {s: self.neighbour(s) for s in old if len(self.of_label(s)) > 1}
            if pairs:
                s = min(pairs, key=lambda s: abs(self.alpha[s]) * self.distance(s, pairs[s]))
                self.join(s, pairs[s])
                self.push_out(s)
                return
        elif self.policy == OUTLIER and self.removals % 4 and wrong:
            self.push_out(max(wrong, key=self.slack))
            return
        self.push_out(min(free or self.S, key=self.born.get))

    def distance(self, s, r):
        return np.sqrt(max(self.K[s, s] + self.K[r, r] - 2 * self.K[s, r], 0.0))

    def neighbour(self, s):
        return max(
            [r for r in self.of_label(s) if r != s], key=lambda r: 2 * self.K[s, r] - self.K[r, r]
        )

    def join(self, s, r):
        if self.alpha[s] > 0:
            self.move(r, s, min(self.alpha[s], self.hi(r) - self.alpha[r]))
        elif self.alpha[s] < 0:
            self.move(s, r, min(-self.alpha[s], self.alpha[r] - self.lo(r)))

    def gap(self):
        i, j = self.extremes()
        return np.inf if i is None or j is None else self.rise(i, j)

    def share(self):
        """What is left of all bounds once rows that carry had to make way; k(x, x) is 1."""
        pressed = self.cost and self.policy == OUTLIER and self.removals
        return min(1.0, PRESSED / self.cost) if pressed else 1.0

    # -- one example ----------------------------------------------------------------------

    def learn(self, k):
        """Returns the decision value before the example was learned."""
        score = self.y[k] - self.gradient(k) + self.bias
        if self.window:
            for s in reversed(list(self.S)):
                if self.born[s] <= self.clock - self.window:
                    self.push_out(s)
        if (self.half_life or self.share() < 1.0) and self.S:
            for _ in range(min(2, len(self.S))):
                s = self.S[self.turn % len(self.S)]
                self.turn = self.turn % len(self.S) + 1
                age = (self.clock - self.born[s]) / (self.half_life or np.inf)
                self.bound[s] = self.C * (2.0**-age * self.share())
                self.bring_down(s, self.bound[s])
        if len(self.of_label(k)) < SEEDS or self.slack(k) > 0:
            self.grad[k] = self.gradient(k)
            self.S.append(k)
            self.alpha[k], self.bound[k], self.born[k] = 0.0, self.C * self.share(), self.clock
            self.process(k)
        self.reprocess(MOST)
        self.clock += 1
        for s in reversed(list(self.S)):
            idle = self.alpha[s] == 0.0 and len(self.of_label(s)) > SEEDS
            if idle and np.isfinite(self.gap()) and self.slack(s) < -self.beyond:
                self.release(s)
        if self.budget and len(self.S) > self.budget:
            while len(self.S) > self.budget:
                self.make_way()
            self.reprocess(0)
        return score
