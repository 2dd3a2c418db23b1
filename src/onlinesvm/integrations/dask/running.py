"""Run tasks on the cluster of Dask's default client, or on local threads.

There is no scheduling here: tasks are ``dask.delayed`` calls with descriptive names (``summary``,
``leaf``, ``merge``, ``look-back``, ``admit``). Results stay on their workers until they are needed,
and are recomputed from the graph if a worker is lost.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from uuid import uuid4

import dask
from dask.delayed import Delayed


def current_client() -> Any:
    """The default client of ``distributed``; None where there is none."""
    distributed = sys.modules.get("distributed")
    if distributed is None:  # no client was made
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    return None if client.asynchronous else client


def threads_here(alone: bool) -> int:
    """Threads for a task: one, or all of its worker where no other task can run beside it."""
    if not alone:
        return 1
    distributed = sys.modules.get("distributed")
    if distributed is not None:
        try:
            return int(distributed.get_worker().state.nthreads)
        except ValueError:  # not on a worker
            pass
    return -1


class Run:
    """The tasks of one fit or prediction."""

    def __init__(self, verbose: bool = False):
        self.client = current_client()
        self.verbose = verbose
        self._token = uuid4().hex[:12]
        self._under_way: list[Any] = []
        if self.client is not None:
            from .warming import WarmUp

            self.client.register_plugin(WarmUp())

    @property
    def threads(self) -> int:
        """Tasks that can run at the same time."""
        if self.client is not None:
            return max(1, sum(self.client.nthreads().values()))
        from ...core.runtime.threads import available_cores

        return int(dask.config.get("num_workers", None) or available_cores())

    def task(self, name: str, number: Any, function: Callable[..., Any], *given: Any) -> Delayed:
        """A call to be made later, under a name that the dashboard shows."""
        return dask.delayed(function, pure=False)(
            *given, dask_key_name=f"{name}-{self._token}-{number}"
        )

    def value(self, name: str, value: Any) -> Delayed:
        """A value that several tasks take: it is sent once."""
        return dask.delayed(value, name=f"{name}-{self._token}", traverse=False)

    def start(self, *tasks: Delayed) -> list[Delayed]:
        """Run the tasks; their results stay where they are. On a cluster, does not wait."""
        with self._local_bar(), _large_graphs():
            kept = list(dask.persist(*tasks, optimize_graph=False))
        self._under_way = [*self._under_way[-2:], kept]  # older ones are done
        return kept

    def results(self, tasks: list[Delayed]) -> list[Any]:
        """What the tasks return, here."""
        if not tasks:
            return []
        kept = self.start(*tasks)
        if self.client is not None and self.verbose:
            from distributed import progress

            progress(*kept, notebook=False)
            print(flush=True)
        with named_errors():
            return list(dask.compute(*kept, optimize_graph=False))

    def _local_bar(self) -> Any:
        if not self.verbose or self.client is not None:
            return nullcontext()
        from dask.diagnostics import ProgressBar

        return ProgressBar()

    def cancel(self) -> None:
        """End what is under way."""
        if self.client is not None and self.client.status == "running":
            from distributed import futures_of

            self.client.cancel(futures_of(self._under_way), force=True)
        self._under_way.clear()


@contextmanager
def running(verbose: bool = False) -> Iterator[Run]:
    """A run whose tasks are cancelled when it ends by an error or by Ctrl-C."""
    run = Run(verbose)
    try:
        with named_errors():
            yield run
    except BaseException:
        run.cancel()
        raise


@contextmanager
def named_errors() -> Iterator[None]:
    """Translate Dask's errors about a closed client."""
    try:
        yield
    except Exception as error:
        if "Cancelled" in type(error).__name__:
            raise ValueError(
                "The partitions are no longer available: their client was closed, or they were "
                f"cancelled ({str(error).splitlines()[0]}). Create a new client and the "
                "collection again."
            ) from error
        raise


@contextmanager
def _large_graphs() -> Iterator[None]:
    """Partitions of arrays in memory are sent with the graph once: no reason to warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        yield
