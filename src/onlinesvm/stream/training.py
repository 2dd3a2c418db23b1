"""Learning from a stream of blocks: predict, learn, count, and resume an interrupted run.

Each block is predicted before it is learned: the share of wrong predictions is the *prequential
error*. Everything that determines how a run continues is in ``Training.state()``, together with the
estimator: pass, row, counts, scale of the features, shuffle buffer. It contains no times, so that a
run that was interrupted and resumed ends with the same bytes as one that was not.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..estimators.base import arrived, trained_of
from .blocks import Block
from .errors import StreamError
from .learning import judge, located, teach
from .reader import BLOCK_ROWS, Reader
from .shuffling import ShuffleBuffer
from .standardising import RunningScale

STATE_VERSION = 1

FIRST_PART = 256
"""Number of rows of the first block that are learned before others are predicted."""


@dataclass(frozen=True)
class StreamSettings:
    """How a stream is divided, shuffled and scaled; with the data, this determines the result.

    Parameters
    ----------
    epochs : int, default=1
        Passes over the source: see ``fit_stream``.
    batch_rows : int, default=2048
        Number of rows that are read, predicted and learned at a time.
    shuffle_buffer : int, default=0
        Number of rows in a buffer from which rows are drawn at random; 0: no buffer.
    standardize : bool, default=False
        Whether to scale the features by their running mean and variance.
    seed : int, default=0
        Seed for the shuffle buffer.
    """

    epochs: int = 1
    batch_rows: int = BLOCK_ROWS
    shuffle_buffer: int = 0
    standardize: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Progress:
    """State of a run after a block.

    Parameters
    ----------
    rows : int
        Rows learned so far, over all passes.
    epoch : int
        Number of the current pass, counted from 1.
    n_judged : int
        Number of rows that were predicted before they were learned.
    loss : float
        Sum of their losses: the number of wrong predictions, or the sum of absolute errors (of
        quantiles: pinball losses). Of several targets or quantiles, the mean counts.
    block_error : float or None
        Mean loss on the last block; None if it was not predicted.
    n_support : int
        Number of support vectors.
    delta : float or None
        LASVM's delta: how far the current support set is from its optimum.
    memory : int
        Bytes of memory of this process.
    n_drifts : int or None, default=None
        Number of drifts detected so far; None: no drift detection.
    """

    rows: int
    epoch: int
    n_judged: int
    loss: float
    block_error: float | None
    n_support: int
    delta: float | None
    memory: int
    n_drifts: int | None = None

    @property
    def error(self) -> float | None:
        """Prequential error: see ``learning.measure_of``."""
        return self.loss / self.n_judged if self.n_judged else None


class Training:
    """One run over a stream, which can be saved between any two blocks.

    ``fit_stream`` makes one and runs it to the end; ``steps`` runs it block by block.

    Parameters
    ----------
    estimator : estimator
        The estimator that learns.
    reader : Reader
        What it learns from.
    settings : StreamSettings or None, default=None
        How the stream is divided, shuffled and scaled; None: ``StreamSettings()``.

    See Also
    --------
    onlinesvm.streams.fit_stream : Makes one and runs it to its end.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.streams import MemoryReader, StreamSettings, Training
    >>> reader = MemoryReader(*load_digits(return_X_y=True))
    >>> training = Training(
    ...     LASVMClassifier(C=10, gamma=0.001), reader, StreamSettings(batch_rows=1000)
    ... )
    >>> [progress.rows for progress in training.steps()]
    [1000, 1797]
    >>> training.finish()
    """

    def __init__(self, estimator: Any, reader: Reader, settings: StreamSettings | None = None):
        self.estimator, self.reader = estimator, reader
        self.settings = settings or StreamSettings()
        self.epoch, self.row = 0, 0
        self.rows, self.n_judged, self.loss = 0, 0, 0.0
        self.finished = False
        self.arrived_before: int | None = None
        self.learned_in_pass = 0
        self.first_rows: int | None = None
        self.scale: RunningScale | None = None
        self.buffer = ShuffleBuffer(self.settings.shuffle_buffer, self.settings.seed)
        if self.settings.epochs > 1 and not reader.can_repeat:
            raise StreamError(
                f"{reader.name} can be read only once; use one pass (epochs 1), or a file."
            )

    # -- learning -------------------------------------------------------------------------

    def steps(self) -> Iterator[Progress]:
        """Learn block after block; the iteration may stop after any of them and continue later."""
        for block in self.prepared():
            yield self._learn(block)

    def prepared(self) -> Iterator[Block]:
        """Blocks of all passes, shuffled and scaled."""
        size = self.settings.batch_rows
        while self.epoch < self.settings.epochs:
            for block in self.reader.blocks(size, self.row):
                self.row = block.first + block.n
                if self.first_rows is None:
                    self.first_rows = checksum(block)
                self._measure(block)
                ready = self.buffer.push(block) if self.settings.shuffle_buffer else block
                if ready is not None:
                    yield self._scaled(ready)
            while (ready := self.buffer.pop(size)) is not None:
                yield self._scaled(ready)
            self.epoch, self.row, self.learned_in_pass = self.epoch + 1, 0, 0
            self.buffer.begin_again()

    def _scaled(self, block: Block) -> Block:
        if self.scale is None:
            return block
        return Block(self.scale.apply(block.X), block.y, block.first)

    def finish(self) -> None:
        """The algorithm's finishing step, once all passes are done."""
        if self.finished:
            return
        if not self.rows:
            raise StreamError(f"{self.reader.name} has no rows to learn from.")
        if hasattr(self.estimator, "finish"):
            self.estimator.finish()
        self.finished = True

    def _measure(self, block: Block) -> None:
        """Mean and variance: of the first pass, as later ones bring nothing new."""
        if not self.settings.standardize or self.epoch:
            return
        if self.scale is None:
            columns = getattr(self.reader, "columns", None)
            self.scale = RunningScale(None if columns is None else columns.numeric())
        with located(block, self.place):
            self.scale.update(block.X)

    def _learn(self, block: Block) -> Progress:
        n_judged, loss = self.n_judged, self.loss
        for part in [block] if self.rows else first_parts(block):
            self._judge(part)
            teach(self.estimator, part, self.place, self._seen_as(part))
            self.rows += part.n
            self.learned_in_pass += part.n
            if self.arrived_before is None and not self.epoch:
                known = arrived(self.estimator)
                self.arrived_before = None if known is None else known - self.learned_in_pass
        n_judged = self.n_judged - n_judged
        return self.progress((self.loss - loss) / n_judged if n_judged else None)

    def _seen_as(self, block: Block) -> int | None:
        """The number of arrival of the first row of a block that was learned in the first pass."""
        known = arrived(self.estimator)
        if not self.epoch or self.arrived_before is None or known is None:
            return None
        first = self.arrived_before + self.learned_in_pass
        return first if first + block.n <= known else None  # else the source has grown

    def _judge(self, block: Block) -> None:
        """Count the loss on rows that were not learned yet, once anything was learned."""
        if not self.rows:
            return
        loss = judge(self.estimator, block, self.place)
        if loss is not None:
            self.loss += loss
            self.n_judged += block.n

    def progress(self, block_error: float | None = None) -> Progress:
        """The current progress."""
        support = getattr(self.estimator, "n_support_", np.zeros(0))
        return Progress(
            self.rows, self.epoch + 1, self.n_judged, self.loss, block_error,
            int(np.sum(support)), delta_of(self.estimator), memory_in_use(),
            getattr(self.estimator, "n_drifts_", None),
        )  # fmt: skip

    def place(self, row: int) -> str:
        """Description of the place of a row of a block."""
        if self.settings.shuffle_buffer:
            return f"a row of {self.reader.name}"
        return self.reader.place(row)

    # -- saving and going on ----------------------------------------------------------------

    def preprocessing(self) -> dict[str, Any]:
        """What turns rows of the source into rows of the model."""
        found: dict[str, Any] = {"schema": self.reader.schema}
        if self.scale is not None:
            found["standardize"] = self.scale.to_json()
        return found

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON data and arrays from which ``resume`` continues, together with the estimator."""
        facts = {
            "state_version": STATE_VERSION,
            "settings": asdict(self.settings),
            "finished": self.finished,
            "epoch": self.epoch,
            "row": self.row,
            "rows": self.rows,
            "n_judged": self.n_judged,
            "loss": self.loss,
            "first_rows": self.first_rows,
            "arrived_before": self.arrived_before,
            "learned_in_pass": self.learned_in_pass,
        }
        if not self.settings.shuffle_buffer:
            return facts, {}
        facts["buffer"], arrays = self.buffer.state()
        return facts, {f"buffer.{name}": values for name, values in arrays.items()}

    def resume(
        self,
        facts: dict[str, Any],
        arrays: dict[str, np.ndarray],
        preprocessing: dict[str, Any],
        new_rows: bool = False,
    ) -> None:
        """Continue a run from its state. The estimator is the one saved with it.

        The rows that were learned are skipped, unless the source has only ``new_rows``.
        """
        if facts.get("state_version") != STATE_VERSION:
            raise StreamError(
                "The file has no state of a stream that could be resumed; train again without "
                "--resume."
            )
        self.finished = bool(facts["finished"])
        self.epoch, self.row, self.rows = (int(facts[k]) for k in ("epoch", "row", "rows"))
        self.n_judged, self.loss = int(facts["n_judged"]), float(facts["loss"])
        self.first_rows = facts.get("first_rows")
        # Files of earlier versions have neither: then rows of later passes count as others.
        self.arrived_before = facts.get("arrived_before")
        self.learned_in_pass = int(facts.get("learned_in_pass", 0))
        if "buffer" in facts:
            parts = {k.removeprefix("buffer."): v for k, v in arrays.items() if "buffer." in k}
            self.buffer.restore(facts["buffer"], parts)
        if "standardize" in preprocessing:
            self.scale = RunningScale.from_json(preprocessing["standardize"])
        if new_rows:
            self.finished, self.first_rows, self.epoch, self.row = False, None, 0, 0
            self.arrived_before, self.learned_in_pass = None, 0
        self._check_first_rows()

    def _check_first_rows(self) -> None:
        """Refuse to resume with another source, if it can be read twice."""
        if self.first_rows is None or self.finished or not self.reader.can_repeat:
            return
        block = next(self.reader.blocks(self.settings.batch_rows))
        if checksum(block) != self.first_rows:
            raise StreamError(
                f"{self.reader.name} does not start with the rows with which the run was "
                "started; name the same source and options, add --new-rows if its rows come "
                "after those, or leave out --resume to start again."
            )


def first_parts(block: Block, first: int = FIRST_PART) -> list[Block]:
    """The first block in parts, each as long as all before it, so that most of it is predicted.

    ``first``: number of rows of the first part.
    """
    ends = [0]
    while ends[-1] < block.n:
        ends.append(min(block.n, max(first, 2 * ends[-1])))
    return [block.part(slice(begin, end)) for begin, end in zip(ends, ends[1:], strict=False)]


def checksum(block: Block) -> int:
    """A number by which the rows and labels of a block are recognised."""
    X, y = block.X, block.y
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices.astype(np.int64)]
    found = 0
    for part in parts:
        found = zlib.crc32(part.tobytes(), found)
    if y is not None:
        found = zlib.crc32("\n".join(map(str, y.tolist())).encode("utf-8", "replace"), found)
    return found


def delta_of(estimator: Any) -> float | None:
    """LASVM's delta: how far the current support set is from its optimum."""
    trained = trained_of(estimator)
    return None if trained is None else trained.gap()


def memory_in_use() -> int:
    """Bytes of memory of this process; where that is not known, the most it ever had, or 0."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return peak_memory()


def peak_memory() -> int:
    """The most bytes of memory that this process ever had; 0 where that is not known."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak) * (1 if sys.platform == "darwin" else 1024)
