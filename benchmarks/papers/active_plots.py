"""Figures 10 to 16 of LASVM (2005), from the runs of ``benchmarks.papers.active``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

COLOURS = {"random": "#7f7f7f", "gradient": "#d1803b", "active": "#2f6690", "autoactive": "#c1272d"}


def _axes(panels: int, height: float = 3.6) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4 * panels, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=110)


def _mean(runs: Any, name: str) -> np.ndarray:
    return np.mean([[point[name] for point in run] for run in runs], axis=0)


def adult(found: Sequence[dict[str, Any]], folder: Path) -> None:
    """Figures 11 and 12: error against iterations, time, support vectors."""
    figure, axes = _axes(3)
    for criterion, colour in COLOURS.items():
        runs = [run[criterion] for run in found]
        error = _mean(runs, "error")
        for axis, name in zip(axes, ("iterations", "seconds", "support")):
            axis.plot(_mean(runs, name), error, "o-", ms=3.5, color=colour, label=criterion)
    exact = np.mean([run["exact"]["error"] for run in found])
    labels = ("iterations", "seconds of fit", "support vectors")
    for axis, label in zip(axes, labels):
        axis.axhline(exact, color="black", ls="--", lw=1, label="exact SVM")
        axis.set(xlabel=label, xscale="log", ylim=(exact - 0.4, exact + 4))
    axes[0].set_ylabel("test error, %")
    axes[0].set_title("Adult", loc="left")
    axes[0].legend(frameon=False)
    _save(figure, folder / "active-adult.png")


def adult_support(found: Sequence[dict[str, Any]], folder: Path) -> None:
    """Figure 12 alone: error against support vectors."""
    figure, (axis,) = _axes(1, 3.2)
    for criterion, colour in COLOURS.items():
        runs = [run[criterion] for run in found]
        axis.plot(_mean(runs, "support"), _mean(runs, "error"), "o-", ms=3.5, color=colour,
                  label=criterion)  # fmt: skip
    error, support = (np.mean([run["exact"][k] for run in found]) for k in ("error", "support"))
    axis.plot(support, error, "k*", ms=10, label="exact SVM")
    axis.axhline(error, color="black", ls="--", lw=0.8)
    axis.set(xlabel="support vectors", ylabel="test error, %", xscale="log",
             ylim=(error - 0.4, error + 4))  # fmt: skip
    axis.set_title("Adult: which example next", loc="left")
    axis.legend(frameon=False, fontsize="small")
    _save(figure, folder / "active-adult-support.png")


SHOWN = ("random", "gradient", "active")


def mnist(curves: dict[Any, Any], exact: dict[str, Any], folder: Path) -> None:
    """Figures 13 and 14: error against iterations and time; Figure 15: against support vectors."""
    for setting in exact:
        figure, axes = _axes(2)
        for criterion in SHOWN:
            runs = curves.get((setting, criterion), [])
            if not runs:
                continue
            for axis, name in zip(axes, ("iterations", "seconds")):
                axis.plot(_mean(runs, name), _mean(runs, "error"), "o-", ms=3.5,
                          color=COLOURS[criterion], label=criterion)  # fmt: skip
        for axis, label in zip(axes, ("iterations", "seconds of fit")):
            axis.axhline(exact[setting]["error"], color="black", ls="--", lw=1,
                         label="exact, clean")  # fmt: skip
            axis.set(xlabel=label, xscale="log", yscale="log")
        axes[0].set_ylabel("test error, %")
        words = "clean labels" if setting == "clean" else f"10 % of {setting}"
        axes[0].set_title(f"MNIST 8, {words}", loc="left")
        axes[0].legend(frameon=False)
        _save(figure, folder / f"active-mnist-{setting.split()[0]}.png")
    _mnist_support(curves, exact, folder)


def _mnist_support(curves: dict[Any, Any], exact: dict[str, Any], folder: Path) -> None:
    figure, (axis,) = _axes(1)
    styles = dict(zip(exact, ("o-", "o--", "x:"), strict=True))
    for (setting, criterion), runs in curves.items():
        axis.plot(_mean(runs, "support"), _mean(runs, "error"), styles[setting], ms=3.5,
                  color=COLOURS[criterion], label=f"{criterion}, {setting}")  # fmt: skip
    for run in {run["support"]: run for run in exact.values()}.values():
        label = f"exact, clean: {run['support']:,}"
        axis.plot(run["support"], run["error"], "*", ms=11, label=label)
    axis.set(xlabel="support vectors", ylabel="test error, %", xscale="log", yscale="log")
    axis.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _save(figure, folder / "active-mnist-support.png")


def pool(curves: dict[Any, Any], every: int, n_labels: int, folder: Path) -> None:
    """Figure 16."""
    names = list(dict.fromkeys(name for name, _ in curves))
    figure, axes = _axes(len(names))
    labels = np.arange(every, n_labels + 1, every)
    for axis, name in zip(axes, names):
        for (owner, method), runs in curves.items():
            if owner == name:
                errors = np.mean([run["errors"] for run in runs], axis=0)
                axis.plot(labels, errors, "-" if "LASVM" in method else "--", label=method)
        axis.set(xlabel="labels", yscale="log")
        axis.set_title(name, loc="left")
    axes[0].set_ylabel("test error, %")
    axes[0].legend(frameon=False)
    _save(figure, folder / "active-pool.png")


def banana(
    curves: dict[str, Any], deltas: Sequence[float], exact: Sequence[dict[str, Any]], folder: Path
) -> None:
    """Figure 10."""
    figure, axes = _axes(3)
    for form, runs in curves.items():
        for axis, name in zip(axes, ("error", "seconds", "support")):
            axis.plot(deltas, _mean(runs, name), "o-", ms=3.5, label=form)
    svc = [
        100 * np.mean([e["error"] for e in exact]),
        None,
        np.mean([e["n_support"] for e in exact]),
    ]
    for axis, label, value in zip(axes, ("test error, %", "seconds", "support vectors"), svc):
        if value is not None:
            axis.axhline(value, color="black", ls="--", lw=1, label="SVC")
        axis.set(xlabel="δ_max", ylabel=label, xscale="log")
        axis.invert_xaxis()
    axes[1].set_yscale("log")
    axes[0].set_title("Banana", loc="left")
    axes[0].legend(frameon=False)
    _save(figure, folder / "active-banana.png")
