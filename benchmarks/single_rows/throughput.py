"""What a stream costs: ``python -m benchmarks.single_rows --only throughput``.

The stream is Gaussian, two overlapping classes in 54 dimensions, and comes in blocks of 1,000
through ``partial_fit``. For every class of :data:`PAGE` it prints examples a second, nanoseconds a kernel value, and

    kernel   time inside the model's kernel calls over that of the kernel block it needs at least:
             the block's examples against the rows held when it came, made by NumPy in one piece,
             one GEMM (BLAS on all cores) and one exponential in place, nothing else;
    tiles    the same over that block made by the model's own kernel in one piece;
    loop     everything else: the model's own loop, validation included, in µs an example;
    total    whole cost over NumPy's kernel block.

``kernel`` at most 1.5 means: an example costs no more than 1.5 times the kernel block plus the
loop. Ratios are of the best blocks in the second half of the stream, each in seconds for a value
that is needed at least; the other figures are medians.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.clock import Clock, best_of, seconds_of
from benchmarks.markdown import markdown
from benchmarks.papers.page import Section
from benchmarks.quick import few

BLOCK = 1_000
DIMENSIONS = 54
REPEATS = 5
RUNS = 3
PAGE = (
    "LASVMClassifier", "HullerClassifier", "StreamSVMClassifier", "OLSVMClassifier",
    "NORMAClassifier", "PegazClassifier", "KernelPerceptronClassifier",
    "AveragedPerceptronClassifier", "BudgetPerceptronClassifier",
)  # fmt: skip
"""The classes in the table, in its order."""


def _stream(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, DIMENSIONS)) + 0.25 * (2 * y[:, None] - 1)
    return X.astype(np.float32), y


@contextmanager
def kernel_clock() -> Iterator[Clock]:
    """A clock that runs during kernel calls."""
    from onlinesvm.core.kernel.kernel import Kernel

    clock = Clock()

    def clocked(call: Any) -> Any:
        def wrapper(*args: Any, **more: Any) -> Any:
            with clock:
                return call(*args, **more)

        return wrapper

    verbs = {
        name: clocked(getattr(Kernel, name)) for name in ("block", "block_with_self", "product")
    }
    with patch.multiple(Kernel, **verbs):
        yield clock


class Floor:
    """The kernel block that a block of examples needs at least, to be timed when all is learned.

    Not in between: BLAS's threads look out for more work on the cores that the model needs.
    """

    def __init__(self, model: Any, X: np.ndarray):
        from onlinesvm.core.kernel.rows import Rows

        self.kernel, self.rows = replace(model._trained.kernel), Rows.of(X, model._trained.centre)
        self.held = Rows.of(model.support_vectors_, model._trained.centre)
        self.values = len(X) * len(self.held)

    def tiles(self) -> float:
        """Seconds of our own kernel."""
        out = np.empty((len(self.rows), len(self.held)), np.float32)
        return best_of(lambda: self.kernel.block(self.rows, self.held, out), REPEATS)

    def numpy(self) -> float:
        """Seconds of one GEMM, of rows two entries longer that give -gamma |x - z|^2, and exp."""
        x, z, gamma = self.rows, self.held, np.float32(self.kernel.gamma)
        left = np.column_stack([x.values, x.squares, np.ones_like(x.squares)])
        right = gamma * np.column_stack([2 * z.values, -np.ones_like(z.squares), -z.squares])
        out = np.empty((len(x), len(z)), np.float32)

        def block() -> None:
            np.matmul(left, right.T, out=out)
            np.exp(out, out=out)

        return best_of(block, REPEATS)


def stream_throughput(model: Any, blocks: int = 20) -> dict[str, float]:
    """Feed the stream and time each block, then the kernel blocks that it needed at least."""
    X, y = _stream(blocks * BLOCK, 0)
    spent, floors, inside, values = [], [], [], []
    for start in range(0, len(y), BLOCK):
        part = slice(start, start + BLOCK)
        known = model.n_kernel_evaluations_ if start else 0
        floor = Floor(model, X[part]) if start else None
        with kernel_clock() as clock:
            seconds = seconds_of(lambda p=part: model.partial_fit(X[p], y[p]))
        if floor is not None and start >= blocks // 2 * BLOCK:
            floors.append(floor)
            spent.append(seconds)
            inside.append(clock.seconds)
            values.append(model.n_kernel_evaluations_ - known)
    needed = np.array([floor.values for floor in floors])

    def least(seconds: Any) -> float:
        """Seconds for each value that is needed at least, best block."""
        return float((np.array(seconds) / needed).min())

    tiles = least([floor.tiles() for floor in floors])
    numpy = least([floor.numpy() for floor in floors])
    found = {
        "examples_per_second": BLOCK / float(np.median(spent)),
        "ns_per_value": float(np.median(1e9 * np.array(spent) / np.maximum(values, 1))),
        "kernel": least(inside) / numpy,
        "tiles": least(inside) / tiles,
        "loop": float(np.median(1e6 * np.subtract(spent, inside) / BLOCK)),
        "ratio": least(spent) / numpy,
        "rows": len(model.support_vectors_),
    }
    print(_line(type(model).__name__, found), flush=True)
    return found


def _line(name: str, found: dict[str, float]) -> str:
    return (
        f"{name:30} {found['examples_per_second']:9,.0f} examples/s "
        f"{found['ns_per_value']:7.2f} ns a value; kernel {found['kernel']:5.2f}, "
        f"tiles {found['tiles']:5.2f}, loop {found['loop']:6.2f} µs, "
        f"total {found['ratio']:5.2f}; {found['rows']:,} rows held"
    )


def online_classifier(name: str) -> Any:
    """An estimator of the package with the RBF kernel and γ = 1/54."""
    import onlinesvm

    model = getattr(onlinesvm, name)()
    settings = {"kernel": "rbf", "gamma": 1 / DIMENSIONS, "random_state": 0}
    return model.set_params(**{k: v for k, v in settings.items() if k in model.get_params()})


def part() -> Section:
    """Examples a second, kernel calls over NumPy's kernel block, and the loop, by class."""
    blocks, rows = len(few(range(20), 4)), []
    for name in few(PAGE):
        runs = [stream_throughput(online_classifier(name), blocks) for _ in few(range(RUNS))]
        most = max(run["examples_per_second"] for run in runs)
        ranges = [_range([run[key] for run in runs], key == "kernel") for key in ("kernel", "loop")]
        rows.append([f"`{name}`", f"{most:,.0f}", *ranges, f"{runs[0]['rows']:,.0f}"])
    header = ("class", "examples a second", "kernel", "loop, µs", "rows held")
    return {"report": markdown(header, rows), "rows": rows}


def _range(values: list[float], tenths: bool) -> str:
    """The least and the largest, or one number where they are written alike."""
    ends = [f"{v:.1f}" if tenths or v < 10 else f"{v:.0f}" for v in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))
