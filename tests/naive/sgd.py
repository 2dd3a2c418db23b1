"""Lists 1, 2, 3a and 3b of olsvm-2016 as they stand: slow, obvious, one binary machine.

Given a kernel matrix K, labels y = +-1, C and weights w (the loss step is w times as long), each
class makes one step of its list by ``step(i)``. ``alpha`` and ``b`` are the coefficients after it,
``history`` all of them, so that an average is an average.
"""

import numpy as np


class Naive:
    """What the lists share."""

    def __init__(self, K, y, C, weight=None):
        self.K = np.asarray(K, np.float64)
        self.y = np.asarray(y, np.float64)
        self.C = C
        self.weight = np.ones(len(y)) if weight is None else np.asarray(weight)
        self.alpha = np.zeros(len(y))
        self.b = 0.0
        self.t = 0
        self.history = []

    def step(self, i):
        self.t += 1
        self.update(i, self.C * np.sqrt(2 / self.t))
        self.history.append((self.alpha.copy(), self.b))

    def final(self, averaging):
        """alpha and b as ``averaging`` wants them."""
        if averaging == "last" or not self.history:
            return self.alpha.copy(), self.b
        alphas, biases = zip(*self.history)
        return np.mean(alphas, axis=0), np.mean(biases)


class NaiveNORMA(Naive):
    """List 1."""

    def update(self, i, eta):
        viol = self.y[i] * (self.K[i] @ self.alpha)
        I_not_i = np.arange(len(self.y)) != i
        self.alpha[I_not_i] = (1 - eta / self.C) * self.alpha[I_not_i]
        if viol <= 1:
            self.alpha[i] = eta * self.weight[i] * self.y[i]


class NaivePegaz(Naive):
    """List 2."""

    def __init__(self, *args):
        super().__init__(*args)
        self.beta = np.zeros(len(self.y))

    def update(self, i, eta):
        self.alpha = eta * self.beta
        viol = self.y[i] * (self.K[i] @ self.alpha)
        if viol <= 1:
            self.beta[i] = self.beta[i] + self.weight[i] * self.y[i]
        self.alpha = eta * self.beta


class NaiveOLSVM(Naive):
    """List 3b, or 3a if ``regularized``, with the bias of eqs. (6), (7) if ``bias``."""

    def __init__(self, *args, regularized=False, bias=False):
        super().__init__(*args)
        self.regularized, self.bias = regularized, bias
        self.o = np.zeros(len(self.y))

    def update(self, i, eta):
        viol = self.y[i] * self.o[i]
        step = eta * self.weight[i] * self.y[i]
        shrink = eta / self.C * self.alpha[i] if self.regularized else 0.0
        if viol < 1:
            self.o = self.o + (step - shrink) * self.K[:, i]
            self.alpha[i] = self.alpha[i] - shrink + step
            if self.bias:
                self.b = self.b + step
                self.o = self.o + step
        if viol > 1:
            self.o = self.o - shrink * self.K[:, i]
            self.alpha[i] = self.alpha[i] - shrink
