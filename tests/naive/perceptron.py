"""The listings of lasvm-2005, section 2.2: slow, obvious, for one machine and for several.

S is a list of iterations; each entry remembers which example it was. Given a kernel matrix K and
labels Y of shape (machines, n), all +-1.
"""

import numpy as np


class NaivePerceptron:
    """The kernel perceptron, and the average of all its states."""

    def __init__(self, K, y):
        self.K, self.y = np.asarray(K, np.float64), np.asarray(y, np.float64)
        self.alpha = np.zeros(len(y))
        self.states = []

    def output(self, t):
        return self.alpha @ self.K[:, t]

    def step(self, t):
        if self.y[t] * self.output(t) <= 0:
            self.alpha[t] += self.y[t]
        self.states.append(self.alpha.copy())

    def average(self):
        return np.mean(self.states, axis=0) if self.states else self.alpha.copy()


class NaiveBudgetPerceptron:
    """Steps 3, 4, 4a, 4b. With several machines a row is as safe as its least safe machine says."""

    def __init__(self, K, Y, beta, N):
        self.K, self.Y = np.asarray(K, np.float64), np.atleast_2d(np.asarray(Y, np.float64))
        self.beta, self.N = beta, N
        self.S = []  # (example, coefficients of the machines)

    def outputs(self, t):
        return sum((a * self.K[i, t] for i, a in self.S), np.zeros(len(self.Y)))

    def safety(self, i, a):
        without = self.Y[:, i] * (self.outputs(i) - a * self.K[i, i])
        return without[a != 0].min()

    def step(self, t):
        violates = self.Y[:, t] * self.outputs(t) <= self.beta
        if violates.any():
            self.S.append((t, np.where(violates, self.Y[:, t], 0.0)))
            if len(self.S) > self.N:
                safeties = [self.safety(i, a) for i, a in self.S]
                oldest_of_the_safest = int(np.argmax(np.round(safeties, 9)))
                del self.S[oldest_of_the_safest]

    def coefficients(self):
        """Per example, copies added up: (machines, n)."""
        total = np.zeros_like(self.Y)
        for i, a in self.S:
            total[:, i] += a
        return total
