"""Drift detector, thresholds and slopes, as written in the formulas."""

import math

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from onlinesvm.core.prequential.calibration import BEYOND, LEVEL, NEIGHBOURS, SIDES


def kl(p, q):
    """Divergence of Bernoulli means."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += a * math.log(a / b)
    return total


class NaiveDetector:
    """Keeps every error; tests every cut that is due at every check."""

    def __init__(self, threshold, block, blocks, growth):
        self.threshold, self.block, self.most, self.growth = threshold, block, blocks, growth
        self.errors, self.first, self.start = [], 0, 0
        self.found = []  # number of examples seen at each drift

    def update(self, wrong):
        self.errors.append(bool(wrong))
        n = len(self.errors)
        if n % self.block:
            return
        self.first = max(self.first, n - self.most * self.block)
        length, strongest = 1, 0.0
        while n - length * self.block > self.first:
            strongest = max(strongest, abs(self.ratio(n - length * self.block)))
            length = max(length + 1, int(self.growth * length))
        if strongest <= self.threshold:
            return
        cuts = range(self.first + self.block, n, self.block)
        cut = max(cuts, key=lambda cut: (round(abs(self.ratio(cut)), 9), -cut))
        if self.ratio(cut) > 0:
            self.found.append(n)
            self.start = cut
        self.first = cut

    def ratio(self, cut):
        """The likelihood ratio of a cut; negative where errors become fewer."""
        old, new = self.errors[self.first : cut], self.errors[cut:]
        p, q, mean = np.mean(old), np.mean(new), np.mean(self.errors[self.first :])
        if not 0 < mean < 1:
            return 0.0
        ratio = len(old) * kl(p, mean) + len(new) * kl(q, mean)
        return ratio if q > p else -ratio


def track(excess, levels, rate, first_rate, memory):
    """Thresholds after every example, (n, levels), before it is seen."""
    q, mean, history = np.zeros(len(levels)), 0.0, []
    for t, e in enumerate(excess, 1):
        history.append(q.copy())
        mean += (abs(e) - mean) / min(t, memory)
        q = q + mean * max(rate, first_rate / math.sqrt(t)) * ((e > q) - np.asarray(levels))
    return np.array(history), q


def bent(slopes, f):
    """The line with bends at -1, -0.5, 0, 0.5 and 1; slopes from the inside, below zero first."""
    total = np.zeros_like(f)
    for i, (low, high) in enumerate([(0.0, 0.5), (0.5, 1.0), (1.0, np.inf)]):
        total += slopes[2 * i] * (np.clip(f, -high, -low) + low)
        total += slopes[2 * i + 1] * (np.clip(f, low, high) - low)
    return total


def loss(slopes, scores, label, unit=None):
    """Cross-entropy of labels, smoothed like the targets, and the prior of slopes in this unit."""
    n, machines = scores.shape
    h = bent(slopes, scores)
    logits = np.concatenate([np.zeros((n, 1)), h], axis=1) if machines == 1 else h
    labels = logits.shape[1]
    logs = logits - np.logaddexp.reduce(logits, axis=1)[:, None]
    count = np.array([(label == k).sum() for k in label])
    target = np.ones((n, labels)) / (count + labels)[:, None]
    target[np.arange(n), label] = (count + 1) / (count + labels)
    entropy = -(target * logs).sum() / n
    if unit is None:
        return entropy
    first, second, last = (slopes / unit).reshape(3, 2)
    sides = sum((below - above) ** 2 for below, above in (first, second, last))
    neighbours, beyond = ((first - second) ** 2).sum(), ((last - LEVEL * second) ** 2).sum()
    return entropy + (SIDES * sides + NEIGHBOURS * neighbours + BEYOND * beyond) / n


def straight(scores, label):
    """The slope of the best straight line."""
    found = minimize_scalar(
        lambda slope: loss(np.full(6, slope), scores, label), (0.1, 1.0), tol=1e-12
    )
    return found.x


def best_slopes(scores, label, unit):
    """By a general-purpose optimiser."""
    found = minimize(
        loss, np.full(6, unit), (scores, label, unit), method="L-BFGS-B",
        bounds=[(1e-3 * unit, None)] * 6, options={"ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    return found.x
