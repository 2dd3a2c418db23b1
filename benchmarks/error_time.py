"""Error against time: ``python -m benchmarks.error_time [--quick] [--sets NAMES]``.

Each method is fitted with several amounts of effort (rows of a sample, trees, landmarks), each in a
process of its own after a warm-up, with the C and γ of the data set for the kernel machines and the
library's defaults for everything else. The best time of the repetitions and the mean test error make one
point; the points of a method make its line. Writes ``results/error-time.json`` and draws
``docs/images/error-time.png`` (in the quick form both go to the results of the quick form).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.clock import timed_fit, warm_up, warn_of_load
from benchmarks.compare.worker import time_limit
from benchmarks.datasets import Dataset, convert, load
from benchmarks.quick import quick_form, results

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "images" / "error-time.png"

SETS = ("a9a", "waveform:40000")
QUICK_SETS = ("waveform:1500",)
QUICK_LIMIT, LIMIT = 60.0, 100.0
"""Seconds of a single fit, after which the point is left out."""

REPEATS, ENOUGH = 6, 6.0
"""Repetitions of a fit; none follows once fits have taken this number of seconds in all."""

SAMPLES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)


@dataclass(frozen=True)
class Method:
    """One line of the picture: how to build a model for an amount of effort, and which amounts."""

    distribution: str
    build: Callable[[Dataset, float, int], Any]
    efforts: tuple[float, ...] = (1.0,)
    samples: bool = False
    """Whether the effort is a share of the rows."""
    form: str | None = None
    """The form of the rows that it takes fastest, if not the one of the set."""

    def installed(self) -> bool:
        try:
            return bool(metadata.version(self.distribution))
        except metadata.PackageNotFoundError:
            return False


# -- methods -----------------------------------------------------------------------------------


def ours(data: Dataset, effort: float, seed: int) -> Any:
    from onlinesvm import LASVMClassifier

    return LASVMClassifier(C=data.C, gamma=data.gamma, random_state=seed)


def converged(data: Dataset, effort: float, seed: int) -> Any:
    return ours(data, effort, seed).set_params(epochs="converge")


def onedal(data: Dataset, effort: float, seed: int) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def thundersvm(data: Dataset, effort: float, seed: int) -> Any:
    from thundersvm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def svc(data: Dataset, effort: float, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def lightgbm(data: Dataset, effort: float, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=int(effort), random_state=seed, verbose=-1)


def nystroem(data: Dataset, effort: float, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    landmarks = min(int(effort), len(data.y_train))
    features = Nystroem(gamma=data.gamma, n_components=landmarks, random_state=seed)
    return make_pipeline(features, LogisticRegression(C=data.C, max_iter=200))


METHODS: dict[str, Method] = {
    "onlinesvm, one pass": Method("onlinesvm", ours),
    "onlinesvm, converged": Method("onlinesvm", converged),
    "onlinesvm on a sample": Method("onlinesvm", ours, SAMPLES, samples=True),
    "oneDAL SVC": Method("scikit-learn-intelex", onedal, form="dense32"),
    "ThunderSVM (CPU)": Method("thundersvm-cpu", thundersvm),
    "scikit-learn SVC": Method("scikit-learn", svc),
    "LightGBM": Method("lightgbm", lightgbm, (10, 30, 100, 300, 1000), form="dense64"),
    "Nystroem + linear": Method("scikit-learn", nystroem, (100, 300, 1000, 3000)),
}


# -- one point, in a process of its own -----------------------------------------------------------


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """Times and errors of one method with one amount of effort; another seed each time."""
    method = METHODS[spec["method"]]
    data = load(spec["dataset"])
    y, times, errors = data.y_train.astype(np.int64), [], []
    form = method.form or spec["form"]
    X, X_test = convert(data.X_train, form), convert(data.X_test, form)
    warm_up(method.build(data, spec["effort"], 0), X, y)
    for seed in range(spec["repeats"]):
        rows = slice(None)
        if method.samples:
            count = max(100, round(spec["effort"] * len(y)))
            rows = np.random.default_rng(seed).permutation(len(y))[:count]
        model = method.build(data, spec["effort"], seed)
        with time_limit(spec["limit"]):
            times.append(timed_fit(model, X[rows], y[rows]).seconds)
        errors.append(float(np.mean(np.asarray(model.predict(X_test)) != data.y_test)))
        if sum(times) > ENOUGH:
            break
    return {"seconds": min(times), "error": float(np.mean(errors))}


def ask(spec: dict[str, Any]) -> dict[str, Any]:
    """One point; None for what was not measured, and why."""
    nothing = {"seconds": None, "error": None}
    if not METHODS[spec["method"]].installed():
        return nothing | {"why": f"not installed: {METHODS[spec['method']].distribution}"}
    command = [sys.executable, "-m", "benchmarks.error_time", "--one", json.dumps(spec)]
    limit = spec["repeats"] * spec["limit"] + 300
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return nothing | {"why": f"stopped after {limit:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = (done.stderr.strip().splitlines() or ["a fit took too long"])[-1]
        return nothing | {"why": f"exit {done.returncode}: {said}"}
    return json.loads(lines[-1])


def measure_all(sets: tuple[str, ...], quick: bool) -> list[dict[str, Any]]:
    """All points, one after another."""
    points = []
    for dataset in sets:
        form = "csr32" if dataset in ("a9a", "w8a", "ijcnn1") else "dense32"
        for name, method in METHODS.items():
            efforts = method.efforts[:2] if quick else method.efforts
            for effort in efforts:
                repeats, limit = (1, QUICK_LIMIT) if quick else (REPEATS, LIMIT)
                spec = {"method": name, "dataset": dataset, "effort": effort, "form": form}
                point = spec | ask(spec | {"repeats": repeats, "limit": limit})
                points.append(point)
                print(f"  {dataset:16} {name:24} {effort:<8.4g} {described(point)}", flush=True)
    return points


def described(point: dict[str, Any]) -> str:
    """One point, for whoever watches."""
    if point["seconds"] is None:
        return str(point["why"])
    return f"{point['seconds']:.3g} s, error {100 * point['error']:.2f} %"


# -- the picture ---------------------------------------------------------------------------------

STYLES = {
    "onlinesvm, one pass": ("#c1272d", "o"),
    "onlinesvm, converged": ("#7a1a1e", "D"),
    "onlinesvm on a sample": ("#e8878b", "o"),
    "oneDAL SVC": ("#0000a7", "s"),
    "ThunderSVM (CPU)": ("#8c6bb1", "^"),
    "scikit-learn SVC": ("#008176", "v"),
    "LightGBM": ("#3f8f29", "P"),
    "Nystroem + linear": ("#d9a400", "X"),
}


def draw(points: list[dict[str, Any]], path: Path) -> None:
    """One panel per data set; a line for each method, its points in the order of effort."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    sets = list(dict.fromkeys(point["dataset"] for point in points))
    figure = Figure(figsize=(5.2 * len(sets) + 2.2, 4.2), layout="constrained")
    for axes, dataset in zip(figure.subplots(1, len(sets), squeeze=False)[0], sets):
        for name, (colour, marker) in STYLES.items():
            own = [p for p in points if p["dataset"] == dataset and p["method"] == name]
            own = [p for p in own if p["seconds"] is not None]
            times, errors = [p["seconds"] for p in own], [p["error"] for p in own]
            axes.plot(times, errors, color=colour, marker=marker, ms=7, lw=1.4, label=name)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
        axes.set(xlabel="seconds to fit", title=dataset.partition(":")[0])
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("test error")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", frameon=False)
    figure.savefig(path, dpi=120)


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--quick", is_flag=True, help="Little generated data, one repetition, a minute.")
@click.option("--sets", metavar="NAMES", help=f"Data sets; {','.join(SETS)} by default.")
@click.option("--one", metavar="JSON", hidden=True, help="One point, printed as JSON.")
def main(quick: bool, sets: str | None, one: str | None) -> None:
    """Measure, write the points, draw the picture."""
    if one is not None:
        print(json.dumps(measure(json.loads(one))))
        return
    warn_of_load()
    chosen = tuple(sets.split(",")) if sets else (QUICK_SETS if quick else SETS)
    points = measure_all(chosen, quick)
    with quick_form() if quick else nullcontext():
        folder = results()
    picture = folder / PICTURE.name if quick else PICTURE
    (folder / "error-time.json").write_text(json.dumps(points, indent=1) + "\n", encoding="utf-8")
    draw(points, picture)
    print(f"Picture: {picture}")


if __name__ == "__main__":
    main()
