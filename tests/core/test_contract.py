"""Every learner of a stream has the verbs of the contract, with the same arguments."""

import inspect
import pkgutil
from importlib import import_module

import pytest

import onlinesvm.core
from onlinesvm.core.huller.learner import Huller
from onlinesvm.core.lasvm.choose.selection import SelectiveLASVM
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.model import EpochLearner, Learner
from onlinesvm.core.sgd.learner import ExpansionLearner
from onlinesvm.core.sgd.perceptron import BudgetPerceptron
from onlinesvm.core.streamsvm.learner import StreamSVM

IN_PASSES = [BudgetPerceptron, ExpansionLearner, Huller, StreamSVM]
LEARNERS = [*IN_PASSES, LASVM, SelectiveLASVM]


def verbs(protocol):
    """Methods and properties that a protocol names."""
    return {
        name: value
        for base in protocol.__mro__
        for name, value in vars(base).items()
        if isinstance(value, property) or (inspect.isfunction(value) and not name.startswith("_"))
    }


def misfits(cls, protocol):
    """Verbs that are missing, or that cannot be called as the contract says."""
    found = []
    for name, verb in verbs(protocol).items():
        own = inspect.getattr_static(cls, name, None)
        if getattr(own, "__isabstractmethod__", False):
            found.append(name)
        elif isinstance(verb, property):
            found += [] if isinstance(own, property) else [name]
        else:
            expected = list(inspect.signature(verb).parameters)
            given = list(inspect.signature(own).parameters.values()) if own else []
            more = [p for p in given[len(expected) :] if p.default is p.empty]
            if [p.name for p in given[: len(expected)]] != expected or more:
                found.append(name)
    return found


def learners():
    """All classes of the core that are learners of a stream."""
    for found in pkgutil.walk_packages(onlinesvm.core.__path__, "onlinesvm.core."):
        module = import_module(found.name)
        for value in vars(module).values():
            if inspect.isclass(value) and Learner in value.__mro__:
                yield value


def test_every_learner_of_the_core_is_listed():
    assert set(learners()) - {Learner, EpochLearner} == set(LEARNERS)


@pytest.mark.parametrize("cls", IN_PASSES)
def test_learners_in_passes_fulfil_the_contract(cls):
    assert misfits(cls, EpochLearner) == []


@pytest.mark.parametrize("cls", LEARNERS)
def test_learners_fulfil_the_contract(cls):
    assert misfits(cls, Learner) == []


def test_lasvm_fulfils_the_contract():
    assert misfits(LASVM, Learner) == []


def test_a_missing_verb_is_found():
    class Mute(Huller):
        learn = None
        window = 3

        def finish(self, needed):
            pass

    assert set(misfits(Mute, EpochLearner)) == {"learn", "finish", "window"}


def test_a_verb_that_nobody_has_written_is_found():
    class Silent(EpochLearner):
        pass

    assert {"learn", "stores", "epoch"} <= set(misfits(Silent, EpochLearner))
