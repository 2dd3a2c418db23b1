"""A race as a table, a picture and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.runtime.dependencies import require
from ..core.runtime.interrupts import clock
from .race import Candidate, Race

COLOURS = {"rbf": "#2f6690", "laplacian": "#d1803b", "matern12": "#5b8c5a"}


def race_table(race: Race, winner: Candidate) -> dict[str, np.ndarray]:
    """One row for each candidate in each round, in the order of rows and errors."""
    lines = []
    for candidate in race.candidates:
        own = {**race.units.parameters(candidate.setting)}
        for each in candidate.rounds:
            mean = float(each.errors.mean())
            error = mean if race.has_classes else float(np.sqrt(mean))
            noise = each.noise if race.has_classes else each.noise / max(2 * error, 1e-300)
            lines.append(
                {
                    "candidate": candidate.number, "kernel": own["kernel"], "C": own["C"],
                    "gamma": own["gamma"], "epsilon": own.get("epsilon", np.nan),
                    "numbers": candidate.setting.numbers,
                    "rescalings": candidate.setting.rounds,
                    "decision": candidate.setting.decision, "rows": each.rows,
                    "scored": len(each.errors), "error": error, "noise": noise,
                    "seconds": each.seconds, "together": each.sharers, "won": candidate is winner,
                }
            )  # fmt: skip
    lines.sort(key=lambda line: (line["rows"], line["error"]))
    return {name: np.array([line[name] for line in lines]) for name in lines[0]} if lines else {}


def plot_race(table: dict[str, np.ndarray], ax: Any) -> Any:
    """Error against rows; one line per candidate, in the colour of its kernel."""
    figures = require("matplotlib.figure", "A plot", "plots")

    if ax is None:
        ax = figures.Figure(figsize=(6.4, 4), layout="constrained").subplots()
    named = set()
    for number in np.unique(table["candidate"]):
        own = table["candidate"] == number
        kernel, won = str(table["kernel"][own][0]), bool(table["won"][own][0])
        weighted = bool(table["rescalings"][own][0])
        label = kernel + (", learned weights" if weighted else "")
        ax.plot(
            table["rows"][own], table["error"][own], marker="o", color=COLOURS.get(kernel),
            linestyle="--" if weighted else "-", linewidth=3 if won else 0.8,
            markersize=7 if won else 3, alpha=1.0 if won else 0.5, zorder=3 if won else 2,
            label=None if label in named else label,
        )  # fmt: skip
        named.add(label)
    ax.set(xlabel="rows learned", ylabel="error on held-out rows", xscale="log")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax.figure


@contextmanager
def race_bar(shown: bool, begin: float, limit: float | None) -> Iterator[Callable[[str], None]]:
    """A progress bar of the time used and the current stage; ``limit`` None: no total."""
    if not shown:
        yield lambda text: None
        return
    bars = require("rich.progress", "verbose=True", "cli")
    columns = (bars.BarColumn(), bars.TimeElapsedColumn(), bars.TextColumn("{task.description}"))
    with bars.Progress(*columns) as progress:
        task = progress.add_task("encoding", total=limit)

        def tell(text: str) -> None:
            progress.update(task, description=text, completed=clock() - begin)

        yield tell
        tell("done")
