"""Ctrl-C that falls where Python drops exceptions: it is not lost, and the model is saved."""

import contextlib
import gc
import importlib
import signal
import sys
import time

import pytest
from click.testing import CliRunner
from finalized import Finalized

from onlinesvm.cli import main
from onlinesvm.cli.signals import AGAIN, Interrupts, StopReading, _come_again, never_dropped

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no signals to send")

PATIENCE = 20
"""Seconds after which a signal is lost."""


def press(number=signal.SIGINT):
    """A signal in a finalizer, then a wait that only a signal ends."""
    Finalized(number)
    gc.collect()
    time.sleep(PATIENCE)


class SilentReader:
    def __init__(self, number):
        self.number = number

    def blocks(self):
        press(self.number)
        yield "block"


def test_ctrl_c_in_a_finalizer_ends_a_command(monkeypatch, tmp_path):
    monkeypatch.setattr("onlinesvm.cli.demo.run", lambda *_: press())
    done = CliRunner().invoke(main, ["demo", "--no-plots"], prog_name="onlinesvm")
    assert done.exit_code == 130
    assert done.output.strip() == "Stopped by Ctrl-C; unfinished work was not saved."


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_finalizer_ends_the_wait_for_rows(number):
    """As the first signal, after which the model is saved; a second one would not save it."""
    reader, begin = SilentReader(number), time.monotonic()
    with never_dropped(), Interrupts() as interrupts:
        interrupts.watch(reader)
        with pytest.raises(StopReading):
            next(reader.blocks())
    assert interrupts.number == number
    assert time.monotonic() - begin < PATIENCE


def test_a_second_ctrl_c_ends_the_finishing_step_at_once():
    with never_dropped(), Interrupts() as interrupts:
        interrupts.at_once()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_other_errors_in_finalizers_are_reported_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))

    class Broken:
        def __del__(self):
            raise ValueError

    with never_dropped():
        Broken()
        gc.collect()
    assert told == [ValueError]


class Swallowing:
    """Where a finder of modules is asked, Ctrl-C comes, and whatever is raised is dropped."""

    def find_spec(self, name, path=None, target=None):
        if name != "module_that_asks":
            return
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGINT)


def import_and_wait():
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("module_that_asks")
    time.sleep(PATIENCE)


@pytest.mark.parametrize("held", [contextlib.nullcontext, Interrupts])
def test_ctrl_c_in_an_import_comes_after_it(monkeypatch, held):
    """Compiled modules that import others clear every exception, or raise ImportError in its place."""
    monkeypatch.setattr(sys, "meta_path", [Swallowing()])
    begin = time.monotonic()
    with never_dropped(), held() as interrupts:
        if interrupts is not None:
            interrupts.at_once()
        with pytest.raises(KeyboardInterrupt):
            import_and_wait()
    assert time.monotonic() - begin < PATIENCE


def test_a_signal_that_comes_after_the_command_is_not_sent():
    with never_dropped():
        _come_again(signal.SIGINT)
    time.sleep(3 * AGAIN)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
