"""Progress of a fit: its steps within a time limit, reports to scikit-learn's callbacks, and early
stopping.

A fit is a tree of tasks: the fit itself, its epochs, their blocks. ``ProgressBar`` and other
callbacks are attached with ``estimator.set_callbacks(...)``. A callback may ask to stop.

The early stopping rules of ``fit`` are:

``"margin"``   no example that was not learned yet lies inside the margin (lasvm-2005, 4.4)
``"support"``  the number of support vectors has stopped growing
``"score"``    the accuracy on held-out examples has stopped improving

A rule is checked whenever the number of iterations has grown by a tenth. The last two stop after
``patience`` checks in a row without improvement.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..core.lasvm.choose.criteria import distance
from ..core.runtime.interrupts import Deadline, TimeUp, checkpoint, listen_again

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


__all__ = [
    "RULES",
    "CallbackSupportMixin",
    "EarlyStopping",
    "FitProgress",
    "finish_briefly",
    "hold_out",
    "warn_of_time_limit",
    "with_callbacks",
]


class FitProgress:
    """The tasks of one fit. Does nothing without callbacks."""

    def __init__(self, estimator: Any, X: Any, y: Any, epochs: int | None):
        self.estimator, self.X, self.y = estimator, X, y
        self.trained: Any = None  # the model that callbacks are shown
        self.stopped = False
        self.learning = False  # whether a pass is under way, not the finishing step
        self.root = None
        if hasattr(estimator, "_init_callback_context") and _listens(estimator):
            self.root = estimator._init_callback_context(max_subtasks=epochs)
            self._begin(self.root)

    def epoch(self, name: str, blocks: Iterable[Any], n_blocks: int | None) -> Iterator[Any]:
        """Pass on what ``blocks`` yields and report each block; callbacks may stop it early."""
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

    def take(
        self, steps: Iterator[Any], learner: Any, wind_up: Callable[..., None], deadline: Deadline
    ) -> bool:
        """The steps of a fit within the time limit; what was learned is finished in any case.

        The limit holds from the first step on, so that there is a model, and learning ends so early
        that there is time for the finishing step (``wind_up``). Returns whether there was.
        """
        start = last = deadline.elapsed
        try:
            for _ in steps:
                deadline.arm()
                if deadline.is_set:
                    now = deadline.elapsed
                    rate = (now - start) / max(1, learner.kernel.n_evaluations)
                    deadline.keep(rate * learner.finishing_work() + now - last)  # and one more step
                    last = now
                checkpoint()
                if self.stopped:
                    break
            if not self.stopped:
                return True
        except TimeUp:
            pass
        deadline.keep(0.0)
        try:
            wind_up(learner, briefly=False)
        except TimeUp:
            return False
        return True

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
                reconstruction_attributes=lambda: {"_trained": deepcopy(self.trained)},
            )
        )  # fmt: skip


def _listens(estimator: Any) -> bool:
    return bool(getattr(estimator, "_skl_callbacks", None)) or hasattr(
        estimator, "_parent_callback_ctx"
    )


BRIEFLY = 2.0
"""Seconds of the finishing step, at most, after Ctrl-C has ended a fit."""


def finish_briefly(learner: Any, wind_up: Callable[..., None]) -> None:
    """After Ctrl-C: the cheap part of the finishing step, which another Ctrl-C ends at once."""
    listen_again()
    with Deadline(BRIEFLY) as deadline:
        deadline.arm()
        with suppress(TimeUp):
            wind_up(learner, briefly=True)


# -- when enough has been learned ---------------------------------------------------------

RULES = ("margin", "support", "score")

GROWTH, FEWEST = 1.1, 64
"""Minimum number of iterations between two checks; otherwise a tenth of those made so far."""

STALLED = 1.005
"""Growth of the support set below half a per cent counts as no growth."""

_CHUNK = 2048


class EarlyStopping:
    """One rule during one fit."""

    def __init__(self, rule: str | None, patience: int, data: Any, held: np.ndarray):
        self.rule, self.patience, self.data, self.held = rule, patience, data, held
        self.best, self.waited, self.next_check = -np.inf, 0, FEWEST
        self.stopped = False

    def __call__(self, learner: Any, n_iter: int, unseen: np.ndarray) -> bool:
        """Whether to stop, after ``n_iter`` iterations that left the examples ``unseen``."""
        if self.rule is None or n_iter < self.next_check:
            return False
        self.next_check = max(n_iter + FEWEST, int(GROWTH * n_iter))
        if self.rule == "margin":
            self.stopped = not _any_within_margin(learner, self.data, unseen)
        elif self.rule == "support":
            self.stopped = self._no_better(learner.expansion()[1].shape[1], STALLED)
        else:
            self.stopped = self._no_better(self._accuracy(learner), 1.0)
        return self.stopped

    def _no_better(self, value: float, factor: float) -> bool:
        if value > self.best * factor or self.best < 0:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return self.waited >= self.patience

    def _accuracy(self, learner: Any) -> float:
        from ..core.model import model_of

        values = model_of(learner).decide(learner.kernel, self.data.rows.take(self.held))
        values = learner.scores_of(values)
        found = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
        right = found == self.data.label[self.held]
        return float(np.average(right, weights=self.data.bound[self.held]))


def _any_within_margin(learner: Any, data: Any, unseen: np.ndarray) -> bool:
    """Whether an example not learned yet lies inside the margin, whatever its label.

    The threshold is known to delta / 2 only: an example must be farther inside than that.
    """
    from ..core.model import model_of

    model = model_of(learner)
    margin = 1.0 - learner.delta.max() / 2
    for first in range(0, len(unseen), _CHUNK):
        values = model.decide(learner.kernel, data.rows.take(unseen[first : first + _CHUNK]))
        if (distance(learner.scores_of(values)) < margin).any():
            return True
    return False


def warn_of_time_limit(
    seconds: float | None, learned: str, finished: bool = True, stacklevel: int = 3
) -> None:
    """Warn that a fit was stopped by its time limit: what was learned, and how to continue."""
    rest = "" if finished else " There was no time left for the finishing step: call finish()."
    warnings.warn(
        f"fit stopped after time_limit={seconds} seconds: {learned}.{rest} partial_fit continues "
        "from there; a larger time_limit lets fit complete.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def hold_out(label: np.ndarray, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """A share of the examples of every class; each class keeps at least one to learn from."""
    order = rng.permutation(len(label))
    parts = []
    for c in np.unique(label):
        mine = order[label[order] == c]
        parts.append(mine[: min(int(np.ceil(fraction * len(mine))), len(mine) - 1)])
    held = np.sort(np.concatenate(parts))
    if not len(held):
        raise ValueError(
            "early_stopping='score' holds out examples of each class, and no class has two: use "
            "early_stopping='margin' or 'support', or give more examples."
        )
    return held
