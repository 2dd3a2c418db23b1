"""One pass that shifts gradients and finds the next pair: the plain loop says the same."""

import numpy as np
import pytest

from onlinesvm.core.kernel.emit.slopes import WIDTH, shift_slopes
from onlinesvm.core.runtime.numerics import jit


@jit
def shifted(grad, above, below, k, l, step, n):  # noqa: E741
    return shift_slopes(grad, above, below, k, l, step, n)


def plain(grad, above, below, k, l, step, n):  # noqa: E741
    """The first slot of the largest slope to the right, of the smallest to the left."""
    top, bottom, g_max, g_min = -1, -1, -np.inf, np.inf
    for s in range(n):
        grad[s] -= step * (float(k[s]) - float(l[s]))
        if grad[s] + above[s] > g_max:
            top, g_max = s, grad[s] + above[s]
        if grad[s] + below[s] < g_min:
            bottom, g_min = s, grad[s] + below[s]
    return top, bottom, g_max, g_min


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("open_share", [0.0, 0.02, 0.5, 1.0])
def test_a_step_and_the_next_pair(n, open_share):
    """Values are rounded so that many are equal: the first one counts."""
    rng = np.random.default_rng(n)
    size = n + WIDTH
    for step in (0.0, 0.5, -1e6):
        grad = np.round(rng.normal(size=size), 1)
        above = np.where(rng.random(size) < open_share, -0.1, -np.inf)
        below = np.where(rng.random(size) < open_share, 0.1, np.inf)
        above[n:], below[n:] = -np.inf, np.inf
        k, l = np.round(rng.random((2, size)), 1).astype(np.float32)  # noqa: E741
        expected = grad.copy()
        wanted = plain(expected, above, below, k, l, step, n)
        assert shifted(grad, above, below, k, l, step, n) == wanted
        np.testing.assert_array_equal(grad[:n], expected[:n])
