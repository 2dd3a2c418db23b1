"""The Huller against the exact hard-margin SVM: ``python -m benchmarks.papers --only huller``.

Prints, for MNIST and γ = 0.005 on pixels / 255, the test error of each digit against the rest after
1, 2 and 5 epochs and that of the exact solution (huller-2005, Figure 5), with the number of support
vectors, kernel values and seconds. The figure goes to ``benchmarks/results/huller-mnist.png``.

All ten digits are learned at once, one against the rest on the same kernel values; the machines
are those of ten separate fits. The exact solution is the SVM with C = 10⁶, which no coefficient
reaches: LASVM run until no example violates the conditions by more than 10⁻³.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import timed_fit
from benchmarks.datasets import Dataset, load
from benchmarks.papers.page import Section
from benchmarks.quick import results

EPOCHS = (1, 2, 5)
BARS = {1: 0.2, 2: 0.08, 5: 0.03}


def digit_errors(model: Any, data: Dataset) -> np.ndarray:
    """Test error of each digit against the rest, in per cent."""
    values = model.decision_function(data.X_test)
    truth = data.y_test[:, None] == model.classes_
    return 100 * ((values > 0) != truth).mean(axis=0)


def measured(model: Any, data: Dataset) -> dict[str, Any]:
    clock = timed_fit(model, data.X_train, data.y_train)
    return {
        "error": digit_errors(model, data),
        "vectors": (model.dual_coef_ != 0).sum(axis=1),
        "seconds": clock.seconds,
        "values": model.n_kernel_evaluations_,
    }


def mnist() -> dict[str, dict[str, Any]]:
    """Figure 5: Huller ×1, ×2, ×5 and the exact solution."""
    from onlinesvm import LASVMClassifier
    from onlinesvm.estimators.huller import HullerClassifier

    data = load("mnist")
    options: dict[str, Any] = {"gamma": data.gamma, "cache_size": 500}
    exact = LASVMClassifier(C=1e6, epochs="converge", random_state=0, **options)
    found = {"exact": measured(exact, data)}
    show("exact", found["exact"])
    for epochs in EPOCHS:
        name = f"Huller ×{epochs}"
        found[name] = measured(HullerClassifier(epochs=epochs, random_state=0, **options), data)
        show(name, found[name])
        excess = found[name]["error"].mean() - found["exact"]["error"].mean()
        bar = f", the paper's claim: at most {BARS[epochs]}"
        print(f"{'':12} above the exact solution by {excess:+.3f} points{bar}", flush=True)
    return found


def show(name: str, m: dict[str, Any]) -> None:
    digits = " ".join(f"{e:5.2f}" for e in m["error"])
    print(
        f"{name:12} mean error {m['error'].mean():.3f} %  [{digits}]  "
        f"{m['vectors'].mean():.0f} support vectors a digit, {m['values'] / 1e6:.0f} M kernel "
        f"values, {m['seconds']:.1f} s",
        flush=True,
    )


def draw(found: dict[str, dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    colours = {"Huller ×1": "#eecc16", "Huller ×2": "#e07b39", "Huller ×5": "#c1272d"}
    for place, (name, m) in enumerate(sorted(found.items())):
        where = np.arange(10) + 0.2 * (place - 1.5)
        for axis, key in zip(panels, ("error", "vectors")):
            axis.bar(where, m[key], 0.2, label=name, color=colours.get(name, "#0000a7"))
    panels[0].set_ylabel("test error, %")
    panels[1].set_ylabel("support vectors")
    for axis in panels:
        axis.set_xlabel("digit against the rest")
        axis.set_xticks(range(10))
    panels[0].legend()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=120)


def part() -> Section:
    """Figure 5."""
    found = mnist()
    draw(found, results() / "huller-mnist.png")
    exact = float(found["exact"]["error"].mean())
    rows = []
    for epochs, claim in BARS.items():
        run = found[f"Huller ×{epochs}"]
        error = float(run["error"].mean())
        excess = f"{error - exact:+.3f}"
        support = f"{run['vectors'].mean():,.0f}"
        rows.append([str(epochs), f"{error:.3f}", excess, f"{claim:g}", support])
    return {"exact_error": f"{exact:.3f}", "rows": rows}


PARTS = {"mnist": part}
