"""Threads for kernel tiles: rows split over workers; one thread for BLAS on small matrices.

Compiled loops release the interpreter lock, so plain threads suffice. The count asked for is
never exceeded: inside a joblib worker, or where ``OMP_NUM_THREADS`` says so, it is less.

A BLAS splits even small products over its threads, which then wait for each other in a loop: on a
busy machine that costs many times the product itself.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from joblib import parallel
from threadpoolctl import ThreadpoolController

from .interrupts import Stopped, current_holder, use_context_of


def available_cores() -> int:
    """Cores this process may use."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        cores = os.cpu_count() or 1
    with contextlib.suppress(ValueError):
        cores = min(cores, max(1, int(os.environ.get("OMP_NUM_THREADS", cores))))
    return cores


def thread_count(n_jobs: int | None) -> int:
    """Threads to use for ``n_jobs``: -1 all cores, -2 all but one, n at most n.

    ``None`` is 1, or what a ``joblib.parallel_config`` says, as in scikit-learn.
    """
    backend, of_context = parallel.get_active_backend()
    if getattr(backend, "nesting_level", 0):  # a joblib worker has its share already
        return 1
    n_jobs = n_jobs or of_context or 1
    if n_jobs < 0:
        return max(1, available_cores() + 1 + n_jobs)
    return min(n_jobs, max(available_cores(), 1))


@lru_cache(maxsize=8)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    # Keyed by process: a forked child must not wait for its parent's threads.
    return ThreadPoolExecutor(workers, thread_name_prefix="onlinesvm")


def over_rows(
    task: Callable[[int, int], Any],
    n_rows: int,
    threads: int,
    triangle: bool = False,
    beside: int = 0,
) -> None:
    """Run ``task(first, last)`` over all rows, the work split evenly over the threads.

    ``triangle``: the work of row i is that of the n_rows - i columns right of the diagonal, and of
    ``beside`` columns that every row has.
    """
    threads = max(1, min(threads, n_rows))
    if threads == 1:
        task(0, n_rows)
        return
    edges = [n_rows * t // threads for t in range(threads + 1)]
    if triangle:
        width, area = n_rows + beside, n_rows * (n_rows + 2 * beside)
        edges = [round(width - (width**2 - area * t / threads) ** 0.5) for t in range(threads + 1)]
    pool = _pool(os.getpid(), threads - 1)
    others = [pool.submit(task, a, b) for a, b in zip(edges[1:-1], edges[2:], strict=True)]
    try:
        task(edges[0], edges[1])
    finally:
        for other in others:
            other.result()


def over_tasks(task: Callable[[int, int], Any], count: int, threads: int) -> None:
    """Run ``task(number, worker)`` for every number; each worker takes the next when it is free.

    A task may call ``checkpoint``: after Ctrl-C all workers stop.
    """
    numbers = iter(range(count))  # taking the next is atomic
    holder, stopped = current_holder(), []

    def work(worker: int) -> None:
        before = current_holder()
        use_context_of(holder)
        try:
            for number in numbers:
                try:
                    task(number, worker)
                except Stopped:
                    stopped.append(number)
        except BaseException:
            stopped.extend(numbers)  # no worker takes another one
            raise
        finally:
            use_context_of(before)

    over_rows(lambda first, last: work(first), min(threads, count), threads)
    for number in stopped:  # only after a Ctrl-C that the user's handler made nothing of
        task(number, 0)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> contextlib.AbstractContextManager[object]:
    """A context in which BLAS calls of this process run on one thread."""
    return _controller().limit(limits=1, user_api="blas")
