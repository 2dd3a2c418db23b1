"""What a race costs: processor time of a race over that of one fit of its winner on the same rows.

    python -m benchmarks.racing [SET ...] [--rows N] [--repeats K]

One thread. The table is encoded before both. Race and fit are repeated, and the quickest of each counts;
``--repeats 1`` includes the time to load compiled loops. Bar: 24 candidates cost at most 6 fits. A race has
more of them, 30 to 80: the ratio is that of the whole race, and ``of 24`` is that of 24 average candidates.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import warnings
from typing import Any

import numpy as np

from benchmarks.clock import Clock
from benchmarks.tables.sets import SETS
from onlinesvm import LASVMClassifier, LASVMRegressor
from onlinesvm.auto.candidates import SCALES
from onlinesvm.auto.race import Race
from onlinesvm.tables import TableEncoder

USUAL = (
    "covtype", "elec2", "weather", "a9a", "w8a", "ijcnn1", "waveform", "protein", "bike", "kin40k",
    "budget_food", "mixed50",
)  # fmt: skip


FITS = 3
"""Number of fits of the winner, of which the quickest counts."""


def encoded(table: Any, rows: int, seed: int) -> tuple[dict[str, np.ndarray], Any]:
    """Rows for each scale of numbers, and y."""
    X, y, _, _ = table.split(rows, seed)
    target = "continuous" if table.is_regression else "auto"
    made = {}
    for numbers in SCALES:
        encoder = TableEncoder(numbers=numbers, target_type=target, random_state=seed)
        made[numbers] = encoder.fit_transform(X, y)
        if not encoder.bent_.any():
            break
    return made, y


def seconds_of_race(X: Any, y: Any, is_regression: bool) -> tuple[float, float, Race, Any]:
    """Seconds of a race and of one fit of its winner, the race, and the winner."""
    make = LASVMRegressor if is_regression else LASVMClassifier
    with Clock() as racing:
        race = Race(
            make, X, y, not is_regression, ends=np.inf, threads=1, seed=0, tell=lambda s: None
        )
        winner = race.run()
    own = race.units.parameters(winner.setting) | {"n_jobs": 1, "random_state": 0}
    own["feature_weights"] = race.final_weights(winner.setting.metric)
    fits = []
    for _ in range(FITS):
        with Clock() as fitting:
            make(**own).fit(X[winner.setting.numbers], y)
        fits.append(fitting.cpu_seconds)
    return racing.cpu_seconds, min(fits), race, winner


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(USUAL))
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.sets:
        table = SETS[name]()
        X, y = encoded(table, args.rows, 0)
        runs = [seconds_of_race(X, y, table.is_regression) for _ in range(args.repeats)]
        took, fit = (min(run[k] for run in runs) for k in (0, 1))
        race, winner = runs[0][2:]
        print(
            f"{name:12} race {took:6.2f} s, fit {fit:6.3f} s, ratio {took / fit:6.2f}, "
            f"of 24 {took / fit * 24 / len(race.candidates):5.2f}; {len(race.candidates)} candidates, error {race.error(winner):.4f}, "
            f"{winner.setting.kernel}",
            flush=True,
        )


if __name__ == "__main__":
    main()
