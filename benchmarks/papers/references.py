"""Exact solutions to compare with: SVC on the data sets of the LASVM paper.

They cost far more than what is compared with them, so they are kept in
``benchmarks/results/references.json`` and computed when missing. A set drawn at random has one for
each seed, a set with a test part of its own one in all. What was computed while other programs kept
the machine busy has no time, and is computed again when it is quiet.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import BUSY_LOAD, load_per_core, timed_fit
from benchmarks.datasets import Dataset, convert, load
from benchmarks.runs import Runs

FILE = Path("references.json")
"""In the folder of results."""

BUSY = load_per_core() > BUSY_LOAD
"""Whether the machine was at work when the program started: times would be too long."""

DRAWN = ("uci_waveform", "banana")
"""Sets whose split depends on the seed."""

ONEDAL = ("mnist8",)
"""Sets on which scikit-learn's own SVC takes the better part of an hour; oneDAL's solves the same
problem to the same tolerance."""


def _solver(name: str) -> tuple[str, Any, str]:
    """Name and version, class, and form of input of the solver for a set."""
    if name in ONEDAL:
        try:
            from sklearnex import svm

            version = importlib.metadata.version("scikit-learn-intelex")
            return f"oneDAL (scikit-learn-intelex {version})", svm.SVC, "dense32"
        except ImportError:
            pass
    from sklearn.svm import SVC

    return f"scikit-learn {importlib.metadata.version('scikit-learn')}", SVC, "native64"


def _solve(name: str, data: Dataset) -> dict[str, Any]:
    solver, svc, form = _solver(name)
    X, X_test = convert(data.X_train, form), convert(data.X_test, form)
    model = svc(C=data.C, gamma=data.gamma)
    seconds = timed_fit(model, X, data.y_train.astype(np.int64)).seconds
    error = float(np.mean(model.predict(X_test) != data.y_test))
    support = {
        "n_support": int(np.sum(model.n_support_)),
        "n_distinct": distinct(data.X_train, data.y_train, model.support_),
    }
    known = {"solver": solver, "error": error, **support}
    return known | {"seconds": None if BUSY else seconds}


def distinct(X: Any, y: np.ndarray, which: np.ndarray) -> int:
    """How many different examples there are among ``which``: copies of a row and label are one."""
    rows, labels = convert(X[which], "native32"), y[which]
    if sp.issparse(rows):
        parts = np.split(np.arange(rows.nnz), rows.indptr[1:-1])
        content = [rows.indices[p].tobytes() + rows.data[p].tobytes() for p in parts]
    else:
        content = [row.tobytes() for row in rows]
    return len(set(zip(content, labels.tolist())))


def reference(name: str, seed: int) -> dict[str, Any]:
    """Solver, test error, support vectors (all, distinct) and, if known, seconds."""
    key = f"{name}, seed {seed}" if name in DRAWN else name
    runs = Runs(FILE)
    known = runs.known()
    if key not in known or (known[key]["seconds"] is None and not BUSY):
        known[key] = _solve(name, load(name, seed))
        runs.write(known)
    return known[key]
