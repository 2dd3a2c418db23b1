"""A fit of LASVM, whatever it learns: the stages of the core, told to callbacks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning


class LASVMRun:
    """Mixin: runs the stages of ``core.lasvm.fitting`` as ``_plan`` says."""

    tol: float
    _learner: Any
    n_iter_: int
    fit_status_: int

    def _plan(self, data: Any, rng: np.random.RandomState) -> Any:
        raise TypeError(f"{type(self).__name__} has no plan.")  # pragma: no cover

    def _run(
        self, learner: Any, data: Any, rng: np.random.RandomState, progress: Any
    ) -> Iterator[Any]:
        """The stages of the fit (``core.lasvm.fitting``), told to callbacks."""
        from ..core.lasvm.fitting import Fit

        fit = Fit(learner, data, rng, self._plan(data, rng))
        self.n_iter_, self.fit_status_ = 0, 1
        for name, steps, count in fit.stages():
            for step in steps if name is None else progress.epoch(name, steps, count):
                self.n_iter_ = fit.n_iter
                yield step
            if progress.stopped:
                return
        self._tell_of_finish(fit.reached)

    def _wind_up(self, learner: Any, briefly: bool) -> None:
        from ..core.lasvm.fitting import wind_up

        wind_up(learner, briefly)

    def _told_learned(self, n: int) -> str:
        if self.n_iter_ < n:
            return f"{self.n_iter_:,} of {n:,} examples were learned"
        return f"all {n:,} examples were learned, and not all judged again by the final model"

    def _tell_of_finish(self, done: bool) -> None:
        precise = self._learner.is_precise()
        self.fit_status_ = int(not (done and precise))
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


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
