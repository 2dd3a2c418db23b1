"""Covtype, class 2 against the rest: 64 cells next to the single fit and the tree."""

from __future__ import annotations

from typing import Any

from benchmarks.clock import Clock, warm_up
from benchmarks.datasets import load
from benchmarks.markdown import markdown, number, percent
from benchmarks.papers.page import Section
from benchmarks.quick import generated_rows

ROWS, CELLS = 500_000, 64


def part(rows: int = ROWS) -> Section:
    """64 cells, with and without overlap, the tree, and the single fit."""
    from onlinesvm import LASVMClassifier
    from onlinesvm.dask import CellLASVMClassifier, TreeLASVMClassifier

    data = load(f"forest:{rows}")
    settings = {"C": data.C, "gamma": data.gamma, "random_state": 0}
    cells = 4 if generated_rows() is not None else CELLS
    models: dict[str, Any] = {
        f"{cells} cells": CellLASVMClassifier(n_cells=cells, overlap=0.0, **settings),
        f"{cells} cells, overlap 0.1": CellLASVMClassifier(n_cells=cells, **settings),
        "tree, passes=0": TreeLASVMClassifier(passes=0, **settings),
        "tree, passes=1": TreeLASVMClassifier(**settings),
        "single fit": LASVMClassifier(**settings),
    }
    table, numbers = [], {}
    for name, model in models.items():
        warm_up(model, data.X_train, data.y_train)
        with Clock() as clock:
            model.fit(data.X_train, data.y_train)
        error = 100 * (1 - float(model.score(data.X_test, data.y_test)))
        numbers[name] = {"seconds": clock.seconds, "cpu": clock.cpu_seconds, "error": error}
        cost = f"{number(clock.seconds)} s", f"{number(clock.cpu_seconds)} s"
        table.append([name, *cost, percent(error)])
    return {"report": markdown(["model", "time", "processor", "error"], table), "numbers": numbers}
