"""The clock that all benchmarks share; no test depends on how fast the machine is."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import clock

ROOT = Path(clock.__file__).parent


@pytest.fixture
def ticks(monkeypatch):
    """Wall-clock and processor time advance only when told to."""
    now = [0.0]
    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(clock.time, "process_time", lambda: 2 * now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def test_a_clock_adds_up_its_blocks_and_nothing_between(ticks):
    total = clock.Clock()
    for _ in range(3):
        with total:
            ticks(1.0)
        ticks(10.0)
    assert (total.seconds, total.cpu_seconds) == (3.0, 6.0)


def test_a_block_inside_another_counts_once(ticks):
    total = clock.Clock()
    with total:
        ticks(1.0)
        with total:
            ticks(2.0)
        ticks(4.0)
    assert total.seconds == 7.0


def test_a_clock_stops_when_the_block_fails(ticks):
    total = clock.Clock()

    def fail():
        with total:
            ticks(1.0)
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    ticks(5.0)
    with total:
        ticks(1.0)
    assert total.seconds == 2.0


def test_the_quickest_run_counts_and_tasks_take_turns(ticks):
    order = []
    waits = {"a": iter((3.0, 1.0, 2.0)), "b": iter((5.0, 6.0, 4.0))}

    def task(name):
        order.append(name)
        ticks(next(waits[name]))

    found = clock.best_in_turn([lambda: task("a"), lambda: task("b")], 3)
    assert found == [1.0, 4.0]
    assert "".join(order) == "ababab"


def test_warm_up_learns_few_rows_of_every_class():
    seen = []

    class Model:
        def fit(self, X, y):
            seen.append((len(X), set(y.tolist())))
            return self

        def predict(self, X):
            seen.append(len(X))

    y = np.r_[np.zeros(5000), np.ones(3)]
    clock.warm_up(Model(), np.zeros((5003, 2)), y)
    assert seen == [(clock.WARM_UP + 3, {0.0, 1.0}), clock.WARM_UP + 3]


def test_no_other_module_reads_the_time_itself():
    # New processes time their own start, their own reading of a file, and their own fit.
    allowed = {"clock.py", "startup.py", "first_use.py", "files.py", "parquet.py", "worker.py"}
    readers = {
        path.name
        for path in ROOT.rglob("*.py")
        if re.search(r"perf_counter|process_time|timeit", path.read_text(encoding="utf-8"))
    }
    assert readers <= allowed
