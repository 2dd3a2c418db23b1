"""A pytest plugin: LASVM trained to the end in the place of scikit-learn's SVC, SVR and OneClassSVM.

For scikit-learn's own tests of these classes, run where they are installed: ``pytest -p svc_swapped``.
Three classes or more are learned one-vs-one, as there. Tolerances are wider, unless the environment variable
SVC_SWAPPED is ``own``: then they are scikit-learn's own.
"""

import inspect
import os

import numpy as np
import pytest
from sklearn import svm
from svc_differences import reason_of

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor

ATOL, RTOL = 2e-2, 1e-2


def in_the_place_of(name, ours):
    """A class of this name that is ``ours`` with other defaults: trained to the end, one-vs-one."""
    defaults = {"epochs": "converge"} | ({"decision": "ovo"} if name == "SVC" else {})

    def begin(self, **settings):
        ours.__init__(self, **defaults | settings)

    begin.__signature__ = inspect.signature(ours.__init__)
    return type(name, (ours,), {"__init__": begin})


def widened(check):
    """A comparison of numpy.testing, of numbers that are not whole up to ATOL and RTOL."""
    close = np.testing.assert_allclose

    def compare(actual, desired, *more, **settings):
        if "f" in (np.asarray(actual).dtype.kind, np.asarray(desired).dtype.kind):
            return close(actual, desired, atol=ATOL, rtol=RTOL)
        return check(actual, desired, *more, **settings)

    return compare


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own tests have by default."""
    return 42


svm.SVC = in_the_place_of("SVC", LASVMClassifier)
svm.SVR = in_the_place_of("SVR", LASVMRegressor)
svm.OneClassSVM = in_the_place_of("OneClassSVM", LASVMOneClass)
IS_WIDER = os.environ.get("SVC_SWAPPED") != "own"
if IS_WIDER:
    exactly = pytest.approx
    pytest.approx = lambda expected, **_: exactly(expected, abs=2e-3, rel=RTOL)
    wide = {
        name: widened(getattr(np.testing, name))
        for name in (
            "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal",
        )
    }  # fmt: skip
    for name, check in wide.items():
        setattr(np.testing, name, check)


def pytest_terminal_summary(terminalreporter):
    """The cases that are not passed, and why."""
    cases = [report.nodeid.split("::", 1)[1] for report in terminalreporter.stats.get("failed", ())]
    passed = len(terminalreporter.stats.get("passed", ()))
    terminalreporter.section("in the place of SVC, SVR and OneClassSVM")
    terminalreporter.line(f"{passed} of {passed + len(cases)} cases pass")
    for case in cases:
        why = reason_of(case) or ("UNEXPECTED" if IS_WIDER else "tolerance")
        terminalreporter.line(f"{case}: {why}")
