"""StreamSVM with every axis written out: slow, obvious, one machine.

An example is the vector z_n = (y_n phi(x_n), e_n / sqrt(C)) with one axis e_n for each n, a ball is
a centre and a radius. Nothing is kept in closed form: distances are distances between vectors, and
the smallest ball around a few balls is found by trying every subset that may touch it.
"""

from itertools import combinations

import numpy as np


def feature_map(K):
    """Vectors whose inner products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def lift(phi, y, C):
    """z_n, all axes written out."""
    return np.hstack([y[:, None] * phi, np.eye(len(y)) / np.sqrt(C)])


def smallest_ball(centres, radii):
    """min_c max_i |c - c_i| + r_i: the smallest that encloses all and touches some of them."""
    centres, radii = np.asarray(centres), np.asarray(radii)
    best = None, np.inf
    for size in range(1, len(radii) + 1):
        for chosen in combinations(range(len(radii)), size):
            for c, R in touching(centres[list(chosen)], radii[list(chosen)]):
                reach = (np.linalg.norm(centres - c, axis=1) + radii).max()
                if reach <= R * (1 + 1e-9) and best[1] > R:
                    best = c, R
    return best


def touching(centres, radii):
    """Balls with |c - c_i| = R - r_i for all i, and c in the centres' affine hull.

    The difference of two such equations is linear in c and R: c = c_0 + E (u + v R). What is
    left is one quadratic equation in R.
    """
    if len(radii) == 1:
        yield centres[0], radii[0]
        return
    E = (centres[1:] - centres[0]).T
    right = (E**2).sum(axis=0) + radii[0] ** 2 - radii[1:] ** 2
    u, v = (np.linalg.lstsq(2 * E.T @ E, b)[0] for b in (right, 2 * (radii[1:] - radii[0])))
    u, v = E @ u, E @ v
    for R in np.roots([v @ v - 1, 2 * (u @ v) + 2 * radii[0], u @ u - radii[0] ** 2]):
        if abs(R.imag) < 1e-9 and R.real >= radii.max():
            yield centres[0] + u + v * R.real, R.real


class NaiveStreamSVM:
    """At most K balls; ``merge`` is "all" or "pair"."""

    def __init__(self, K, merge):
        self.K, self.merge = K, merge
        self.balls = []  # (centre, radius)

    def learn(self, z):
        if any(r > 0 and np.linalg.norm(c - z) < r for c, r in self.balls):
            return
        self.balls.append((z, 0.0))
        if len(self.balls) <= self.K:
            return
        if self.merge == "all":
            self.balls = [smallest_ball(*zip(*self.balls))]
            return
        pairs = [(j, i) for i in range(len(self.balls)) for j in range(i)]
        merged = {p: self.around_two(*(self.balls[k] for k in p)) for p in pairs}
        first, second = min(pairs, key=lambda p: merged[p][1])
        self.balls[first] = merged[first, second]
        last = self.balls.pop()
        if second < len(self.balls):
            self.balls[second] = last

    @staticmethod
    def around_two(a, b):
        """For a ball and a point: the update of the text, with its (1 - R/d)/2."""
        (c, r), (z, s) = a, b
        d = np.linalg.norm(c - z)
        if r >= d + s:
            return a
        if s >= d + r:
            return b
        R = (d + r + s) / 2
        return c + (R - r) / d * (z - c), R


def one_ball(Z):
    """The text's one-ball algorithm: w, R and the slack follow from z by three formulas."""
    c, R = Z[0], 0.0
    for z in Z[1:]:
        d = np.linalg.norm(c - z)
        if d >= R:
            c = c + 0.5 * (1 - R / d) * (z - c)
            R = 0.5 * (R + d)
    return c, R
