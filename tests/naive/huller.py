"""The Huller as listed in huller-2005, figures 3 and 4: slow, obvious, one machine.

Given a kernel matrix K, labels y = +-1 and ridges 1/C_k (zero: hard margin), the letters are those
of the paper. ``S`` is the list of support vectors; a hole is filled by the last, so that the
random numbers that pick one mean the same here and there.

Where the listing leaves a choice open, it is made as ``onlinesvm/core/huller.py`` documents it: the
first ``SEEDS`` examples of each class are averaged, and an example is inserted only if it misses
its margin, which is 1, by more than ``tol``.
"""

import numpy as np

SEEDS = 5


class NaiveHuller:
    def __init__(self, K, y, ridge, tol):
        self.K = np.asarray(K, np.float64) + np.diag(ridge)
        self.y, self.tol = y, tol
        self.S, self.alpha = [], np.zeros(len(y))
        self.seeded = {+1: 0, -1: 0}
        self.XPXP = self.XNXP = self.XNXN = 0.0

    def point(self, sign):
        """Coefficients of X_P or X_N."""
        return np.where(self.y == sign, self.alpha, 0.0)

    def update(self, k, lam=None):
        """UPDATE(k), figure 3; with ``lam`` given, its second half."""
        XPx, XNx, xx = self.point(+1) @ self.K[k], self.point(-1) @ self.K[k], self.K[k, k]
        if lam is None:
            lam = self.step(k, XPx, XNx, xx)
        if lam == 0:
            return
        if self.alpha[k] == 0:
            self.S.append(k)
        same = self.y == self.y[k]
        at_bound = self.alpha[k] < 1 and lam <= -self.alpha[k] / (1 - self.alpha[k])
        self.alpha[same] *= 1 - lam
        self.alpha[k] = 0.0 if at_bound else self.alpha[k] + lam
        if self.y[k] > 0:  # eq. (7)
            self.XPXP = (1 - lam) ** 2 * self.XPXP + 2 * lam * (1 - lam) * XPx + lam**2 * xx
            self.XNXP = (1 - lam) * self.XNXP + lam * XNx
        else:  # eq. (8)
            self.XNXN = (1 - lam) ** 2 * self.XNXN + 2 * lam * (1 - lam) * XNx + lam**2 * xx
            self.XNXP = (1 - lam) * self.XNXP + lam * XPx
        self.forget_zeros()

    def step(self, k, XPx, XNx, xx):
        if self.y[k] > 0:  # eq. (4)
            above = self.XPXP - self.XNXP - XPx + XNx
            below = self.XPXP + xx - 2 * XPx
        else:  # eq. (5)
            above = self.XNXN - self.XNXP - XNx + XPx
            below = self.XNXN + xx - 2 * XNx
        if below <= 1e-9 * xx:
            return 0.0
        alpha = self.alpha[k]
        if alpha == 0 and 2 * above / self.distance() <= self.tol:
            return 0.0
        lowest = -alpha / (1 - alpha) if alpha < 1 else -np.inf
        return min(1, max(lowest, above / below))  # eq. (6)

    def distance(self):
        return self.XPXP - 2 * self.XNXP + self.XNXN

    def forget_zeros(self):
        for k in self.S[::-1]:
            if self.alpha[k] == 0:
                place, last = self.S.index(k), self.S.pop()
                if last != k:
                    self.S[place] = last

    def insert(self, p):
        """First half of an iteration of figure 4."""
        sign = self.y[p]
        if self.seeded[sign] < SEEDS:
            self.seeded[sign] += 1
            self.update(p, 1 / self.seeded[sign])
        elif self.alpha[p] == 0 and self.seeded[-sign]:
            self.update(p)

    def remove(self, pick):
        """Second half: a random support vector."""
        if self.seeded[+1] and self.seeded[-1]:
            self.update(self.S[int(pick * len(self.S))])

    def sweep(self):
        """The finishing step: every support vector once, the last slot first."""
        for place in range(len(self.S) - 1, -1, -1):
            if place < len(self.S):
                self.update(self.S[place])

    def decide(self, K_test):
        """Eq. (3), scaled so that the margins are +1 and -1. Test points have no ridge."""
        if not (self.seeded[+1] and self.seeded[-1]):
            return np.full(len(K_test), 1.0 if self.seeded[+1] else -1.0)
        values = K_test @ (self.y * self.alpha) + (self.XNXN - self.XPXP) / 2
        return 2 * values / self.distance()
