"""Which example next, as lasvm-2005, section 4, says it: one candidate after another.

``machine`` is a ``NaiveLASVM``: alpha, b, delta, and the kernel matrix K of all examples.
"""

import numpy as np


def decision(machine, k):
    """f(x_k) = sum_s alpha_s K_ks + b."""
    return float(machine.K[k] @ machine.alpha + machine.b)


def most_misclassified(machine, candidates):
    """GRADIENT, eq. (12)."""
    return min(candidates, key=lambda k: machine.y[k] * decision(machine, k))


def closest(machine, candidates):
    """ACTIVE, eq. (13)."""
    return min(candidates, key=lambda k: abs(decision(machine, k)))


def closest_of_enough(machine, candidates):
    """AUTOACTIVE: sampling stops after 5 examples within 1 + delta / 2, or 100."""
    looked, near = [], 0
    for k in candidates:
        looked.append(k)
        near += abs(decision(machine, k)) < 1 + machine.delta / 2
        if near == 5 or len(looked) == 100:
            break
    return closest(machine, looked)


def boundary_distance(values):
    """Half the difference between the two best classes, row by row."""
    return np.array([(sorted(row)[-1] - sorted(row)[-2]) / 2 for row in values])


CHOICES = {
    "gradient": most_misclassified,
    "active": closest,
    "autoactive": closest_of_enough,
}
