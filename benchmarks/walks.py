"""Distinct files of the package that a call enters: ``python -m benchmarks.walks``.

A reader who follows ``fit`` from the estimator down to its loops opens these files. They are counted
by tracing the call with compilation off, so that the loops are seen as well; ``--files`` names them.
The model has learned something before, as in the middle of a stream, unless the call is ``fit``.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"

import numpy as np

import onlinesvm

PACKAGE = Path(onlinesvm.__file__).resolve().parent

WANTED = {
    "fit": 22,
    "predict": 10,
    "learn_one": 12,
    "partial_fit, one row": 13,
    "SimpleSVM fit": 18,
}
"""The most files that each call should enter."""

ROWS, FEATURES = 240, 4


def files_entered(call: Callable[[], Any]) -> list[str]:
    """Files of the package whose functions run during the call, in all threads."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    inside = (Path(name).resolve() for name in found if name[:1] != "<")
    return sorted(str(p.relative_to(PACKAGE)) for p in inside if p.is_relative_to(PACKAGE))


def walks() -> dict[str, Callable[[], Any]]:
    """The calls, by name; what precedes them is done already."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    settings: dict[str, Any] = {"gamma": 0.2, "n_jobs": 1, "random_state": 0}
    fitted = onlinesvm.LASVMClassifier(**settings).fit(X[:60], y[:60])
    bounded = onlinesvm.LASVMClassifier(**settings, budget=20).partial_fit(X[:60], y[:60])
    stream = onlinesvm.LASVMClassifier(**settings).partial_fit(X[:60], y[:60])
    for k in range(60, 64):  # what is prepared once is prepared
        bounded.learn_one(X[k], y[k])
        stream.partial_fit(X[k : k + 1], y[k : k + 1])
    return {
        "fit": lambda: onlinesvm.LASVMClassifier(**settings).fit(X, y),
        "predict": lambda: fitted.predict(X[:20]),
        "learn_one": lambda: bounded.learn_one(X[70], y[70]),
        "partial_fit, one row": lambda: stream.partial_fit(X[70:71], y[70:71]),
        "SimpleSVM fit": lambda: onlinesvm.SimpleSVMClassifier(**settings).fit(X[:80], y[:80]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="name the files")
    named = parser.parse_args().files
    for name, call in walks().items():
        call()  # modules are imported once, and the first prediction makes the view
        files = files_entered(call)
        print(f"{name:22} {len(files):3} files, wanted {WANTED[name]}")
        for file in files if named else ():
            print(f"    {file}")


if __name__ == "__main__":
    main()
