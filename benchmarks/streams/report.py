"""Tables of what was measured, mean ranks, and pictures of the accuracy over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import markdown, number
from benchmarks.streams.models import OURS

Measured = dict[str, dict[str, dict[str, Any]]]
"""Stream -> model -> what ``prequential`` returned."""


def ranks(measured: Measured) -> dict[str, float]:
    """Mean rank by accuracy over the streams on which all models ran; equals share theirs."""
    models = list(next(iter(measured.values())))
    whole = [found for found in measured.values() if set(found) == set(models)]
    places = []
    for found in whole:
        accuracy = np.array([found[model]["accuracy"] for model in models])
        better = (accuracy[None, :] > accuracy[:, None]).sum(axis=1)
        equal = (accuracy[None, :] == accuracy[:, None]).sum(axis=1)
        places.append(better + (equal + 1) / 2)
    return dict(zip(models, np.mean(places, axis=0).tolist())) if places else {}


def ranks_of_one(measured: Measured, ours: str) -> dict[str, float]:
    """Mean ranks with one of our models alone among the others."""
    others = set(OURS) - {ours}
    return ranks({s: {m: v for m, v in f.items() if m not in others} for s, f in measured.items()})


def tables(measured: Measured) -> str:
    """Accuracy with mean ranks, kappa, time and memory, in Markdown."""
    streams = list(measured)
    models = list(dict.fromkeys(model for found in measured.values() for model in found))
    rank = ranks(measured)

    def table(head: str, cell: Any, last: dict[str, float] | None = None) -> str:
        header = ["", "model", *streams, *(["mean rank"] if last else [])]
        rows = []
        for model in models:
            whose = "ours" if model in OURS else "River"
            cells = [cell(f[model]) if model in f else "–" for f in measured.values()]
            rows.append([whose, model, *cells, *([f"{last[model]:.2f}"] if last else [])])
        return f"{head}\n\n{markdown(header, rows)}"

    parts = [
        table("Accuracy, %", lambda f: f"{100 * f['accuracy']:.1f}", rank),
        table("Kappa, %", lambda f: f"{100 * f['kappa']:.1f}"),
        table("µs an example: learn + predict (processor time)", _times),
        table("Memory at the end, MB", lambda f: number(f["memory_mb"], 2)),
    ]
    for ours in OURS:
        if rank and ours in rank:
            alone = sorted(ranks_of_one(measured, ours).items(), key=lambda item: item[1])
            order = ", ".join(f"{model} {place:.2f}" for model, place in alone)
            parts.append(f"Mean ranks with {ours} alone among River's: {order}")
    return "\n\n".join(parts)


def _times(found: dict[str, Any]) -> str:
    return f"{number(found['learn_us'])} + {number(found['predict_us'])}"


def draw(measured: Measured, folder: Path) -> Path:
    """Accuracy in pieces of each stream, over time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    rows = -(-len(measured) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(12, 3 * rows), squeeze=False)
    for axis in axes.flat[len(measured) :]:
        axis.axis("off")
    for axis, (stream, found) in zip(axes.flat, measured.items()):
        for k, (model, values) in enumerate(found.items()):
            curve, n = np.array(values["curve"]), values["rows"]
            smooth = np.convolve(np.pad(curve, 1, mode="edge"), np.ones(3) / 3, "valid")
            at = (np.arange(len(curve)) + 0.5) * n / len(curve)
            width = 2.0 if model in OURS else 0.9
            axis.plot(at, 100 * smooth, color=f"C{k}", linewidth=width, label=model)
        axis.set(title=stream, ylabel="accuracy, %")
        axis.grid(alpha=0.3)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="lower right", ncols=2, fontsize=9)
    figure.tight_layout()
    path = folder / "streams.png"
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path
