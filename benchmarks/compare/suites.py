"""What is measured: suites of jobs, by name.

A job is one peer on one data set under one measure. Hyper-parameters are in none of them: C and γ
come with the data set, all else is the library's default.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

OURS, CONVERGED = "onlinesvm", "onlinesvm converged"
EX, EX_REST, SVC = "sklearnex SVC", "sklearnex SVC one-vs-rest", "sklearn SVC"
APPROXIMATE = ("Nystroem + SGD", "RBFSampler + SGD")
KERNEL_PEERS = (OURS, EX, SVC, "thundersvm SVC", *APPROXIMATE, "vowpalwabbit ksvm")

SPEED_SETS = ("a9a", "ijcnn1", "w8a", "waveform:40000", "mnist8:10000", "mnist8", "usps0")
GROWTH_ROWS = (10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
SVC_ROWS = 80_000
"""Where SVC and its kin stop in the growth suite: beyond, hours."""

QUICK_ROWS = 2000
SLOW = (SVC, "vowpalwabbit ksvm")

STREAM_PEERS = (
    "onlinesvm stream",
    "onlinesvm budget 500",
    "RBFSampler + SGD stream",
    "river PA",
    "river ALMA",
    "river RBFSampler",
    "river Hoeffding tree",
    "river ARF",
)


VALUE_SETS = ("pol", "elevators", "bike", "kin40k", "protein")
VALUE_PEERS = (
    "onlinesvm LASVMRegressor",
    "onlinesvm LASVMRegressor, converged",
    "sklearnex SVR",
    "sklearn SVR",
    "KernelRidge",
    "Nystroem + Ridge",
    "HistGradientBoosting",
)
NOVELTY_SETS = ("mnist_zero", "w8a_rest", "forest_two:60000")
NOVELTY_PEERS = ("onlinesvm LASVMOneClass", "sklearn OneClassSVM", "IsolationForest")
ONCE = ("sklearnex SVR", "sklearn SVR", "KernelRidge", "sklearn OneClassSVM")
"""Those that take minutes are measured once."""


@dataclass(frozen=True)
class Job:
    """One peer on one data set; `rows` cuts the set, `limit` (seconds) a single fit."""

    peer: str
    dataset: str
    measure: str = "fit"
    repeats: int = 3
    fresh: int = 0
    rows: int | None = None
    limit: float = 600.0


@dataclass(frozen=True)
class Suite:
    """Jobs that make one table, and the shape of that table."""

    title: str
    jobs: tuple[Job, ...]
    shape: str = "comparison"

    def quick(self) -> Suite:
        """The same with little data and one repetition: shows that it runs, not how fast."""
        # Cut to one size, all points of a growth curve would be the same.
        small = [j for j in self.jobs if self.shape != "growth" or _rows(j) <= 2 * GROWTH_ROWS[0]]
        cut = None if self.shape == "growth" else QUICK_ROWS
        jobs = (replace(j, repeats=1, fresh=min(j.fresh, 1), rows=cut, limit=60.0) for j in small)
        return replace(self, title=f"{self.title} (little data)", jobs=tuple(jobs))


def _rows(job: Job) -> int:
    return int(job.dataset.partition(":")[2])


def _jobs(peers: tuple[str, ...], sets: tuple[str, ...], **settings: object) -> tuple[Job, ...]:
    return tuple(Job(p, s, **settings) for s in sets for p in peers)  # type: ignore[arg-type]


def _speed() -> tuple[Job, ...]:
    """All peers on all sets; those that take minutes once, which is known well enough."""
    jobs = _jobs(KERNEL_PEERS, SPEED_SETS, repeats=4, fresh=2)
    once = {"repeats": 1, "fresh": 0, "limit": 300.0}
    return tuple(replace(j, **once) if j.peer in SLOW else j for j in jobs)  # type: ignore[arg-type]


def _growth() -> tuple[Job, ...]:
    return tuple(
        Job(peer, f"waveform:{rows}", repeats=1 if peer == SVC else 3)
        for rows in GROWTH_ROWS
        for peer in (OURS, EX, SVC)
        if peer == OURS or rows <= SVC_ROWS
    )


def _of_measure(peers: tuple[str, ...], sets: tuple[str, ...], measure: str) -> tuple[Job, ...]:
    """Jobs of the measures ``regression`` and ``novelty``."""
    return tuple(
        Job(peer, name, measure=measure, repeats=1 if peer in ONCE else 3, limit=900.0)
        for name in sets
        for peer in peers
    )


SUITES: dict[str, Suite] = {
    "quick": Suite(
        "Quick look on generated data",
        _jobs(KERNEL_PEERS, ("checkerboard:2000", "waveform:2000"), repeats=2, fresh=1, limit=60.0),
    ),
    "speed": Suite(
        "Time to the same test error",
        _speed(),
    ),
    "multiclass": Suite(
        "MNIST, ten classes",
        (
            *_jobs((OURS, *APPROXIMATE), ("mnist",), repeats=3),
            *_jobs((EX, EX_REST), ("mnist",), repeats=1),
        ),
    ),
    "forest": Suite(
        "Forest (covertype, class 2 against the rest)",
        (
            *_jobs((OURS, EX, *APPROXIMATE), ("forest:20000",), repeats=2),
            *_jobs((OURS, *APPROXIMATE), ("forest:100000",), repeats=2),
            *_jobs((EX,), ("forest:100000",), repeats=1),
            *_jobs((OURS, *APPROXIMATE), ("forest:500000",), repeats=1, limit=3600.0),
        ),
    ),
    "growth": Suite("Growth of time with the number of rows, waveform", _growth(), "growth"),
    "memory": Suite("Peak memory", _jobs((OURS, EX, SVC), ("a9a", "ijcnn1", "w8a"), repeats=1)),
    "floor": Suite(
        "Fit time over the bare cost of its kernel values",
        _jobs((OURS,), ("a9a", "w8a", "mnist8"), measure="floor", repeats=5),
        "floor",
    ),
    "predict": Suite("Prediction", _jobs((OURS, EX, SVC), ("a9a",), repeats=1), "predict"),
    "converge": Suite(
        "The exact solution, at the same tolerance",
        _jobs((CONVERGED, EX), ("a9a", "ijcnn1"), repeats=3),
    ),
    "stream": Suite(
        "Streams, one example at a time: predicted, then learned",
        _jobs(STREAM_PEERS, ("sea", "elec2", "weather"), measure="stream"),
        "stream",
    ),
    "regression": Suite(
        "Regression: time to the same error",
        _of_measure(VALUE_PEERS, VALUE_SETS, "regression"),
        "regression",
    ),
    "novelty": Suite(
        "Novelty: time to the same ranking",
        _of_measure(NOVELTY_PEERS, NOVELTY_SETS, "novelty"),
        "novelty",
    ),
}
