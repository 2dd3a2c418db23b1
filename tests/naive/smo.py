"""Second-order SMO, slow and obvious, for  max p'a - a'Ka / 2 - epsilon |a|,  sum(a) constant.

Letters as in ``onlinesvm/core/lasvm/smo.py``. The kink of |a| at zero makes two slopes of the
gradient g = p - Ka: that to the right of a, for coefficients that go up, and that to its left.
Gradients are rounded to single precision as they are there: else ties would be broken otherwise.
"""

import numpy as np

NO_CURVATURE = 1e-12


def slopes(a, g, epsilon):
    """Slopes of the objective to the right and to the left of each coefficient."""
    right = [g_s - epsilon if a_s >= 0 else g_s + epsilon for a_s, g_s in zip(a, g)]
    left = [g_s - epsilon if a_s > 0 else g_s + epsilon for a_s, g_s in zip(a, g)]
    return np.array(right), np.array(left)


def gap(a, g, lo, hi, epsilon):
    """How far the best pair violates; at most zero at the optimum."""
    right, left = slopes(a, g, epsilon)
    return max(right[a < hi], default=-np.inf) - min(left[a > lo], default=np.inf)


def step(K, p, a, lo, hi, epsilon, tol):
    """One pair step. Returns the new coefficients, or None at the optimum."""
    g, epsilon = (p - K @ a).astype(np.float32), np.float32(epsilon)
    if gap(a, g, lo, hi, epsilon) <= tol:
        return None
    right, left = slopes(a, g, epsilon)
    i = max((s for s in range(len(a)) if a[s] < hi[s]), key=lambda s: right[s])
    gains, floor = {}, NO_CURVATURE * min(1.0, K.diagonal().max())
    for s in range(len(a)):
        if a[s] > lo[s] and right[i] > left[s]:
            curvature = max(K[i, i] + K[s, s] - 2 * K[i, s], floor)
            gains[s] = (right[i] - left[s]) ** 2 / curvature
    j = max(gains, key=gains.get)
    curvature = max(K[i, i] + K[j, j] - 2 * K[i, j], floor)
    move = float(right[i] - left[j]) / curvature
    move = min(move, hi[i] - a[i], a[j] - lo[j])
    if a[i] < 0:
        move = min(move, -a[i])
    if a[j] > 0:
        move = min(move, a[j])
    a = a.copy()
    a[i] += move
    a[j] -= move
    return np.clip(a, lo, hi)


def dual(K, p, a, epsilon):
    """The objective."""
    return a @ p - a @ K @ a / 2 - epsilon * np.abs(a).sum()
