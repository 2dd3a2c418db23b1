"""``fit_stream``: an estimator learns from a file, a folder, a stream or arrays, block by block."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from .reader import BLOCK_ROWS, Reader
from .training import Progress, StreamSettings, Training

Callback = Callable[[Progress], Any]


def fit_stream(
    estimator: Any,
    source: Any,
    *,
    epochs: int = 1,
    batch_rows: int = BLOCK_ROWS,
    shuffle_buffer: int = 0,
    standardize: bool = False,
    seed: int = 0,
    time_limit: float | None = None,
    callbacks: Sequence[Callback] = (),
) -> Training:
    r"""Learn from a stream in constant memory, and measure the prequential error.

    Each block of rows is predicted before it is learned. The estimator's finishing step is run at
    the end, unless the time limit was reached or a callback stopped the run; in that case call
    ``training.estimator.finish()``.

    Parameters
    ----------
    estimator : estimator
        An estimator of this library; a fitted one continues to learn.
    source : Reader, str, path or binary file
        A reader, or anything that ``open_reader`` accepts.
    epochs : int, default=1
        Passes over the source; standard input allows one.
    batch_rows : int, default=2048
        Number of rows that are read, predicted and learned at a time.
    shuffle_buffer : int, default=0
        Number of rows in a buffer from which rows are drawn at random, for sorted files.
    standardize : bool, default=False
        Whether to scale the features by their running mean and variance (``training.scale``).
    seed : int, default=0
        Seed for the shuffle buffer.
    time_limit : float or None, default=None
        Seconds after which to stop, at the end of a block.
    callbacks : sequence of callables, default=()
        Called after each block with a ``Progress``; one that returns True ends the run.

    Returns
    -------
    training : Training
        The run: ``training.estimator``, ``training.progress()``, ``training.finished``.

    See Also
    --------
    onlinesvm.open_reader : Opens a file or standard input.
    onlinesvm.streams.MemoryReader : Reads arrays.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from onlinesvm import LASVMClassifier, fit_stream
    >>> rng = np.random.default_rng(0)
    >>> lines = [f"{int(a * b > 0)} 1:{a:.3f} 2:{b:.3f}" for a, b in rng.normal(size=(4000, 2))]
    >>> source = io.BytesIO("\n".join(lines).encode())
    >>> training = fit_stream(LASVMClassifier(C=10), source, batch_rows=500)
    >>> training.rows, training.finished, bool(training.progress().error < 0.1)
    (4000, True, True)
    """
    if not isinstance(source, Reader):
        from .readers import open_reader

        source = open_reader(os.fspath(source) if isinstance(source, os.PathLike) else source)
    settings = StreamSettings(epochs, batch_rows, shuffle_buffer, standardize, seed)
    training = Training(estimator, source, settings)
    end = float("inf") if time_limit is None else time.monotonic() + time_limit
    for progress in training.steps():
        if any([callback(progress) is True for callback in callbacks]) or time.monotonic() > end:
            return training
    training.finish()
    return training
