"""``python -m benchmarks.metric``: learned feature weights next to equal ones.

    noise    20 of 25 features are noise: the largest weight of noise over the smallest of the others,
             and the error over that with equal weights; labels and values, 300 to 3,000 rows
    sets     the error over that with equal weights on tables, mean of several splits

Errors are shares of wrong labels, or root mean squared errors in standard deviations.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from benchmarks.clock import Clock
from benchmarks.markdown import markdown, number
from benchmarks.tables.methods import error_of, prepared
from benchmarks.tables.sets import SETS
from onlinesvm import LASVMClassifier, LASVMRegressor

KERNELS = ("rbf", "laplacian", "matern12")
ROWS = (300, 600, 1500, 3000)
TEST = 4000
SIGNAL, NOISE = 5, 20


def with_noise(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Five features that count, twenty that do not, and a value."""
    X = np.random.default_rng(seed).normal(size=(n, SIGNAL + NOISE))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] - 0.5 * X[:, 4] ** 2 + 0.5
    return X, f


def fitted(kernel: str, weights: Any, A: Any, a: Any, is_regression: bool) -> Any:
    """A machine with equal (None) or learned weights; values in standard deviations."""
    kind = LASVMRegressor if is_regression else LASVMClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(C=3.0, kernel=kernel, feature_weights=weights).fit(A, a)


def both(kernel: str, A: Any, a: Any, B: Any, b: Any, is_regression: bool) -> dict[str, Any]:
    """Errors with equal and with learned weights, the weights, processor seconds of learning them."""
    plain = fitted(kernel, None, A, a, is_regression)
    with Clock() as clock:
        learned = fitted(kernel, "learn", A, a, is_regression)
    errors = [error_of(m.predict(B), b, is_regression) for m in (plain, learned)]
    return {
        "plain": errors[0],
        "learned": errors[1],
        "weights": learned.feature_weights_,
        "seconds": clock.cpu_seconds,
    }


def noise(kernels: list[str], sizes: list[int], seeds: int) -> str:
    """Weights of noise features."""
    rows = []
    for is_regression in (False, True):
        for kernel in kernels:
            for n in sizes:
                found = [_one_noise(kernel, n, seed, is_regression) for seed in range(seeds)]
                worst = [_largest_share(w) for w in _weights(found)]
                middle = [w[SIGNAL:].mean() / w[:SIGNAL].mean() for w in _weights(found)]
                gain = np.mean([f["learned"] for f in found]) / np.mean([f["plain"] for f in found])
                rows.append(
                    [
                        "values" if is_regression else "labels",
                        kernel,
                        f"{n:,}",
                        *(f"{v:.3f}" for v in (np.mean(worst), max(worst), max(middle), gain)),
                        number(float(np.mean([f["seconds"] for f in found])), 2),
                    ]
                )
                print(*rows[-1], flush=True)
    words = ["largest of noise / smallest of the others", "at worst", "mean / mean, at worst"]
    return markdown(["y", "kernel", "rows", *words, "error / plain", "CPU s"], rows)


def _largest_share(w: np.ndarray) -> float:
    """The largest weight of noise over the smallest of the others; infinite if one of these was lost."""
    least = w[:SIGNAL].min()
    return float(w[SIGNAL:].max() / least) if least > 0 else np.inf


def _one_noise(kernel: str, n: int, seed: int, is_regression: bool) -> dict[str, Any]:
    (A, a), (B, b) = with_noise(n, seed), with_noise(TEST, 1000 + seed)
    if not is_regression:
        a, b = a > 0, b > 0
    return both(kernel, A, a, B, b, is_regression)


def _weights(found: list[dict[str, Any]]) -> list[np.ndarray]:
    return [each["weights"] for each in found]


def sets(kernels: list[str], names: list[str], most: int, seeds: int) -> str:
    """Errors over those with equal weights."""
    rows = []
    for name in names:
        table = SETS[name]()
        for kernel in kernels:
            found = [_one_set(table, kernel, most, seed) for seed in range(seeds)]
            plain, learned = (np.mean([f[key] for f in found]) for key in ("plain", "learned"))
            changed = sum(not (w == 1).all() for w in _weights(found))
            seconds = float(np.mean([f["seconds"] for f in found]))
            ratio = learned / max(plain, 1e-4)
            rows.append(
                [name, kernel, number(plain), number(learned), f"{ratio:.3f}", f"{changed} of {seeds}",
                 number(seconds, 2)]
            )  # fmt: skip
            print(*rows[-1], flush=True)
    return markdown(
        ["set", "kernel", "plain", "learned", "learned / plain", "not equal", "CPU s"], rows
    )


def _one_set(table: Any, kernel: str, most: int, seed: int) -> dict[str, Any]:
    A, a, B, b = table.split(most, seed)
    A, B = prepared(A, B)
    if table.is_regression:
        a, b = ((each - a.mean()) / (a.std() or 1.0) for each in (a, b))
    return both(kernel, A, a, B, b, table.is_regression)


def main(given: list[str] | None = None) -> None:
    """Measure what was asked for and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.metric", description=__doc__)
    parser.add_argument("part", choices=["noise", "sets"])
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--sizes", default=",".join(map(str, ROWS)), help="rows with noise")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", type=int, default=2000, help="training rows of a set")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args(given)
    kernels = chosen.kernels.split(",")
    if chosen.part == "noise":
        print(noise(kernels, [int(n) for n in chosen.sizes.split(",")], chosen.seeds))
    else:
        print(sets(kernels, chosen.sets.split(","), chosen.rows, chosen.seeds))


if __name__ == "__main__":
    main()
