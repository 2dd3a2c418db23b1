"""LASVM with a window, a budget or a half-life: what classifier, regressor and detector share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.kernel.kernel import Kernel
from ..core.lasvm.online.policies import POLICIES

FORGOTTEN = 10
"""Half-lives after which an example is forgotten altogether, where there is no other limit."""

BOUNDED_CONSTRAINTS: dict[str, list[Any]] = {
    "window": [Interval(Integral, 2, None, closed="left"), None],
    "budget": [Interval(Integral, 2, None, closed="left"), None],
    "policy": [StrOptions(set(POLICIES))],
    "half_life": [Interval(Real, 1.0, None, closed="left"), None],
}


class BoundedMemory:
    """Mixin: what the parameters ``window``, ``budget``, ``policy`` and ``half_life`` say."""

    if TYPE_CHECKING:  # of the classes that it is mixed into
        tol: float
        epochs: int | str
        window: Any
        budget: int | None
        policy: str
        half_life: float | None
        _fitted: Any

    @property
    def _is_bounded(self) -> bool:
        """Whether memory is bounded, and examples are learned one by one (``core.lasvm.online``)."""
        return not (self.budget is None and self.window is None and self.half_life is None)

    @property
    def _in_order(self) -> bool:
        """Whether time matters, so that ``fit`` does not shuffle."""
        return self.window is not None or self.half_life is not None

    def _bounded_learner(self, kernel: Kernel, rows: Any, n_labels: int, **settings: Any) -> Any:
        from ..core.lasvm.learner import LASVM

        window = settings.pop("window", self.window)
        if window is None and self.budget is None:
            window = int(np.ceil(FORGOTTEN * self.half_life))  # type: ignore[operator]
        limits = {
            "window": window, "budget": self.budget, "half_life": self.half_life,
            "policy": self.policy, "cost": settings.pop("cost", 0.0),
        }  # fmt: skip
        return LASVM(kernel, rows, n_labels, tau=self.tol, limits=limits, **settings)

    def _check_converge(self, *others: str) -> None:
        """Refuse settings that contradict ``epochs="converge"``."""
        for name in ("budget", "window", "half_life", *others):
            if self.epochs == "converge" and getattr(self, name) is not None:
                raise ValueError(
                    "epochs='converge' goes on to the exact SVM; it cannot be combined with "
                    f"{name}={getattr(self, name)!r}."
                )

    @property
    def window_(self) -> int:
        """Number of most recent examples that count."""
        window = getattr(self._fitted("window_"), "window", None)
        if window is None:
            raise AttributeError("window_ is not available: all examples count; set window.")
        return int(window)
