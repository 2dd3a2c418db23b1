"""The base of all estimators: parameters of a kernel, one trained model, and how it is replaced.

An estimator has what its user has set, and ``_trained``, what it has learned (``trained``). Everything
that can be wrong with the input is found before a learner sees any of it. An error leaves the model
as it was; Ctrl-C, and the end of ``time_limit``, leave what was learned so far.
"""

from __future__ import annotations

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import replace
from functools import cache
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core.kernel.kernel import GAMMA_NAMES, Kernel, make_kernel
from ..core.keys import arrival_keys
from ..core.runtime.interrupts import Deadline, Interruptible, checkpoint, interrupted
from ..core.runtime.published import published
from ._progress import CallbackSupportMixin, FitProgress, finish_briefly, warn_of_time_limit
from .checks import (
    DTYPES,
    UNCHECKED,
    Checked,
    Features,
    as_objects,
    check_examples,
    check_number,
    check_objects,
    check_scale,
    check_square,
)
from .labels import check_finite, check_no_times
from .params import with_nearest_kernel
from .rows import ENOUGH, ENOUGH_FOR_WEIGHTS, is_estimated, joined, weighted
from .trained import FittedView, Trained, finite_cost
from .weights import check_sample_weight

if TYPE_CHECKING:
    from .explanation import Explanation


_AS_IT_IS: ContextVar[bool] = ContextVar("as it is", default=False)
"""Whether a state is made for a pickle or a copy, which keep the objects of a model."""


class Absent:
    """A method that users of other classifiers know: asking for it says what to do instead.

    ``hasattr`` is false, as scikit-learn expects of a method that is not there.
    """

    def __init__(self, remedy: str):
        self.remedy = remedy

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        remedy = self.remedy.format(owner=owner.__name__)
        raise AttributeError(f"{owner.__name__} has no {self.name}: {remedy}")


class KernelEstimator(CallbackSupportMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc,unused-ignore]
    """Base of all estimators. Subclasses say what y means, make the learner and run its epochs."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _kind_of_model: ClassVar[type[Trained]] = Trained
    _dtype: ClassVar[Any] = DTYPES
    _y_checks: ClassVar[dict[str, Any] | None] = {}
    """How scikit-learn is to check y; None: there is none."""
    _takes_objects: ClassVar[bool] = True

    _trained: Trained | None = None
    time_limit: float | None

    # -- for subclasses -------------------------------------------------------------------

    @abstractmethod
    def _encoder(self, y: Any) -> Any:
        """What the y of a data set at hand means."""

    @abstractmethod
    def _stream_encoder(self, y: Any, known: Any, classes: Any) -> Any:
        """What y means, with what is ``known`` of it (None before the first examples)."""

    @abstractmethod
    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        """A learner for such examples that has learned nothing, and knows the first labels."""

    @abstractmethod
    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """Learn a data set at hand. A generator: it yields where an interruption may come."""

    def _checks_of(self, y: Any) -> dict[str, Any] | None:
        """How scikit-learn is to check this y."""
        return self._y_checks

    def _due(self, trained: Trained, y: Any, weight: np.ndarray) -> np.ndarray:
        """Before which example of a stream each new label is made known: before the first."""
        known = 0 if trained.learner is None else trained.learner.n_labels
        return np.zeros(len(trained.encoder) - known, np.int64)

    def _weights(self, y: Any, encoder: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        """Weight of each example and of each class; ``encoder`` is None on a stream."""
        return check_sample_weight(sample_weight, y), None

    def _examples(self, trained: Trained, X: Any, y: Any, weight: np.ndarray) -> Any:
        """Checked examples as the learner takes them; those of weight zero are as if absent."""
        return trained.examples(X, y, weight * finite_cost(getattr(self, "C", None)))

    def _prepare(self, data: Any) -> tuple[Any, np.ndarray | None]:
        """What ``fit`` makes of the examples before they are learned, and how many copies each of them
        has, None where all have one: by default, nothing.
        """
        return data, None

    def _check_prepared(self, trained: Trained, data: Any) -> None:
        """Refuse a data set that has no solution."""

    def _tell_of_finish(self, done: Any) -> None:
        """Warn where the finishing step did not reach what it should: by default, it does."""

    @property
    def _learns_weights(self) -> bool:
        """Whether weights of features are learned from the first examples."""
        return False

    def _factors(self, given: Checked, weight: np.ndarray | None) -> np.ndarray | None:
        """What the features are multiplied by; None: nothing, or it is not known yet.

        ``weight``: that of each example, where weights of features may be learned from them.
        """
        return None

    def _view_extras(self, trained: Trained) -> dict[str, Any]:
        """What a view needs besides the model, for fitted attributes of a subclass."""
        return {}

    # -- a data set at hand ---------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn a data set at hand; an error leaves the model as it was."""
        with self._learning(), Deadline(self.time_limit) as deadline:
            trained, data, given = self._data_at_hand(X, y, sample_weight)
            trained.learner = self._make_learner(trained, data, len(trained.encoder))
            progress = FitProgress(self, given.X, given.y, None)
            finished = self._train(trained, data, progress, deadline)
        if deadline.has_passed:
            learned = self._told_learned(trained, len(data.rows))
            warn_of_time_limit(self.time_limit, learned, finished)
        self._note_validated()
        return self

    def _data_at_hand(self, X: Any, y: Any, sample_weight: Any) -> tuple[Trained, Any, Checked]:
        """Everything that ``fit`` does before it learns: the model, its examples, the input."""
        given = self._checked(X, y, None)
        check_square(self.kernel, given.X)
        checkpoint()
        encoder = self._encoder(given.y)
        weight, class_weights = self._weights(given.y, encoder, sample_weight)
        trained = self._begin(given, encoder, class_weights, weight)
        data = self._examples(trained, given.X, given.y, weight)
        checkpoint()
        data, trained.copies = self._prepare(data)
        self._check_prepared(trained, data)
        checkpoint()
        data = trained.numbered(data)
        trained.shape_fit = given.X.shape if given.objects is None else given.objects.shape
        return trained, data, given

    def _train(
        self, trained: Trained, data: Any, progress: FitProgress, deadline: Deadline
    ) -> bool:
        """Run the epochs. An error leaves the model as it was, Ctrl-C what was learned.

        Ctrl-C in the finishing step ends it at once; in a pass, its cheap part is made.

        Returns whether what was learned has had its finishing step.
        """
        before = self._trained
        self._trained = progress.trained = trained
        rng = check_random_state(getattr(self, "random_state", None))
        try:
            steps = self._run(trained, data, rng, progress)
            finished = progress.take(steps, trained.learner, self._wind_up, deadline)
        except KeyboardInterrupt:
            if interrupted() and progress.learning:
                finish_briefly(trained.learner, self._wind_up)
            raise
        except BaseException:
            self._trained = before
            raise
        progress.close()
        return finished

    def _wind_up(self, learner: Any, briefly: bool) -> None:
        """The finishing step of a fit that is cut short; ``briefly``: the cheap part, if it has one."""
        learner.finish()

    def _told_learned(self, trained: Trained, n: int) -> str:
        """How far a fit has come that was to learn n examples, for a warning."""
        return "the model is what was learned until then"

    # -- a stream -------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn_checked(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Learn examples of a stream, with all checks; an error leaves the model as it was."""
        with self._learning():
            self._check_stream(X)
            before = self._trained if self.__sklearn_is_fitted__() else None
            given = self._checked(X, y, before)
            known = None if before is None else before.encoder
            encoder = self._stream_encoder(given.y, known, classes)
            weight, class_weights = self._weights(given.y, None, sample_weight)
            if before is None or before.first_rows is not None:
                trained, X, y, weight = self._first_rows(
                    before, given, weight, encoder, class_weights
                )
            else:
                trained = replace(before, encoder=encoder, class_weights=class_weights)
                X, y = given.X, given.y
            data = trained.unnumbered(self._examples(trained, X, y, weight))
            trained.note_arrived(X.shape[0])
            checkpoint()
            self._teach(trained, data, self._due(trained, y, weight))
        self._note_validated()
        return self

    def _learn_again(self, trained: Trained, X: Any, y: Any, first: int) -> None:
        """Look again at examples of a stream, of consecutive numbers."""
        with self._learning():
            given = self._checked(X, y, trained)
            weight, _ = self._weights(given.y, None, None)
            data = self._examples(trained, given.X, given.y, weight)
            data = data._replace(key=arrival_keys(first + data.key))
            checkpoint()
            learner = trained.learner
            if not trained.kernel.is_compiled:  # a callable may fail half-way
                learner = deepcopy(learner)
            learner.learn_again(data)
            self._trained = replace(trained, learner=learner, kernel=learner.kernel)

    def _first_rows(
        self, before: Trained | None, given: Checked, weight: np.ndarray, encoder: Any,
        class_weights: Any,
    ) -> tuple[Trained, Any, np.ndarray, np.ndarray]:  # fmt: skip
        """The model while gamma or weights of features are still open, and what it is to learn.

        A new model of all rows so far where one of them is estimated in this call, else the model
        that there is.
        """
        kept = None if before is None else before.first_rows
        rows = joined(kept, given.X, given.y, weight)
        needed = ENOUGH if is_estimated(self.kernel, self.gamma) else 0
        anew = before is None or kept is None or len(kept.y) < needed
        if self._learns_weights and (before is None or before.feature_weights is None):
            needed = ENOUGH_FOR_WEIGHTS
            anew = anew or len(rows.y) >= needed
        if before is not None and not anew:
            trained = replace(before, encoder=encoder, class_weights=class_weights)
            trained.first_rows = rows.kept(needed)
            return trained, given.X, given.y, weight
        all_of_them = given._replace(X=rows.X, y=rows.y)
        known = rows.weight if len(rows.y) >= needed else None
        trained = self._begin(all_of_them, encoder, class_weights, known)
        trained.kernel.n_evaluations = 0 if before is None else before.kernel.n_evaluations
        trained.first_rows = rows.kept(needed)
        return trained, rows.X, rows.y, rows.weight

    def _teach(self, trained: Trained, data: Any, due: np.ndarray) -> None:
        """Hand examples of a stream to the learner, or to a new one; then it is the model.

        ``due`` says before which example each new label is made known.
        """
        learner = trained.learner
        if learner is None:
            learner = self._make_learner(trained, data, int(np.count_nonzero(due == 0)))
            due = due[due > 0]
        elif not trained.kernel.is_compiled:  # a callable may fail half-way
            learner = deepcopy(learner)
        trained = replace(trained, learner=learner, kernel=learner.kernel)
        try:
            trained.learn(data, due)
        except KeyboardInterrupt:  # at a checkpoint, what was learned before it stays
            if trained.kernel.is_compiled or interrupted():
                known = trained.encoder.first(learner.n_labels)
                self._trained = replace(trained, encoder=known, first_rows=None)
            raise
        self._trained = trained

    def finish(self) -> Self:
        """Run the algorithm's finishing step on what was learned; learning may go on after it.

        Returns
        -------
        self : object
            The estimator.
        """
        check_is_fitted(self)
        with self._learning():
            done = self._finish_stream(self._fitted(""))
        self._tell_of_finish(done)
        return self

    def _finish_stream(self, trained: Trained) -> Any:
        """The finishing step after a stream; what the learner says of it."""
        return trained.learner.finish()

    # -- one row at a time ----------------------------------------------------------------

    def _learn_one(self, x: Any, y: Any, sample_weight: float) -> Self:
        """Learn one row: quickly where it is in order, else with all checks."""
        x = one_row(x, "learn_one", "partial_fit")
        with Interruptible():
            if not self._learn_quickly(x, y, sample_weight):
                target = None if self._y_checks is None else [y]
                self._learn_checked(x[None, :], target, None, _plain_weight(sample_weight))
        return self

    def _learn_many(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        """Learn examples of a stream: a single row as ``_learn_one``, else with all checks."""
        if classes is None and sample_weight is None and self._learn_only_row(X, y):
            return self
        return self._learn_checked(X, y, classes, sample_weight)

    def _learn_only_row(self, X: Any, y: Any) -> bool:
        """Learn a batch of one dense row quickly; false where it is something else."""
        if type(X) is not np.ndarray or X.shape[:1] != (1,) or X.ndim != 2:
            return False
        label = None
        if self._y_checks is not None:
            if type(y) not in (np.ndarray, list) or len(y) != 1:
                return False
            label = y[0].item() if isinstance(y[0], np.generic) else y[0]
            if isinstance(label, np.ndarray | list):
                return False
        with Interruptible():
            return self._learn_quickly(X[0], label, 1.0)

    def _learn_quickly(self, x: np.ndarray, y: Any, weight: float) -> bool:
        """Learn a row that is in order; false where it needs all checks. Nothing was done then."""
        state = published(self)
        with state:
            trained = self._trained
            if trained is None or trained.learner is None or not self._is_validated():
                return False
            own = self._row_weight(y, weight)
            if own is None or not 0 < own < np.inf:
                return False
            state.version += 1
            if not trained.learn_row(x, y, own * finite_cost(getattr(self, "C", None))):
                return False
            if state.waiting:
                state.serve(self._make_view)
        return True

    def _row_weight(self, y: Any, weight: float) -> float | None:
        """The weight of an example with this label; None where it needs all checks."""
        return weight

    def _decide_one(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        """Values of the machines, as learned, for one row, (1, machines), and what they mean."""
        state = published(self)
        if state.is_torn:
            view = self._view()
            return view.values(x[None, :]), view.encoder
        with state:
            trained = self._trained
            if trained is None or trained.learner is None:
                raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
            values = trained.decide_row(x)
            if values is not None:
                return values[None, :], trained.encoder
            view = self._view()
        return view.values(x[None, :]), view.encoder

    # -- parameters, validated when they change -------------------------------------------

    def _parameters(self) -> tuple[Any, ...]:
        kind: Any = type(self)
        found: tuple[Any, ...] = _reader(kind)(vars(self))
        return found

    def _note_validated(self) -> None:
        self._validated = self._parameters()

    def _is_validated(self) -> bool:
        """Whether the parameters are those that were validated last."""
        noted = self.__dict__.get("_validated")
        return noted is not None and all(map(is_, noted, self._parameters()))

    # -- copies, and what others keep of an estimator --------------------------------------

    def __reduce_ex__(self, protocol: Any) -> Any:
        """For pickles and copies: the state with the model as it is."""
        token = _AS_IT_IS.set(True)
        try:
            return super().__reduce_ex__(protocol)
        finally:
            _AS_IT_IS.reset(token)

    def __getstate__(self) -> dict[str, Any]:
        """The attributes; for others than pickles and copies, with the model as data if it can be.

        skops makes a list of all classes in a state, each of which a user has to trust.
        """
        state = dict(super().__getstate__())
        state.pop("_validated", None)
        if self._trained is not None and not _AS_IT_IS.get():
            from ..model.files import data_of

            state["_trained"] = data_of(self) or self._trained
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("_trained"), bytes):
            from ..model.files import estimator_from

            made = estimator_from(state["_trained"], type(self))
            state = state | {"_trained": trained_of(made)}
        super().__setstate__(state)

    # -- checks and conversion ------------------------------------------------------------

    def _checked(self, X: Any, y: Any, before: Trained | None) -> Checked:
        """Good input for the model that there is, or for a new one; else one clear error."""
        how, reset = self._checks_of(y), before is None
        is_numeric = how is not None and bool(how.get("y_numeric"))
        if is_numeric:
            check_no_times(y)
        y = UNCHECKED if how is None else y
        objects = as_objects(X) if reset and self._takes_objects and callable(self.kernel) else None
        if objects is not None:
            given = check_objects(type(self).__name__, objects, y, **(how or {}))
        else:
            features = Features(type(self).__name__) if before is None else before.features
            given = check_examples(features, X, y, dtype=self._dtype, reset=reset, **(how or {}))
        if is_numeric:
            check_finite(given.y)
        return given if how is not None else given._replace(y=np.zeros(given.X.shape[0]))

    def _begin(
        self, given: Checked, encoder: Any, class_weights: Any, weight: np.ndarray | None = None
    ) -> Trained:
        """A model of these examples that has learned nothing, with the kernel that is asked for."""
        factors, plain = self._factors(given, weight), given
        if factors is not None:
            given = given._replace(X=weighted(given.X, factors))
        kernel = self._new_kernel((plain if self._learns_weights else given).X)
        return self._kind_of_model.begin(kernel, given, encoder, class_weights, factors)

    def _new_kernel(self, X: Any) -> Kernel:
        """The kernel that is asked for; these rows say what gamma is."""
        kernel = make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            n_jobs=self.n_jobs, X=X,
        )  # fmt: skip
        if self.gamma == "scale" and self._kind_of_model.is_single:
            check_scale(kernel, X)
        return kernel

    def _check_stream(self, X: Any) -> None:
        """Refuse a stream where kernel values or objects are given instead of rows."""
        kernel = self.kernel
        if isinstance(kernel, str) and kernel == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once: use fit, or pass the "
                "kernel as a function of two arrays."
            )
        known = self._trained is not None and self._trained.objects is not None
        if self._takes_objects and callable(kernel) and (known or as_objects(X) is not None):
            raise ValueError(
                "Examples that are not rows of numbers are learned all at once: use fit."
            )

    # -- the model for those who read -----------------------------------------------------

    def _learning(self) -> AbstractContextManager[None]:
        """Around whatever changes the model.

        Ctrl-C waits for a checkpoint, other threads that learn wait for the end, and those that
        predict use the model as it was before.
        """
        return _changing(self)

    def _make_view(self) -> FittedView | None:
        trained = self._trained
        if trained is None or trained.learner is None:
            return None
        return trained.view(**self._view_extras(trained))

    def _view(self) -> FittedView:
        """The model after the last call that has ended."""
        with Interruptible():
            view: FittedView | None = published(self).get(self._make_view)
        if view is None:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return view

    def explain(self, X: Any, *, n_examples: int = 3) -> Explanation:
        """Why the model answers as it does: the exact share of every feature, in milliseconds.

        The shares are Shapley values, and add up to the decision value. They are exact, nothing is
        sampled: the kernels ``rbf`` and ``laplacian`` are products over features, ``linear`` is a
        sum. A feature that is not known has the factor 1 in the product, as if it were equal to that
        of every support vector (``linear``: it is 0); no background data are averaged over.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.
        n_examples : int, default=3
            Support vectors to name with each answer: those with the largest share.

        Returns
        -------
        explanation : Explanation
            ``values``, ``base_values``, ``examples``, ``importance()`` and ``plot()``.

        Examples
        --------
        >>> import numpy as np
        >>> from onlinesvm import LASVMClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = LASVMClassifier().fit(X, X[:, 1] > 0)
        >>> why = model.explain(X[:2])
        >>> why.values.shape
        (2, 3)
        >>> bool(np.allclose(why.base_values + why.values.sum(axis=1),
        ...                  model.decision_function(X[:2]), atol=1e-5))
        True
        >>> int(why.importance().argmax())
        1
        """
        from .explaining import explain

        check_is_fitted(self)
        check_number(n_examples, "n_examples is the number of support vectors to name", 0)
        with Interruptible():
            return explain(self._view(), X, n_examples)

    def explain_one(self, x: Any, *, n_examples: int = 3) -> Explanation:
        """Why the model answers as it does for one row: as ``explain``.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.
        n_examples : int, default=3
            Support vectors to name.

        Returns
        -------
        explanation : Explanation
            ``values`` of shape (n_features,), or (n_features, n_classes).
        """
        return self.explain(one_row(x, "explain_one", "explain")[None, :], n_examples=n_examples)[0]

    def save(self, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write the model to a file, from which ``onlinesvm.load_model`` makes it again.

        The file holds everything that was learned, also in the middle of a stream: the loaded model
        goes on as this one would. It is in safetensors format, and reading it runs no code. It is
        written whole or not at all; an older file of that name is replaced at the end.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.safetensors``.
        extra : dict or None, default=None
            Facts to keep with the model: numbers, text, lists, dictionaries and arrays. They are
            ``onlinesvm.persistence.read_model(path).summary``.
        """
        from ..model.files import write_model

        write_model(path, self, summary=extra)

    # -- fitted attributes, read from the model after the last call that has ended ---------
    # What is returned belongs to the caller: writing into it changes no model.

    def _fitted(self, name: str) -> Trained:
        """The model, of which a fitted attribute is read."""
        trained = self._trained
        if trained is None or trained.learner is None:
            raise AttributeError(
                f"{type(self).__name__} has no {name} yet: call fit or partial_fit first."
            )
        return trained

    def _seen(self, name: str) -> Any:
        """The view from which a fitted attribute is read."""
        self._fitted(name)
        return self._view()

    def _known(self, name: str, value: Any) -> Any:
        """A fitted attribute that not every model has."""
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return value

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        features = None if self._trained is None else self._trained.features
        return int(self._known("n_features_in_", features and features.n_features))

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features."""
        features = None if self._trained is None else self._trained.features
        names: np.ndarray = self._known("feature_names_in_", features and features.names)
        return names

    @property
    def shape_fit_(self) -> tuple[int, ...]:
        """Shape of the X given to ``fit``."""
        shape: tuple[int, ...] = self._known("shape_fit_", self._fitted("shape_fit_").shape)
        return shape

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed while learning."""
        return int(self._fitted("n_kernel_evaluations_").kernel.n_evaluations)

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, (n_SV, n_features); empty for a precomputed kernel, as in ``SVC``.

        Where the examples are objects, an array of objects.
        """
        view = self._seen("support_vectors_")
        return np.empty((0, 0)) if view.kernel.name == "precomputed" else view.vectors()

    @property
    def support_(self) -> np.ndarray:
        """Row indices of the support vectors in the X given to ``fit``, in ascending order.

        -1 for support vectors learned from a stream.
        """
        return self._seen("support_").support

    @property
    def dual_coef_(self) -> Any:
        """Signed coefficients, one row per machine over all support vectors; sparse for sparse X."""
        return self._seen("dual_coef_").dual_coefficients()

    @property
    def coef_(self) -> Any:
        """Weight vectors of the linear kernel, one row per machine; read-only, as in ``SVC``.

        Sparse for sparse X.
        """
        view = self._seen("coef_")
        if view.kernel.name != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel.")
        weights = weighted(view.encoder.shown(view.weights()), view.trained.feature_weights)
        weights = view.as_given(weights)
        (weights.data if sparse.issparse(weights) else weights).flags.writeable = False
        return weights  # writing would change no model

    @property
    def gamma_(self) -> float:
        """The gamma in use."""
        kernel = self._seen("gamma_").kernel
        if kernel.name not in GAMMA_NAMES:
            raise AttributeError(
                f"gamma_ is not available: the kernel {kernel.name!r} has no gamma."
            )
        return float(kernel.gamma)

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each machine."""
        return self._seen("intercept_").biases()

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors."""
        return np.array([len(self._seen("n_support_").support)])

    def _validate_params(self) -> None:
        try:
            super()._validate_params()
        except ValueError as error:  # scikit-learn has a class of its own for it, which stays
            raise with_nearest_kernel(error, self.kernel) from None

    def __sklearn_is_fitted__(self) -> bool:
        return self._trained is not None and self._trained.learner is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags


# -- for other rooms ----------------------------------------------------------------------


def trained_of(estimator: Any) -> Trained | None:
    """What an estimator of this package has learned; None before anything was, or for others."""
    return estimator._trained if isinstance(estimator, KernelEstimator) else None


def view_of(estimator: KernelEstimator) -> Any:
    """The model of an estimator after the last call that has ended (``trained``)."""
    return estimator._view()


def install(estimator: KernelEstimator, trained: Trained) -> None:
    """Make this the model of the estimator."""
    with published(estimator).change(estimator._make_view):
        estimator._trained = trained


def widen(estimator: Any, n_features: int, dense: bool = False) -> bool:
    """Let an estimator take rows of more features from now on. False where it cannot.

    ``dense``: also where its rows are dense (``Trained.can_widen``).
    """
    trained = trained_of(estimator)
    if trained is None or not trained.can_widen(dense):
        return False
    with published(estimator).change(estimator._make_view):
        trained.widen(n_features)
    return True


def arrived(estimator: Any) -> int | None:
    """How many examples of a stream an estimator has numbered so far; None: it numbers none."""
    trained = trained_of(estimator)
    return None if trained is None else trained.streamed


def learn_again(estimator: Any, X: Any, y: Any, first: int) -> None:
    """Another look at examples of a stream, the first of them the number ``first`` in the order of arrival.

    An error leaves the model as it was.
    """
    estimator._learn_again(trained_of(estimator), X, y, first)


# -- parts --------------------------------------------------------------------------------


@contextmanager
def _changing(estimator: KernelEstimator) -> Iterator[None]:
    with Interruptible(), published(estimator).change(estimator._make_view):
        yield


@cache
def _reader(kind: Any) -> itemgetter[Any]:
    """What reads the parameters of a class from the attributes of an estimator, quickly."""
    return itemgetter(*kind._get_param_names())


def _plain_weight(weight: float) -> list[float] | None:
    return None if weight == 1.0 else [weight]


def one_row(x: Any, name: str, instead: str) -> np.ndarray:
    """x as an array of one dimension, or one clear error."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"{name} takes one row of features, not an array of shape {x.shape}; use {instead} "
            "for several rows and for sparse ones."
        )
    return x
