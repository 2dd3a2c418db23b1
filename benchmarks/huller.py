"""The Huller against the exact hard-margin SVM: ``python -m benchmarks.huller``.

Prints, for MNIST and γ = 0.005 on pixels / 255, the test error of each digit against the rest after
1, 2 and 5 epochs and that of the exact solution (huller-2005, Figure 5), with the number of support
vectors, kernel values and seconds; then the throughput of ``partial_fit`` in blocks of 1,000 on a
stream of 54 dimensions. The figure goes to ``benchmarks/results/huller-mnist.png``.

All ten digits are learned at once, one against the rest on the same kernel values; the machines
are those of ten separate fits. The exact solution is the SVM with C = 10⁶, which no coefficient
reaches: LASVM run until no example violates the conditions by more than 10⁻³.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.datasets import Dataset, load
from benchmarks.runs import RESULTS
from benchmarks.throughput import stream_throughput

EPOCHS = (1, 2, 5)
BARS = {1: 0.2, 2: 0.08, 5: 0.03}


def digit_errors(model: Any, data: Dataset) -> np.ndarray:
    """Test error of each digit against the rest, in per cent."""
    values = model.decision_function(data.X_test)
    truth = data.y_test[:, None] == model.classes_
    return 100 * ((values > 0) != truth).mean(axis=0)


def measured(model: Any, data: Dataset) -> dict[str, Any]:
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    return {
        "error": digit_errors(model, data),
        "vectors": (model.dual_coef_ != 0).sum(axis=1),
        "seconds": seconds,
        "values": model.n_kernel_evaluations_,
    }


def mnist(rows: int | None, seeds: int, sweeps: int) -> dict[str, dict[str, Any]]:
    """Figure 5: Huller ×1, ×2, ×5 (means over the seeds) and the exact solution."""
    from onlinesvm import LASVMClassifier
    from onlinesvm.estimators.huller import HullerClassifier

    data = load("mnist" if rows is None else f"mnist:{rows}", seed=0)
    options: dict[str, Any] = {"gamma": data.gamma, "cache_size": 500}
    exact = LASVMClassifier(C=1e6, epochs="converge", random_state=0, **options)
    found = {"exact": measured(exact, data)}
    show("exact", found["exact"])
    for epochs in EPOCHS:
        runs = [
            measured(
                HullerClassifier(epochs=epochs, max_sweeps=sweeps, random_state=s, **options), data
            )
            for s in range(seeds)
        ]
        name = f"Huller ×{epochs}"
        found[name] = {key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]}
        show(name, found[name])
        excess = found[name]["error"].mean() - found["exact"]["error"].mean()
        bar = f", the paper's claim: at most {BARS[epochs]}" if rows is None else ""
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


@click.command(help=(__doc__ or "").split("\n", maxsplit=1)[0])
@click.option("--rows", type=int, default=None, help="Training rows of MNIST; all by default.")
@click.option("--seeds", default=1, help="Runs to average over.")
@click.option("--sweeps", default=10, help="Of the finishing step; 0: the paper's algorithm.")
@click.option("--throughput/--no-throughput", default=True)
def main(rows: int | None, seeds: int, sweeps: int, throughput: bool) -> None:
    found = mnist(rows, seeds, sweeps)
    draw(found, RESULTS / "huller-mnist.png")
    if throughput:
        from onlinesvm.estimators.huller import HullerClassifier

        stream_throughput(HullerClassifier(C=1.0, gamma=1 / 54, random_state=0))


if __name__ == "__main__":
    main()
