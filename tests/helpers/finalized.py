"""Ctrl-C where Python drops exceptions."""

import signal


class Finalized:
    """A cycle whose finalizer, run by the garbage collector, finds that Ctrl-C has been pressed."""

    def __init__(self, number=signal.SIGINT):
        self.cycle, self.number = self, number

    def __del__(self):
        signal.raise_signal(self.number)
