"""The sum of the coefficients of one class with a bounded memory.

    sum_i a_i = s,   0 <= a_i <= w_i

Every example brings *mass*, nu times its weight w, whether it is held or not: s is the mass of the
examples that count. With a half-life mass fades as bounds do; an example that leaves the window
takes its mass along. Where s changes, rows at the ends of the slopes give or take: those whose
gradients ask for it most.

A row that makes way for the budget takes its coefficient along. If it stayed, s would grow with
every example, until all rows are at their bounds and none can move. As it is, the coefficients
stand for s / nu examples, and rows that carry leave as often as nu brings in their mass. Still
most rows are near their bounds then, and somewhat more examples lie outside than nu says. Examples
that leave a window with a budget take the share that is left of their mass.
"""

from __future__ import annotations

from ..kernel.never_inline import keep_small, never_inline
from ..numerics import inlined, inner
from .bounded_steps import (
    ALPHA,
    CLOCK,
    GRAD,
    HIGH,
    MASS,
    WHOLE_MASS,
    N,
    extremes,
    note_rounding,
    place,
)

ROUNDING = 1e-12
"""Share of the mass that may be missing: otherwise rounding would give rows at zero coefficients."""


@inner
def balance(F, sides, K, M, n):
    """Coefficients of machine 0 up or down until they sum to MASS, or none can move on."""
    never_inline()
    rest = M[MASS, 0]
    for s in range(n):
        rest -= F[ALPHA, 0, s]
    if abs(rest) <= ROUNDING * M[MASS, 0]:
        rest = 0.0
    while rest != 0.0:
        top, bottom, _, _ = extremes(F, sides, K, 0, n)
        s = top if rest > 0.0 else bottom
        if s < 0:
            break
        a = F[ALPHA, 0, s]
        end = F[HIGH, 0, s] if rest > 0.0 else 0.0
        reached = abs(rest) >= abs(end - a)
        place(F, sides, 0, s, end if reached else a + rest, 0.0)
        step = F[ALPHA, 0, s] - a
        note_rounding(F, K, M, 0, s)
        for r in range(n):
            F[GRAD, 0, r] -= step * K[s, r]
        rest = rest - step if reached else 0.0


@inlined
def lacks_room(F, M, n, mass):
    """Whether the rows held cannot take this mass."""
    room = -M[MASS, 0] - mass
    for s in range(n):
        room += F[HIGH, 0, s]
    return room < 0.0


@inner
def add_mass(F, sides, K, M, masses, window, count, mass):
    """The example at hand brings mass."""
    keep_small()
    M[MASS, 0] += mass
    M[WHOLE_MASS, 0] += mass
    if window:
        masses[count[CLOCK] % window] = mass
    balance(F, sides, K, M, count[N])


@inner
def _whole_mass(masses, window, clock, half_life):
    """The mass of all examples in the window but the one that leaves it, now."""
    never_inline()
    total = 0.0
    for age in range(1, window):
        total += masses[(clock - age) % window] * 2.0 ** (-age / half_life)
    return total


@inner
def fade_mass(F, sides, K, M, masses, window, count, half_life):
    """Mass fades by the age of one example; that of the one that leaves the window goes."""
    keep_small()
    whole = M[WHOLE_MASS, 0]
    if whole > 0.0:
        left = whole * 2.0 ** (-1.0 / half_life)
        if window and count[CLOCK] >= window:
            gone = masses[count[CLOCK] % window] * 2.0 ** (-window / half_life)
            left -= gone
            if gone > left or count[CLOCK] % window == 0:  # differences lose digits
                left = _whole_mass(masses, window, count[CLOCK], half_life)
        M[MASS, 0], M[WHOLE_MASS, 0] = M[MASS, 0] / whole * left, left
    balance(F, sides, K, M, count[N])
