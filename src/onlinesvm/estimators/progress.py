"""Progress of a fit, told to scikit-learn's callbacks where scikit-learn has them.

A fit is a tree of tasks: the fit itself, its epochs, their blocks. ``ProgressBar`` and other
callbacks are attached with ``estimator.set_callbacks(...)``. A callback may ask to stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "FitProgress", "with_callbacks"]


class FitProgress:
    """The tasks of one fit. Does nothing where no callback listens."""

    def __init__(self, estimator: Any, X: Any, y: Any, epochs: int | None):
        self.estimator, self.X, self.y = estimator, X, y
        self.stopped = False
        self.learning = False  # whether a pass is under way, not the finishing step
        self.root = None
        if hasattr(estimator, "_init_callback_context") and _listens(estimator):
            self.root = estimator._init_callback_context(max_subtasks=epochs)
            self._begin(self.root)

    def epoch(self, name: str, blocks: Iterable[Any], n_blocks: int | None) -> Iterator[Any]:
        """Pass on what ``blocks`` yields, telling of each; stops early if a callback asks."""
        self.learning = True
        yield from blocks if self.root is None else self._told(name, blocks, n_blocks)
        self.learning = False

    def _told(self, name: str, blocks: Iterable[Any], n_blocks: int | None) -> Iterator[Any]:
        assert self.root is not None
        task = self._begin(self.root.subcontext(task_name=name, max_subtasks=n_blocks))
        blocks, made, more = iter(blocks), 0, True
        while more and not self.stopped and made != n_blocks:
            part = self._begin(task.subcontext(task_name="block"))
            for item in blocks:
                made += 1
                yield item
                break
            else:
                more = False
            self.stopped |= self._end(part)
        self.stopped |= self._end(task)

    def close(self) -> None:
        """The fit is done."""
        if self.root is not None:
            self._end(self.root)

    def _begin(self, task: Any) -> Any:
        return task.call_on_fit_task_begin(estimator=self.estimator, X=self.X, y=self.y)

    def _end(self, task: Any) -> bool:
        # A callback may keep the model it is shown; a copy is made only if one asks for it.
        return bool(
            task.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y,
                reconstruction_attributes=lambda: {
                    "_learner": deepcopy(getattr(self.estimator, "_learner", None))
                },
            )
        )  # fmt: skip


def _listens(estimator: Any) -> bool:
    return bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(
        estimator, "_parent_callback_ctx"
    )
