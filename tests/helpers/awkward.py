"""Awkward data and awkward histories for every estimator, drawn at random.

A ``Case`` is an estimator with settings, some examples, and a history: what is done to the model,
in order. ``awkward_checks.run`` carries it out and looks at the model after every step.

``build(choose)`` draws a case by the three verbs of a ``Chooser``: hypothesis chooses in the suite,
a seeded generator by hand, which goes on after a failure and sorts what it finds:

    python tests/helpers/awkward.py --draws 20000 --seed 0
    python tests/helpers/awkward.py --draws 20000 --seed 0 --tasks
    python tests/helpers/awkward.py --draws 20000 --seed 0 --odd
    python tests/helpers/awkward.py --draws 20000 --seed 0 --answers
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

import onlinesvm

CLASSIFIERS = (
    "LASVMClassifier",
    "SimpleSVMClassifier",
    "HullerClassifier",
    "StreamSVMClassifier",
    "NORMAClassifier",
    "PegazClassifier",
    "OLSVMClassifier",
    "KernelPerceptronClassifier",
    "AveragedPerceptronClassifier",
    "BudgetPerceptronClassifier",
)
OTHERS = ("SimpleSVMRegressor", "SimpleSVMOneClass")
# LASVM has the most ways to go wrong, and as many draws as all others together.
ESTIMATORS = ("LASVMClassifier",) * len(CLASSIFIERS + OTHERS) + CLASSIFIERS + OTHERS

TASKS = ("LASVMRegressor", "LASVMOneClass")
"""Drawn by themselves (``--tasks``): classifiers are then the same draws with or without them."""

ODD = TASKS * 3 + (
    "LASVMClassifier",
    "SimpleSVMClassifier",
    "SimpleSVMRegressor",
    "SimpleSVMOneClass",
)
"""Drawn by themselves, too (``--odd``): with odd targets, or kernels whose values are nearly equal."""

ANSWERS = ("answers",)
"""Drawn by ``awkward_answers`` (``--answers``): what a model is asked after it has learned."""

DRAWN = {"": ESTIMATORS, "--tasks": TASKS, "--odd": ODD, "--answers": ANSWERS}

TARGETS = ("plain", "zero-inflated", "constant but few", "heavy-tailed", "shifted")

POLICIES = ("outlier", "oldest", "join")
KERNELS = ("rbf", "rbf", "rbf", "linear", "poly", "sigmoid", "callable", "precomputed")


@dataclass
class Case:
    """What is drawn."""

    estimator: str
    settings: dict[str, Any]
    X: Any  # in one of FORMS
    dense: np.ndarray  # the same values, float64
    y: np.ndarray
    weight: np.ndarray | None
    steps: list[tuple[str, Any]] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    targets: str = "plain"  # of regression, one of TARGETS

    def __repr__(self) -> str:
        data = " ".join(f"{name}={value}" for name, value in self.notes.items())
        return f"{self.estimator}({self.settings}) on {self.dense.shape} {data}: {self.steps}"


class Chooser:
    """Chooses by a seeded generator."""

    def __init__(self, seed: int):
        self._rng = np.random.default_rng(seed)

    def of(self, options: Any) -> Any:
        """One of the options."""
        return options[int(self._rng.integers(len(options)))]

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return int(self._rng.integers(low, high + 1))

    def flag(self) -> bool:
        """Yes or no."""
        return bool(self._rng.integers(2))


# -- data ---------------------------------------------------------------------------------


def build(choose: Any, estimators: tuple[str, ...] = ESTIMATORS) -> Case:
    """A case."""
    if estimators[0] == ANSWERS[0]:
        from awkward_answers import build as build_answers

        return build_answers(choose)
    name, kernel = choose.of(estimators), choose.of(KERNELS)
    rng = np.random.default_rng(choose.whole(0, 2**32 - 1))
    n = choose.whole(4, 60)
    y = draw_labels(choose, rng, n)
    dense, scale, notes = draw_values(choose, rng, y)
    form = choose.of(list(FORMS)) if kernel != "precomputed" else "C order"
    X = FORMS[form](dense, rng)
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    dense = dense.astype(np.float64)
    weight = rng.choice([0.0, 0.1, 1.0, 1.0, 5.0], n) if choose.of([0, 0, 0, 1]) else None
    settings = _settings(choose, name, kernel, dense, scale)
    notes |= {"form": form, "labels": dict(Counter(y.tolist()))}
    steps = _steps(choose, name, kernel, n)
    case = Case(name, settings, X, dense, y, weight, steps, notes)
    return _odd(choose, case) if estimators is ODD else case


def _odd(choose: Any, case: Case) -> Case:
    """The case with targets of another kind, and perhaps a smooth kernel."""
    case.targets = case.notes["targets"] = choose.of(TARGETS)
    gamma = case.settings.get("gamma")
    if choose.flag() and isinstance(gamma, float):
        smooth = choose.of([1e-2, 1e-4, 1e-6, 1e-9])
        case.settings |= {"gamma": smooth * gamma, "coef0": 1.0}
        case.notes["smooth"] = smooth
    return case


def draw_labels(choose: Any, rng: np.random.Generator, n: int) -> np.ndarray:
    """Two to four classes, even or down to one example, in random or sorted order."""
    k = min(choose.of([2, 2, 2, 3, 4]), n)
    balance = choose.of(["even", "few", "one"])
    y = rng.integers(k, size=n)
    if balance != "even":
        rare, kept = choose.whole(0, k - 1), 1 if balance == "one" else min(3, n // 2)
        y = rng.permutation(
            np.r_[np.full(kept, rare), rng.choice(np.delete(np.arange(k), rare), n - kept)]
        )
    y[: min(k, n)] = rng.permutation(k)[: min(k, n)] if balance == "even" else y[: min(k, n)]
    order = choose.of(["as drawn", "ascending", "descending"])
    y = y if order == "as drawn" else np.sort(y) if order == "ascending" else np.sort(y)[::-1]
    names = choose.of([None, None, np.array(["d", "c", "b", "a"]), np.array([7, -2, 0, 100])])
    return y.copy() if names is None else names[y]


def draw_values(
    choose: Any, rng: np.random.Generator, y: np.ndarray
) -> tuple[np.ndarray, float, dict]:
    """Examples (n, d), the scale of their differences, and how they were made."""
    n = len(y)
    d = choose.of([1, 2, 3, 8, 40, n + 5])
    number = np.unique(y, return_inverse=True)[1]
    kind = choose.of(["cloud", "cloud", "grid", "copies", "contradictory", "all the same"])
    A = rng.standard_normal((n, d)) + choose.of([0.5, 3.0]) * rng.standard_normal((4, d))[number]
    if kind == "grid":
        A = np.round(A)
    elif kind in ("copies", "contradictory"):
        A = A[rng.integers(max(1, n // 3), size=n)] if kind == "contradictory" else A[number]
    elif kind == "all the same":
        A = np.repeat(A[:1], n, axis=0)
    if choose.flag():
        A = A * (rng.random(A.shape) < choose.of([0.1, 0.6]))
    scale = choose.of([1.0, 1.0, 1e-6, 1e-3, 1e3, 1e6])
    offset = choose.of([0.0, 0.0, 0.0, 1.0, 1e3, 1e6, -1e6])
    A = scale * A
    where = choose.of(["all columns", "one column"])
    A[:, slice(None) if where == "all columns" else 0] += offset
    special = choose.of(["none", "none", "constant column", "sentinel", "outlier"])
    if special == "constant column":
        A[:, -1] = 5.0
    elif special == "sentinel":
        A[rng.random(n) < 0.1, -1] = -999999.0
    elif special == "outlier":
        A[rng.integers(n), rng.integers(d)] = 1e7
    notes = {"kind": kind, "scale": scale, "offset": f"{offset} in {where}", "special": special}
    return A, scale, notes


def _in_parts(A: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """Entries in any order, some in two parts, and explicit zeros."""
    rows = []
    for a in A:
        j = np.flatnonzero(a)
        twice = rng.random(len(j)) < 0.5
        j, v = np.r_[j, j[twice], 0], np.r_[np.where(twice, a[j] / 2, a[j]), a[j[twice]] / 2, 0.0]
        order = rng.permutation(len(j))
        rows.append((j[order], v[order]))
    pointer = np.append(0, np.cumsum([len(j) for j, _ in rows]))
    data, indices = np.concatenate([v for _, v in rows]), np.concatenate([j for j, _ in rows])
    return sparse.csr_matrix((data, indices, pointer), A.shape)


def _strided(A: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """A CSR matrix whose parts are every other number of longer arrays."""
    X = sparse.csr_matrix(A)
    data, indices = np.repeat(X.data, 2), np.repeat(X.indices, 2)
    data[1::2], indices[1::2] = np.nan, -7
    X.data, X.indices = data[::2], indices[::2]
    return X


def _wide(A: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    X = sparse.csr_matrix(A)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _read_only(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    A = A.copy()
    A.flags.writeable = False
    return A


def _every_other(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A view with steps in both directions, NaN in between."""
    wide = np.full((2 * A.shape[0], 2 * A.shape[1]), np.nan)
    wide[::2, ::2] = A
    return wide[::2, ::2]


FORMS = {
    "C order": lambda A, rng: A.copy(),
    "F order": lambda A, rng: np.asfortranarray(A),
    "float32": lambda A, rng: A.astype(np.float32),
    "read only": _read_only,
    "every other": _every_other,
    "csr": lambda A, rng: sparse.csr_matrix(A),
    "csr array, float32": lambda A, rng: sparse.csr_array(A.astype(np.float32)),
    "csr in parts": _in_parts,
    "csr strided": _strided,
    "csr wide": _wide,
    "csc": lambda A, rng: sparse.csc_matrix(A),
    "coo": lambda A, rng: sparse.coo_matrix(A),
}


# -- settings and histories ---------------------------------------------------------------


def linear_callable(A: Any, B: Any) -> Any:
    """A kernel as a function, for dense and sparse rows."""
    values = A @ B.T
    return values.toarray() if sparse.issparse(values) else values


def _settings(choose: Any, name: str, kernel: str, dense: np.ndarray, scale: float) -> dict:
    """Settings that make sense for the size of the values."""
    rbf = kernel in ("rbf", "precomputed")
    size = scale if rbf else float(abs(dense).max()) or 1.0
    gamma = choose.of([0.1, 1.0, 1.0, 10.0]) / (dense.shape[1] * size**2)
    if rbf and choose.of([0, 0, 1]):
        gamma = "scale"
    function = linear_callable if kernel == "callable" else kernel
    wanted: dict[str, Any] = {
        "kernel": function,
        "gamma": gamma,
        "degree": choose.of([1, 2, 3]),
        "coef0": choose.of([0.0, 1.0]),
        "C": choose.of([0.01, 1.0, 1.0, 100.0]),
        "random_state": 0,
        "cache_size": choose.of([1e-5, 200]),
        "epochs": choose.of([1, 1, 2, "converge"]),
        "shuffle": choose.flag(),
    }
    known = getattr(onlinesvm, name)().get_params()
    if wanted["epochs"] == "converge" and not name.startswith(("LASVM", "Huller")):
        wanted["epochs"] = 1
    if name in TASKS:
        wanted |= {"epsilon": choose.of([0.0, 0.1]), "nu": choose.of([0.05, 0.5, 1.0])}
    if name.startswith("LASVM"):
        wanted["block_size"] = choose.of([2048, 2048, 1, 2, 16])
        if wanted["epochs"] != "converge" and choose.of([0, 0, 0, 1]):
            wanted |= {"budget": choose.whole(5, 20), "policy": choose.of(POLICIES)}
        elif wanted["epochs"] != "converge" and choose.of([0, 0, 0, 1]):
            wanted |= {"window": choose.whole(5, 40), "half_life": choose.of([None, 5.0])}
    elif name == "BudgetPerceptronClassifier":
        wanted["budget"] = choose.whole(5, 30)
    elif name == "StreamSVMClassifier":
        wanted |= {"n_balls": choose.of([1, 2, 32]), "normalize": choose.flag()}
    elif name == "SimpleSVMClassifier":
        wanted["margin"] = choose.of(["linear", "linear", "quadratic"])
    if name.startswith("SimpleSVM"):
        wanted["cache_size"] = 200  # its matrix has to fit
    if name == "HullerClassifier" and wanted["epochs"] == "converge":
        wanted["cache_size"] = 200  # with no memory at all, its sweeps take minutes
    return {key: value for key, value in wanted.items() if key in known}


def _steps(choose: Any, name: str, kernel: str, n: int) -> list[tuple[str, Any]]:
    """Two to six steps; the first one teaches."""
    if kernel == "precomputed":
        later = ["fit", "finish", "pickle", "deepcopy", "clone", "set_params"]
        return [
            ("fit", 0),
            *(draw_step(choose, choose.of(later), n) for _ in range(choose.whole(1, 3))),
        ]
    steps = [draw_step(choose, choose.of(["fit", "fit", "stream"]), n)]
    later = ["fit", "stream", "stream", "one", "one", "finish", "new label", *COPIES, "set_params"]
    return steps + [draw_step(choose, choose.of(later), n) for _ in range(choose.whole(1, 5))]


COPIES = ("pickle", "deepcopy", "clone")


def draw_step(choose: Any, what: str, n: int) -> tuple[str, Any]:
    if what == "stream":  # all examples, in parts
        cuts = sorted({choose.whole(1, n) for _ in range(choose.whole(0, 6))} - {n})
        return what, [0, *cuts, n]
    if what == "set_params":
        return what, choose.of([0.05, 2.0])
    return what, choose.whole(0, n - 1)  # an example


# -- by hand ------------------------------------------------------------------------------


def attempt(seed: int, estimators: tuple[str, ...]) -> tuple[str, int, str] | None:
    """The failure of one draw, if there is one: its kind, its size, and how it came about."""
    import awkward_checks

    case = build(Chooser(seed), estimators)
    try:
        awkward_checks.run(case)
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        if not isinstance(error, AssertionError):
            at = traceback.extract_tb(error.__traceback__)[-1]
            line = f"{type(error).__name__} {line} ({at.filename.rsplit('/', 1)[-1]}:{at.lineno})"
        kind = f"{case.estimator} {case.notes['failed']}: {line.split(':')[0][:90]}"
        return kind, case.dense.size * len(case.steps), f"{line}\n    {case}"
    return None


def work(first: int, last: int, slow: float, estimators: tuple[str, ...]) -> None:
    """Seeds one after the other; a line before each and after each.

    A draw that takes `slow` seconds of processor time ends the process, by the signal of the
    profiling timer: seconds of the clock say nothing on a machine that is busy.
    """
    warnings.simplefilter("ignore")
    patience = max(slow, 300.0)  # the first one compiles
    for seed in range(first, last):
        signal.setitimer(signal.ITIMER_PROF, patience)
        patience = max(slow, 0.9 * patience)  # other estimators compile, too
        print(json.dumps(seed), flush=True)
        print(json.dumps(attempt(seed, estimators)), flush=True)


def watch(
    first: int, last: int, slow: float, drawn: str
) -> Iterator[tuple[int, tuple[str, int, str] | None]]:
    """Results of seeds from a process of their own, which may end or hang; another goes on."""
    while first < last:
        command = [sys.executable, __file__, "--work", str(first), str(last), "--slow", str(slow)]
        command += [drawn] if drawn else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
            assert worker.stdout is not None
            while first < last:
                lines = worker.stdout.readline(), worker.stdout.readline()
                seed, first = first, first + 1
                if not lines[1]:
                    how = "hangs" if worker.wait() == -signal.SIGPROF else "ends the process"
                    case = build(Chooser(seed), DRAWN[drawn])
                    yield seed, (f"{case.estimator} {how}", case.dense.size, repr(case))
                    break
                yield seed, json.loads(lines[1])


def main() -> None:
    """Draw many cases, sort the failures by kind, print the smallest of each."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first draw")
    parser.add_argument(
        "--slow", type=float, default=20.0, help="processor seconds after which a draw hangs"
    )
    parser.add_argument(
        "--tasks", action="store_const", const="--tasks", dest="drawn", default="",
        help="regression and novelty alone",
    )  # fmt: skip
    parser.add_argument(
        "--odd", action="store_const", const="--odd", dest="drawn",
        help="odd targets, and kernels whose values are nearly equal",
    )  # fmt: skip
    parser.add_argument(
        "--answers", action="store_const", const="--answers", dest="drawn",
        help="newer kernels and tasks, and all that a model can be asked",
    )  # fmt: skip
    parser.add_argument("--work", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work, options.slow, DRAWN[options.drawn])
        return
    found: dict[str, list[tuple[int, int, str]]] = {}
    try:
        last = options.seed + options.draws
        for seed, failure in watch(options.seed, last, options.slow, options.drawn):
            if failure is not None:
                kind, size, text = failure
                found.setdefault(kind, []).append((size, seed, text))
                print(f"seed {seed}: {kind}", file=sys.stderr, flush=True)
    finally:
        print(f"up to seed {seed}: {sum(map(len, found.values()))} failures", flush=True)
        for kind, cases in sorted(found.items(), key=lambda item: -len(item[1])):
            _, smallest, text = min(cases)
            print(f"{len(cases):6} x {kind}\n  smallest: seed {smallest}: {text}", flush=True)


if __name__ == "__main__":
    main()
