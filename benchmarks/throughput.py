"""What a stream costs: examples a second and nanoseconds a kernel value.

Used by the benchmarks of single algorithms. The stream is Gaussian, two overlapping classes in 54
dimensions, and comes in blocks of 1,000 through ``partial_fit``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

BLOCK = 1_000
DIMENSIONS = 54


def _stream(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, DIMENSIONS)) + 0.25 * (2 * y[:, None] - 1)
    return X.astype(np.float32), y


def stream_throughput(model: Any, blocks: int = 20) -> dict[str, float]:
    """Feed the stream, and time each block next to the kernel block that it needs at least.

    That kernel block is the block's examples against the rows held when it came, computed in one
    piece by the model's own kernel. The median over the second half of the stream is printed.
    """
    from dataclasses import replace

    from onlinesvm.core.rows import Rows

    X, y = _stream(blocks * BLOCK, 0)
    spent, floor, values = [], [], []
    for start in range(0, len(y), BLOCK):
        part = slice(start, start + BLOCK)
        if start:
            held = model._learner.expansion()[0]
            kernel, rows = replace(model._kernel), Rows.of(X[part], model._centre)
            floor.append(min(_timed(lambda k=kernel, r=rows, h=held: k.block(r, h)) for _ in "123"))
        before = model.n_kernel_evaluations_ if start else 0
        spent.append(_timed(lambda p=part: model.partial_fit(X[p], y[p])))
        values.append(model.n_kernel_evaluations_ - before)
    half = len(floor) // 2
    cost, least = np.median(spent[1:][half:]), np.median(floor[half:])
    found = {
        "examples_per_second": BLOCK / cost,
        "ns_per_value": 1e9 * cost / np.median(values[1:][half:]),
        "ratio": cost / least,
    }
    print(
        f"{type(model).__name__:28} {found['examples_per_second']:10,.0f} examples/s, "
        f"{found['ns_per_value']:.2f} ns a kernel value, {found['ratio']:.2f} times the kernel "
        f"block alone; {len(model._learner.expansion()[0])} rows held"
    )
    return found


def _timed(task: Any) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start
