"""Test errors of the tree next to the single fit, and its dual next to that of the exact SVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.clock import Clock
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import markdown, number, percent
from benchmarks.papers.page import Section
from benchmarks.quick import few

PARTITIONS = 8
SETS = ("a9a", "ijcnn1", "waveform:40000", "mnist")


def tree(data: Dataset, passes: int | None) -> Any:
    """The tree with eight partitions."""
    from onlinesvm.dask import TreeLASVMClassifier

    size = -(-len(data.y_train) // PARTITIONS)
    return TreeLASVMClassifier(
        C=data.C, gamma=data.gamma, passes=passes, partition_size=size, random_state=0
    )


def error(model: Any, data: Dataset) -> float:
    return 100 * (1 - float(model.score(data.X_test, data.y_test)))


def dual(model: Any) -> float:
    """sum a y - a' K a / 2 over all machines, with the model's own kernel values."""
    support, kernel = model._trained.learner.support, model._trained.kernel
    rows, alpha = support.expansion()
    product = kernel.product(rows, rows, alpha).T
    linear = support.linear()
    used = support.alpha()
    return float((used * linear).sum() - 0.5 * (alpha * product).sum())


def part() -> Section:
    """Errors after 0 and 1 looks back and at the end, and the dual next to the exact one."""
    from onlinesvm import LASVMClassifier

    rows, numbers = [], {}
    for name in few(SETS):
        data = load(name)
        found: dict[str, Any] = {}
        single = LASVMClassifier(C=data.C, gamma=data.gamma, random_state=0)
        found["single"] = error(single.fit(data.X_train, data.y_train), data)
        exact = LASVMClassifier(C=data.C, gamma=data.gamma, epochs="converge", random_state=0)
        wanted = dual(exact.fit(data.X_train, data.y_train))
        for passes in (0, 1, None):
            with Clock() as clock:
                model = tree(data, passes).fit(data.X_train, data.y_train)
            found[f"passes={passes}"] = error(model, data)
            found[f"seconds {passes}"] = clock.seconds
            found[f"bytes {passes}"] = model.bytes_to_root_ / model.root_content_bytes_
        found["looks"] = model.n_violators_
        found["dual"] = abs(dual(model.to_local()) - wanted) / wanted
        numbers[name] = found
        rows.append(
            [
                name, percent(found["single"]), percent(found["passes=0"]),
                percent(found["passes=1"]), percent(found["passes=None"]),
                percent(error(exact, data)), f"{found['dual']:.1e}", str(len(found["looks"])),
                number(found["bytes 1"]),
            ]
        )  # fmt: skip
    header = [
        "data",
        "single fit",
        "0",
        "1",
        "to the end",
        "exact",
        "dual, relative",
        "looks",
        "bytes/content",
    ]
    return {"report": markdown(header, rows), "numbers": numbers}


def sorted_part() -> Section:
    """Rows sorted by class: most partitions have one class."""
    rows, numbers = [], {}
    for name in few(SETS):
        data = load(name)
        order = np.argsort(data.y_train, kind="stable")
        shuffled = error(tree(data, 1).fit(data.X_train, data.y_train), data)
        model = tree(data, 1).fit(data.X_train[order], data.y_train[order])
        found = error(model, data)
        numbers[name] = {"shuffled": shuffled, "sorted": found, "looks": model.n_passes_}
        rows.append([name, percent(shuffled), percent(found), str(model.n_passes_)])
    header = ["data", "as they are", "sorted by class", "looks back"]
    return {"report": markdown(header, rows), "numbers": numbers}
