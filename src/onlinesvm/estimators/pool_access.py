"""What a pool of unlabelled examples asks of a classifier of this package.

A pool keeps its examples as the classifier's learner takes them, so that each label costs
one iteration and no second check. ``PoolModel`` is all that it may ask for; how a classifier keeps its
kernel, its labels and its learner is known in this room only.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.kernel.kernel import Kernel
from .base import OnlineKernelClassifier
from .checks import check_rows
from .labels import joined_labels
from .weights import finite_cost


class RowForm(NamedTuple):
    """What the rows of a classifier depend on."""

    kernel: Kernel
    centre: np.ndarray | None
    packs: bool

    def gives_the_same_rows(self, other: RowForm) -> bool:
        """Whether rows made for the other are those of this one."""
        if self.kernel is other.kernel:
            return True
        same = self.kernel == other.kernel and self.packs == other.packs
        return same and np.array_equal(self.centre, other.centre)  # type: ignore[arg-type]


class PoolModel(Protocol):
    """The verbs of a classifier that learns from a pool."""

    @property
    def form(self) -> RowForm:
        """The kernel, the shift, and whether dense rows are kept sparse."""

    @property
    def learner(self) -> Any:
        """The learner of the core; None before the first example."""

    def check_rows(self, X: Any, copy: bool) -> Any:
        """The examples of the pool, checked; parameters are checked as well."""

    def check_labels(self, labels: np.ndarray) -> None:
        """Refuse labels that the classifier could not learn."""

    def prepare(self, X: Any) -> None:
        """Fix the kernel on these examples, unless it is fixed already."""

    def examples(self, X: Any) -> Any:
        """Checked examples as the learner takes them, without labels; keys are row numbers."""

    def bound(self, label: Any) -> float:
        """Largest coefficient of an example with this label."""

    def number(self, label: Any) -> int | None:
        """The learner's number of a label; None for a new one."""

    def learning(self) -> AbstractContextManager[None]:
        """Context of whatever changes the classifier."""

    def learn(self, example: Any, label: Any, classes: np.ndarray | None) -> None:
        """Learn one example, by a new learner if there is none."""

    def decide(self, rows: Any) -> np.ndarray:
        """Decision values of each machine, (machines, n)."""

    def to_classes(self, values: np.ndarray) -> np.ndarray:
        """Values of machines in the order of ``classes_``."""

    @property
    def keeps_scores(self) -> bool:
        """Whether the classifier makes probabilities, of at least two labels."""

    def calibrate(self, chosen: Any, others: np.ndarray, seed: int) -> None:
        """Make probabilities of the chosen examples, which stand for the pool.

        ``others`` are decision values (n, machines) of examples that were not chosen.
        """


class PoolAccess:
    """``PoolModel`` for the classifiers of this package."""

    def __init__(self, model: OnlineKernelClassifier):
        self._model = model

    @property
    def form(self) -> RowForm:
        """The kernel, the shift, and whether dense rows are kept sparse."""
        return RowForm(self._model._kernel, self._model._centre, self._model._packs)

    @property
    def learner(self) -> Any:
        """The learner of the core; None before the first example."""
        return getattr(self._model, "_learner", None)

    def check_rows(self, X: Any, copy: bool) -> Any:
        """The examples of the pool, checked; parameters are checked as well."""
        if getattr(self._model, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once; a pool needs the kernel itself."
            )
        self._model._validate_params()
        return check_rows(self._model, X, reset=self.learner is None, copy=copy)

    def check_labels(self, labels: np.ndarray) -> None:
        """Refuse labels that the classifier could not learn."""
        book = self._model._book
        book.check(labels)
        self._model._cost(labels, None, None)
        self._model._check_labels(len(book) + len(book.missing(labels)))

    def prepare(self, X: Any) -> None:
        """Gamma, the shift, dense or sparse: of the whole pool, where a stream has only a row."""
        if self.learner is None:
            self._model._begin_stream(X)

    def examples(self, X: Any) -> Any:
        """Checked examples as the learner takes them, without labels; keys are row numbers."""
        n = X.shape[0]
        return self._model._fresh(X, None, np.ones(n))._replace(key=np.arange(n))

    def bound(self, label: Any) -> float:
        """Largest coefficient of an example with this label."""
        bound = finite_cost(getattr(self._model, "C", None))
        if getattr(self._model, "class_weight", None) is not None:
            bound *= self._model._cost(np.array([label]), None, None)[0]
        return float(bound)

    def number(self, label: Any) -> int | None:
        """The learner's number of a label; None for a new one."""
        return self._model._book.numbers.get(label)

    def learning(self) -> AbstractContextManager[None]:
        """Context of whatever changes the classifier."""
        return self._model._learning()

    def learn(self, example: Any, label: Any, classes: np.ndarray | None) -> None:
        """Learn one example, by a new learner if there is none; no selection passes it over."""
        y = np.array([label])
        labels = y if classes is None else np.unique(joined_labels(classes, y))
        self._learn_everything()
        self._model._learn(example, y, np.ones(1), labels, self.learner)
        self._learn_everything()

    def _learn_everything(self) -> None:
        """What was asked for is learned, near the boundary or far."""
        if hasattr(self.learner, "everything"):
            self.learner.everything = True

    def decide(self, rows: Any) -> np.ndarray:
        """Decision values of each machine, (machines, n)."""
        values: np.ndarray = self._model._view().model.decide(self._model._kernel, rows).T
        return values

    def to_classes(self, values: np.ndarray) -> np.ndarray:
        """Values of machines in the order of ``classes_``."""
        return self._model._to_classes(values)

    @property
    def keeps_scores(self) -> bool:
        """Whether the classifier makes probabilities, of at least two labels."""
        watch = getattr(self.learner, "watch", None)
        return watch is not None and watch.keeps_scores and len(self._model._book) > 1

    def calibrate(self, chosen: Any, others: np.ndarray, seed: int) -> None:
        """Make probabilities of the chosen examples, by models that have not learned them."""
        from ..core.lasvm.held_out import held_out
        from ..core.lasvm.pool import renumbered
        from ..core.prequential.importance import pool_weights

        learner = self.learner
        slacks = np.full((learner.machines, len(chosen.label)), np.inf)  # all may join
        most, rng = learner.watch.most_scores, np.random.RandomState(seed)
        twin, places = renumbered(learner, chosen.key), np.arange(len(chosen.label))
        chosen = chosen._replace(key=places)
        twin.second_look(chosen, slacks)
        twin.finish()
        *_, found = held_out(twin, chosen, slacks, most, rng)
        assert found is not None
        label, bound = chosen.label[found.which], chosen.bound[found.which]
        stands_for = found.stands_for * pool_weights(found.scores, others)
        with self.learning():
            learner.watch.replace(found.scores, label, bound, stands_for)


def pool_access(model: OnlineKernelClassifier) -> PoolModel:
    """The surface through which a pool sees a classifier."""
    return PoolAccess(model)
