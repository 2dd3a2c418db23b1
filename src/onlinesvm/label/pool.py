"""The items of a session: which are near copies of one another, and which are still open.

A group of near copies is asked about once, by its leader, the first of them; an answer about any of
them closes the group.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .errors import RefusedError
from .record import Record
from .sources import Source

Lesson = tuple[int, int]
"""Number of an item and of its class."""


class Pool:
    """Numbers, ids and groups of the items of a source."""

    def __init__(self, source: Source, group: np.ndarray):
        self.source, self.group = source, group
        self.number = {name: i for i, name in enumerate(source.ids)}
        self.open = group == np.arange(len(group))  # leaders of groups without an answer
        self.n_groups = self.n_open = int(self.open.sum())
        self._members: dict[int, list[int]] = {}
        for i in np.flatnonzero(~self.open).tolist():
            self._members.setdefault(int(group[i]), [int(group[i])]).append(i)

    def __len__(self) -> int:
        return len(self.group)

    def members(self, number: int) -> list[int]:
        """The item and its near copies."""
        leader = int(self.group[number])
        return self._members.get(leader, [leader])

    def check(self, number: object) -> int:
        """The number of an item; raises ``RefusedError`` if invalid."""
        if not isinstance(number, int) or isinstance(number, bool):
            raise RefusedError("An item must be given by its number.")
        if not 0 <= number < len(self):
            raise RefusedError(f"There is no item {number}.")
        return number

    def refresh(self, record: Record, item: str) -> None:
        """Update whether an item's group is open."""
        number = self.number.get(item)
        if number is None:
            return
        leader = int(self.group[number])
        is_open = all([record.is_open(self.source.ids[m]) for m in self.members(leader)])
        self.n_open += int(is_open) - int(self.open[leader])
        self.open[leader] = is_open

    def is_free(self, number: int) -> bool:
        """Whether neither the item nor a near copy of it was answered."""
        return bool(self.open[self.group[number]])

    def free(self, record: Record, taken: set[int]) -> np.ndarray:
        """Leaders of the groups that may be asked about now; those put off are left out."""
        is_free = self.open.copy()
        later = [self.number[item] for item in record.later if item in self.number]
        is_free[self.group[np.array([*later, *taken], np.int64)]] = False
        return np.flatnonzero(is_free)

    def lessons(self, record: Record, items: Iterable[tuple[str, int]]) -> list[Lesson]:
        """Labelled items with their classes; items that no longer exist are left out."""
        found = ((self.number.get(item), label) for item, label in items)
        return [(i, record.resolve(label)) for i, label in found if i is not None]
