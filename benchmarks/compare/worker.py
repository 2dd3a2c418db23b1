"""One measurement in a process of its own: ``python -m benchmarks.compare.worker SPECIFICATION``.

Given a specification (JSON: peer, dataset, format, measure, repeats, ...), prints one line of JSON.

Measures
--------
fit
    Warm times: the model is fitted to a few rows first, so that code is loaded and compiled, then
    to all of them `repeats` times, with another seed each time. Peak memory is the largest resident
    set during the first of these fits minus the resident set just before it, when data and code are
    in memory. Then test error, support vectors, kernel evaluations, rows predicted a second.
fresh
    Start of the process to the end of the first fit, imports and all, less the reading of the data.
stream
    Test-then-train: each row is predicted, then learned; the first 1,000 only learned. Another
    model has learned a few rows before the clock starts.
regression, novelty
    As ``fit``, with another error (see :mod:`benchmarks.compare.value_measures`).
floor
    A fit, and what its kernel values alone would take (see :mod:`benchmarks.compare.floor`).

A fit that outlasts `limit` seconds ends the process by SIGALRM, which the parent reports as such:
code that is busy outside Python would not notice anything gentler.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.clock import WARM_UP, Clock, timed_fit, warm_up
from benchmarks.compare.value_measures import measure_novelty, measure_regression
from benchmarks.memory import peak_memory

STREAM_START = 1000
ENOUGH_SECONDS = 45.0
"""Fits are repeated until they have taken this long together."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """End the process if the block takes longer."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def read(spec: dict[str, Any]) -> tuple[Any, Any, Any]:
    """The data set, and its features in the form asked for."""
    from benchmarks.datasets import convert, load

    data = load(spec["dataset"], seed=spec.get("seed", 0)).cut(spec.get("rows"))
    form = spec["format"]
    return data, convert(data.X_train, form), convert(data.X_test, form)


def support_count(model: Any) -> int | None:
    """Number of support vectors, the union over the machines where there are several."""
    import numpy as np

    if hasattr(model, "n_support_"):
        return int(np.sum(model.n_support_))
    if hasattr(model, "estimators_"):
        parts = [getattr(e, "support_", None) for e in model.estimators_]
        if all(p is not None for p in parts):
            return len(np.unique(np.concatenate(parts)))
    return None


def measure_fit(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    import numpy as np

    data, X, X_test = read(spec)
    y = data.y_train.astype(np.int64)
    warm_up(peer.build(data, 0), X, y)
    out: dict[str, Any] = {"n_train": len(y), "n_features": X.shape[1], "note": data.note}
    times: list[float] = []
    cpu_times: list[float] = []
    errors: list[float] = []
    counts: list[int | None] = []
    for seed in range(spec.get("repeats", 3)):
        model = peer.build(data, seed)
        with time_limit(spec.get("limit")), peak_memory({} if times else out):
            clock = timed_fit(model, X, y)
        times.append(clock.seconds)
        cpu_times.append(clock.cpu_seconds)
        with Clock() as clock:
            predicted = model.predict(X_test)
        errors.append(float(np.mean(predicted != data.y_test)))
        out["predict_s"] = min(clock.seconds, out.get("predict_s", clock.seconds))
        counts.append(support_count(model))
        evaluations = getattr(model, "n_kernel_evaluations_", None)
        out["kernel_evaluations"] = None if evaluations is None else int(evaluations)
        if sum(times) > ENOUGH_SECONDS:
            break
    known = [c for c in counts if c is not None]
    return out | {
        "fit_s": times,
        "cpu_s": cpu_times,
        "errors": errors,
        "n_support": float(np.mean(known)) if known else None,
        "predict_rows_per_s": len(data.y_test) / out["predict_s"],
    }


def measure_fresh(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    # What reading needs is imported outside the clock of the reading, hence counted: every
    # library here needs NumPy and SciPy itself.
    import lzma  # noqa: F401

    import numpy as np
    import sklearn.datasets  # noqa: F401

    before = time.monotonic()
    data, X, _ = read(spec)
    y = data.y_train.astype(np.int64)
    reading = time.monotonic() - before
    with time_limit(spec.get("limit")):
        peer.build(data, 0).fit(X, y)
    return {"fresh_s": time.monotonic() - spec["started"] - reading}


def measure_stream(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    data, X, _ = read(spec)
    rows, labels = peer.build(data, 0).rows(X), data.y_train.tolist()
    warm = peer.build(data, 0)
    for row, label in zip(rows[:WARM_UP], labels):
        warm.learn(row, label)
        warm.answer(row)
    model = peer.build(data, 0)
    out: dict[str, Any] = {"n_train": len(labels), "n_features": X.shape[1], "note": data.note}
    wrong = 0
    with time_limit(spec.get("limit")), peak_memory(out):
        for row, label in zip(rows[:STREAM_START], labels):
            model.learn(row, label)
        with Clock() as clock:
            for row, label in zip(rows[STREAM_START:], labels[STREAM_START:]):
                wrong += model.answer(row) != label
                model.learn(row, label)
    n = len(labels) - STREAM_START
    out["errors"] = [wrong / n]
    out["us_per_example"] = 1e6 * clock.seconds / n
    out["n_support"] = support_count(model.model)
    return out


def measure_floor(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    from benchmarks.compare.floor import seconds_per_value

    out = measure_fit(spec, peer)
    data, X, _ = read(spec)
    out["floor_s_per_value"] = seconds_per_value(X, data.gamma)
    return out


MEASURES = {
    "fit": measure_fit,
    "fresh": measure_fresh,
    "stream": measure_stream,
    "floor": measure_floor,
    "regression": measure_regression,
    "novelty": measure_novelty,
}


def run(spec: dict[str, Any]) -> dict[str, Any]:
    """The result of one measurement; what could not be measured is said in its ``status``."""
    from benchmarks.compare.peers import PEERS
    from benchmarks.datasets import DataFolderError

    peer = PEERS[spec["peer"]]
    try:
        found = MEASURES[spec["measure"]](spec, peer)
    except ModuleNotFoundError as error:
        return {"status": "not installed", "reason": str(error)}
    except (ImportError, OSError) as error:
        return {"status": "cannot be loaded", "reason": str(error)}
    except DataFolderError as error:
        return {"status": "no data", "reason": str(error)}
    except Exception as error:
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    return {"status": "ok", "version": peer.version(), **found}


def main() -> None:
    """Measure what the command line asks for."""
    warnings.simplefilter("ignore")
    spec = json.loads(sys.argv[1])
    print(json.dumps(run(spec)), flush=True)


if __name__ == "__main__":
    main()
