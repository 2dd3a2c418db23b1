"""What a stream costs: ``python -m benchmarks.throughput [--blocks 20] [--only NAMES]``.

The stream is Gaussian, two overlapping classes in 54 dimensions, and comes in blocks of 1,000
through ``partial_fit``. For every online estimator of the package, or one that is passed to
:func:`stream_throughput`, it prints examples a second, nanoseconds a kernel value, and

    kernel   time inside the model's kernel calls over that of the kernel block it needs at least:
             the block's examples against the rows held when it came, GEMM and exponential, in one
             piece by the model's own kernel;
    loop     everything else: the model's own loop, validation included, in µs an example;
    total    whole cost over that kernel block.

``kernel`` at most 1.5 means: an example costs no more than 1.5 times the kernel block plus the
loop. Figures are medians over the second half of the stream.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

BLOCK = 1_000
DIMENSIONS = 54


def _stream(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, DIMENSIONS)) + 0.25 * (2 * y[:, None] - 1)
    return X.astype(np.float32), y


@contextmanager
def kernel_clock() -> Iterator[list[float]]:
    """Sums up the seconds spent in kernel calls, in the first entry of what it yields."""
    from onlinesvm.kernels import Kernel

    spent, depth = [0.0], [0]

    def clocked(call: Any) -> Any:
        def wrapper(*args: Any, **more: Any) -> Any:
            depth[0] += 1
            start = time.perf_counter()
            try:
                return call(*args, **more)
            finally:
                depth[0] -= 1
                spent[0] += 0.0 if depth[0] else time.perf_counter() - start

        return wrapper

    with (
        patch.object(Kernel, "block", clocked(Kernel.block)),
        patch.object(Kernel, "product", clocked(Kernel.product)),
    ):
        yield spent


def _bare(model: Any, X: np.ndarray) -> float:
    """Time of the kernel block alone: these rows against those held."""
    from onlinesvm.core.rows import Rows

    kernel, held = replace(model._kernel), Rows.of(model.support_vectors_, model._centre)
    rows, out = Rows.of(X, model._centre), np.empty((len(X), len(held)), np.float32)
    return float(np.median([_timed(lambda: kernel.block(rows, held, out)) for _ in range(3)]))


def stream_throughput(model: Any, blocks: int = 20) -> dict[str, float]:
    """Feed the stream, and time each block next to the kernel block that it needs at least."""
    X, y = _stream(blocks * BLOCK, 0)
    spent, floor, inside, values = [], [], [], []
    for start in range(0, len(y), BLOCK):
        part = slice(start, start + BLOCK)
        floor.append(_bare(model, X[part]) if start else np.nan)
        before = model.n_kernel_evaluations_ if start else 0
        with kernel_clock() as clock:
            spent.append(_timed(lambda p=part: model.partial_fit(X[p], y[p])))
        inside.append(clock[0])
        values.append(model.n_kernel_evaluations_ - before)
    half = slice(blocks // 2, None)
    cost, least, kernel = (np.array(t[half]) for t in (spent, floor, inside))
    found = {
        "examples_per_second": BLOCK / float(np.median(cost)),
        "ns_per_value": float(np.median(1e9 * cost / np.maximum(values[half], 1))),
        "kernel": float(np.median(kernel / least)),
        "loop": float(np.median(1e6 * (cost - kernel) / BLOCK)),
        "ratio": float(np.median(cost / least)),
    }
    rows = len(model.support_vectors_)
    print(_line(type(model).__name__, found, rows), flush=True)
    return found


def _line(name: str, found: dict[str, float], rows: int) -> str:
    return (
        f"{name:30} {found['examples_per_second']:9,.0f} examples/s "
        f"{found['ns_per_value']:7.2f} ns a value; kernel {found['kernel']:5.2f}, "
        f"loop {found['loop']:6.2f} µs, "
        f"total {found['ratio']:5.2f}; {rows:,} rows held"
    )


def _timed(task: Any) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def online_classifiers() -> dict[str, Any]:
    """Every public estimator that learns from a stream and has a kernel, with γ = 1/54."""
    import onlinesvm

    found = {}
    for name in onlinesvm.__all__:
        made = getattr(onlinesvm, name)
        if isinstance(made, type) and hasattr(made, "partial_fit"):
            model = made()
            known = model.get_params()
            settings = {"kernel": "rbf", "gamma": 1 / DIMENSIONS, "random_state": 0}
            found[name] = model.set_params(**{k: v for k, v in settings.items() if k in known})
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each."""
    p = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__)
    p.add_argument("--blocks", type=int, default=20)
    p.add_argument("--only", default="", help="names of estimators, with commas")
    options = p.parse_args(arguments)
    for name, model in online_classifiers().items():
        if not options.only or name in options.only.split(","):
            try:
                stream_throughput(model, options.blocks)
            except (AttributeError, ValueError, MemoryError) as error:
                print(f"{name:30} not measured: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
