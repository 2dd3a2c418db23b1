"""The interface of a classifier for a pool of unlabelled examples.

A pool stores its examples in the form that the learner takes, so that each label costs one
iteration and no second validation. ``PoolModel`` has everything that a pool may use; only this
module knows how a classifier stores its kernel, its labels and its learner.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.kernel.kernel import Kernel
from ._simplesvm import SimpleSVMEstimator
from .base import install, trained_of
from .checks import Checked, Features, check_examples, check_rows
from .classifier import KernelClassifier, check_new_labels
from .labels import Indicators, LabelBook
from .pair_labels import PairBook
from .trained import Trained, View, finite_cost


class RowForm(NamedTuple):
    """What the rows of a classifier depend on."""

    kernel: Kernel
    centre: np.ndarray | None
    packs: bool
    feature_weights: np.ndarray | None = None

    def gives_the_same_rows(self, other: RowForm) -> bool:
        """Whether rows made for the other are those of this one."""
        if self.kernel is other.kernel:
            return True
        same = self.kernel == other.kernel and self.packs == other.packs
        same = same and np.array_equal(self.feature_weights, other.feature_weights)  # type: ignore[arg-type]
        return same and np.array_equal(self.centre, other.centre)  # type: ignore[arg-type]


class PoolModel(Protocol):
    """The methods of a classifier that a pool uses."""

    @property
    def form(self) -> RowForm:
        """The kernel, the shift, and whether dense rows are kept sparse."""

    @property
    def learner(self) -> Any:
        """The learner of the core; None before the first example."""

    def check_rows(self, X: Any, copy: bool) -> Checked:
        """The examples of the pool, checked; parameters are checked as well."""

    def check_several(self, n_labels: int | None) -> int | None:
        """Number of labels if examples have several, else None; refuses what the model is not for."""

    def check_more(self, X: Any) -> Any:
        """More examples of the pool, checked."""

    def check_labels(self, labels: np.ndarray) -> None:
        """Refuse labels that the classifier could not learn."""

    def prepare(self, given: Checked, n_labels: int | None) -> None:
        """Fix the kernel on these examples, unless something was learned already.

        ``n_labels``: as returned by ``check_several``.
        """

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

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes), from values of machines (machines, n)."""

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Terms of the values of machines as terms of those of ``classes_``."""

    @property
    def has_pairs(self) -> bool:
        """Whether the machines are pairs of classes."""

    @property
    def keeps_scores(self) -> bool:
        """Whether the classifier makes probabilities, of at least two labels."""

    def look_again(self, chosen: Any) -> None:
        """Judge the chosen examples again, by the model as it is now, and finish it."""

    def calibrate(self, chosen: Any, others: np.ndarray, seed: int) -> None:
        """Calibrate probabilities on the chosen examples, weighted to represent the pool.

        ``others`` are decision values (n, machines) of examples that were not chosen.
        """


class PoolAccess:
    """``PoolModel`` for the classifiers of this package."""

    def __init__(self, model: KernelClassifier):
        self._model = model

    @property
    def _trained(self) -> Trained:
        trained = trained_of(self._model)
        assert trained is not None  # the pool has prepared it
        return trained

    @property
    def form(self) -> RowForm:
        """The kernel, the shift, and whether dense rows are kept sparse."""
        trained = self._trained
        return RowForm(trained.kernel, trained.centre, trained.packs, trained.feature_weights)

    @property
    def learner(self) -> Any:
        """The learner of the core; None before the first example."""
        trained = trained_of(self._model)
        return None if trained is None else trained.learner

    def check_rows(self, X: Any, copy: bool) -> Checked:
        """The examples of the pool, checked; parameters are checked as well."""
        if getattr(self._model, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' cannot be used with a pool: pass the kernel by name or as "
                "a function."
            )
        self._model._validate_params()
        new = self.learner is None
        features = Features(type(self._model).__name__) if new else self._trained.features
        return check_examples(features, X, copy=copy, reset=new)

    def check_several(self, n_labels: int | None) -> int | None:
        """Number of labels if examples have several, else None; refuses what the model is not for.

        A fitted classifier says by itself what it was trained with.
        """
        if self.learner is None:
            if n_labels is not None:
                self.check_labels(np.zeros((1, n_labels), np.int8))
            return n_labels
        encoder = self._trained.encoder
        known = len(encoder) if isinstance(encoder, Indicators) else None
        if n_labels is not None and n_labels != known:
            had = "one label per example" if known is None else f"{known} labels"
            raise ValueError(f"n_labels={n_labels}, but the estimator was trained with {had}.")
        return known

    def check_more(self, X: Any) -> Any:
        """More examples of the pool, checked."""
        return check_rows(self._trained.features, X)

    def check_labels(self, labels: np.ndarray) -> None:
        """Refuse labels that the classifier could not learn."""
        check_new_labels(self._model, labels)

    def prepare(self, given: Checked, n_labels: int | None) -> None:
        """Fix gamma, the shift and the row format from the whole pool."""
        if self.learner is None:
            encoder = LabelBook() if n_labels is None else Indicators(n_labels)
            install(self._model, self._model._begin(given, encoder, {}))

    def examples(self, X: Any) -> Any:
        """Checked examples as the learner takes them, without labels; keys are row numbers."""
        return self._model._examples(self._trained, X, None, np.ones(X.shape[0]))

    def bound(self, label: Any) -> float:
        """Largest coefficient of an example with this label."""
        bound = finite_cost(getattr(self._model, "C", None))
        if getattr(self._model, "class_weight", None) is not None:
            bound *= self._model._weights(np.array([label]), None, None)[0][0]
        return float(bound)

    def number(self, label: Any) -> int | None:
        """The learner's number of a label; None for a new one."""
        number: int | None = self._trained.encoder.number(label)
        return number

    def learning(self) -> AbstractContextManager[None]:
        """Context of whatever changes the classifier."""
        return self._model._learning()

    def learn(self, example: Any, label: Any, classes: np.ndarray | None) -> None:
        """Learn one example, with a new learner if necessary; ``selection`` does not skip it."""
        model, trained, y = self._model, self._trained, np.array([label])
        encoder = model._stream_encoder(y, trained.encoder, classes)
        class_weights = model._weights(y, None, None)[1]
        if trained.learner is not None:
            trained.learner.learn_everything()
        taught = replace(
            trained, encoder=encoder, class_weights=class_weights, first_rows=None
        )  # examples of the pool are not among the first rows
        due = np.zeros(len(encoder) - (0 if self.learner is None else self.learner.n_labels), int)
        model._teach(taught, example._replace(label=encoder.encode(y)), due)
        self.learner.learn_everything()
        self.learner.asides = None  # scores of selected examples are not representative

    def decide(self, rows: Any) -> np.ndarray:
        """Decision values of each machine, (machines, n)."""
        view = self._model._view()
        assert isinstance(view, View)
        return view.model.decide(self._trained.kernel, rows).T

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes), from values of machines (machines, n)."""
        scores: np.ndarray = self._trained.encoder.scores(values.T)
        return scores

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Terms of the values of machines as terms of those of ``classes_``."""
        shares: np.ndarray = self._trained.encoder.shares(values)
        return shares

    @property
    def has_pairs(self) -> bool:
        """Whether the machines are pairs of classes."""
        return isinstance(self._trained.encoder, PairBook)

    @property
    def keeps_scores(self) -> bool:
        """Whether the classifier makes probabilities, of at least two labels."""
        watch = None if self.learner is None else self.learner.watch
        return watch is not None and watch.keeps_scores and len(self._trained.encoder) > 1

    def look_again(self, chosen: Any) -> None:
        """Judge the chosen examples again, by the model as it is now, and finish it.

        A model that is served should be like those of the folds, which are made with all the others.
        With limits, examples that have left are not to come back.
        """
        learner = self.learner
        if learner.memory is not None:
            return
        with self.learning():
            twin, data, slacks = self._as_data_set(chosen)
            twin.second_look(data, slacks)
            twin.finish()
            key = twin.support.a.key[: twin.n]
            key[:] = chosen.key[key]
            learner.hold(twin.support, twin.memory)

    def calibrate(self, chosen: Any, others: np.ndarray, seed: int) -> None:
        """Calibrate probabilities on cross-fitted scores of the chosen examples."""
        from ..core.lasvm.block.held_out import held_out
        from ..core.prequential.importance import pool_weights

        learner = self.learner
        twin, data, slacks = self._as_data_set(chosen)
        most, rng = learner.watch.most_scores, np.random.RandomState(seed)
        *_, found = held_out(twin, data, slacks, most, rng)
        assert found is not None
        label, bound = data.label[found.which], data.bound[found.which]
        stands_for = found.stands_for * pool_weights(found.scores, learner.scores_of(others))
        with self.learning():
            learner.watch.replace(found.scores, label, bound, stands_for)

    def _as_data_set(self, chosen: Any) -> tuple[Any, Any, np.ndarray]:
        """A copy of the learner as if the chosen examples were a data set, these, and slacks with which
        all of them may join.
        """
        from ..core.lasvm.choose.pool import renumbered

        number = np.arange(len(chosen.key))
        slacks = np.full((self.learner.machines, len(number)), np.inf)
        return renumbered(self.learner, chosen.key), chosen._replace(key=number), slacks


def has_pool_access(model: Any) -> bool:
    """Whether a pool can pass its rows directly to the model's learner."""
    return isinstance(model, KernelClassifier) and not isinstance(model, SimpleSVMEstimator)


def pool_access(model: KernelClassifier) -> PoolModel:
    """The ``PoolModel`` of a classifier."""
    return PoolAccess(model)


def started_labels(model: Any) -> np.ndarray | None:
    """Whether each of several labels has examples with and without it; None: one label per example."""
    trained = trained_of(model)
    if trained is None or not isinstance(trained.encoder, Indicators):
        return None
    if trained.learner is None:
        return np.zeros(len(trained.encoder), bool)
    started: np.ndarray = trained.learner.support.started()
    return started
