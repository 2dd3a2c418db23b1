"""The quick form of a benchmark: little generated data in the place of every set, few repetitions.

It shows that everything runs, not how fast or how well; it needs no data folder, and its results go
to a folder of their own, so that they are never taken for measurements. :func:`quick_form` switches
it on for a ``with`` block; :func:`few`, :func:`results`, :func:`generated_rows` ask for it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results"
ROWS = 300

Item = TypeVar("Item")


@dataclass
class _State:
    folder: Path = RESULTS
    rows: int | None = None


_state = _State()


@contextmanager
def quick_form(folder: Path = RESULTS / "quick", rows: int = ROWS) -> Iterator[None]:
    """Generated sets of at most `rows` rows, results into `folder`."""
    before = _state.folder, _state.rows
    _state.folder, _state.rows = folder, rows
    try:
        yield
    finally:
        _state.folder, _state.rows = before


def set_options(argv: list[str] | None, about: str, sets: Collection[str], rows: int) -> Namespace:
    """The options of a benchmark over named sets: ``sets``, all by default, ``rows`` and ``quick``."""
    parser = ArgumentParser(description=about)
    parser.add_argument("sets", nargs="*", metavar="set", help=f"of {', '.join(sets)}")
    parser.add_argument("--rows", type=int, default=rows, help=f"rows of each set ({rows:,})")
    parser.add_argument("--quick", action="store_true", help="little generated data")
    given = parser.parse_args(argv)
    unknown = [name for name in given.sets if name not in sets]
    if unknown:
        parser.error(f"no set {unknown[0]!r}; there are {', '.join(sets)}")
    given.sets = given.sets or list(sets)
    return given


def results() -> Path:
    """The folder where measurements and pictures go; made if it is not there."""
    _state.folder.mkdir(parents=True, exist_ok=True)
    return _state.folder


def generated_rows() -> int | None:
    """Rows of the generated sets in the quick form; None in the ordinary one."""
    return _state.rows


def few(items: Sequence[Item], count: int = 1) -> Sequence[Item]:
    """The first `count` items in the quick form, else all of them."""
    return items[:count] if _state.rows is not None else items


TEN_CLASSES = ("mnist", "usps")


def stand_in(name: str, seed: int) -> dict[str, np.ndarray]:
    """Generated arrays in the place of a file: ten normal classes for digits, two for others."""
    n, rng = _state.rows or ROWS, np.random.default_rng(seed)
    classes = 10 if name in TEN_CLASSES else 2
    centres = 1.5 * np.random.default_rng(len(name)).standard_normal((classes, 20))
    label = np.arange(2 * n) % classes
    X = (centres[label] + rng.standard_normal((2 * n, 20))).astype(np.float32)
    y = label if classes > 2 else np.where(label, 1, -1).astype(np.int8)
    out = {"X": X[:n], "y": y[:n], "X_train": X[:n], "y_train": y[:n]}
    scale = {"uci_mean": np.zeros(20), "uci_std": np.ones(20)}
    return out | {"X_test": X[n:], "y_test": y[n:]} | scale
