"""Pool-based active learning: see ``ActiveLearner``.

    ask about the example closest to the boundary among M random ones,
    make one online iteration with its label, repeat                    (lasvm-2005, section 4.5)

``query`` decides and changes nothing, ``teach`` changes the state.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..core.lasvm.choose.criteria import nearest_label
from ..core.runtime.interrupts import Interruptible, checkpoint
from ..estimators.labels import label_array, unique_labels
from ..estimators.pool_access import started_labels
from .answers import Answers, IndicatorAnswers, pool_numbers
from .pipelines import is_fitted, take_apart
from .pool import make_pool
from .strategies import (
    Distances,
    Strategy,
    best_apart,
    best_of_samples,
    boundary_distance,
    check_selection,
    check_utilities,
    diverse,
    is_count,
    sample,
)

_COPY = 1e-5
"""Squared distances below this share of the squared norms are rounding errors between
duplicates."""


class ActiveLearner:
    """Chooses which examples of a pool to label next, and learns their labels.

    Each question is the example closest to the decision boundary among ``sample_size`` random
    ones; each answer is one online iteration of the model, so the next question takes
    milliseconds (Bordes, Ertekin, Weston, Bottou 2005, section 4.5).

    Parameters
    ----------
    estimator : classifier
        A classifier of this library, another classifier with ``partial_fit`` and
        ``decision_function``, or a ``Pipeline`` that ends with one. It is copied. If it is already
        fitted, learning continues from its state.
    X_pool : {array-like, sparse matrix} of shape (n_samples, n_features)
        Examples without labels. They are copied: later changes of the array have no effect.
    selection : {"active", "random"} or callable, default="active"
        How questions are chosen. A callable takes the model and the candidates and returns one
        utility per candidate; the candidate with the highest utility is asked about. With a
        pipeline, it receives the last step and the transformed candidates.
    sample_size : int or None, default=50
        Number of random examples among which each question is chosen; None: the whole pool.
    random_state : int, RandomState instance or None, default=None
        Seed for the samples.
    classes : array-like of shape (n_classes,) or None, default=None
        All labels; any other label is then an error. None: new labels are accepted at any time.
    pickle_pool : bool, default=True
        Whether a pickled learner contains its pool. If not, call ``attach`` with the pool before
        the next question; everything else works without it.
    n_labels : int or None, default=None
        Number of labels if an example may have several of them, at least 2: each answer is then a
        row of ``n_labels`` numbers, 1 for the labels that the example has and 0 for the others. This
        needs a ``LASVMClassifier``. None: one label per example, or as many labels as a fitted
        estimator was trained with.

    Attributes
    ----------
    estimator : classifier
        The current model; with a pipeline, the whole pipeline. Another estimator may be assigned;
        it is copied. An unfitted one learns all labels given so far; a fitted one is assumed to
        have learned them.
    taught : ndarray
        Pool indices of the labelled examples, in the order in which they were taught.
    labels : list
        Their labels; with ``n_labels``, tuples of 0 and 1.
    set_aside : ndarray
        Pool indices of the examples whose label is unknown to the labeller.

    See Also
    --------
    onlinesvm.LASVMClassifier : The classifier that is taught.
    onlinesvm.labelling_curve : Compares selection strategies.

    Notes
    -----
    Until two classes are known, each question is the candidate that is farthest from all examples
    asked about before, in the distance of the kernel. The classifiers of this library estimate
    ``gamma="scale"`` from the whole pool. With several classes, the boundary is where the two
    largest decision values are equal.

    With ``n_labels``, every label has its own boundary, and each question is the example whose least
    sure label is closest to its boundary; ``least_sure_labels`` tells which label that is. A label
    that every answer so far has, or none, has no boundary yet and does not count.

    If a LASVM learns from the pool only, and if it saves time (always with ``sample_size=None``),
    the decision values of the whole pool are kept up to date: each label costs one kernel row over
    the pool. These rows take up to the estimator's ``cache_size`` MB. If many labels were taught
    since the last question, only the decision values of the candidates are computed.

    With ``probability=True`` in the estimator, reading ``estimator`` after new labels checks whether
    any labelled example should be a support vector after all, finishes the model, as its ``finish``
    does, and recalibrates its probabilities and prediction sets. Questions lie near the boundary, so
    their scores are not representative of the pool: each labelled example is scored by models that
    have not learned it, and weighted by the number of examples of the pool with a similar score. An
    estimator that was already fitted, or that has a ``window``, ``budget``
    or ``half_life``, uses the scores recorded while it learned; its probabilities are then
    calibrated for the examples asked about.

    The transformers of a ``Pipeline`` transform the pool once. If all of them are fitted, they are
    used as they are; otherwise all are fitted on the pool, without labels.

    Teaching another label for an example replaces the old label: the model is learned again from
    all labels, in their order, exactly as if the new label had been given the first time. Later
    questions that were chosen with the old label remain. Direct changes of ``estimator``, such as
    ``finish``, are lost then.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import ActiveLearner, LASVMClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> learner = ActiveLearner(LASVMClassifier(C=10), X[:1200], random_state=0)
    >>> for _ in range(150):
    ...     question = learner.query()
    ...     learner = learner.teach(question, y[question])
    >>> bool(learner.estimator.score(X[1200:], y[1200:]) > 0.9)
    True

    Several labels per example: is the digit even, is it a prime?

    >>> import numpy as np
    >>> Y = np.stack([y % 2 == 0, np.isin(y, [2, 3, 5, 7])], axis=1)
    >>> learner = ActiveLearner(LASVMClassifier(C=10), X[:1200], n_labels=2, random_state=0)
    >>> for _ in range(150):
    ...     question = learner.query()
    ...     learner = learner.teach(question, Y[question])
    >>> bool((learner.estimator.predict(X[1200:]) == Y[1200:]).mean() > 0.9)
    True
    >>> learner.least_sure_labels(learner.query()).shape
    (1,)
    """

    n_labels: int | None = None  # of learners pickled by older versions

    def __init__(
        self,
        estimator: Any,
        X_pool: Any,
        selection: str | Strategy = "active",
        sample_size: int | None = 50,
        random_state: Any = None,
        classes: Any = None,
        pickle_pool: bool = True,
        n_labels: int | None = None,
    ):
        check_selection(selection, sample_size)
        _check_n_labels(n_labels, classes)
        if not isinstance(pickle_pool, bool | np.bool_):
            raise ValueError(f"pickle_pool must be True or False; got {pickle_pool!r}.")
        self.selection = selection
        self.sample_size = sample_size
        self.random_state = random_state
        self.classes = None if classes is None else unique_labels(label_array(classes))
        self.pickle_pool = pickle_pool
        transformers, model = take_apart(estimator)
        self._transformers = transformers
        X = X_pool if transformers is None else transformers.prepare(X_pool)
        with Interruptible():
            pool = make_pool(model, X, self.classes, n_labels)
            self.n_labels = pool.n_labels
            _check_n_labels(self.n_labels, classes)  # a fitted estimator may have several
            several = None if self.n_labels is None else IndicatorAnswers(self.n_labels)
            self._answers = several or Answers(self.classes)
            self._start_from(model, pool)
        self._open = np.ones(len(self), bool)
        self._turn = 0  # number of changes of the state
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))

    def _start_from(self, model: Any, pool: Any) -> None:
        """Start from a model; an unfitted one learns the answers given so far."""
        pool.prepare(model)
        start, answers = deepcopy(model), self._answers.labels
        learned = is_fitted(model)
        if not learned:
            model = self._learned(model, list(answers.items()), {}, pool)
        self._model, self._pool, self._start = model, pool, start
        self._classes_before = len(start.classes_) if learned else 0
        self._included = set(answers) if learned else set()  # answers that the start has learned
        self._familiar: set[Any] = set()  # labels that passed the checks

    _calibrated = 0  # turn of the last calibration

    @property
    def estimator(self) -> Any:
        """The current model; with a pipeline, the whole pipeline."""
        if self._calibrated != self._turn and self._pool.X is not None:
            with Interruptible():
                self._pool.calibrate(self._model, self._answers.labels, self._seed)
            self._calibrated = self._turn
        return self._model if self._transformers is None else self._transformers.before(self._model)

    @estimator.setter
    def estimator(self, estimator: Any) -> None:
        self._check_pool()
        transformers, model = take_apart(estimator)
        X = self._pool.X
        if transformers is not None:
            if self._transformers is not None:
                raise ValueError(
                    "The pool was transformed by the first pipeline, so another pipeline cannot "
                    "be assigned. Assign a model that replaces the last step, or make a new "
                    "ActiveLearner and teach it `taught` and `labels`."
                )
            X = transformers.prepare(X)
        with Interruptible():
            pool = make_pool(model, X, self.classes, self.n_labels, copy=transformers is not None)
            if pool.n_labels != self.n_labels:
                raise ValueError(
                    f"The estimator was trained with {pool.n_labels} labels per example, but the "
                    "answers to this ActiveLearner are one label each."
                )
            self._start_from(model, pool)
            self._transformers = transformers or self._transformers
            self._turn += 1

    def __len__(self) -> int:
        return int(self._pool.shape[0])

    # -- copies ---------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self.pickle_pool:
            return self.__dict__
        return self.__dict__ | {"_pool": self._pool.without_examples()}

    def __copy__(self) -> ActiveLearner:
        return deepcopy(self)  # two learners cannot share a model

    def __deepcopy__(self, memo: dict[int, Any]) -> ActiveLearner:
        other = memo[id(self)] = object.__new__(type(self))
        other.__dict__ = {name: deepcopy(value, memo) for name, value in self.__dict__.items()}
        return other

    def attach(self, X_pool: Any) -> ActiveLearner:
        """Restore the pool of a learner that was pickled without it.

        Parameters
        ----------
        X_pool : {array-like, sparse matrix} of shape (n_samples, n_features)
            All examples of the learner, including those of ``add_to_pool``, in their order.

        Returns
        -------
        self : object
            The learner, as it was when it was pickled.
        """
        if self._pool.X is not None:
            raise ValueError(
                "This learner already has its pool. Use add_to_pool for more examples."
            )
        if self._transformers is not None:
            X_pool = self._transformers.transform(X_pool)
        self._pool.attach(X_pool)
        return self

    def _check_pool(self) -> None:
        if self._pool.X is None:
            raise ValueError(
                "This learner was pickled without its pool (pickle_pool=False). Restore its "
                f"{len(self)} examples with attach(X_pool)."
            )

    # -- record ---------------------------------------------------------------------------

    @property
    def taught(self) -> np.ndarray:
        """Pool indices of the labelled examples, in the order in which they were taught."""
        return np.array(list(self._answers.labels), np.int64)

    @property
    def labels(self) -> list[Any]:
        """Labels of ``taught``."""
        return list(self._answers.labels.values())

    @property
    def set_aside(self) -> np.ndarray:
        """Pool indices of the examples whose label is unknown to the labeller."""
        return np.array(sorted(self._answers.aside), np.int64)

    # -- asking ---------------------------------------------------------------------------

    def query(self, n: int = 1, return_utilities: bool = False) -> Any:
        """Choose the examples to ask about next; repeated calls return the same.

        Parameters
        ----------
        n : int, default=1
            Number of examples.
        return_utilities : bool, default=False
            Whether to return the utilities as well.

        Returns
        -------
        indices : ndarray of shape (n,)
            Indices in the pool.
        utilities : ndarray of shape (n_pool,)
            Only with ``return_utilities``: the utility of each candidate, NaN for all others.
        """
        self._check_pool()
        open_ = np.flatnonzero(self._open)
        self._check_query(n, len(open_))
        n = int(n)  # of any width
        rng = np.random.default_rng([self._seed, self._turn, len(self), n])
        with Interruptible():
            candidates = sample(open_, n, self.selection, self.sample_size, rng)
            chosen, utilities = self._choose(candidates, n)
        if not return_utilities:
            return candidates[chosen]
        found = np.full(len(self), np.nan)
        found[candidates] = utilities
        return candidates[chosen], found

    def _check_query(self, n: int, left: int) -> None:
        if not is_count(n):
            raise ValueError(f"n must be an integer of at least 1; got {n!r}.")
        if left == 0:
            raise ValueError(
                f"The pool has no unlabelled examples left: of its {len(self)} examples "
                f"{len(self._answers.labels)} are labelled and {len(self._answers.aside)} set "
                "aside. Add more with add_to_pool."
            )
        if n > left:
            raise ValueError(f"n={n} questions, but the pool has only {left} examples left.")

    def _choose(self, candidates: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the chosen candidates, and the utilities of all candidates."""
        if self.selection == "random":
            return np.arange(n), np.zeros(n)
        if not self._has_boundary():
            return self._diverse(candidates, n)
        if self.selection == "active":
            values = self._pool.decide(self._model, candidates)
            utilities = -boundary_distance(self._model, values)
        else:
            found = self.selection(self._model, self._pool.X[candidates])  # type: ignore[operator]
            utilities = check_utilities(found, len(candidates))
        if utilities.min() == utilities.max():  # the model has no boundary yet
            return self._diverse(candidates, n)
        choose = best_apart if self.sample_size is None else best_of_samples
        return choose(utilities, n, self._apart(candidates)), utilities

    def _apart(self, candidates: np.ndarray) -> Distances:
        """Squared distances between candidates; those of copies are 0."""

        def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            found, sizes = self._pool.distances(candidates[a], candidates[b]), self._pool.sizes
            size = sizes(candidates[a])[:, None] + sizes(candidates[b])[None, :]
            return np.where(found > _COPY * size, found, 0.0)

        return distances

    def _diverse(self, candidates: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Farthest first from everything asked so far."""
        known = np.flatnonzero(~self._open)
        nearest = np.full(len(candidates), np.inf)
        if len(known):
            nearest = self._pool.distances(candidates, known).min(axis=1).astype(np.float64)

        def distances(k: int) -> np.ndarray:
            return self._pool.distances(candidates, candidates[k : k + 1])[:, 0]

        return diverse(nearest, n, distances), nearest

    def _has_boundary(self) -> bool:
        """Whether two classes are known or, of several labels, one was given and one was not."""
        if self.n_labels is not None:
            return bool(self._started().any())
        return max(self._classes_before, len(set(self._answers.labels.values()))) > 1

    def _started(self) -> np.ndarray:
        """Whether each of several labels has a boundary."""
        started = started_labels(self._model)
        assert started is not None  # the pool has prepared the model
        return started

    # -- looking --------------------------------------------------------------------------

    def decision_values(self, indices: Any) -> np.ndarray:
        """Decision values of examples of the pool.

        They depend only on the model: a learner that was taught the same labels in the same order
        gives exactly the same values, also in another process.

        Parameters
        ----------
        indices : array-like of shape (n,)
            Numbers in the pool.

        Returns
        -------
        values : ndarray of shape (n,), (n, n_classes) or (n, n_labels)
            As ``decision_function`` of the model; zeros while fewer than two classes are known, or
            while every answer has the same labels.
        """
        self._check_pool()
        which = pool_numbers(indices, len(self))
        if not self._has_boundary() or not len(which):
            return np.zeros(len(which) if self.n_labels is None else (len(which), self.n_labels))
        with Interruptible():
            return np.asarray(self._pool.decide_anew(self._model, which))

    def least_sure_labels(self, indices: Any) -> np.ndarray:
        """The label of each example that the model is least sure of, with several labels each.

        Parameters
        ----------
        indices : array-like of shape (n,)
            Numbers in the pool, such as those of ``query``.

        Returns
        -------
        labels : ndarray of shape (n,)
            Columns of the answers: for each example, the label with the decision value closest to
            zero; -1 while every answer has the same labels.
        """
        if self.n_labels is None:
            raise ValueError(
                "least_sure_labels is for several labels per example: make the ActiveLearner with "
                "n_labels."
            )
        values, started = self.decision_values(indices), self._started()
        return nearest_label(values, started)[1] if started.any() else np.full(len(values), -1)

    def similarities(self, first: Any, second: Any) -> np.ndarray:
        """Kernel values between examples of the pool, scaled so that copies have 1.

        Parameters
        ----------
        first : array-like of shape (n,)
            Numbers in the pool.
        second : array-like of shape (m,)
            Numbers in the pool.

        Returns
        -------
        values : ndarray of shape (n, m)
            Cosines of the angles in the space of the kernel, -1 to 1.
        """
        self._check_pool()
        a, b = pool_numbers(first, len(self)), pool_numbers(second, len(self))
        with Interruptible():
            apart = self._pool.distances(a, b)
            sizes, others = self._pool.squared_norms(a), self._pool.squared_norms(b)
        product = np.sqrt(np.maximum(sizes[:, None] * others[None, :], 1e-300))
        found = (sizes[:, None] + others[None, :] - apart) / 2 / product
        return np.clip(found, -1.0, 1.0)

    def contributions(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Contribution of each support vector to the decision values of an example.

        Parameters
        ----------
        index : int
            Number in the pool.

        Returns
        -------
        indices : ndarray of shape (n_support,)
            Pool indices of the support vectors.
        shares : ndarray of shape (1, n_support), (n_classes, n_support) or (n_labels, n_support)
            Coefficient times kernel value; with the bias, each row adds up to a decision value.
        """
        self._check_pool()
        which = pool_numbers(index, len(self))
        if len(which) != 1:
            raise ValueError(f"index must be one integer; got {len(which)} of them.")
        if not self._has_boundary():
            return np.empty(0, np.int64), np.empty((self.n_labels or 1, 0))
        with Interruptible():
            found: tuple[np.ndarray, np.ndarray] = self._pool.shares(self._model, int(which[0]))
        return found

    # -- learning -------------------------------------------------------------------------

    def teach(self, indices: Any, labels: Any) -> ActiveLearner:
        """Learn the labels of some examples, one online iteration each, in the order given.

        Invalid input raises an error and changes nothing.

        Parameters
        ----------
        indices : int or array-like of shape (n,)
            Indices in the pool, asked about or not. A new label for an example replaces the old
            one.
        labels : label or array-like of shape (n,) or (n, n_labels)
            Their labels; None if the label is unknown: that example is not asked about again. With
            ``n_labels``, rows of 0 and 1, dense or sparse, or None for a whole row; a single example
            may be given a single row.

        Returns
        -------
        self : object
            The learner.
        """
        self._check_pool()
        pairs = self._check_answers(indices, labels)
        if pairs:
            with Interruptible():  # keep the record in line with the model
                self._teach(pairs)
        return self

    def _teach(self, pairs: list[tuple[int, Any]]) -> None:
        corrected = self._answers.corrected(pairs)
        if corrected:
            self._learn_anew(pairs, corrected)
        else:
            known = self._answers.labels
            model = self._model if self._pool.in_place else deepcopy(self._model)
            new = [(i, label) for i, label in pairs if label is not None and i not in known]
            self._model = self._learned(model, new, known, self._pool)
            self._answers.note(pairs)
        self._open[[i for i, _ in pairs]] = False
        self._turn += 1

    def _learn_anew(self, pairs: list[tuple[int, Any]], corrected: set[int]) -> None:
        """The model as if these labels had been given the first time."""
        answers, included = self._answers.copy(), self._included - corrected
        answers.note(pairs)
        lessons = [(i, label) for i, label in answers.labels.items() if i not in included]
        self._model = self._learned(deepcopy(self._start), lessons, {}, self._pool)
        self._answers, self._included = answers, included

    def _learned(
        self, model: Any, pairs: list[tuple[int, Any]], known: dict[int, Any], pool: Any
    ) -> Any:
        """The model after these labels, in addition to the known ones."""
        earlier = dict(known)
        for i, label in pairs:
            pool.learn(model, i, label, earlier)
            earlier[i] = label
            if model is not self._model:  # a copy, so that Ctrl-C changes nothing
                checkpoint()
        return model

    def add_to_pool(self, X: Any) -> np.ndarray:
        """Add examples without labels to the pool.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Examples; they are copied.

        Returns
        -------
        indices : ndarray of shape (n_samples,)
            Their indices in the pool.
        """
        self._check_pool()
        if self._transformers is not None:
            X = self._transformers.transform(X)
        with Interruptible():
            added = self._pool.extend(self._model, X)
            self._open = np.append(self._open, np.ones(added, bool))
        return np.arange(len(self) - added, len(self))

    def _check_answers(self, indices: Any, labels: Any) -> list[tuple[int, Any]]:
        """Valid pairs of index and label; raises an error otherwise."""
        pairs = self._answers.pairs(indices, labels, len(self))
        given = [label for _, label in pairs if label is not None]
        if not self._familiar.issuperset(given):
            self._pool.check(self._model, self._answers.unique(given))
            self._familiar.update(given)
        return pairs


def _check_n_labels(n_labels: Any, classes: Any) -> None:
    """Refuse a number of labels per example that is none."""
    if n_labels is None:
        return
    if not is_count(n_labels) or n_labels < 2:
        raise ValueError(
            "n_labels must be an integer of at least 2, or None for one label per example; got "
            f"{n_labels!r}."
        )
    if classes is not None:
        raise ValueError(
            "classes supports one label per example; with n_labels, the columns of the answers are "
            "the labels."
        )
