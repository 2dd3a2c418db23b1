"""Explanations beside those of shap and shapiq: ``python -m benchmarks.explaining [--quick]``.

One model, an ``SVC`` with the same support vectors and coefficients for the others, and a few rows.
Printed: milliseconds per row, how far the shares are from adding up to f(x) minus the base, and the
largest difference from ours where the definitions agree:

    model.explain                     exact: a feature that is left out has the factor 1 in the kernel
    shapiq, ProductKernelExplainer    the same definition, exact
    shapiq, KernelSHAP                the same definition (the game is given as a function), sampled
    shap, KernelExplainer             another definition: a feature that is left out is averaged over
                                      a background of other rows; sampled, with shap's own number

With a linear kernel, shap's definition is ours if the background is a single row of zeros: the third
set shows that the two agree there. A library that is not installed is named as such. ``--quick``
takes little generated data. One thread, best of several; a method that takes seconds for one row has
explained only that row, once.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.clock import best_of, load_per_core, seconds_of, warn_of_load
from benchmarks.datasets import DataFolderError, Dataset, load
from benchmarks.markdown import markdown, number
from benchmarks.predicting import svc_of
from onlinesvm import LASVMClassifier

BACKGROUND = 20
"""Rows that shap averages over; the fewer, the faster it is."""

BUDGET = 2048
"""Values of the game that shapiq's sampling may ask for."""

REPEATS = 3

LONG = 3.0
"""Seconds for one row from which on no others are explained."""


@dataclass(frozen=True)
class Case:
    """A model of two classes, an ``SVC`` that computes the same, and rows to explain."""

    name: str
    model: LASVMClassifier
    svc: Any
    rows: np.ndarray
    background: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Decision values of the rows."""
        return np.asarray(self.svc.decision_function(self.rows))

    @property
    def base(self) -> float:
        """The value of a row all of whose features are left out."""
        coef = 0.0 if self.model.kernel == "linear" else self.svc.dual_coef_.sum()
        return float(self.svc.intercept_[0] + coef)


def generated(rows: int, columns: int, seed: int = 0) -> Dataset:
    """Labels that depend on half of the columns, every fifth at random: many support vectors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    y = np.where(np.sin(X[:, : columns // 2]).sum(axis=1) > 0, 1, -1)
    y = np.where(rng.random(rows) < 0.2, -y, y).astype(np.int8)
    return Dataset("generated", X, y, X[:0], y[:0], 1.0, 1.0 / columns, "generated")


def make_case(name: str, data: Dataset, kernel: str, n_rows: int) -> Case:
    """Fit the model, and give its support vectors to an ``SVC``."""
    X = data.X_train.toarray() if sparse.issparse(data.X_train) else data.X_train
    X, y = X.astype(np.float64), data.y_train
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a linear model of labels that are not linear
        model = LASVMClassifier(C=data.C, kernel=kernel, gamma=data.gamma, n_jobs=1).fit(X, y)
    svc = svc_of(model, X, y) if kernel == "rbf" else _linear_svc(model, X, y)
    background = np.zeros((1, X.shape[1])) if kernel == "linear" else X[:BACKGROUND]
    return Case(name, model, svc, X[-n_rows:], background)


def _linear_svc(model: LASVMClassifier, X: np.ndarray, y: np.ndarray) -> Any:
    """The same for a linear kernel, whose decision function needs the weights alone."""

    class Linear:
        kernel, dual_coef_, intercept_ = "linear", model.dual_coef_, model.intercept_

        def decision_function(self, rows: np.ndarray) -> np.ndarray:
            return np.asarray(rows @ model.coef_[0] + model.intercept_[0])

    return Linear()


# -- who explains ---------------------------------------------------------------------------------

Explained = tuple[np.ndarray, bool]
"""Shares of the features, (rows, features), and whether they are defined as ours are."""


def ours(case: Case) -> Explained:
    return case.model.explain(case.rows).values, True


def product_kernel(case: Case) -> Explained:
    from shapiq.explainer.product_kernel import ProductKernelExplainer

    if case.model.kernel != "rbf":
        raise NotImplementedError("no product kernel")
    explainer = ProductKernelExplainer(model=case.svc, max_order=1, index="SV")
    return np.array([_first_order(explainer.explain(row)) for row in case.rows]), True


def kernel_shap(case: Case) -> Explained:
    from shapiq.approximator import KernelSHAP

    d = case.rows.shape[1]
    sampler = KernelSHAP(n=d, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # few columns need fewer values than it may take
        found = [sampler.approximate(budget=BUDGET, game=game(case, row)) for row in case.rows]
    return np.array([_first_order(values) for values in found]), True


def _first_order(found: Any) -> np.ndarray:
    """The values of single features."""
    return np.asarray(found.get_n_order_values(1), np.float64)


def game(case: Case, row: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The value of coalitions (n, features) of known features, by our definition."""
    if case.model.kernel == "linear":
        shares = row * case.model.coef_[0]
        return lambda known: known @ shares
    S, coef = np.asarray(case.svc.support_vectors_), np.ravel(case.svc.dual_coef_)
    exponents = -float(case.model.gamma_) * (row - S) ** 2

    def value(known: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(np.asarray(known, np.float64) @ exponents.T) @ coef)

    return value


def kernel_explainer(case: Case) -> Explained:
    from shap import KernelExplainer

    explainer = KernelExplainer(case.svc.decision_function, case.background)
    found = explainer.shap_values(case.rows, silent=True)
    return np.asarray(found), case.model.kernel == "linear"


METHODS: dict[str, Callable[[Case], Explained]] = {
    "model.explain": ours,
    "shapiq, ProductKernelExplainer": product_kernel,
    "shapiq, KernelSHAP": kernel_shap,
    "shap, KernelExplainer": kernel_explainer,
}


# -- the table --------------------------------------------------------------------------------------


def measure(case: Case, method: str, repeats: int) -> list[str]:
    """Milliseconds per row, how far sums are off, and the largest difference from ours."""
    explain = METHODS[method]
    few = replace(case, rows=case.rows[:1])
    try:
        first = seconds_of(lambda: explain(few))  # libraries loaded, loops compiled
    except ImportError:
        return ["not installed", "–", "–"]
    except NotImplementedError as reason:
        return [str(reason), "–", "–"]
    case = case if first < LONG else few
    shares, alike = explain(case)
    seconds = best_of(lambda: explain(case), repeats if first < LONG else 1)
    off = difference = None
    if alike:
        off = float(np.abs(shares.sum(axis=1) + case.base - case.values).max())
        difference = float(np.abs(shares - ours(case)[0]).max())
    return [number(1e3 * seconds / len(case.rows)), number(off, 2), number(difference, 2)]


def cases(quick: bool) -> Iterator[Case]:
    """Many support vectors; flags, of which few differ; a linear kernel."""
    rows, columns, asked = (200, 8, 2) if quick else (3500, 20, 5)
    data = generated(rows, columns)
    yield make_case(f"generated, {columns} columns", data, "rbf", asked)
    if not quick:
        try:
            yield make_case("a9a, 123 columns of 0 and 1", load("a9a"), "rbf", asked)
        except DataFolderError as error:
            print(error)
    yield make_case(f"generated, {columns} columns, linear", data, "linear", asked)


HEADER = ["model", "explained by", "ms per row", "sum off by", "largest difference from ours"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Explanations beside those of shap and shapiq.")
    parser.add_argument("--quick", action="store_true", help="little generated data")
    given = parser.parse_args(argv)
    warn_of_load()
    found = []
    with threadpool_limits(1):
        for case in cases(given.quick):
            name = f"{case.name}, {len(case.model.support_):,} support vectors"
            for method in METHODS:
                found.append([name, method, *measure(case, method, 1 if given.quick else REPEATS)])
                print("  ".join(found[-1]), flush=True)
    print(f"load per core: {load_per_core():.2f}")
    print(markdown(HEADER, found))


if __name__ == "__main__":
    main()
