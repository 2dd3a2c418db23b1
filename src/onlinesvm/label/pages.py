"""The open pages and the item that each of them shows, so that no two show the same item.

All of it is in memory only. Nothing is lost with a page, or if the server is killed: the question
is computed again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..active.learner import ActiveLearner
from .queue import Mode

ABANDONED = 1800.0
"""Seconds without a request after which the item of a page is free for others."""


class Who(NamedTuple):
    """One open page: the annotator, and an id for each page of an annotator."""

    annotator: str
    client: str


class Claim(NamedTuple):
    """An item that a page shows, why it was chosen, and the state that it was chosen in."""

    number: int
    why: str
    state: tuple[Any, ...]
    belief: dict[str, Any] | None


class Moment(NamedTuple):
    """The state of a page for which something was computed ahead."""

    seq: int  # the last entry of the journal
    taken: set[int]  # items on other pages
    mode: Mode
    number: int  # the item that the page shows


class Ahead(NamedTuple):
    """What was computed for one possible answer before it was given."""

    moment: Moment
    learner: ActiveLearner
    following: tuple[int, str] | None


@dataclass
class Page:
    """What the session remembers of an open page; found again if it is lost."""

    mode: Mode = field(default_factory=Mode)
    current: Claim | None = None
    shown: dict[int, Claim] = field(default_factory=dict)
    ahead: dict[int, Ahead] = field(default_factory=dict)
    ready: Ahead | None = None
    seen: float = 0.0


class Pages:
    """All open pages."""

    def __init__(self) -> None:
        self._pages: dict[Who, Page] = {}

    def of(self, who: Who) -> Page:
        """The page, which has just asked for something."""
        page = self._pages.setdefault(who, Page())
        page.seen = time.monotonic()
        return page

    def taken(self, who: Who) -> set[int]:
        """Items on other pages, except pages without recent requests."""
        since = time.monotonic() - ABANDONED
        pages = [page for other, page in self._pages.items() if other != who]
        return {number for page in pages if page.seen >= since for number in page.shown}

    def leave(self, who: Who) -> None:
        """A page was closed: its item is free for others."""
        self._pages.pop(who, None)
