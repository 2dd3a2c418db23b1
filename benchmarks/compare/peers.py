"""An adapter for each library of the comparison.

Given a data set and a seed, a :class:`Peer` builds a model with the data set's C and γ and the
library's own defaults for everything else. Batch models have ``fit`` and ``predict``; models for
streams have ``learn`` and ``answer``, one example per call. A library is imported when its model is
built, so that the list can be read, and a missing library named, without it.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.datasets import SPARSE, Dataset

COMPONENTS = 1000
"""Random features or landmarks of the approximations by explicit feature maps."""


@dataclass(frozen=True)
class Peer:
    """A library under one setting.

    `forms` are the forms of input it is given: ``dense`` or ``csr``, then the bits of a float; a
    set that comes dense stays dense. Where there are several, the fastest counts.
    """

    name: str
    distribution: str
    build: Callable[[Dataset, int], Any]
    forms: tuple[str, ...] = ("csr32", "dense32")
    stream: bool = False

    def forms_for(self, dataset: str) -> list[str]:
        """The forms in which to hand it this data set."""
        sparse = dataset.partition(":")[0] in SPARSE
        forms = self.forms if sparse else (f.replace("csr", "dense") for f in self.forms)
        return list(dict.fromkeys(forms))

    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None


# --- batch models ---------------------------------------------------------------------------------


def _lasvm(**settings: Any) -> Callable[[Dataset, int], Any]:
    def build(data: Dataset, seed: int) -> Any:
        from onlinesvm import LASVMClassifier

        return LASVMClassifier(C=data.C, gamma=data.gamma, random_state=seed, **settings)

    return build


def _svc(data: Dataset, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def _sklearnex(data: Dataset, seed: int) -> Any:
    from sklearnex.svm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def _sklearnex_one_vs_rest(data: Dataset, seed: int) -> Any:
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(_sklearnex(data, seed))


def _thundersvm(data: Dataset, seed: int) -> Any:
    from thundersvm import SVC

    return SVC(C=data.C, gamma=data.gamma)


def _sgd(data: Dataset, seed: int) -> Any:
    """Hinge loss with the penalty that makes its objective the SVM's: alpha = 1 / (C n)."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(alpha=1 / (data.C * len(data.y_train)), random_state=seed)


def _nystroem(data: Dataset, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    landmarks = min(COMPONENTS, len(data.y_train))
    features = Nystroem(gamma=data.gamma, n_components=landmarks, random_state=seed)
    return make_pipeline(features, _sgd(data, seed))


def _random_features(data: Dataset, seed: int) -> Any:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.pipeline import make_pipeline

    features = RBFSampler(gamma=data.gamma, n_components=COMPONENTS, random_state=seed)
    return make_pipeline(features, _sgd(data, seed))


class VowpalWabbit:
    """``vw --ksvm`` behind ``fit`` and ``predict``, for two classes -1 and +1.

    One pass in random order. Its bandwidth is γ and its λ is 1/C; it has no bias term. The lines of
    text that it reads are written inside ``fit``, since a user has to write them as well.
    """

    def __init__(self, C: float, gamma: float, seed: int) -> None:
        from vowpalwabbit import Workspace

        self.seed = seed
        options = f"--ksvm --kernel rbf --bandwidth {gamma:g} --l2 {1 / C:g} --random_seed {seed}"
        self.workspace = Workspace(f"{options} --noconstant --quiet")

    @staticmethod
    def _lines(X: Any) -> list[str]:
        import scipy.sparse as sp

        rows = sp.csr_matrix(X)
        words = [f"{j}:{v:.6g}" for j, v in zip(rows.indices, rows.data)]
        return ["| " + " ".join(words[a:b]) for a, b in pairwise(rows.indptr)]

    def fit(self, X: Any, y: np.ndarray) -> VowpalWabbit:
        if set(np.unique(y)) != {-1, 1}:
            raise ValueError("vowpalwabbit --ksvm learns labels -1 and +1 only")
        lines = self._lines(X)
        for i in np.random.default_rng(self.seed).permutation(len(lines)):
            self.workspace.learn(f"{y[i]} {lines[i]}")
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.array([1 if self.workspace.predict(s) > 0 else -1 for s in self._lines(X)])


def _vowpalwabbit(data: Dataset, seed: int) -> Any:
    return VowpalWabbit(data.C, data.gamma, seed)


# --- models for streams ---------------------------------------------------------------------------


class ByPartialFit:
    """A scikit-learn model that learns a stream one row per call."""

    def __init__(self, model: Any, features: Any = None) -> None:
        self.model = model
        self.features = features

    @staticmethod
    def rows(X: np.ndarray) -> list[Any]:
        return [X[i : i + 1] for i in range(len(X))]

    def learn(self, row: np.ndarray, label: int) -> None:
        row = row if self.features is None else self.features.transform(row)
        self.model.partial_fit(row, [label], classes=[-1, 1])

    def answer(self, row: np.ndarray) -> int:
        row = row if self.features is None else self.features.transform(row)
        return int(self.model.predict(row)[0])


class ByLearnOne:
    """A River model."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @staticmethod
    def rows(X: np.ndarray) -> list[Any]:
        return [dict(enumerate(row)) for row in X.astype(float).tolist()]

    def learn(self, row: dict[int, float], label: int) -> None:
        self.model.learn_one(row, label > 0)

    def answer(self, row: dict[int, float]) -> int:
        return 1 if self.model.predict_one(row) else -1


def _lasvm_stream(**settings: Any) -> Callable[[Dataset, int], Any]:
    return lambda data, seed: ByPartialFit(_lasvm(**settings)(data, seed))


def _random_features_stream(data: Dataset, seed: int) -> Any:
    pipeline = _random_features(data, seed)
    sampler = pipeline[0].fit(data.X_train[:1])
    return ByPartialFit(pipeline[1], sampler)


def _river(make: Callable[[Dataset, int], Any]) -> Callable[[Dataset, int], Any]:
    return lambda data, seed: ByLearnOne(make(data, seed))


def _river_passive_aggressive(data: Dataset, seed: int) -> Any:
    from river.linear_model import PAClassifier

    return PAClassifier(C=data.C)


def _river_alma(data: Dataset, seed: int) -> Any:
    from river.linear_model import ALMAClassifier

    return ALMAClassifier()


def _river_random_features(data: Dataset, seed: int) -> Any:
    from river.feature_extraction import RBFSampler
    from river.linear_model import LogisticRegression

    return RBFSampler(gamma=data.gamma, seed=seed) | LogisticRegression()


def _river_hoeffding(data: Dataset, seed: int) -> Any:
    from river.tree import HoeffdingTreeClassifier

    return HoeffdingTreeClassifier()


def _river_forest(data: Dataset, seed: int) -> Any:
    from river.forest import ARFClassifier

    return ARFClassifier(seed=seed)


_EX = "scikit-learn-intelex"

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("onlinesvm", "onlinesvm", _lasvm()),
        Peer("onlinesvm converged", "onlinesvm", _lasvm(epochs="converge")),
        Peer("sklearnex SVC", _EX, _sklearnex),
        Peer("sklearnex SVC one-vs-rest", _EX, _sklearnex_one_vs_rest, ("dense32",)),
        Peer("sklearn SVC", "scikit-learn", _svc, ("csr64", "dense64")),
        Peer("thundersvm SVC", "thundersvm", _thundersvm),
        Peer("Nystroem + SGD", "scikit-learn", _nystroem, ("csr32",)),
        Peer("RBFSampler + SGD", "scikit-learn", _random_features, ("csr32",)),
        Peer("vowpalwabbit ksvm", "vowpalwabbit", _vowpalwabbit, ("csr32",)),
        Peer("onlinesvm stream", "onlinesvm", _lasvm_stream(), stream=True),
        Peer("onlinesvm budget 500", "onlinesvm", _lasvm_stream(budget=500), stream=True),
        Peer("RBFSampler + SGD stream", "scikit-learn", _random_features_stream, stream=True),
        Peer("river PA", "river", _river(_river_passive_aggressive), stream=True),
        Peer("river ALMA", "river", _river(_river_alma), stream=True),
        Peer("river RBFSampler", "river", _river(_river_random_features), stream=True),
        Peer("river Hoeffding tree", "river", _river(_river_hoeffding), stream=True),
        Peer("river ARF", "river", _river(_river_forest), stream=True),
    )
}
"""All peers by name; the first is the one the others are compared with."""
