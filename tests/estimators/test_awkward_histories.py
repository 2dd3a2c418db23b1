"""Every estimator, awkward data, awkward histories: what holds of any model, at any time.

The cases are drawn in ``awkward.py``, the checks are in ``awkward_checks.py``. More draws:
``ONLINESVM_DRAWS=2000 pytest tests/estimators/test_awkward_histories.py``, or ``python tests/helpers/awkward.py``.
"""

import os
import warnings

import awkward_checks
import pytest
from awkward import ANSWERS, ESTIMATORS, ODD, TASKS, Chooser, build
from hypothesis import given, note, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

DRAWS = int(os.environ.get("ONLINESVM_DRAWS", "200"))


class Chosen:
    """Chooses by hypothesis."""

    def __init__(self, draw):
        self.draw = draw

    def of(self, options):
        return self.draw(st.sampled_from(options))

    def whole(self, low, high):
        return self.draw(st.integers(low, high))

    def flag(self):
        return self.draw(st.booleans())


@st.composite
def cases(draw, estimators=ESTIMATORS):
    return build(Chosen(draw), estimators)


@given(cases())
@settings(max_examples=DRAWS, deadline=None, derandomize=True, database=None)
def test_whatever_is_done_to_a_model_it_stays_consistent(case):
    note(repr(case))
    awkward_checks.run(case)


@given(cases(TASKS))
@settings(max_examples=max(DRAWS // 10, 1), deadline=None, derandomize=True, database=None)
def test_so_do_models_of_values_and_of_novelty(case):
    note(repr(case))
    awkward_checks.run(case)


@given(cases(ODD))
@settings(max_examples=max(DRAWS // 10, 1), deadline=None, derandomize=True, database=None)
def test_odd_targets_and_smooth_kernels(case):
    note(repr(case))
    awkward_checks.run(case)


@given(cases(ANSWERS))
@settings(max_examples=max(DRAWS // 6, 1), deadline=None, derandomize=True, database=None)
def test_whatever_a_model_is_asked(case):
    note(repr(case))
    awkward_checks.run(case)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("estimators", "seed"),
    [
        (
            ESTIMATORS,
            223239,
        ),  # finishing went on for ever: each round closed the gap by 1e-12 of it
        (ESTIMATORS, 416610),  # ... and rows that were not kept did not count as steps
        (TASKS, 89),  # the same with a budget
        (TASKS, 23393),  # kernel values of 1e-20 are not flat
        (ESTIMATORS, 224887),  # rounding errors outlived the rows that caused them
        (ESTIMATORS, 221815),
        (TASKS, 1328),  # ... and large coefficients
        (TASKS, 2470),
        (ESTIMATORS, 412146),  # a coefficient next to its bound by rounding decided on the bias
        (ESTIMATORS, 302440),  # rows with second parts met rows without
        (ESTIMATORS, 503453),  # examples came and went for ever: rounding exceeded the tolerance
        (ODD, 503071),  # a sixth of the targets was large, and said how exact all others are
        (ODD, 884297),  # ... one of nine, far beyond what C can reach
        (ODD, 3001512),  # the rounding errors of a far row were all that gradients of others had
        # All rows of a window were forgotten, and a class that had none was probable.
        (ANSWERS, 97),
        (ANSWERS, 10415),  # after rows were forgotten, rounding brought in another
        (ANSWERS, 1987),  # a copy of a model without rows lost the second part of its next far row
        (ANSWERS, 7000251),  # all that counted was forgotten, and the file could not be read
        (ODD, 2000552),  # a model of one zero row had gradients of 1e-30 that were not zero
    ],
)
def test_draws_that_failed_once(estimators, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        awkward_checks.run(build(Chooser(seed), estimators))
