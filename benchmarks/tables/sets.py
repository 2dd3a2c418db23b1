"""Tables of the comparison: name, X (array or data frame), y, and whether y is a number.

Those of ``ONLINESVM_DATA`` need that folder; scikit-learn's and the generated ones do not.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.datasets import data_file

TEST = 10_000
"""Rows that errors are measured on, at most."""


class Table(NamedTuple):
    """One problem."""

    name: str
    X: Any
    y: np.ndarray
    is_regression: bool

    def split(self, rows: int | None, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """A random training part of at most ``rows`` rows, and a test part: at least a quarter."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        test = min(TEST, len(order) // 4)
        train = order[test:] if rows is None else order[test : test + rows]
        held = order[:test]
        return _take(self.X, train), self.y[train], _take(self.X, held), self.y[held]


def _take(X: Any, which: np.ndarray) -> Any:
    return X.iloc[which].reset_index(drop=True) if hasattr(X, "iloc") else X[which]


# -- arrays ---------------------------------------------------------------------------------

VALUES = ("bike", "elevators", "kin40k", "pol", "protein")
DENSE = ("covtype", "elec2", "weather", "banana", "waveform", "sonar", "wbc", "wpbc", "vote")
SPARSE = {"a9a": 123, "ijcnn1": 22, "w8a": 300}
EMBEDDED = ("breast_cancer", "digits", "wine", "iris", "diabetes")


def _dense(name: str) -> Table:
    with np.load(data_file(f"{name}.npz")) as z:
        if "X" in z.files:
            X, y = z["X"], z["y"]
        else:
            X = np.concatenate([z["X_train"], z["X_test"]])
            y = np.concatenate([z["y_train"], z["y_test"]])
    y = (y == 2).astype(int) if name == "covtype" else y
    return Table(name, np.ascontiguousarray(X, np.float64), y, name in VALUES)


def _sparse(name: str) -> Table:
    from sklearn.datasets import load_svmlight_file

    with lzma.open(data_file(f"{name}.xz"), "rb") as file:
        X, y = load_svmlight_file(file, n_features=SPARSE[name])
    return Table(name, X.toarray(), y.astype(int), False)


def _embedded(name: str) -> Table:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Table(name, X, y, name == "diabetes")


# -- data frames ----------------------------------------------------------------------------

FRAMES = {
    "health_insurance": ("whi", ()),
    "budget_food": ("wfood", ()),
    "flchain": ("death", ("futime", "chapter")),
    "males": ("wage", ("nr",)),
    "baseball": ("hr", ("id",)),
}


def _frame(name: str) -> Table:
    import pandas as pd

    target, left_out = FRAMES[name]
    table = pd.read_csv(data_file(f"tables/{name}.csv.xz")).drop(columns=list(left_out))
    table = table.drop(columns=[c for c in table.columns if c.startswith(("Unnamed", "rownames"))])
    table = table[table[target].notna()]
    y = table.pop(target).to_numpy()
    is_regression = name in ("budget_food", "males", "baseball")
    return Table(name, table, y.astype(float) if is_regression else y.astype(str), is_regression)


def _generated(levels: int) -> Callable[[], Table]:
    """Categories with many levels, gaps, dates, heavy tails; a value that depends on all of them."""

    def make() -> Table:
        import pandas as pd

        rng, n = np.random.default_rng(levels), 12_000
        effect = rng.normal(size=levels)
        town = rng.integers(0, levels, n)
        kind = rng.choice(["a", "b", "c"], n)
        income, age = np.exp(2 * rng.normal(size=n)), rng.uniform(18, 90, n)
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D")
        value = effect[town] + np.log(income) * np.where(kind == "a", 1.0, -0.3)
        value = (
            value
            + np.sin(age / 9)
            + np.cos(2 * np.pi * day.day_of_year / 365)
            + 0.5 * rng.normal(size=n)
        )
        frame = pd.DataFrame(
            {
                "town": [f"town {k}" for k in town],
                "kind": kind,
                "income": income,
                "age": age,
                "day": day,
            }
        )
        frame.loc[rng.random(n) < 0.15, "age"] = np.nan
        frame.loc[rng.random(n) < 0.05, "kind"] = None
        return Table(f"mixed{levels}", frame, np.asarray(value), True)

    return make


SETS: dict[str, Callable[[], Table]] = {
    **{name: (lambda name=name: _dense(name)) for name in (*VALUES, *DENSE)},
    **{name: (lambda name=name: _sparse(name)) for name in SPARSE},
    **{name: (lambda name=name: _embedded(name)) for name in EMBEDDED},
    **{name: (lambda name=name: _frame(name)) for name in FRAMES},
    **{f"mixed{levels}": _generated(levels) for levels in (2, 50, 2000)},
}
"""Every table by its name."""
