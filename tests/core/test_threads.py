"""Threads change how long it takes, and nothing else."""

import threading

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_digits

from onlinesvm import LASVMClassifier
from onlinesvm.core.kernel.buffers import Buffers
from onlinesvm.core.runtime import threads


@pytest.mark.parametrize("triangle", [False, True])
@pytest.mark.parametrize(("rows", "workers"), [(1, 4), (7, 3), (1000, 2), (1001, 5)])
def test_every_row_is_done_once(rows, workers, triangle):
    done = np.zeros(rows, int)

    def task(first, last):
        done[first:last] += 1

    threads.over_rows(task, rows, workers, triangle)
    assert (done == 1).all()


def test_a_triangle_is_split_by_its_area():
    parts = []
    threads.over_rows(lambda a, b: parts.append((a, b)), 1000, 2, triangle=True)
    area = [sum(1000 - i for i in range(a, b)) for a, b in parts]
    assert max(area) < 1.02 * min(area)


def test_a_triangle_beside_a_rectangle_is_split_by_both_areas():
    parts = []
    threads.over_rows(lambda a, b: parts.append((a, b)), 300, 3, triangle=True, beside=500)
    area = [sum(800 - i for i in range(a, b)) for a, b in parts]
    assert len(area) == 3
    assert max(area) < 1.02 * min(area)


def test_tasks_are_shared_out_and_no_worker_is_two_threads():
    seen, lock = {}, threading.Lock()

    def task(number, worker):
        with lock:
            seen.setdefault(worker, set()).add(threading.get_ident())
            done.append(number)

    done: list[int] = []
    threads.over_tasks(task, 50, 3)
    assert sorted(done) == list(range(50))
    assert all(len(idents) == 1 for idents in seen.values())
    assert set(seen) <= {0, 1, 2}


def test_what_goes_wrong_in_a_task_is_raised():
    def task(number, worker):
        if number == 7:
            raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        threads.over_tasks(task, 20, 2)


@pytest.mark.parametrize("settings", [{}, {"epochs": "converge"}], ids=["one pass", "converged"])
def test_machines_side_by_side_learn_what_they_learn_one_after_another(settings, monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(threads, "available_cores", lambda: 3)
    alone, together = (
        LASVMClassifier(C=10, gamma=0.001, random_state=0, n_jobs=n, **settings).fit(X, y)
        for n in (1, 3)
    )
    np.testing.assert_array_equal(alone.decision_function(X), together.decision_function(X))
    assert alone.n_kernel_evaluations_ == together.n_kernel_evaluations_


def test_a_room_hands_out_the_same_memory_and_is_empty_in_a_copy():
    import copy
    import pickle

    room = Buffers()
    first = room.square(100)
    first[:] = 1.0
    again = room.square(70)
    assert np.shares_memory(first, again)
    assert again.shape == (70, 128)
    assert (again[:, 70:] == 0).all()
    assert not np.shares_memory(first, room.square(100, level=1))
    assert not np.shares_memory(first, room.for_workers(1)[0].square(100))
    assert len(pickle.dumps(room)) < 1000
    small = Buffers()
    block = small.block(3, 5)
    assert block.shape == (3, 5)
    assert np.shares_memory(block, small.block(2, 7))
    assert not np.shares_memory(block, small.block(100, 3))
    assert small.block(100, 3).base.size < 1000  # a small model stays small
    assert not np.shares_memory(first, copy.deepcopy(room).square(100))


def test_n_jobs_means_what_it_means_in_scikit_learn(monkeypatch):
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    assert [threads.thread_count(n) for n in (None, 1, 2, 9, -1, -2, -9)] == [1, 1, 2, 4, 4, 3, 1]
    for wanted in (1, 3, -1):
        with parallel_config(n_jobs=wanted):
            assert threads.thread_count(None) == {1: 1, 3: 3, -1: 4}[wanted]
            assert threads.thread_count(2) == 2
