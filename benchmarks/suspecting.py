"""Wrong labels found, beside cleanlab: ``python -m benchmarks.suspecting [set ...] [--rows N] [--quick]``.

In every set a tenth of the labels is replaced by another one, at random. ``suspects`` ranks the
examples after one fit. cleanlab ranks them by the probability of the given label (its default),
which comes from the same model fitted five times to four fifths of the examples. Printed: the share
of wrong labels among as many of the first as were replaced, and seconds of processor time: from the
data to the ranking, fits included, and of the ranking alone.

What is compared: a user of cleanlab fits five models for the ranking alone, and one more to predict
with; ``suspects`` ranks by the model that predicts. So the fit of this model is not a cost of
``suspects``; it is told beside it, because without a model in use it is.

Bars: a precision no more than 2 points below that of cleanlab; the ranking, and the fit and the
ranking, in a tenth of the time of cleanlab.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import cross_val_predict

from benchmarks.clock import WARM_UP, Clock, load_per_core, warm_up, warn_of_load
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import markdown
from benchmarks.quick import quick_form, set_options
from onlinesvm import LASVMClassifier

FLIPPED, FOLDS = 0.1, 5

ROWS = 10_000

LETTERS, STYLES = 26, 3


def letters(rows: int, seed: int) -> Dataset:
    """Generated: 26 classes of three styles each, sixteen columns of whole numbers 0 to 15."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(2, 13, (LETTERS, STYLES, 16))
    y = rng.integers(LETTERS, size=rows)
    X = centres[y, rng.integers(STYLES, size=rows)] + 1.5 * rng.standard_normal((rows, 16))
    X = np.clip(np.round(X), 0, 15).astype(np.float32) / 15
    return Dataset("letters", X, y, X[:0], y[:0], 10.0, 3.0, "generated")


def _named(name: str) -> Callable[[int, int], Dataset]:
    return lambda rows, seed: load(f"{name}:{rows}", seed)


SETS: dict[str, Callable[[int, int], Dataset]] = {
    "mnist": _named("mnist"),
    "a9a": _named("a9a"),
    "letters": letters,
}


class Problem(NamedTuple):
    """A data set with labels of which some were replaced."""

    X: Any
    y: np.ndarray  # as given to the models, 0, 1, ...
    wrong: np.ndarray
    C: float
    gamma: float

    def some(self, n: int) -> Problem:
        """The first n rows."""
        return self._replace(X=self.X[:n], y=self.y[:n], wrong=self.wrong[:n])

    def model(self, **settings: Any) -> LASVMClassifier:
        return LASVMClassifier(C=self.C, gamma=self.gamma, random_state=0, **settings)


def spoiled(data: Dataset, seed: int) -> Problem:
    """A tenth of the labels replaced by another one."""
    rng = np.random.default_rng([seed, 7])
    labels, y = np.unique(data.y_train, return_inverse=True)
    wrong = np.zeros(len(y), bool)
    wrong[rng.choice(len(y), int(FLIPPED * len(y)), replace=False)] = True
    other = (y + rng.integers(1, len(labels), size=len(y))) % len(labels)
    # A label that is often wrong is no reason for coefficients as large as those of clean data.
    return Problem(data.X_train, np.where(wrong, other, y), wrong, min(data.C, 10.0), data.gamma)


class Ranked(NamedTuple):
    """Examples in the order of doubt, and processor time."""

    found: np.ndarray
    fitting: float  # of models or folds
    ranking: float


def by_suspects(problem: Problem, n: int) -> Ranked:
    with Clock() as fitting:
        model = problem.model().fit(problem.X, problem.y)
    with Clock() as ranking:
        found = model.suspects(n).index
    return Ranked(found, fitting.cpu_seconds, ranking.cpu_seconds)


def by_cleanlab(problem: Problem, n: int) -> Ranked:
    from cleanlab.rank import get_label_quality_scores

    with Clock() as fitting:
        model = problem.model(probability=True)
        chances = cross_val_predict(model, problem.X, problem.y, cv=FOLDS, method="predict_proba")
    with Clock() as ranking:
        found = np.argsort(get_label_quality_scores(problem.y, chances), kind="stable")[:n]
    return Ranked(found, fitting.cpu_seconds, ranking.cpu_seconds)


METHODS: dict[str, Callable[[Problem, int], Ranked]] = {
    "suspects": by_suspects,
    "cleanlab, 5 folds": by_cleanlab,
}


class Measured(NamedTuple):
    """What a method has found, and in what time."""

    precision: float
    whole: float  # processor time of fits and ranking
    ranking: float


def measure(problem: Problem, method: str) -> Measured | None:
    """Precision and processor time; None if the library is not installed."""
    n = int(problem.wrong.sum())
    try:
        ranked = METHODS[method](problem, n)
    except ImportError:
        return None
    precision = float(problem.wrong[ranked.found].sum() / n)
    return Measured(precision, ranked.fitting + ranked.ranking, ranked.ranking)


def verdict(own: Measured, peer: Measured) -> list[str]:
    """What the bars say: precision, ranking alone, fit and ranking."""
    shares = [
        f"{'yes' if seconds <= peer.whole / 10 else 'no'}, {seconds / peer.whole:.0%}"
        for seconds in (own.ranking, own.whole)
    ]
    return ["yes" if own.precision >= peer.precision - 0.02 else "no", *shares]


def rows_of(name: str, n_rows: int, seed: int = 0) -> list[list[str]]:
    """One row per method, and what the bars say."""
    problem = spoiled(SETS[name](n_rows, seed), seed)
    warm_up(problem.model(), problem.X, problem.y)
    by_suspects(problem.some(WARM_UP), 1)
    found = {method: measure(problem, method) for method in METHODS}
    own, peer = found["suspects"], found["cleanlab, 5 folds"]
    bars = verdict(own, peer) if own is not None and peer is not None else ["–"] * 3
    size = f"{name}, {len(problem.y):,} rows"
    return [
        [size, method, "not installed", *["–"] * 5] if measured is None else
        [
            size, method, f"{measured.precision:.1%}", f"{measured.whole:.2f} s", f"{measured.ranking:.2f} s",
            *(bars if measured is own else [""] * 3),
        ]
        for method, measured in found.items()
    ]  # fmt: skip


HEADER = [
    "set", "ranked by", "precision", "fits and ranking", "ranking", "precision within 2 points",
    "ranking in a tenth", "fit and ranking in a tenth",
]  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    given = set_options(argv, "Wrong labels found, beside cleanlab.", SETS, ROWS)
    warn_of_load()
    if given.quick:
        with quick_form():
            found = [row for name in given.sets for row in rows_of(name, 300)]
    else:
        found = [row for name in given.sets for row in rows_of(name, given.rows)]
    print(f"load per core: {load_per_core():.2f}")
    print(markdown(HEADER, found))


if __name__ == "__main__":
    main()
