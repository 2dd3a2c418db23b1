"""One worker of one thread against two: partitions in the workers' memory, fits in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.clock import seconds_of
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import markdown, number, percent
from benchmarks.papers.page import Section
from benchmarks.quick import few, generated_rows

PARTITIONS, REPEATS = 8, 3
SETS = ("waveform:320000", "mnist8")


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    """A client of so many processes with one thread each."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def partition(name: str, i: int) -> tuple[Any, np.ndarray]:
    """Partition i of a data set, made on the worker."""
    data = load(name)
    which = slice(len(data.y_train) * i // PARTITIONS, len(data.y_train) * (i + 1) // PARTITIONS)
    return data.X_train[which].copy(), data.y_train[which]


def fits(name: str, data: Dataset, workers: int, passes: int) -> dict[str, Any]:
    """The quickest of several fits on a cluster."""
    import dask

    from onlinesvm.dask import TreeLASVMClassifier

    with cluster(workers) as client:
        given = _given(name, data)
        parts = client.persist([dask.delayed(partition)(given, i) for i in range(PARTITIONS)])
        dask.compute([dask.delayed(len)(part) for part in parts])
        best: dict[str, Any] = {"seconds": np.inf}
        model = TreeLASVMClassifier(C=data.C, gamma=data.gamma, passes=passes, random_state=0)
        for _ in range(1 + len(few(range(REPEATS)))):  # the first one warms up
            seconds = seconds_of(lambda: model.fit(parts))
            if seconds < best["seconds"]:
                best = {"seconds": seconds, "phases": _phases(model)}
        right = np.asarray(model.predict(data.X_test)) == data.y_test
        best["error"] = 100 * (1 - float(np.mean(right)))
        best["bytes_to_root"], best["content"] = model.bytes_to_root_, model.root_content_bytes_
    return best


def _given(name: str, data: Dataset) -> str:
    if generated_rows() is not None:  # a worker knows nothing of the quick form
        return f"waveform:{generated_rows()}"
    return name


def _phases(model: Any) -> dict[str, float]:
    return {
        phase: sum(entry.seconds for entry in entries) for phase, entries in model.costs_.items()
    }


def part() -> Section:
    """Two workers against one, eight partitions."""
    rows, numbers = [], {}
    for name in SETS:
        data = load(_given(name, load(name)))
        for passes in (0, 1):
            one, two = (fits(name, data, n, passes) for n in (1, 2))
            ratio = two["seconds"] / one["seconds"]
            numbers[f"{name} passes={passes}"] = {"one": one, "two": two, "ratio": ratio}
            rows.append(
                [
                    name, str(passes), f"{number(one['seconds'])} s", f"{number(two['seconds'])} s",
                    f"{ratio:.2f}", percent(two["error"]),
                    f"{two['bytes_to_root'] / two['content']:.2f}",
                    ", ".join(f"{k} {number(v)}" for k, v in two["phases"].items()),
                ]
            )  # fmt: skip
    header = ["data", "looks back", "one worker", "two", "ratio", "error", "bytes/content", "s"]
    return {"report": markdown(header, rows), "numbers": numbers}
