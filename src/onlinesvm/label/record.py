"""The state that results from a journal: current labels, and what can be undone.

It changes only by ``Record.apply(entry)``, whether an entry was just written or is read when a
session starts again: both give the same record, and the same model.

    kind      meaning
    class     a class was added (label)
    label     the item has this label
    aside     the label is unknown; not asked about again
    later     comes back after ``LATER`` questions
    front     items to ask about first (data: their ids)
    undo      the annotator's last action that was not undone is undone
    redo      the last undone action is applied again
    rename    a class has another name (data: from, to)
    merge     one class became part of another (data: from, to)
    import    the item has this label, from a file; without a label: cannot say

Entries that share a key are one action: undone together. What was imported is not undone.

Classes have numbers, in the order in which they appeared; the model learns numbers, so that a new name
changes nothing for it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import NamedTuple

from .errors import RefusedError
from .journal import Entry

LATER = 50
"""Questions after which an item that was put off comes back."""

RANDOM_EVERY = 10
"""One question in so many is random."""

ASKING = ("label", "random", "find", "overlap")
"""Modes in which one question is asked at a time."""

ANSWERS = ("label", "aside", "later", "import")
"""Kinds of entries that answer something."""

MOST_NAME = 200
"""Longest name of a class, in characters."""


JOINERS = "\u200c\u200d\u200e\u200f\u061c" + "".join(map(chr, range(0xE0020, 0xE0080)))
"""Characters without a shape of their own that words and emoji need: joiners, marks of direction, tags
of flags."""


class Given(NamedTuple):
    """One annotator's answer about an item; ``label`` is None for "cannot say"."""

    label: int | None
    seq: int
    mode: str
    note: str | None
    at: float
    target: int | None = None  # the class that was searched for


class Change(NamedTuple):
    """One item of an action, and what was before."""

    item: str
    annotator: str
    before: Given | None
    after: Given | None
    due_before: int | None
    due_after: int | None
    mode: str


@dataclass
class Action:
    """What one request has done: answers, or a change of classes."""

    seq: int
    key: str | None
    changes: list[Change] = field(default_factory=list)
    renamed: tuple[int, str, str] | None = None
    merged: tuple[int, int] | None = None

    @property
    def items(self) -> list[str]:
        """Items that were answered."""
        return [change.item for change in self.changes]


def checked_name(name: object) -> str:
    """The name of a class; raises ``RefusedError`` if invalid."""
    text = " ".join(str(name).split()) if isinstance(name, str) else ""
    text = unicodedata.normalize("NFC", text)  # two spellings that look alike are one class
    if not text.strip(JOINERS):
        raise RefusedError("A class needs a name.")
    if len(text) > MOST_NAME:
        raise RefusedError(
            f"The name of a class may have at most {MOST_NAME} characters; got {len(text):,}."
        )
    if not "".join(c for c in text if c not in JOINERS).isprintable():
        raise RefusedError("The name of a class contains characters that cannot be displayed.")
    return text


class Record:
    """Labels, classes and counts after a number of entries."""

    def __init__(self) -> None:
        self.seq = 0
        self.names: list[str] = []  # by number; those merged into others keep theirs
        self.counts: list[int] = []
        self.given: dict[str, dict[str, Given]] = {}
        self.labels: dict[str, int] = {}  # in the order in which items were answered first
        self.aside: dict[str, None] = {}
        self.later: dict[str, int] = {}  # item: question at which it is due
        self.front: dict[str, None] = {}
        self.randoms: dict[str, None] = {}  # labelled items that were asked about at random
        self.asked = 0  # questions answered one at a time
        self.answered = 0  # answers that were not undone
        self.curve: list[dict[str, float]] = []
        self.steps: dict[str, int] = {}  # entries of each annotator
        self.rebuilt = 0  # changes of ``labels`` other than one more at the end
        self._into: dict[int, int] = {}  # class: class that it was merged into
        self._numbers: dict[str, int] = {}
        self._done: dict[str, list[Action]] = {}
        self._undone: dict[str, list[Action]] = {}

    # -- classes --------------------------------------------------------------------------

    def resolve(self, number: int) -> int:
        """The class into which a class was merged, or itself."""
        while number in self._into:
            number = self._into[number]
        return number

    def number(self, name: str) -> int | None:
        """The number of a class; None if there is none of that name."""
        found = self._numbers.get(name)
        return None if found is None else self.resolve(found)

    def name(self, number: int) -> str:
        """The name of a class, as it is now."""
        return self.names[self.resolve(number)]

    def classes(self) -> list[int]:
        """Numbers of the classes that there are, in the order in which they appeared."""
        return [number for number in range(len(self.names)) if number not in self._into]

    def count(self, number: int) -> int:
        """Items with this label."""
        return self.tally().get(number, 0)

    def tally(self) -> dict[int, int]:
        """Items of each class that there is."""
        out = dict.fromkeys(self.classes(), 0)
        for number, n in enumerate(self.counts):
            out[self.resolve(number)] += n
        return out

    def _class(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
            self.counts.append(0)
        return self._numbers[name]

    # -- reading --------------------------------------------------------------------------

    def label_of(self, item: str) -> int | None:
        """The current class of an item."""
        found = self.labels.get(item)
        return None if found is None else self.resolve(found)

    def was_drawn_for(self, item: str, number: int) -> bool:
        """Whether an item was asked about at random, or because it is likely of this class."""
        return any(
            one.mode == "random" or (one.target is not None and self.resolve(one.target) == number)
            for one in self.given.get(item, {}).values()
        )

    def is_open(self, item: str) -> bool:
        """Whether there is no answer yet; items that were put off are open."""
        return item not in self.labels and item not in self.aside

    def last_actions(self, annotator: str, n: int) -> list[Action]:
        """The last actions of an annotator that were not undone, the latest first."""
        return self._done.get(annotator, [])[: -n - 1 : -1]

    def can_undo(self, annotator: str) -> Action | None:
        """What ``undo`` would undo."""
        done = self._done.get(annotator)
        return done[-1] if done else None

    def can_redo(self, annotator: str) -> Action | None:
        """What ``redo`` would do again."""
        undone = self._undone.get(annotator)
        return undone[-1] if undone else None

    # -- changing -------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Apply one entry. Entries are applied in the order of their numbers."""
        self.seq = entry.seq
        self.steps[entry.annotator] = self.steps.get(entry.annotator, 0) + 1
        if entry.kind in ANSWERS:
            self._answer(entry)
        elif entry.kind == "class":
            self._class(entry.label or "")
        elif entry.kind == "front":
            self.front = dict.fromkeys([*entry.data["items"], *self.front])
        elif entry.kind == "undo":
            self._undo(entry.annotator)
        elif entry.kind == "redo":
            self._redo(entry.annotator)
        elif entry.kind in ("rename", "merge"):
            self._change_class(entry)

    def _action(self, entry: Entry) -> Action:
        """The action that an entry belongs to: a new one, unless it shares a key with the last."""
        done = self._done.setdefault(entry.annotator, [])
        if not (done and entry.key is not None and done[-1].key == entry.key):
            done.append(Action(entry.seq, entry.key))
            self._undone.pop(entry.annotator, None)
        return done[-1]

    def _answer(self, entry: Entry) -> None:
        item, who = entry.item or "", entry.annotator
        before, due = self.given.get(item, {}).get(who), self.later.get(item)
        after: Given | None = before
        due_after = None
        if entry.kind == "later":
            due_after = self.asked + 1 + LATER
        else:
            label = None if entry.label is None else self._class(entry.label)
            target = entry.data.get("target") if isinstance(entry.data, dict) else None
            searched = None if target is None else self._class(target)
            after = Given(label, entry.seq, entry.mode, entry.note, entry.at, searched)
        change = Change(item, who, before, after, due, due_after, entry.mode)
        if entry.kind != "import":
            self._action(entry).changes.append(change)
        if isinstance(entry.data, dict) and "curve" in entry.data:
            self.curve.append(entry.data["curve"])
        self._do(change)

    def _do(self, change: Change) -> None:
        self.front.pop(change.item, None)
        self._put(change.item, change.annotator, change.after)
        _put_due(self.later, change.item, change.due_after)
        self.asked += change.mode in ASKING
        self.answered += 1

    def _put(self, item: str, annotator: str, answer: Given | None) -> None:
        given = self.given.setdefault(item, {})
        given.pop(annotator, None)
        if answer is not None:
            given[annotator] = answer
        if not given:
            del self.given[item]
        latest = max(given.values(), key=lambda one: one.seq) if given else None
        self._settle(item, latest)

    def _settle(self, item: str, answer: Given | None) -> None:
        """Make an item's label that of this answer, and keep the counts."""
        old = self.labels.get(item)
        new = None if answer is None else answer.label
        if old is not None:
            self.counts[old] -= 1
        if new is not None:
            self.counts[new] += 1
            self.rebuilt += old is not None and self.resolve(old) != self.resolve(new)
            self.labels[item] = new
        elif old is not None:
            self.rebuilt += 1
            del self.labels[item]
        self.aside.pop(item, None)
        if answer is not None and new is None:
            self.aside[item] = None
        self.randoms.pop(item, None)
        if answer is not None and new is not None and answer.mode == "random":
            self.randoms[item] = None

    def _undo(self, annotator: str) -> None:
        if not self._done.get(annotator):
            return
        action = self._done[annotator].pop()
        self._undone.setdefault(annotator, []).append(action)
        for change in reversed(action.changes):
            self._put(change.item, change.annotator, change.before)
            _put_due(self.later, change.item, change.due_before)
            self.asked -= change.mode in ASKING
            self.answered -= 1
            if self.is_open(change.item):  # it is asked about again, at once
                self.front = {change.item: None, **self.front}
        if action.renamed:
            number, old, _ = action.renamed
            self._rename(number, old)
        if action.merged:
            del self._into[action.merged[0]]
            self.rebuilt += 1

    def _redo(self, annotator: str) -> None:
        if not self._undone.get(annotator):
            return
        action = self._undone[annotator].pop()
        self._done.setdefault(annotator, []).append(action)
        for change in action.changes:
            self._do(change)
        if action.renamed:
            number, _, new = action.renamed
            self._rename(number, new)
        if action.merged:
            self._into[action.merged[0]] = action.merged[1]
            self.rebuilt += 1

    def _change_class(self, entry: Entry) -> None:
        number, other = self.number(entry.data["from"]), self.number(entry.data["to"])
        if number is None or number == other:
            return
        action = self._action(entry)
        if entry.kind == "rename" and other is None:
            action.renamed = (number, self.names[number], entry.data["to"])
            self._rename(number, entry.data["to"])
        elif entry.kind == "merge" and other is not None:
            action.merged = (number, other)
            self._into[number] = other
            self.rebuilt += 1

    def _rename(self, number: int, name: str) -> None:
        if name in self._numbers:  # taken since, by a class that was added
            return
        del self._numbers[self.names[number]]
        self.names[number] = name
        self._numbers[name] = number


def _put_due(later: dict[str, int], item: str, due: int | None) -> None:
    if due is None:
        later.pop(item, None)
    else:
        later[item] = due
