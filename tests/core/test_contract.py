"""Every learner of a stream has the verbs of the contract, with the same arguments."""

import inspect

import pytest

from onlinesvm.core.huller.learner import Huller
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.model import EpochLearner, Learner
from onlinesvm.core.sgd.learner import ExpansionLearner
from onlinesvm.core.sgd.perceptron import BudgetPerceptron
from onlinesvm.core.streamsvm.learner import StreamSVM

IN_PASSES = [BudgetPerceptron, ExpansionLearner, Huller, StreamSVM]


def verbs(protocol):
    return {
        name: value
        for base in protocol.__mro__
        for name, value in vars(base).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def misfits(cls, protocol):
    """Verbs that are missing, or that cannot be called as the contract says."""
    found = []
    for name, verb in verbs(protocol).items():
        own = getattr(cls, name, None)
        expected = list(inspect.signature(verb).parameters)
        given = list(inspect.signature(own).parameters.values()) if own else []
        more = [p for p in given[len(expected) :] if p.default is p.empty]
        if [p.name for p in given[: len(expected)]] != expected or more:
            found.append(name)
    return found


@pytest.mark.parametrize("cls", IN_PASSES)
def test_learners_in_passes_fulfil_the_contract(cls):
    assert misfits(cls, EpochLearner) == []


def test_lasvm_fulfils_the_contract():
    assert misfits(LASVM, Learner) == []


def test_a_missing_verb_is_found():
    class Mute(Huller):
        learn = None

        def finish(self, needed):
            pass

    assert set(misfits(Mute, EpochLearner)) == {"learn", "finish"}
