"""The perceptrons of LASVM (2005): ``python -m benchmarks.papers --only perceptron``.

Figure 1: test errors of the ten binary classifiers of MNIST, averaged perceptron after one and ten
epochs next to LASVM after one; the paper's order is LASVM < ten epochs < one epoch. Section 2.2:
budget perceptrons on Banana with 10 % of the labels flipped, next to the plain perceptron.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.clock import timed_fit
from benchmarks.datasets import load
from benchmarks.papers.page import Section
from benchmarks.quick import few

SPLITS = range(10)

BUDGETS = (
    (500, 0.0), (500, 20.0), (1500, 0.0), (1500, 1.0), (2000, 5.0), (2500, 1.0), (2500, 20.0),
)  # fmt: skip
"""Budget and margin. The plain perceptron makes about 1,150 mistakes on this data."""


def digit_errors(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Percent of errors of each digit's machine: its sign against the truth."""
    values = model.decision_function(X)
    truth = y[:, None] == model.classes_[None, :]
    return 100 * ((values > 0) != truth).mean(axis=0)


def mnist() -> Section:
    """Figure 1. One-vs-rest machines are the ten binary classifiers, on shared kernel values."""
    import onlinesvm

    d = load("mnist")
    perceptron = onlinesvm.AveragedPerceptronClassifier
    models = {
        "LASVM x 1": onlinesvm.LASVMClassifier(C=d.C, gamma=d.gamma, random_state=0),
        "averaged perceptron x 1": perceptron(gamma=d.gamma, random_state=0),
        "averaged perceptron x 10": perceptron(gamma=d.gamma, epochs=10, random_state=0),
    }
    print(f"MNIST, {len(d.y_train):,} rows, test error of each digit against the rest, %")
    print(f"{'':26}" + "".join(f"{c:7d}" for c in range(10)) + "   mean  ten classes  seconds")
    found = {}
    for name, model in models.items():
        took = timed_fit(model, d.X_train, d.y_train).seconds
        found[name] = digit_errors(model, d.X_test, d.y_test)
        cells = "".join(f"{v:7.2f}" for v in found[name])
        whole = 100 * (1 - model.score(d.X_test, d.y_test))
        print(f"{name:26}{cells}{found[name].mean():7.3f} {whole:12.2f} {took:8.1f}", flush=True)
    means = [found[name].mean() for name in ("LASVM x 1", "averaged perceptron x 10")]
    in_order = means[0] < means[1] < found["averaged perceptron x 1"].mean()
    print(f"order of Figure 1: {'yes' if in_order else 'NO'}\n")
    names = ("lasvm", "ten", "one")
    order = ("LASVM x 1", "averaged perceptron x 10", "averaged perceptron x 1")
    return {name: f"{found[key].mean():.2f}" for name, key in zip(names, order)}


def banana() -> Section:
    """Test errors, %, of the plain, the averaged and budget perceptrons on noisy labels."""
    import onlinesvm

    errors: dict[str, list[float]] = {}
    rows: dict[str, list[int]] = {}
    for seed in few(SPLITS):
        d = load("banana", seed)
        y = d.y_train.astype(int)
        y = np.where(np.random.default_rng(seed).random(len(y)) < 0.1, -y, y)
        same = {"gamma": d.gamma, "random_state": seed}
        models = {
            "plain": onlinesvm.KernelPerceptronClassifier(**same),
            "averaged": onlinesvm.AveragedPerceptronClassifier(**same),
        }
        for budget, margin in BUDGETS:
            made = onlinesvm.BudgetPerceptronClassifier(budget=budget, margin=margin, **same)
            models[f"budget {budget:,}, margin {margin:g}"] = made
        for name, model in models.items():
            model.fit(d.X_train, y)
            errors.setdefault(name, []).append(100 * (1 - model.score(d.X_test, d.y_test)))
            rows.setdefault(name, []).append(int(model.n_support_.sum()))
    print(f"Banana, 4,000 rows, 10 % of the labels flipped, mean of {len(few(SPLITS))} splits")
    for name, values in errors.items():
        held = np.mean(rows[name])
        print(f"{name:28} {np.mean(values):6.2f} % ± {np.std(values):5.2f}  {held:8.1f} rows")
    print(f"budget 2,500, margin 20 below plain: {_beats(errors)} of {len(few(SPLITS))} splits")
    shown = {"plain": "plain", "budget": "budget 2,000, margin 5", "averaged": "averaged"}
    section = {name: f"{np.mean(errors[key]):.1f}" for name, key in shown.items()}
    return section | {"plain_support": f"{np.mean(rows['plain']):,.0f}"}


def _beats(errors: dict[str, list[float]]) -> int:
    return sum(a < b for a, b in zip(errors["budget 2,500, margin 20"], errors["plain"]))


PARTS = {"mnist": mnist, "banana": banana}
