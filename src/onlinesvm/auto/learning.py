"""The race, then the fit of the winner on all rows, within a time limit.

If one fit of all rows would take too long, the table is divided into cells, each with a model of
the winner's settings (``estimators.cells``). Cells are scored on held-out rows; if they are not
better than the expected score of a sample, the winner learns a random sample instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.runtime.interrupts import clock
from ..core.runtime.threads import thread_count
from ..estimators.cells import CellClassifier, CellRegressor
from ..estimators.metric import errors_of
from .race import Candidate, Race, Round, seconds_for

LEFT = 0.9
"""Share of the remaining time for which the fit of the winner is planned."""

CROSS_FITTING = 1.6
"""Approximate factor by which probabilities make a fit slower."""

SHORTEST = 0.2
"""Minimum number of seconds for the winner."""

FOR_CELLS = 0.65
"""Share of the remaining time for cells; the rest is for a sample."""

CELL_ROWS, FEWEST_CELLS = (1000, 20_000), 4
"""Minimum and maximum number of rows of a cell, and the minimum number of cells."""

SCORED = 4000
"""Maximum number of rows on which cells are scored, without learning them; at most a fifth of all."""

SHARED = 2.0
"""Approximate number of cells in which a row is learned."""


class Outcome(NamedTuple):
    """A race, its winner, the model of the winner, and the number of rows that it has learned."""

    race: Race
    winner: Candidate
    model: Any
    n_learned: int
    weights: np.ndarray | None

    def parameters(self) -> dict[str, Any]:
        """Parameters that were found."""
        return {**self.race.units.parameters(self.winner.setting), "feature_weights": self.weights}

    @property
    def is_cut_short(self) -> bool:
        """Whether the time limit ended the race early, or left no time for all rows."""
        return self.race.out_of_time or self.n_learned < len(self.race.order)

    def learned_from(self) -> str:
        """The rows that the model has learned, in words."""
        n, sizes = len(self.race.order), getattr(self.model, "cell_sizes_", None)
        if sizes is not None:
            return f"{self.n_learned:,} of {n:,} rows, in {len(sizes)} cells"
        return (
            "all rows"
            if self.n_learned == n
            else f"a random sample of {self.n_learned:,} of {n:,} rows"
        )

    def told(self, limit: float | None) -> str:
        """Message about the effect of the time limit."""
        ended = "the race ended early" if self.race.out_of_time else "the race is done"
        return f"time_limit={limit} s: {ended}, and the model has learned {self.learned_from()}. A larger time_limit may give a better model."


def race_and_learn(
    make: Callable[..., Any], rows: dict[str, np.ndarray], y: np.ndarray, has_classes: bool, *,
    begin: float, limit: float | None, n_jobs: int | None, seed: int, tell: Callable[[str], None],
    cells: bool = True,
) -> Outcome:  # fmt: skip
    """Race on these rows, one array for each scale of numbers, and fit the winner.

    ``begin``: start of the time limit. ``cells``: whether the model may be divided into cells.
    """
    ends = begin + (np.inf if limit is None else limit)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # warnings of stopped fits: the outcome reports the time limit once
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
        weights = race.final_weights(winner.setting.metric)
        model, count = _final(race, winner, weights, ends, n_jobs, cells)
    return Outcome(race, winner, model, count, weights)


def _final(
    race: Race, winner: Candidate, weights: np.ndarray | None, ends: float, n_jobs: int | None,
    cells: bool,
) -> tuple[Any, int]:  # fmt: skip
    """The winner, fitted on all rows, in cells, or on a sample; and the number of rows learned."""
    count = _affordable(race, winner, LEFT * max(SHORTEST, ends - clock()))
    if cells and count < len(race.order):
        found = _in_cells(race, winner, weights, count, ends, n_jobs)
        if found is not None:
            return found
        count = _affordable(race, winner, LEFT * max(SHORTEST, ends - clock()))
    left = max(SHORTEST, ends - clock())
    race.tell(f"{count:,} rows, the winner ({winner.setting.kernel})")
    model = _made(race, winner, weights).set_params(
        n_jobs=n_jobs, time_limit=left if np.isfinite(left) else None
    )
    which = np.sort(race.order[:count])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(race.X[winner.setting.numbers][which], race.y[which])
    if any("time_limit" in str(each.message) for each in said):
        count = min(count, int(model.n_iter_))
    return model.set_params(time_limit=None), count  # what was left is no setting of the model


def _made(race: Race, winner: Candidate, weights: np.ndarray | None) -> Any:
    """The unfitted estimator of the winner."""
    more = {"probability": True} if race.has_classes else {}
    parameters = race.units.parameters(winner.setting)
    return race.make(**parameters, **more, feature_weights=weights, random_state=0)


# -- cells --------------------------------------------------------------------------------


def _in_cells(
    race: Race, winner: Candidate, weights: np.ndarray | None, count: int, ends: float,
    n_jobs: int | None,
) -> tuple[Any, int] | None:  # fmt: skip
    """The winner in cells; None if a sample of ``count`` rows is expected to be as good."""
    seconds, n = FOR_CELLS * (ends - clock()), len(race.order)
    held = race.folds[0].score[: min(SCORED, n // 5)]
    learn = np.setdiff1d(race.order, held)
    n_cells = _cell_count(race, winner, len(learn), seconds, thread_count(n_jobs))
    if n_cells < FEWEST_CELLS:
        return None
    race.tell(f"{len(learn):,} rows in {n_cells} cells, the winner ({winner.setting.kernel})")
    kind = CellClassifier if race.has_classes else CellRegressor
    rows = race.X[winner.setting.numbers]
    model = kind(
        _made(race, winner, weights), n_cells=n_cells, time_limit=seconds, n_jobs=n_jobs,
    ).fit(rows[learn], race.y[learn])  # fmt: skip
    errors = errors_of(model.predict(rows[held]), race.y[held], race.has_classes)
    if errors.mean() > expected_error(winner.rounds, count):
        return None
    return model.set_params(time_limit=None), len(learn)


def _cell_count(race: Race, winner: Candidate, n: int, seconds: float, threads: int) -> int:
    """The smallest number of cells that the time allows; 0 if even small cells take too long."""
    factor = CROSS_FITTING if race.has_classes else 1.0
    smallest, size = CELL_ROWS[0], float(min(n, CELL_ROWS[1]))
    while size >= smallest:
        known = [each for each in winner.rounds if each.rows <= size] or winner.rounds[:1]
        work = factor * SHARED * n / size * seconds_for(known[-1], int(size))
        if work / threads <= seconds:
            return int(np.ceil(SHARED * n / size))
        size *= 0.8
    return 0


def expected_error(rounds: list[Round], count: int) -> float:
    """Expected error of the winner on ``count`` rows: a power law through its last two rounds."""
    errors = [float(each.errors.mean()) for each in rounds[-2:]]
    if len(errors) < 2 or not 0 < errors[1] < errors[0]:
        return errors[-1]
    grown = np.log(rounds[-1].rows / rounds[-2].rows)
    power = np.log(errors[1] / errors[0]) / grown
    return float(errors[1] * max(1.0, count / rounds[-1].rows) ** power)


def _affordable(race: Race, winner: Candidate, seconds: float) -> int:
    """How many rows can be learned in this time."""
    known, count = winner.last, len(race.order)
    factor = CROSS_FITTING if race.has_classes else 1.0
    while count > known.rows and factor * seconds_for(known, count) > seconds:
        count = max(known.rows, int(0.9 * count))
    return count
