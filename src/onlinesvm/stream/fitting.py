"""``fit_stream``: an estimator learns from a file, a folder, a stream or arrays, block by block."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..core.runtime.interrupts import Deadline, TimeUp
from ..estimators.base import trained_of
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
    the end, also where the time limit ends the run early; a run that a callback has stopped is left
    as it is, so call ``training.estimator.finish()``.

    Parameters
    ----------
    estimator : estimator
        An estimator of this library; a fitted one continues to learn.
    source : Reader, str, path or binary file
        A reader, or anything that ``open_reader`` accepts.
    epochs : int, default=1
        Passes over the source; standard input allows one. Each looks at the same examples again, as
        ``fit(epochs=...)`` of the LASVM classes does. With ``window``, ``budget``, ``half_life`` or a
        ``selection``, and for other algorithms, a row that is read N times counts as N examples.
    batch_rows : int, default=2048
        Number of rows that are read, predicted and learned at a time.
    shuffle_buffer : int, default=0
        Number of rows in a buffer from which rows are drawn at random, for sorted files.
    standardize : bool, default=False
        Whether to scale the features by their running mean and variance (``training.scale``).
    seed : int, default=0
        Seed for the shuffle buffer.
    time_limit : float or None, default=None
        Seconds after which to stop, at the end of a block and early enough for the finishing step.
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
    begin = time.monotonic()
    for progress in training.steps():
        if any([callback(progress) is True for callback in callbacks]):
            return training
        spent = time.monotonic() - begin
        if time_limit is not None and spent + _to_finish(estimator, spent) >= time_limit:
            finished = _finish_within(estimator, time_limit - spent)
            _warn_of_time_limit(time_limit, training.rows, finished)
            return training
    training.finish()
    return training


def _to_finish(estimator: Any, spent: float) -> float:
    """Seconds that the finishing step takes, about; at most as many as were spent."""
    trained = trained_of(estimator)
    return 0.0 if trained is None else spent * min(trained.finishing_share(), 1.0)


def _finish_within(estimator: Any, seconds: float) -> bool:
    """The finishing step, for so many seconds at most. Returns whether it was completed."""
    if not hasattr(estimator, "finish"):
        return True
    try:
        with Deadline(seconds) as deadline:
            deadline.arm()
            estimator.finish()
    except TimeUp:
        return False
    return True


def _warn_of_time_limit(seconds: float, rows: int, finished: bool) -> None:
    rest = "" if finished else " There was no time left for the finishing step: call finish()."
    warnings.warn(
        f"fit_stream stopped after time_limit={seconds} seconds: {rows} rows were learned.{rest} "
        "training.steps() continues from there.",
        ConvergenceWarning,
        stacklevel=3,
    )
