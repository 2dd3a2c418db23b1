"""SimpleSVM as the paper tells it: plain NumPy, every linear system solved from scratch.

min_a  a'Ha / 2 + c'a    subject to   0 <= a <= C,   Aa = b
"""

import numpy as np


class NaiveSimpleSVM:
    """Section 2.1 word for word; the working set is a list, nothing is updated."""

    def __init__(self, H, c, C, A, b, alpha):
        self.H, self.c, self.C, self.A, self.b = H, c, C, A, b
        self.alpha = alpha.astype(float).copy()
        self.work = []
        self.beta = np.zeros(len(A))

    def objective(self):
        return self.alpha @ self.H @ self.alpha / 2 + self.c @ self.alpha

    def gradient(self):
        return self.H @ self.alpha + self.c + self.A.T @ self.beta

    def violates(self, i, tol):
        g = self.gradient()[i]
        return (self.alpha[i] <= 0 and g < -tol) or (self.alpha[i] >= self.C[i] and g > tol)

    def solve(self):
        """Eq. (5) over the working set, the others fixed: coefficients and multipliers."""
        w, rest = self.work, [i for i in range(len(self.c)) if i not in self.work]
        H, A = self.H[np.ix_(w, w)], self.A[:, w]
        used = np.abs(A).sum(axis=1) > 0
        d = used.sum()
        K = np.block([[H, A[used].T], [A[used], np.zeros((d, d))]])
        fixed = self.H[np.ix_(w, rest)] @ self.alpha[rest]
        right = np.concatenate(
            [-self.c[w] - fixed, (self.b - self.A[:, rest] @ self.alpha[rest])[used]]
        )
        solution = np.linalg.lstsq(K, right, rcond=1e-13)[0]
        beta = self.beta.copy()
        beta[used] = solution[len(w) :]
        return solution[: len(w)], beta

    def add(self, i):
        """Steps (a) to (c) for violator i."""
        self.work.append(i)
        while True:
            new, beta = self.solve()
            w = np.array(self.work)
            old, step = self.alpha[w], new - self.alpha[w]
            step[np.abs(step) < 1e-13] = 0.0
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > 0, (self.C[w] - old) / step, -old / step)
            room[step == 0] = np.inf
            t = min(1.0, room.min())
            self.alpha[w] = old + t * step
            if t == 1.0:
                self.beta = beta
                return
            leaves = int(room.argmin())
            j = self.work.pop(leaves)
            self.alpha[j] = self.C[j] if step[leaves] > 0 else 0.0
