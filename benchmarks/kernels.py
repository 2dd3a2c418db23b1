"""Kernel values per second, and the share of the RBF's that the other kernels of a distance reach.

    python -m benchmarks.kernels [--quick]

Blocks and products of standardised rows, dense and sparse, on one thread. The kernels take turns, and the
best of several rounds counts, in processor time, so that a busy machine disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from onlinesvm.core.kernel.kernel import make_kernel
from onlinesvm.core.kernel.rows import Rows

NAMES = ("rbf", "matern12", "laplacian")
FEATURES = (2, 5, 10, 20, 50, 100, 300)
SPARSE = ((100, 0.2), (500, 0.05), (20_000, 0.002))
ROWS, ROUNDS = 2000, 15


def tasks(X: Any, Z: Any, product: bool) -> list[Callable[[], Any]]:
    """One computation for each kernel, at its default gamma."""
    found: list[Callable[[], Any]] = []
    out, coef = np.empty((X.shape[0], Z.shape[0]), np.float32), np.ones((1, Z.shape[0]))
    for name in NAMES:
        kernel = make_kernel(name, X=X, n_jobs=1)
        A, B = (Rows.of(rows, None, None, kernel.far, kernel.absolute) for rows in (X, Z))
        if product:
            found.append(lambda k=kernel, A=A, B=B: k.product(A, B, coef))  # type: ignore[misc]
        else:
            found.append(lambda k=kernel, A=A, B=B: k.block(A, B, out))  # type: ignore[misc]
    return found


def best_times(each: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Least processor time of each task; they take turns."""
    best = [np.inf] * len(each)
    for task in each:
        task()  # compiled, memory touched
    for _ in range(rounds):
        for k, task in enumerate(each):
            start = time.thread_time()
            task()
            best[k] = min(best[k], time.thread_time() - start)
    return best


def measure(label: str, X: Any, Z: Any, rounds: int) -> None:
    """Print a line for blocks and one for products."""
    for product in (False, True):
        best = best_times(tasks(X, Z, product), rounds)
        speeds = "".join(f"{X.shape[0] * Z.shape[0] / t / 1e6:10.0f}" for t in best)
        shares = "".join(f"{best[0] / t:10.0%}" for t in best[1:])
        print(f"{label:<24}{'product' if product else 'block':<10}{speeds}{shares}", flush=True)


def main() -> None:
    """Measure all shapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, few rounds")
    quick = parser.parse_args().quick
    n, rounds = (300, 2) if quick else (ROWS, ROUNDS)
    rng = np.random.default_rng(0)
    heads = [f"{name:>10}" for name in (*NAMES, *NAMES[1:])]
    print(f"{'':<34}{'million values per second':<30}{'share of rbf':>20}")
    print(f"{'rows':<24}{'what':<10}{''.join(heads)}")
    for d in FEATURES:
        measure(f"{d} features", *rng.standard_normal((2, n, d)), rounds)
    for d, density in SPARSE:
        X, Z = (sparse.random(n, d, density, format="csr", random_state=s) for s in (0, 1))
        measure(f"{d} features, {density:.1%}", X, Z, rounds)


if __name__ == "__main__":
    main()
