"""The sum of the coefficients of one class with a bounded memory.

    sum_i a_i = s,   0 <= a_i <= w_i

Every example brings *mass*, nu times its weight w, whether it is held or not: s is the mass of the
examples that count. With a half-life mass fades as bounds do; an example that leaves the window
takes its mass along. Where s changes, rows at the ends of the slopes give or take: those whose
gradients ask for it most.

A row that is removed for the budget takes its coefficient with it. If the coefficient stayed, s
would grow with every example, until all rows are at their bounds and none can move. As it is, the
coefficients stand for s / nu examples, and rows that carry leave as often as nu brings in their
mass. Still most rows are near their bounds then, and somewhat more examples lie outside than nu
says. Examples that leave a window with a budget take the share that is left of their mass.
"""

from __future__ import annotations

from ...runtime.numerics import inlined, keep_small, linked, never_inline
from ..state import CLOCK, N
from .steps import extremes, note_rounding, place

MISSING = 1e-12
"""Share of the mass that may be missing: otherwise rounding would give rows at zero coefficients."""


@linked
def balance(a, c):
    """Coefficients of machine 0 up or down until they sum to their mass, or none can move on."""
    never_inline()
    alpha, grad, n = a.alpha[0], a.grad[0], a.count[N]
    rest = a.mass[0]
    for s in range(n):
        rest -= alpha[s]
    if abs(rest) <= MISSING * a.mass[0]:
        rest = 0.0
    while rest != 0.0:
        top, bottom, _, _ = extremes(a, c, 0)
        s = top if rest > 0.0 else bottom
        if s < 0:
            break
        before = alpha[s]
        end = a.hi[0, s] if rest > 0.0 else 0.0
        reached = abs(rest) >= abs(end - before)
        place(a, 0, s, end if reached else before + rest, 0.0)
        step = alpha[s] - before
        note_rounding(a, 0, s)
        row = c.pool[c.table[s, 0]]
        for r in range(n):
            grad[r] -= step * row[r]
        rest = rest - step if reached else 0.0


@inlined
def lacks_room(a, mass):
    """Whether the rows held cannot take this mass."""
    room = -a.mass[0] - mass
    for s in range(a.count[N]):
        room += a.hi[0, s]
    return room < 0.0


@linked
def add_mass(a, c, limits, mass):
    """The example at hand brings mass."""
    keep_small()
    a.mass[0] += mass
    a.whole_mass[0] += mass
    if limits.window:
        limits.masses[a.count[CLOCK] % limits.window] = mass
    balance(a, c)


@linked
def _mass_of_window(masses, window, clock, half_life):
    """The mass of all examples in the window but the one that leaves it, now."""
    never_inline()
    total = 0.0
    for age in range(1, window):
        total += masses[(clock - age) % window] * 2.0 ** (-age / half_life)
    return total


@linked
def fade_mass(a, c, limits):
    """Mass fades by the age of one example; that of the one that leaves the window goes."""
    keep_small()
    whole, window, clock = a.whole_mass[0], limits.window, a.count[CLOCK]
    if whole > 0.0:
        left = whole * 2.0 ** (-1.0 / limits.half_life)
        if window and clock >= window:
            gone = limits.masses[clock % window] * 2.0 ** (-window / limits.half_life)
            left -= gone
            if gone > left or clock % window == 0:  # differences lose digits
                left = _mass_of_window(limits.masses, window, clock, limits.half_life)
        a.mass[0], a.whole_mass[0] = a.mass[0] / whole * left, left
    balance(a, c)
