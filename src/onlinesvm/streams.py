"""Learning from files, standard input and other sources that do not fit into memory.

``fit_stream`` learns from any reader. ``open_reader`` makes one for a file, ``MemoryReader`` for
arrays; a subclass of ``Reader`` with a method ``pieces`` reads from anywhere else.
"""

from .stream.blocks import Block
from .stream.fitting import fit_stream
from .stream.memory import MemoryReader
from .stream.reader import Reader
from .stream.readers import open_reader
from .stream.training import Progress, StreamSettings, Training

__all__ = [
    "Block",
    "MemoryReader",
    "Progress",
    "Reader",
    "StreamSettings",
    "Training",
    "fit_stream",
    "open_reader",
]
