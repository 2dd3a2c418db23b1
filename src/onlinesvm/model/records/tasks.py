"""The task of LASVM's machines, with statistics of the targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm.pairs import Pairs
from ...core.lasvm.tasks import Classification, OneClass, Regression, SeveralLabels, Task
from ...estimators.labels import Indicators, NoTargets, QuantileTargets, Targets
from ..fields import Fields
from .common import Context


def task_fields(task: Task) -> dict[str, Any]:
    """The task by name, and its numbers."""
    if isinstance(task, Regression):
        own = {} if task.quantiles is None else {"quantiles": task.quantiles}
        return {
            "name": "regression", "epsilon": float(task.epsilon), "recent": task.recent, **own
        }  # fmt: skip
    if isinstance(task, OneClass):
        return {
            "name": "one class", "nu": float(task.nu), "share": float(task.share),
            "influence": float(task.influence),
        }  # fmt: skip
    names = {SeveralLabels: "several labels", Pairs: "pairs"}
    return {"name": names.get(type(task), "classification")}


def task_of(fields: Fields, context: Context) -> Task:
    """The task again."""
    name = fields.word(
        "name", "classification", "pairs", "several labels", "regression", "one class"
    )
    task: Task = Pairs() if name == "pairs" else Classification()
    if name == "several labels":
        task = SeveralLabels(context.n_labels)
    elif name == "regression":
        machines = context.n_labels
        levels = None
        if fields.has("quantiles"):
            levels = fields.array("quantiles", np.float64, (machines,), 0.0)
            if not ((levels > 0.0) & (levels < 1.0)).all():
                raise fields.wrong("quantiles", "has a value that is not between 0 and 1")
        task = Regression(fields.number("epsilon", 0.0), machines, levels)
        task.recent = fields.array("recent", np.float64, (None, machines))
    elif name == "one class":
        task = OneClass(fields.number("nu", 0.0, 1.0))
        if fields.has("share"):  # not in files of earlier versions
            task.share = fields.number("share", 0.0, 1.0)
            task.influence = fields.number("influence", 0.0, infinite=True)
    fields.close()
    return task


def targets_fields(targets: Targets) -> dict[str, Any]:
    """What y looked like."""
    return {
        "columns": int(targets.columns),
        "two_dimensional": bool(targets.two_dimensional),
        "none": isinstance(targets, NoTargets),
        **({"quantiles": True} if isinstance(targets, QuantileTargets) else {}),
        **({"indicators": True} if isinstance(targets, Indicators) else {}),
    }


def targets_of(fields: Fields) -> Targets:
    """Read targets from their record."""
    columns, two = fields.whole("columns", 1, 2**20), fields.flag("two_dimensional")
    none = fields.flag("none")
    quantiles = fields.has("quantiles") and fields.flag("quantiles")
    indicators = fields.has("indicators") and fields.flag("indicators")
    fields.close()
    if indicators:
        if none or quantiles or not two or columns < 2:
            raise fields.wrong("indicators", "must be two columns or more, and labels")
        return Indicators(columns)
    if none and (columns, two) != (1, False):
        raise fields.wrong("columns", "must be one where there are no targets")
    if quantiles:
        return QuantileTargets(columns)
    return NoTargets() if none else Targets(columns, two)
