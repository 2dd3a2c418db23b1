"""What LASVM's classifier, regressor and novelty detector share.

The stages of a fit are those of ``core.lasvm.fit``, reported to callbacks. With ``window``,
``budget`` or ``half_life`` memory is bounded, and examples are learned one by one.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..core.keys import arrival_keys
from ..core.runtime.interrupts import clock
from ._progress import FitProgress
from .base import KernelEstimator
from .checks import Checked, check_indices, check_once
from .labels import LabelBook, Targets
from .metric import Sample, TooLong, check_weights, learned_weights
from .params import LASVM_CONSTRAINTS
from .remaining import OTHER_DATA, Remaining, as_fitted, check_same
from .rows import is_estimated
from .trained import Trained

SHARE = 1 / 3
"""Share of the time limit of ``fit`` for learning feature weights; all are one if it is
exceeded."""

OF_A_SAMPLE: dict[str, Any] = {
    "class_weight": None,  # it is in the weights of the examples
    "block_size": 2048, "window": None, "budget": None, "half_life": None, "time_limit": None,
    "detect_drift": False, "probability": False, "calibrated": False, "selection": "random",
    "max_examples": None, "early_stopping": None, "delta_max": None, "random_state": 0, "max_iter": -1,
    "decision_function_shape": "ovr",
}  # fmt: skip
"""Parameters of fits that learn weights of features: all examples of the sample count."""

FORGOTTEN = 10
"""Number of half-lives after which an example is removed, if there is no other limit."""


class Asked(NamedTuple):
    """Examples that are to be forgotten."""

    indices: np.ndarray  # as users number them
    keys: np.ndarray  # as the learner does (``core.keys``)

    @property
    def numbers(self) -> np.ndarray:
        """Those of ``fit``, by the learner's numbers."""
        return self.keys[self.keys >= 0]


class LASVMEstimator(KernelEstimator):
    """Base class of the LASVM estimators. Subclasses define the task and the plan of a fit."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LASVM_CONSTRAINTS
    tol: float
    epochs: int | str
    shuffle: bool
    block_size: int
    max_iter: int
    window: Any
    budget: int | None
    policy: str
    half_life: float | None
    feature_weights: Any = None
    _shares: np.ndarray | None = None
    """Of several C at once (``costs``), the shares of the largest; None: there is one."""

    # -- for subclasses -------------------------------------------------------------------

    @abstractmethod
    def _settings(self, trained: Trained) -> dict[str, Any]:
        """Settings of a learner with unbounded memory, including its task."""

    @abstractmethod
    def _bounded_settings(self, trained: Trained) -> dict[str, Any]:
        """Additional settings of a learner with bounded memory."""

    def _plan(self, data: Any, rng: Any) -> Any:
        """What the parameters say about epochs."""
        from ..core.lasvm.fit import Plan

        converge = self.epochs == "converge"
        shuffle = self.shuffle and not self._in_order
        most = None if self.max_iter < 0 else int(self.max_iter)
        return Plan(1 if converge else int(self.epochs), converge, shuffle, most_steps=most)

    def _check_together(self) -> None:
        """Refuse settings that contradict each other."""
        self._check_converge()

    # -- learning -------------------------------------------------------------------------

    def _begin(
        self, given: Checked, encoder: Any, class_weights: Any, weight: np.ndarray | None = None
    ) -> Trained:
        made = super()._begin(given, encoder, class_weights, weight)
        made.streamed = 0  # examples of a stream are numbered, to be forgotten by their numbers
        return made

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

    def _prepare(self, data: Any) -> tuple[Any, np.ndarray | None]:
        """Merge duplicates into one example of greater cost, unless they must be counted."""
        from ..core.examples import merged

        return (data, None) if self._counts_copies else merged(data)

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """The stages of the fit, reported to callbacks."""
        from ..core.lasvm.fit import Fit

        fit = Fit(trained.learner, data, rng, self._plan(data, rng))
        trained.n_iter, trained.fit_status = 0, 1
        try:
            for name, steps, count in fit.stages():
                for step in steps if name is None else progress.epoch(name, steps, count):
                    trained.n_iter, trained.n_iter_of_labels = fit.n_iter, fit.n_iter_of_labels
                    yield step
                if progress.stopped:
                    return
        finally:
            fit.lift_limits()
            fit.keep_beyond()
        self._tell_of_finish(fit.reached, fit.exhausted)

    def _wind_up(self, learner: Any, briefly: bool) -> None:
        from ..core.lasvm.fit import wind_up

        wind_up(learner, briefly)

    def _told_learned(self, trained: Trained, n: int) -> str:
        learned = trained.n_iter or 0
        if learned < n:
            return f"{learned:,} of {n:,} examples were learned"
        return f"all {n:,} examples were learned, but not all were scored again by the final model"

    def _finish_stream(self, trained: Trained) -> Any:
        from ..core.lasvm.block.held_out import score_beginning

        done = super()._finish_stream(trained)
        score_beginning(trained.learner)
        return done

    def _tell_of_finish(self, done: bool, exhausted: bool = False) -> None:
        trained = self._fitted("fit_status_")
        precise = trained.learner.is_precise()
        trained.fit_status = int(not (done and precise))
        if not done and exhausted:
            _warn(
                # The first two sentences are those of SVC, which filters of warnings look for.
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with "
                f"StandardScaler or MinMaxScaler. tol={self.tol} was not reached; a larger max_iter also helps."
            )
        elif not done:
            cost = " or a smaller C" if hasattr(self, "C") else ""
            _warn(
                f"LASVM stopped before it reached tol={self.tol}: single-precision kernel values "
                f"allow no further progress. Use a larger tol{cost}, or scale the features."
            )
        elif not precise:
            _warn(
                "LASVM's coefficients are so large that rounding errors of single-precision kernel "
                "values dominate its decision values. Use a smaller C, or scale the features."
            )

    def forget(self, indices: Any, X: Any = None, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove examples, and optimise what is left.

        An example that is not a support vector does not contribute to the model: nothing changes.
        The coefficient of a support vector is moved to the others, and the model is optimised to
        ``tol`` on the rows that it stores. Rows that ``fit`` left out because they lay beyond the
        margin may matter now; to have them checked again, pass the data set once more. The model is
        then the SVM of all other examples, to ``tol``. Only rows that may have become support vectors
        are scored, so this is much faster than a fit, if ``fit`` had ``epochs="converge"`` and nothing
        was learned since.

        Examples of ``partial_fit`` and ``learn_one`` can be forgotten too. Those that the model does
        not store (they were not needed, or have left the window or the budget) need nothing:
        ``forget_report_`` names them.

        Recorded scores of the examples, for probabilities and intervals, are removed too. A class of
        which no example is left has probability 0 until it is learned again.

        In ``fit``, duplicates (the same row with the same label) count as one example, with the
        index of the first, and are forgotten together. On a stream each counts.

        Parameters
        ----------
        indices : int or array-like of int
            Numbers of the examples, counted from zero in the order they were given to ``fit``, as row
            indices of X, and then ``partial_fit`` and ``learn_one``. Numbers do not change when others
            are forgotten.
        X : {array-like, CSR matrix} of shape (n_samples, n_features), default=None
            The X given to ``fit``, with all rows, if they should be checked again. Not with
            ``window``, ``budget`` or ``half_life``: examples that are not stored do not count there.
        y : array-like of shape (n_samples,), default=None
            The y given to ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights given to ``fit``.

        Returns
        -------
        self : object
            The estimator. ``forget_report_`` is a dictionary: how many examples were ``forgotten``,
            how many of them were ``support_vectors``, those that were ``not_stored``; whether the
            model has ``looked_again`` at the others, how many ``joined``, and how many ``unchecked``
            ones may be support vectors now (None: not known); the optimality ``gap``, and whether it
            has ``reached_tol``; what ``depends_on_them_still``. Of ``LASVMOneClass`` also the share of
            the sum of the coefficients that is ``lacking``, because the rows stored cannot carry it
            (0: none; pass X).
        """
        check_is_fitted(self)
        trained = self._fitted("")
        asked = self._asked(trained, indices)
        self._check_again(trained, X)
        self._check_counted(trained.learner)
        with self._learning():
            stays = np.ones(len(trained.original), bool)
            stays[asked.numbers] = False
            left = targets = None
            if X is not None:
                left, given = self._data_again(trained, X, y, sample_weight, stays)
                if isinstance(trained.encoder, Targets) and not (asked.keys < 0).any():
                    targets = trained.encoder.encode(given.y[trained.original[asked.numbers]])
            self._forget(trained, asked, stays, left, targets)
        return self

    def _forget(
        self, trained: Trained, asked: Asked, stays: np.ndarray, left: Any, targets: Any
    ) -> None:
        """Remove the examples from a copy of the learner, which then becomes the model."""
        from ..core.lasvm.block.held_out import MANY, score_again
        from ..core.lasvm.block.removal import forget

        learner = deepcopy(trained.learner)
        stored, labels = learner.stores_keys(asked.keys), self._labels_held(trained, learner)
        weights = trained.label_weights() if len(labels) else None
        done = forget(learner, stays, left, asked.keys[asked.keys < 0], weights, targets)
        again = left is not None and 0 < MANY * learner.n < done.support_vectors
        if again:
            score_again(learner, left)
        emptied = np.setdiff1d(labels, self._labels_held(trained, learner)).tolist()
        first_rows = None if (asked.keys < 0).any() else trained.first_rows
        objects = trained.objects
        if objects is not None:
            objects = learner.kernel.function.learned  # a copy
            objects[asked.indices] = None
        self._trained = replace(
            trained, learner=learner, kernel=learner.kernel, original=trained.original[stays],
            copies=None if trained.copies is None else trained.copies[stays],
            fit_status=int(not done.reached), first_rows=first_rows, objects=objects,
            emptied=tuple(sorted({*trained.emptied, *emptied})),
        )  # fmt: skip
        self.forget_report_ = {
            "forgotten": len(asked.keys),
            "support_vectors": done.support_vectors,
            "not_stored": asked.indices[~stored].tolist(),
            "looked_again": left is not None,
            "joined": done.joined,
            "unchecked": done.unchecked,
            "gap": learner.gap(),
            "reached_tol": done.reached,
            **({"lacking": done.lacking} if learner.task.nu else {}),
            "depends_on_them_still": self._remains(trained, targets is None and not stored.all())
            + self._recorded(learner, again),
        }

    def _remains(self, trained: Trained, unknown: bool) -> list[str]:
        """What depends on the forgotten examples and is not recomputed.

        ``unknown``: the targets of some of them are not known.
        """
        from ..core.lasvm.tasks import Regression

        found = []
        if is_estimated(self.kernel, self.gamma):
            found.append("gamma_, estimated from all rows of fit: set gamma to a number")
        if trained.kernel.name == "precomputed":
            found.append("the kernel values of other rows with them")
        if self._learns_weights:
            found.append("feature_weights_, learned from rows of fit: give the weights as numbers")
        if trained.centre is not None:
            found.append("the shift of the rows, which changes no kernel value")
        if isinstance(trained.learner.task, Regression):
            found.append("the spread of the last targets, in units of which tol is reached")
            if unknown:
                found.append(
                    "the list of the last targets: that of an example that is not stored is removed "
                    "from it only if X and y are given"
                )
        return found

    @staticmethod
    def _recorded(learner: Any, again: bool) -> list[str]:
        """What still depends on the forgotten examples in scores recorded before examples were learned.

        ``again``: scores of the examples of ``fit`` were computed again.
        """
        watch, asides, found = learner.watch, learner.asides, []
        replaced = watch is not None and again and (watch.keeps_scores or watch.is_cross_fitted)
        of_values = watch is not None and watch.n > 0 and not replaced
        if of_values or (asides is not None and (asides.n or not again)):
            found.append(
                "scores of other examples by models that had learned them, for probabilities and "
                "intervals; their own scores were removed"
            )
        if watch is not None and watch.n and watch.adapts:
            found.append("thresholds that follow the share of errors on a stream")
        return found

    @staticmethod
    def _labels_held(trained: Trained, learner: Any) -> np.ndarray:
        """Numbers of the labels that have rows in the model; none where y is not one label."""
        if not isinstance(trained.encoder, LabelBook):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.bincount(learner.labels(np.arange(learner.n))))

    def _asked(self, trained: Trained, indices: Any) -> Asked:
        """The examples that users know by these numbers; raises an error if invalid."""
        asked = check_indices(indices)
        n_fit = 0 if trained.shape_fit is None else trained.shape_fit[0]
        self._check_known(trained, asked, n_fit)
        check_once(asked)
        number = np.full(n_fit, -1)
        number[trained.original] = np.arange(len(trained.original))
        of_fit = asked[asked < n_fit]
        missing = of_fit[number[of_fit] < 0]
        if len(missing):
            raise ValueError(
                f"Example {missing[0]} cannot be forgotten: it was forgotten already, had weight "
                "0, or is a duplicate of an earlier example; use the number of the first of "
                "them."
            )
        keys = arrival_keys(asked - n_fit)
        keys[asked < n_fit] = number[of_fit]
        return Asked(asked, keys)

    def _check_known(self, trained: Trained, asked: np.ndarray, n_fit: int) -> None:
        """Refuse numbers that no example has."""
        n = n_fit + (trained.streamed or 0)
        unknown = asked[(asked < 0) | (asked >= n)]
        if len(unknown) and trained.streamed is None:
            raise ValueError(
                f"Example {unknown[0]} is not known by its number: the model was saved by an earlier "
                "version of onlinesvm, which did not number the examples of a stream. Fit again."
            )
        if len(unknown):
            were = f"there were examples 0 to {n - 1}" if n else "no example has a number"
            raise ValueError(f"Example {unknown[0]} was never learned: {were}.")

    def _check_again(self, trained: Trained, X: Any) -> None:
        """Refuse a data set where there is nothing to check again."""
        if X is not None and trained.learner.memory is not None:
            raise ValueError(
                "With window, budget or half_life, examples that are not stored do not count: "
                "leave X out."
            )
        if X is not None and trained.shape_fit is None:
            raise ValueError(
                "X is the data set given to fit, and this model learned a stream: leave X out."
            )

    @staticmethod
    def _check_counted(learner: Any) -> None:
        """Refuse a model of one class that does not know the weights of its examples."""
        if learner.task.nu and learner.memory is None and learner.counted is None:
            raise ValueError(
                "The weights of the examples are not known, and nu refers to their sum: the model was "
                "saved by an earlier version of onlinesvm. Fit again."
            )

    def _data_again(
        self, trained: Trained, X: Any, y: Any, sample_weight: Any, stays: np.ndarray
    ) -> tuple[Any, Checked]:
        """The examples of ``fit`` that remain, numbered in order; and all, as they were given.

        Where slacks are known, few of them are needed, and their bounds are known too.
        """
        given, rows = self._checked(X, y, trained), trained.original[stays]
        check_same(trained, given)
        known = trained.learner.known_slacks()
        if known is not None:
            bound = np.broadcast_to(known.bound, len(stays))[stays]
            return Remaining(trained, given, rows, bound), given
        weight, _ = self._weights(given.y, trained.encoder, sample_weight)
        data, _ = self._prepare(self._examples(trained, given.X, given.y, weight))
        data = as_fitted(trained, data)
        place = np.minimum(np.searchsorted(data.key, rows), len(data.key) - 1)
        if not np.array_equal(data.key[place], rows):
            raise ValueError(OTHER_DATA)
        return data.take(place)._replace(key=np.arange(len(rows))), given

    # -- weights of features --------------------------------------------------------------

    @property
    def _learns_weights(self) -> bool:
        return isinstance(self.feature_weights, str)

    def _factors(self, given: Checked, weight: np.ndarray | None) -> np.ndarray | None:
        if self.feature_weights is None:
            return None
        self._check_weights_apply(given)
        if not self._learns_weights:
            return check_weights(self.feature_weights, given.X.shape[1])
        if weight is None:
            return None
        sample = Sample(given.X, given.y, weight, is_classifier(self), self._quantiles)
        latest = np.inf if self.time_limit is None else clock() + SHARE * self.time_limit
        gamma = self._new_kernel(given.X).gamma  # learned weights preserve the mean distance
        fit = partial(self._fit_sample, latest, gamma)
        return learned_weights(fit, sample, np.random.RandomState(0))

    @property
    def _quantiles(self) -> np.ndarray | None:
        """What is predicted instead of values or labels: one quantile, or several."""
        return None

    def _check_weights_apply(self, given: Checked) -> None:
        """Refuse feature weights for a kernel that does not take rows of features."""
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        if precomputed or given.objects is not None:
            raise ValueError(
                "feature_weights needs rows of features: use None for objects and precomputed "
                "kernels."
            )
        if callable(self.kernel) and self._learns_weights:
            raise ValueError(
                "feature_weights='learn' needs the gradient of the kernel, which is unknown for a "
                "Python function: give the weights as numbers, or use a built-in kernel."
            )

    def _fit_sample(
        self, latest: float, gamma: float, sample: Sample, factors: np.ndarray | None
    ) -> Any:
        """Fit such an estimator on a sample, with these weights of features."""
        if clock() > latest:
            raise TooLong
        own = self.get_params(deep=False)
        own |= {name: value for name, value in OF_A_SAMPLE.items() if name in own}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            made: Any = type(self)(**{**own, "feature_weights": factors, "gamma": gamma})
            return made.fit(sample.X, sample.y, sample_weight=sample.weight)

    # -- what the parameters say ----------------------------------------------------------

    @property
    def _is_bounded(self) -> bool:
        """Whether memory is bounded, and examples are learned one by one (``core.lasvm.online``)."""
        return not (self.budget is None and self.window is None and self.half_life is None)

    @property
    def _in_order(self) -> bool:
        """Whether the order of the examples matters, so that ``fit`` does not shuffle."""
        return self.window is not None or self.half_life is not None

    @property
    def _counts_copies(self) -> bool:
        """Whether duplicates of an example are learned one by one."""
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return precomputed or self._is_bounded

    def _check_converge(self, *others: str) -> None:
        """Refuse settings that contradict ``epochs="converge"``, or a limit of iterations."""
        singly = self._is_bounded or self.block_size == 1
        if self.max_iter >= 0 and singly:
            raise ValueError(
                f"max_iter={self.max_iter} limits the iterations of fits in blocks; with block_size=1, "
                "window, budget or half_life use max_iter=-1."
            )
        for name in ("budget", "window", "half_life", *others):
            if self.epochs == "converge" and getattr(self, name) is not None:
                raise ValueError(
                    "epochs='converge' goes on to the exact SVM; it cannot be combined with "
                    f"{name}={getattr(self, name)!r}."
                )

    def plot_feature_weights(self, ax: Any = None, most: int = 20) -> Any:
        """Draw ``feature_weights_`` as bars, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        most : int, default=20
            Number of features that are drawn, those with the largest weights.

        Returns
        -------
        figure : matplotlib Figure
            The figure drawn on.
        """
        from .metric import plot_weights

        return plot_weights(
            self.feature_weights_, getattr(self, "feature_names_in_", None), ax, most
        )

    # -- fitted attributes ----------------------------------------------------------------

    @property
    def n_iter_(self) -> Any:
        """Number of examples learned by ``fit``; duplicates count as one."""
        return int(self._known("n_iter_", self._fitted("n_iter_").n_iter))

    @property
    def fit_status_(self) -> int:
        """0 if the last ``fit`` or ``finish`` reached ``tol``, else 1."""
        return int(self._known("fit_status_", self._fitted("fit_status_").fit_status))

    @property
    def feature_weights_(self) -> np.ndarray:
        """Factor of each feature; all one until they are learned."""
        if "feature_weights" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no weights of features.")
        trained = self._fitted("feature_weights_")
        if trained.feature_weights is not None:
            return trained.feature_weights.copy()
        return np.ones(trained.features.n_features or 0)

    @property
    def window_(self) -> int:
        """Number of most recent examples that count."""
        window = self._fitted("window_").learner.window
        if window is None:
            raise AttributeError("window_ is not available: all examples count; set window.")
        return int(window)


def share_costs(estimator: LASVMEstimator, shares: np.ndarray) -> None:
    """From now on ``fit`` is of several C, which are these shares of the estimator's."""
    estimator._shares = shares


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=4)
