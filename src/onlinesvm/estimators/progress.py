"""Progress of a fit, told to scikit-learn's callbacks where scikit-learn has them.

A fit is a tree of tasks: the fit itself, its epochs, their blocks. ``ProgressBar`` and other
callbacks are attached with ``estimator.set_callbacks(...)``. A callback may ask to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """The tasks of one fit. Does nothing where no callback listens."""

    def __init__(self, estimator: Any, X: Any, y: Any, epochs: int | None):
        self.estimator, self.X, self.y = estimator, X, y
        self.stopped = False
        self.root = None
        if hasattr(estimator, "_init_callback_context") and _listens(estimator):
            self.root = estimator._init_callback_context(max_subtasks=epochs)
            self._begin(self.root)

    def epoch(self, name: str, blocks: Iterable[Any], n_blocks: int | None) -> Iterator[Any]:
        """Pass on what ``blocks`` yields, telling of each; stops early if a callback asks."""
        if self.root is None:
            yield from blocks
            return
        task = self.root.subcontext(task_name=name, max_subtasks=n_blocks)
        self._begin(task)
        part = self._begin(task.subcontext(task_name="block"))
        for made, item in enumerate(blocks, 1):
            yield item
            stop = self._end(part)
            if stop:
                self.stopped = True
                break
            if n_blocks is None or made < n_blocks:
                part = self._begin(task.subcontext(task_name="block"))
        self.stopped |= self._end(task)

    def close(self) -> None:
        if self.root is not None:
            self._end(self.root)

    def _begin(self, task: Any) -> Any:
        return task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)

    def _end(self, task: Any) -> bool:
        state = {"_learner": getattr(self.estimator, "_learner", None)}
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=state
            )
        )


def _listens(estimator: Any) -> bool:
    return bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(
        estimator, "_parent_callback_ctx"
    )
