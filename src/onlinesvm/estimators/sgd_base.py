"""What NORMA, Pegaz and OL SVM share: parameters, learner and epochs."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.kernel.kernel import Kernel
from .base import KERNEL_CONSTRAINTS, OnlineKernelClassifier

if TYPE_CHECKING:
    from ..core.model import EpochLearner


class StochasticGradientClassifier(OnlineKernelClassifier):
    """Base of the three classifiers of stochastic gradient descent."""

    _rule = "NORMA"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "averaging": [StrOptions({"last", "average"})],
        "outputs": [StrOptions({"cached", "expansion"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "shuffle": ["boolean"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        epochs: int = 1,
        averaging: str = "last",
        outputs: str = "cached",
        class_weight: Any = None,
        cache_size: float = 200,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.epochs = epochs
        self.averaging = averaging
        self.outputs = outputs
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> EpochLearner:
        from ..core.sgd import steps as sgd
        from ..core.sgd.learner import ExpansionLearner

        return ExpansionLearner(
            kernel, rows, n_labels, rule=getattr(sgd, self._rule),
            average=self.averaging == "average", has_bias=getattr(self, "fit_intercept", False),
            cached=self.outputs == "cached", every_column=True, cache_size=self.cache_size,
        )  # fmt: skip

    def _run(
        self, learner: Any, data: Any, rng: np.random.RandomState, progress: Any
    ) -> Iterator[Any]:
        """The lists shuffle once and then go round in that order."""
        n = len(data.rows)
        order = rng.permutation(n) if self.shuffle else np.arange(n)
        for epoch in range(self.epochs):
            steps = learner.epoch(data, order, epoch == self.epochs - 1)
            yield from progress.epoch(f"epoch {epoch + 1}", steps, None)
            if progress.stopped:
                break
        learner.finish()
