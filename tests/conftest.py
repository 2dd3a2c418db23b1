"""Fixtures and settings shared by all tests."""

import os
import random
import signal
from pathlib import Path

# A shell lets its background jobs ignore Ctrl-C, and processes that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers fill the cores already. Threads of BLAS and OpenMP beside them wait by spinning: two workers
# that both grew scikit-learn's trees kept each other from the cores for minutes. OpenMP may have its
# threads, which wait asleep. This must be set before NumPy is imported.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pytest
from compile_once import shared_folder
from hypothesis import HealthCheck, settings

from onlinesvm.core.runtime.compiling.sharing import share_compilation

# Compiling a loop inside the first example would trip any deadline; a run that is the same every
# time is worth more to a shared branch than a few more random examples.
settings.register_profile(
    "house",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", parent=settings.get_profile("house"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


# Files whose tests wait for other processes. Last of all they would keep one worker waiting for the
# other; as the first ones they run beside the rest.
FIRST = (
    "test_startup.py", "test_commands.py", "test_streams.py", "test_end_to_end.py",
    "test_svc_parity_cases.py", "test_browser.py", "test_server.py", "test_killing.py",
)  # fmt: skip


def pytest_collection_modifyitems(items) -> None:
    items.sort(key=lambda item: item.path.name not in FIRST)


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        share_compilation(shared_folder(tmp_path_factory) / "compiling")


@pytest.fixture(autouse=True)
def _random_seed() -> None:
    """What draws from the global generators draws the same in every order of the tests."""
    seed = int(os.environ.get("ONLINESVM_TEST_SEED", "0"))
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the generator that scikit-learn uses without a seed


@pytest.fixture
def short_race(monkeypatch) -> None:
    """AutoSVM begins with one candidate per kernel, and scores in two folds: a third of the time.

    For tests that do not ask which settings win. Every part of a fit is run all the same; races at full
    length are run in ``tests/auto``.
    """
    from onlinesvm.auto import race
    from onlinesvm.auto.candidates import first_settings, kernels

    def few(is_regression):
        found = first_settings(is_regression)
        return [next(s for s in found if s.kernel == kernel) for kernel in kernels()]

    monkeypatch.setattr(race, "first_settings", few)
    monkeypatch.setattr(race, "FOLDS", 2)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the papers' data sets; a test that asks for it is skipped without one."""
    folder = os.environ.get("ONLINESVM_DATA")
    if not folder:
        pytest.skip("ONLINESVM_DATA names no data folder")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"ONLINESVM_DATA names {folder!r}, which is not a folder")
    return path
