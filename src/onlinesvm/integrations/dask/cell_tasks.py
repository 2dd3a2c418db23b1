"""The tasks of cells: a sample of each partition, centres, pieces of partitions, one SVM per cell."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from dask.delayed import Delayed

from ...core.examples import Examples
from ...core.kernel.rows import Rows
from ...core.lasvm.parts import cells
from ...core.lasvm.parts.cells import CellFit
from ...estimators.cells import ROWS_PER_CELL, centres_of
from ...estimators.rows import stack
from .frame import Frame
from .partitions import as_arrays
from .running import Run
from .tasks import Place


class CellModel:
    """Cells and their machines, in memory: predicts, and can be pickled."""

    def __init__(self, frame: Frame, centres: Rows, fits: list[CellFit]):
        self.frame, self.centres = frame, centres
        self.models = [fit.model for fit in fits]
        self.classes_ = frame.book.classes

    def _values(self, X: Any) -> np.ndarray:
        """Values of the machines, (n, machines), each row by those of its own cell."""
        rows = self.frame.rows(X)
        kernel = self.frame.kernel(-1)
        machines = len(self.models[0].bias)
        return cells.decide(self.models, self.centres, kernel, rows, machines)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values, each row by the machine of its own cell."""
        return self.frame.book.scores(self._values(X))

    def predict(self, X: Any) -> np.ndarray:
        """The label of each example."""
        return np.asarray(self.classes_[self.frame.book.winners(self._values(X))])


def sample(frame: Frame, part: Any, place: Place, count: int) -> Any:
    """Some rows of a partition, evenly spaced, as the kernel sees them: shifted by the centre."""
    X, _ = as_arrays(part, place.number)
    few = np.linspace(0, X.shape[0] - 1, min(X.shape[0], count)).astype(np.int64)
    return frame.trained.rows(X[few]).to_array()


def cluster(samples: list[Any], n_cells: int, seed: int) -> Rows:
    """Centres of the rows of all samples."""
    X = samples[0]
    for more in samples[1:]:
        X = stack(X, more)
    centres: Rows = centres_of(X, n_cells, seed)
    return centres


def split(frame: Frame, centres: Rows, part: Any, place: Place, overlap: float) -> list[Examples]:
    """The pieces of a partition, one per cell."""
    return cells.split(frame.examples(part, place.number, place.offset), centres, overlap)


def learn(frame: Frame, pieces: list[Examples], cell: int, seed: int) -> CellFit:
    """One cell."""
    seeds = np.array([seed, cell], np.uint32)
    return cells.learn(pieces, frame.kernel(), len(frame.book), frame.tol, seeds)


def cell_model(
    run: Run, frame: Frame, parts: list[Delayed], places: list[Place], n_cells: int,
    overlap: float,
) -> tuple[CellModel, list[CellFit]]:  # fmt: skip
    """All tasks of a fit, and the model they leave."""
    shared = run.value("frame", frame)
    count = -(-n_cells * ROWS_PER_CELL // len(parts))
    both = list(zip(parts, places))
    samples = [run.task("sample", p.number, sample, shared, part, p, count) for part, p in both]
    (found,) = run.results([run.task("cluster", 0, cluster, samples, n_cells, places[0].seed)])
    centres = run.value("centres", found)
    pieces = [
        run.task("split", p.number, split, shared, centres, part, p, overlap) for part, p in both
    ]
    learned = []
    for j in range(len(found)):
        own = [
            run.task("piece", f"{j}-{i}", operator.getitem, piece, j)
            for i, piece in enumerate(pieces)
        ]
        learned.append(run.task("cell", j, learn, shared, own, j, places[0].seed))
    fits = run.results(learned)
    return CellModel(frame, found, fits), fits
