"""What LASVM's classifier, regressor and novelty detector share.

The stages of a fit are those of ``core.lasvm.fit``, told to callbacks. With ``window``, ``budget``
or ``half_life`` memory is bounded, and examples are learned one by one.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._progress import FitProgress
from .base import KernelEstimator
from .params import LASVM_CONSTRAINTS
from .trained import Trained

FORGOTTEN = 10
"""Half-lives after which an example is forgotten altogether, where there is no other limit."""


class LASVMEstimator(KernelEstimator):
    """Base of the estimators of LASVM. Subclasses say what the task is, and what a fit is to do."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LASVM_CONSTRAINTS
    tol: float
    epochs: int | str
    shuffle: bool
    window: Any
    budget: int | None
    policy: str
    half_life: float | None

    # -- for subclasses -------------------------------------------------------------------

    @abstractmethod
    def _settings(self, trained: Trained) -> dict[str, Any]:
        """Settings of a learner of which memory is not bounded, its task among them."""

    @abstractmethod
    def _bounded_settings(self, trained: Trained) -> dict[str, Any]:
        """Settings of a learner of which memory is bounded, besides those of all tasks."""

    def _plan(self, data: Any, rng: Any) -> Any:
        """What the parameters say about epochs."""
        from ..core.lasvm.fit import Plan

        converge = self.epochs == "converge"
        shuffle = self.shuffle and not self._in_order
        return Plan(1 if converge else int(self.epochs), converge, shuffle)

    def _check_together(self) -> None:
        """Refuse settings that contradict each other."""
        self._check_converge()

    # -- learning -------------------------------------------------------------------------

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        self._check_together()
        given = trained.kernel, data.rows, n_labels
        if self._is_bounded:
            return self._bounded_learner(*given, **self._bounded_settings(trained))
        settings = self._settings(trained)
        if "selection" in settings:
            from ..core.lasvm.choose.selection import SelectiveLASVM

            return SelectiveLASVM(*given, **settings)
        from ..core.lasvm.learner import LASVM

        return LASVM(*given, **settings)

    def _bounded_learner(self, *given: Any, **settings: Any) -> Any:
        from ..core.lasvm.learner import LASVM

        window = settings.pop("window", self.window)
        if window is None and self.budget is None:
            window = int(np.ceil(FORGOTTEN * self.half_life))  # type: ignore[operator]
        limits = {
            "window": window, "budget": self.budget, "half_life": self.half_life,
            "policy": self.policy, "cost": settings.pop("cost", 0.0),
        }  # fmt: skip
        return LASVM(*given, tau=self.tol, limits=limits, **settings)

    def _prepare(self, data: Any) -> Any:
        """Copies of an example become one of greater cost, where they need not be counted."""
        from ..core.lasvm.duplicates import merge_duplicates

        return data if self._counts_copies else merge_duplicates(data)

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """The stages of the fit, told to callbacks."""
        from ..core.lasvm.fit import Fit

        fit = Fit(trained.learner, data, rng, self._plan(data, rng))
        trained.n_iter, trained.fit_status = 0, 1
        for name, steps, count in fit.stages():
            for step in steps if name is None else progress.epoch(name, steps, count):
                trained.n_iter = fit.n_iter
                yield step
            if progress.stopped:
                return
        self._tell_of_finish(fit.reached)

    def _wind_up(self, learner: Any, briefly: bool) -> None:
        from ..core.lasvm.fit import wind_up

        wind_up(learner, briefly)

    def _told_learned(self, trained: Trained, n: int) -> str:
        learned = trained.n_iter or 0
        if learned < n:
            return f"{learned:,} of {n:,} examples were learned"
        return f"all {n:,} examples were learned, and not all judged again by the final model"

    def _tell_of_finish(self, done: bool) -> None:
        trained = self._fitted("fit_status_")
        precise = trained.learner.is_precise()
        trained.fit_status = int(not (done and precise))
        if not done:
            _warn(
                f"LASVM stopped before it reached tol={self.tol}: single-precision kernel values "
                "allow no further progress. Use a larger tol or a smaller C, or scale the features."
            )
        elif not precise:
            _warn(
                "LASVM's coefficients are so large that rounding errors of single-precision kernel "
                "values decide on its values. Use a smaller C, or scale the features."
            )

    # -- what the parameters say ----------------------------------------------------------

    @property
    def _is_bounded(self) -> bool:
        """Whether memory is bounded, and examples are learned one by one (``core.lasvm.online``)."""
        return not (self.budget is None and self.window is None and self.half_life is None)

    @property
    def _in_order(self) -> bool:
        """Whether time matters, so that ``fit`` does not shuffle."""
        return self.window is not None or self.half_life is not None

    @property
    def _counts_copies(self) -> bool:
        """Whether copies of an example are learned one by one."""
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return precomputed or self._is_bounded

    def _check_converge(self, *others: str) -> None:
        """Refuse settings that contradict ``epochs="converge"``."""
        for name in ("budget", "window", "half_life", *others):
            if self.epochs == "converge" and getattr(self, name) is not None:
                raise ValueError(
                    "epochs='converge' goes on to the exact SVM; it cannot be combined with "
                    f"{name}={getattr(self, name)!r}."
                )

    # -- fitted attributes ----------------------------------------------------------------

    @property
    def n_iter_(self) -> int:
        """Examples learned by ``fit``, copies counting as one."""
        return int(self._known("n_iter_", self._fitted("n_iter_").n_iter))

    @property
    def fit_status_(self) -> int:
        """0 if the last ``fit`` or ``finish`` reached ``tol``, else 1."""
        return int(self._known("fit_status_", self._fitted("fit_status_").fit_status))

    @property
    def window_(self) -> int:
        """Number of most recent examples that count."""
        window = self._fitted("window_").learner.window
        if window is None:
            raise AttributeError("window_ is not available: all examples count; set window.")
        return int(window)


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
