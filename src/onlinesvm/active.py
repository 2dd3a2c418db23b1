"""Pool-based active learning: see ``ActiveLearner``.

    ask about the example closest to the boundary among M random ones,
    make one online iteration with its label, repeat                    (lasvm-2005, section 4.5)

``query`` decides and changes nothing, ``teach`` changes the state.
"""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .core.criteria import distance
from .estimators.interrupt import Interruptible, checkpoint
from .estimators.labels import unique_labels
from .pool import make_pool
from .selection import STRATEGIES, Strategy, best, best_of_samples, check_utilities, diverse


class ActiveLearner:
    """Asks about the examples of a pool that are worth a label, and learns the answers.

    Each question is the example closest to the decision boundary among ``sample_size`` random
    ones; each answer is one online iteration of the model, so the next question takes
    milliseconds (Bordes, Ertekin, Weston, Bottou 2005, section 4.5).

    Parameters
    ----------
    estimator : classifier
        Any classifier of the library, or another one with ``partial_fit`` and
        ``decision_function``. It is copied; if it has learned something, it goes on from there.
    X_pool : {array-like, CSR matrix} of shape (n_samples, n_features)
        Examples without labels.
    strategy : {"active", "random"} or callable, default="active"
        What to ask about. A callable takes the model and candidates, and returns one utility
        each; the highest is asked about.
    sample_size : int or None, default=50
        Random examples among which each question is chosen; None: all of the pool.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples.
    classes : array-like of shape (n_classes,) or None, default=None
        All labels there are; any other one is then an error. None: a new label is welcome at any
        time.

    Attributes
    ----------
    estimator : classifier
        The model as it stands.
    taught : ndarray
        Numbers of the examples with a label, in the order in which they were taught.
    labels : list
        Their labels.
    set_aside : ndarray
        Numbers of the examples whose label nobody knows.

    Notes
    -----
    Until two classes are known the questions are diverse: each is the example of the sample that
    lies farthest from all asked before, in the distance of the kernel. The library's classifiers
    settle ``gamma="scale"`` on the whole pool. With several classes the boundary is where the two
    best are equal.

    Where a LASVM learns from the pool alone and it pays (always with ``sample_size=None``), the
    decision values of the whole pool are kept up to date: a label costs one kernel row over the
    pool. These rows take up to ``cache_size`` MB of the estimator.

    A label that is taught again replaces the old one exactly as if it had been given the first
    time: the model is built anew from all labels, in their order. What cannot be undone is that
    later questions were chosen with the old one; what was done to ``estimator`` directly, such as
    ``finish``, is not part of the record and is lost then.

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
    """

    def __init__(
        self,
        estimator: Any,
        X_pool: Any,
        strategy: str | Strategy = "active",
        sample_size: int | None = 50,
        random_state: Any = None,
        classes: Any = None,
    ):
        _check_settings(estimator, strategy, sample_size)
        self.strategy = strategy
        self.sample_size = sample_size
        self.random_state = random_state
        self.classes = None if classes is None else unique_labels(np.asarray(classes))
        self.estimator = deepcopy(estimator)
        with Interruptible():
            self._pool = make_pool(self.estimator, X_pool, self.classes)
        self._pool.settle(self.estimator)
        self._start = deepcopy(self.estimator)
        self._classes_before = len(self._start.classes_) if _has_learned(self._start) else 0
        self._answers: dict[int, Any] = {}
        self._aside: set[int] = set()
        self._familiar: set[Any] = set()  # labels found to be in order
        self._open = np.ones(len(self), bool)
        self._turn = 0  # how often the state has changed
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))

    def __len__(self) -> int:
        return int(self._pool.X.shape[0])

    @property
    def taught(self) -> np.ndarray:
        """Numbers of the examples with a label, in the order in which they were taught."""
        return np.array(list(self._answers), np.int64)

    @property
    def labels(self) -> list[Any]:
        """Labels of ``taught``."""
        return list(self._answers.values())

    @property
    def set_aside(self) -> np.ndarray:
        """Numbers of the examples whose label nobody knows."""
        return np.array(sorted(self._aside), np.int64)

    # -- asking ---------------------------------------------------------------------------

    def query(self, n: int = 1, return_utilities: bool = False) -> Any:
        """The examples to ask about next. Changes nothing: asked again, it answers the same.

        Parameters
        ----------
        n : int, default=1
            How many.
        return_utilities : bool, default=False
            Whether to return the utilities as well.

        Returns
        -------
        indices : ndarray of shape (n,)
            Numbers in the pool.
        utilities : ndarray of shape (n_pool,)
            Only with ``return_utilities``: the utility of each example looked at, NaN for others.
        """
        open_ = np.flatnonzero(self._open)
        self._check_query(n, len(open_))
        rng = np.random.default_rng([self._seed, self._turn, len(self), n])
        candidates = self._sample(open_, n, rng)
        with Interruptible():
            chosen, utilities = self._choose(candidates, n)
        if not return_utilities:
            return candidates[chosen]
        found = np.full(len(self), np.nan)
        found[candidates] = utilities
        return candidates[chosen], found

    def _check_query(self, n: int, left: int) -> None:
        if not _is_count(n):
            raise ValueError(f"n must be an integer of at least 1; got {n!r}.")
        if left == 0:
            raise ValueError(
                f"The pool has run dry: of its {len(self)} examples {len(self._answers)} are "
                f"labelled and {len(self._aside)} set aside. Use add_to_pool."
            )
        if n > left:
            raise ValueError(f"n={n} questions, but the pool has only {left} examples left.")

    def _sample(self, open_: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Candidates in random order; all of the pool, in its order, if there is no sampling."""
        if self.strategy == "random":
            return rng.choice(open_, n, replace=False)
        if self.sample_size is None:
            return open_
        return rng.choice(open_, min(n * self.sample_size, len(open_)), replace=False)

    def _choose(self, candidates: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Places of the chosen among the candidates, and the utilities of all of them."""
        if self.strategy == "random":
            return np.arange(n), np.zeros(n)
        if self._n_classes() < 2:
            return self._diverse(candidates, n)
        if self.strategy == "active":
            utilities = -distance(self._pool.decide(self.estimator, candidates))
        else:
            found = self.strategy(self.estimator, self._pool.X[candidates])  # type: ignore[operator]
            utilities = check_utilities(found, len(candidates))
        chosen = best(utilities, n) if self.sample_size is None else best_of_samples(utilities, n)
        return chosen, utilities

    def _diverse(self, candidates: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Farthest first from everything asked so far."""
        known = np.flatnonzero(~self._open)

        def distances(k: int | None) -> np.ndarray:
            if k is not None:
                return self._pool.distances(candidates, candidates[k : k + 1])[:, 0]
            if not len(known):
                return np.full(len(candidates), np.inf)
            return self._pool.distances(candidates, known).min(axis=1)

        return diverse(len(candidates), n, distances), distances(None)

    def _n_classes(self) -> int:
        """Classes with a label, or those of a model that came with knowledge."""
        return max(self._classes_before, len(set(self._answers.values())))

    # -- learning -------------------------------------------------------------------------

    def teach(self, indices: Any, labels: Any) -> ActiveLearner:
        """Learn the labels of some examples, one online iteration each, in the order given.

        A call with bad input changes nothing.

        Parameters
        ----------
        indices : int or array-like of shape (n,)
            Numbers in the pool, asked about or not. One that has a label already gets a new one.
        labels : label or array-like of shape (n,)
            Their labels; None where nobody knows: that example is not asked about again.

        Returns
        -------
        self : object
            The learner.
        """
        pairs = self._check_answers(indices, labels)
        with Interruptible():  # what is learned is noted
            self._teach(pairs)
        return self

    def _teach(self, pairs: list[tuple[int, Any]]) -> None:
        known = self._answers
        if any(i in known and known[i] != label for i, label in pairs):
            known, aside = dict(known), set(self._aside)
            _note(pairs, known, aside)
            self.estimator = self._learned(list(known.items()), deepcopy(self._start))
            self._answers, self._aside = known, aside
        else:
            model = self.estimator if self._pool.in_place else deepcopy(self.estimator)
            new = [(i, label) for i, label in pairs if label is not None and i not in known]
            self.estimator = self._learned(new, model)
            _note(pairs, known, self._aside)
        self._open[[i for i, _ in pairs]] = False
        self._turn += 1

    def _learned(self, pairs: list[tuple[int, Any]], model: Any) -> Any:
        """The model with these labels learned."""
        for i, label in pairs:
            self._pool.learn(model, i, label)
            if model is not self.estimator:  # a copy: nothing is changed by Ctrl-C
                checkpoint()
        return model

    def add_to_pool(self, X: Any) -> np.ndarray:
        """More examples without labels.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        indices : ndarray of shape (n_samples,)
            Their numbers in the pool.
        """
        with Interruptible():
            added = self._pool.extend(self.estimator, X)
            self._open = np.append(self._open, np.ones(added, bool))
        return np.arange(len(self) - added, len(self))

    def _check_answers(self, indices: Any, labels: Any) -> list[tuple[int, Any]]:
        """Pairs of number and label, all in order; else a clear error."""
        where = np.atleast_1d(np.asarray(indices))
        if where.ndim != 1 or where.dtype.kind not in "iu":
            raise ValueError("indices must be one integer or a list of them.")
        given = _as_list(labels)
        if len(given) != len(where):
            raise ValueError(f"{len(where)} indices, but {len(given)} labels.")
        outside = where[(where < 0) | (where >= len(self))]
        if len(outside):
            raise IndexError(f"The pool has no example {outside[0]}; it has {len(self)}.")
        if len(where) > 1 and len(np.unique(where)) < len(where):
            twice = [int(i) for i, count in zip(*np.unique(where, return_counts=True)) if count > 1]
            raise ValueError(f"Taught twice in one call: {twice}.")
        if any(np.ndim(label) for label in given):
            raise ValueError("A label must be one number or one string.")
        known = [label for label in given if label is not None]
        if not self._familiar.issuperset(known):
            self._check_labels(known)
        return list(zip(where.tolist(), given))

    def _check_labels(self, given: list[Any]) -> None:
        texts = sum(isinstance(label, str) for label in given)
        if texts not in (0, len(given)):
            raise ValueError("Mix of label input types: labels must all be numbers or all strings.")
        labels = unique_labels(np.array(given))
        if self.classes is not None:
            unknown = np.setdiff1d(labels, self.classes)
            if len(unknown):
                raise ValueError(
                    f"Unknown label {unknown[0].item()!r}: the classes are {self.classes.tolist()}."
                )
        self._pool.check(self.estimator, labels)
        self._familiar.update(labels.tolist())


def _note(pairs: list[tuple[int, Any]], answers: dict[int, Any], aside: set[int]) -> None:
    """Write answers down: labels, and those that nobody knows."""
    for i, label in pairs:
        if label is None:
            aside.add(i)
            answers.pop(i, None)
        else:
            aside.discard(i)
            answers[i] = label


def _check_settings(estimator: Any, strategy: Any, sample_size: Any) -> None:
    for method in ("partial_fit", "decision_function"):
        if not hasattr(estimator, method):
            raise TypeError(
                f"{type(estimator).__name__} has no {method}: an active learner needs both "
                "partial_fit and decision_function."
            )
    if not callable(strategy) and strategy not in STRATEGIES:
        raise ValueError(
            f"strategy={strategy!r} does not exist; choose one of {', '.join(STRATEGIES)}, or pass "
            "a function of a model and candidates."
        )
    if sample_size is not None and not _is_count(sample_size):
        raise ValueError(f"sample_size must be None or at least 1; got {sample_size!r}.")


def _is_count(n: Any) -> bool:
    return isinstance(n, Integral) and n is not True and int(n) >= 1


def _has_learned(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _as_list(labels: Any) -> list[Any]:
    """Labels as plain Python values; one alone, text included, is a list of one."""
    if labels is None or isinstance(labels, str | bytes) or np.ndim(labels) == 0:
        labels = [labels.item() if isinstance(labels, np.ndarray) else labels]
    return [label.item() if isinstance(label, np.generic) else label for label in labels]
