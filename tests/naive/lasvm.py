"""LASVM as listed in lasvm-2005, section 3.2: slow, obvious, for one machine and for several.

Given a kernel matrix K, labels y = +-1 and bounds C_k, the letters are those of the paper: S the
support set, alpha the signed coefficients, g their gradients (eq. 9), A and B the bounds (eq. 5).

Where the listing leaves a choice open, it is made as ``onlinesvm/core/lasvm.py`` documents it:

- of several examples with the same extreme gradient, the first in the order of ``slots``;
- while S holds one class only, its first ``SEEDS`` examples are inserted, not processed;
- an example that finds no possible partner in S is not kept; b is its label then;
- a machine starts with the first example of its second class: all rows of S join it.
- b and delta are measured when finishing ends, as a REPROCESS that bails out leaves them alone.
"""

import numpy as np

SEEDS = 5
NO_CURVATURE = 1e-12  # two equal examples: the step is as long as the bounds allow


def seeds_first(order, label):
    """Step 1: the first SEEDS examples of each class come before all others."""
    seeds = [k for k in order if [j for j in order if label[j] == label[k]].index(k) < SEEDS]
    return seeds + [k for k in order if k not in seeds]


class Slots(list):
    """The examples that some machine has in S. A hole is filled by the last."""

    def insert(self, k):
        if k not in self:
            self.append(k)

    def release(self, k):
        place, last = self.index(k), self.pop()
        if last != k:
            self[place] = last


class NaiveLASVM:
    """One binary machine. Machines that learn together share their ``slots``."""

    def __init__(self, K, y, bound, tau, slots=None, wanted=None):
        self.K = np.asarray(K, np.float64)
        self.y = np.asarray(y, np.float64)
        self.A = np.minimum(0.0, bound * self.y)
        self.B = np.maximum(0.0, bound * self.y)
        self.tau = tau
        self.S = set()
        self.slots = Slots() if slots is None else slots
        self.wanted = wanted or (lambda k: k in self.S)
        self.alpha = np.zeros(len(y))
        self.g = np.full(len(y), np.nan)
        self.b, self.delta = -1.0, np.inf

    def insert(self, k):
        """Steps 1 and 2 of PROCESS. Returns whether k is new to S."""
        if k in self.S:
            return False
        self.alpha[k] = 0.0
        self.g[k] = self.y[k]
        for s in self.slots:
            if s in self.S and self.alpha[s] != 0.0:
                self.g[k] -= self.alpha[s] * self.K[k, s]
        self.S.add(k)
        self.slots.insert(k)
        return True

    def remove(self, k):
        """S <- S - {k}."""
        self.S.remove(k)
        if not self.wanted(k):
            self.slots.release(k)

    def process(self, k):
        """PROCESS(k)."""
        if self.insert(k):
            self.search(k)

    def start(self, k):
        """A machine without coefficients takes all rows of S once it has both signs."""
        if self.delta < np.inf or self.alpha[list(self.slots)].any():
            return
        if all(self.y[s] == self.y[k] for s in self.slots):
            self.b = self.y[k]
            return
        for s in self.slots:
            self.S.add(s)
            self.g[s] = self.y[s]

    def search(self, k):
        """Steps 3 to 5 of PROCESS."""
        self.start(k)
        i, j = (k, self.arg_min()) if self.y[k] > 0 else (self.arg_max(), k)
        if i is None or j is None:
            self.remove(k)
            return
        if self.is_violating(i, j):
            self.direction_search(i, j)

    def reprocess(self):
        """REPROCESS. Returns whether there was a violating pair."""
        i, j = self.arg_max(), self.arg_min()
        if not self.is_violating(i, j):
            return False
        self.direction_search(i, j)
        i, j = self.arg_max(), self.arg_min()
        for s in self.members()[::-1].tolist():
            if self.alpha[s] != 0.0:
                continue
            if (self.y[s] == -1 and self.g[s] >= self.g[i]) or (
                self.y[s] == +1 and self.g[s] <= self.g[j]
            ):
                self.remove(s)
        self.b = (self.g[i] + self.g[j]) / 2
        self.delta = self.g[i] - self.g[j]
        return True

    def finish(self):
        """Repeat REPROCESS until delta <= tau."""
        while self.reprocess():
            pass
        i, j = self.arg_max(), self.arg_min()
        if i is not None and j is not None:
            self.b, self.delta = (self.g[i] + self.g[j]) / 2, self.g[i] - self.g[j]

    def members(self):
        return np.array([s for s in self.slots if s in self.S], int)

    def arg_max(self):
        s = self.members()
        up = s[self.alpha[s] < self.B[s]]
        return up[self.g[up].argmax()] if len(up) else None

    def arg_min(self):
        s = self.members()
        down = s[self.alpha[s] > self.A[s]]
        return down[self.g[down].argmin()] if len(down) else None

    def is_violating(self, i, j):
        return (
            i is not None
            and j is not None
            and self.alpha[i] < self.B[i]
            and self.alpha[j] > self.A[j]
            and self.g[i] - self.g[j] > self.tau
        )

    def direction_search(self, i, j):
        """Step 5 of PROCESS, step 3 of REPROCESS."""
        K, S, alpha = self.K, self.members(), self.alpha
        flat = NO_CURVATURE * min(1.0, max(K[i, i], K[j, j]))
        curvature = max(K[i, i] + K[j, j] - 2.0 * K[i, j], flat)
        with np.errstate(divide="ignore"):  # two copies of zero: as far as the bounds allow
            best = (self.g[i] - self.g[j]) / curvature
        room_i, room_j = self.B[i] - alpha[i], alpha[j] - self.A[j]
        step = min(best, room_i, room_j)
        # A bound that is reached is reached exactly.
        alpha[i] = self.B[i] if step == room_i else alpha[i] + step
        alpha[j] = self.A[j] if step == room_j else alpha[j] - step
        self.g[S] -= step * (K[i, S] - K[j, S])

    # -- what is measured ---------------------------------------------------------------------

    def dual(self):
        """W(alpha) of eq. (4)."""
        return self.alpha @ self.y - 0.5 * self.alpha @ self.K @ self.alpha

    def true_gradient(self):
        """g of eq. (9) for all examples, from alpha alone."""
        return self.y - self.K @ self.alpha


class NaiveOneVsRest:
    """Machines that share seeds and slots only: machine m calls ``positive[m]`` +1."""

    def __init__(self, K, label, bound, tau, positive):
        self.label = np.asarray(label)
        self.seeds = dict.fromkeys(np.unique(label).tolist(), SEEDS)
        self.slots = Slots()
        self.machines = [
            NaiveLASVM(K, np.where(self.label == p, 1.0, -1.0), bound, tau, self.slots, self.wanted)
            for p in positive
        ]

    def wanted(self, k):
        return any(k in machine.S for machine in self.machines)

    def visit(self, k):
        """One online iteration: PROCESS(k), REPROCESS; or nothing but its insertion for a seed."""
        if self.is_seed(k):
            self.seed(k)
            return
        joined = self.insert(k)
        for machine, is_new in zip(self.machines, joined, strict=True):
            if is_new:
                machine.search(k)
            machine.reprocess()

    def insert(self, k):
        return [machine.insert(k) for machine in self.machines]

    def is_seed(self, k):
        alone = all(self.label[s] == self.label[k] for s in self.slots)
        return alone and not self.wanted(k) and self.seeds[self.label[k].item()] > 0

    def seed(self, k):
        self.seeds[self.label[k].item()] -= 1
        for machine in self.machines:
            machine.b = machine.y[k]
        return self.insert(k)

    def finish(self):
        for machine in self.machines:
            machine.finish()

    def decide(self, K):
        """Decision values (n, machines) from the kernel values K of n examples with all."""
        return np.stack([K @ m.alpha + m.b for m in self.machines], axis=1)
