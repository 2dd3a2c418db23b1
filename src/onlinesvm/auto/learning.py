"""From rows of numbers to a model: the race, then the winner on all rows, within a time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.runtime.interrupts import clock
from ..core.runtime.threads import thread_count
from .race import Candidate, Race, seconds_for

LEFT = 0.9
"""Share of what is left of the time limit that a fit of the winner is planned for."""

CROSS_FITTING = 1.6
"""How much longer a fit takes that makes probabilities, about."""

SHORTEST = 0.2
"""Seconds that the winner has in any case."""


class Outcome(NamedTuple):
    """A race, its winner, the model of the winner, and the number of rows that it has learned."""

    race: Race
    winner: Candidate
    model: Any
    n_learned: int

    def parameters(self) -> dict[str, Any]:
        """Parameters that were found."""
        found = self.race.units.parameters(self.winner.setting)
        return {**found, "feature_weights": self.model.get_params()["feature_weights"]}

    @property
    def is_cut_short(self) -> bool:
        """Whether the time limit has ended the race, or left no time for all rows."""
        return self.race.out_of_time or self.n_learned < len(self.race.order)

    def learned_from(self) -> str:
        """The rows that the model has learned, in words."""
        n = len(self.race.order)
        return (
            "all rows"
            if self.n_learned == n
            else f"a random sample of {self.n_learned:,} of {n:,} rows"
        )

    def told(self, limit: float | None) -> str:
        """What the time limit did."""
        ended = "the race ended early" if self.race.out_of_time else "the race is done"
        return (
            f"time_limit={limit} s: {ended}, and the model has learned {self.learned_from()}. A larger "
            "time_limit may give a better one."
        )


def race_and_learn(
    make: Callable[..., Any], rows: dict[str, np.ndarray], y: np.ndarray, has_classes: bool, *,
    begin: float, limit: float | None, n_jobs: int | None, seed: int, tell: Callable[[str], None],
) -> Outcome:  # fmt: skip
    """Race on these rows, one array for each scale of numbers, and fit the winner.

    ``begin``: when the limit has begun to count.
    """
    ends = begin + (np.inf if limit is None else limit)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of fits that are cut short: the outcome says what was done
        race = Race(
            make,
            rows,
            y,
            has_classes,
            ends=ends,
            threads=thread_count(n_jobs),
            seed=seed,
            tell=tell,
        )
        winner = race.run()
        model, count = _final(race, winner, ends, n_jobs)
    return Outcome(race, winner, model, count)


def _final(race: Race, winner: Candidate, ends: float, n_jobs: int | None) -> tuple[Any, int]:
    """The winner on all rows, or on as many as the time allows; and how many these are."""
    metric = winner.setting.metric
    weights = None if metric is None else race.weights(metric, race.order)[-1]
    left = max(SHORTEST, ends - clock())
    count = _affordable(race, winner, LEFT * left)
    race.tell(f"{count:,} rows, the winner ({winner.setting.kernel})")
    more = {"probability": True} if race.has_classes else {}
    model = race.make(
        **race.units.parameters(winner.setting), **more, feature_weights=weights, n_jobs=n_jobs,
        random_state=0, time_limit=left if np.isfinite(left) else None,
    )  # fmt: skip
    which = np.sort(race.order[:count])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(race.X[winner.setting.numbers][which], race.y[which])
    if any("time_limit" in str(each.message) for each in said):
        count = min(count, int(model.n_iter_))
    return model, count


def _affordable(race: Race, winner: Candidate, seconds: float) -> int:
    """How many rows can be learned in this time."""
    known, count = winner.last, len(race.order)
    factor = CROSS_FITTING if race.has_classes else 1.0
    while count > known.rows and factor * seconds_for(known, count) > seconds:
        count = max(known.rows, int(0.9 * count))
    return count
