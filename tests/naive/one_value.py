"""One example of a stream for regression or novelty detection: ``core.lasvm.one_value``, slowly."""

import numpy as np


class NaiveValues:
    """max p'a - a'Ka / 2 - epsilon |a|, low bound <= a <= bound, one example at a time.

    ``doubt`` is by how much the closest choice was made: equal slopes are the rule after a step, and
    where single precision decides between them, the compiled loop may choose otherwise.
    """

    def __init__(self, k, epsilon, low, rows, p, alpha, bound, bias):
        self.k, self.epsilon, self.low = k, epsilon, low
        self.rows, self.p = [*rows], [*p]
        self.alpha, self.bound, self.bias = np.array(alpha), np.array(bound), bias
        self.doubt = np.inf

    def chosen(self, values):
        """The place of the largest value."""
        best, second = np.sort(np.append(values, -np.inf))[[-1, -2]]
        self.decide(best - second)
        return int(np.argmax(values))

    def decide(self, margin):
        """A choice that a change of ``margin`` would reverse."""
        self.doubt = min(self.doubt, abs(margin))

    def values(self, x):
        return np.array([self.k(x, row) for row in self.rows])

    def slopes(self):
        grad = self.p - np.array([self.values(row) @ self.alpha for row in self.rows])
        up = grad - np.where(self.alpha >= 0, self.epsilon, -self.epsilon)
        down = grad - np.where(self.alpha > 0, self.epsilon, -self.epsilon)
        return (
            np.where(self.alpha < self.bound, up, -np.inf),
            np.where(self.alpha > self.low * self.bound, down, np.inf),
        )

    def learn(self, x, p, bound, mass, goal, most):
        outside = abs(p - self.values(x) @ self.alpha - self.bias) - self.epsilon
        if mass == 0:
            self.decide(outside)
            if outside <= 0:
                return
        self.rows.append(x)
        self.p.append(p)
        self.alpha, self.bound = np.append(self.alpha, mass), np.append(self.bound, bound)
        for _ in range(most):
            up, down = self.slopes()
            self.decide(up.max() - down.min() - goal)
            if not up.max() - down.min() > goal:
                break
            self.move(self.chosen(up), up, down)
        up, down = self.slopes()
        ends = [g for g in (up.max(), down.min()) if np.isfinite(g)]
        self.bias = np.mean(ends)

    def move(self, i, up, down):
        row = self.values(self.rows[i])
        own = np.array([self.k(r, r) for r in self.rows])
        flat = 1e-12 * np.minimum(np.maximum(own, own[i]), 1.0)
        curvature = np.maximum(own[i] + own - 2 * row, flat)
        rise = np.maximum(up[i] - down, 0)
        j = self.chosen(rise**2 / curvature)
        end_i = self.bound[i] if self.alpha[i] >= 0 else 0.0
        end_j = self.low * self.bound[j] if self.alpha[j] <= 0 else 0.0
        rooms = rise[j] / curvature[j], end_i - self.alpha[i], self.alpha[j] - end_j
        step = min(rooms)
        self.decide(np.diff(np.sort(rooms))[0])  # which of them ends the step
        self.alpha[i] += step
        self.alpha[j] -= step
