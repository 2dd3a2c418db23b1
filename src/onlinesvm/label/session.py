"""A labelling session: asks, stores answers, learns them. It is independent of HTTP.

    question(who, mode)      what to ask next; changes nothing that is kept
    answer(...)              check, write to the journal, learn
    undo(who), redo(who)     entries of the journal like all others

The order is always the same: an answer is on the disk before anything in memory changes, and memory
changes only by reading the journal (``_catch_up``). A session that was killed and opened again is
therefore the same session, with the same model and the same question. One lock serialises the calls
of several threads; what is computed ahead is computed without it, on copies, so that no answer waits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import islice
from typing import Any

import numpy as np

from ..active.learner import ActiveLearner
from .choosing import drawn
from .errors import RefusedError
from .features import Prepared
from .journal import Draft, Entry, Journal
from .measures import cohen_kappa
from .overview import Overview
from .pages import Ahead, Claim, Moment, Page, Pages, Who
from .pool import Pool
from .queue import Asking, Mode, Queue
from .record import Action, Record, checked_name
from .sources import Source
from .teaching import Follower, predicted

GRID = 24
"""Items of a grid."""

GRID_SAMPLE = 4096
"""Items among which those of a grid are found."""

MOST_AHEAD = 10
"""Possible answers that are learned before one is given."""

PROBE = 500
"""Number of items whose predictions show whether the model still changes."""

MOST_NOTE = 1000
"""Longest note, in characters."""

MOST_ITEMS = 5000
"""Items in one request, at most."""


class Session:
    """One source, one journal, one model."""

    def __init__(
        self,
        source: Source,
        prepared: Prepared,
        journal: Journal,
        classes: Sequence[str] = (),
        overlap: float = 0.0,
        seed: int = 0,
    ):
        self.source, self.journal = source, journal
        self.prepared = prepared
        self.record, self.pool = Record(), Pool(source, prepared.group)
        self._lock = threading.RLock()
        blank = ActiveLearner(prepared.estimator(), prepared.X, random_state=seed)
        self._model, self._tester = Follower(blank), Follower(blank, copies=False)
        self._queue = Queue(self.pool, self.record, overlap, seed)
        self._overview = Overview(self.pool, self.record, self._model, self._queue, prepared.X)
        self._learned, self._rebuilt = 0, 0  # labels taken in, and changes of earlier ones
        self._pages = Pages()
        sample = drawn(np.flatnonzero(self.pool.open), PROBE, self._queue.rng(0, "probe"))
        self._probe, self._probed = np.sort(sample), np.empty(0, np.int64)
        self._last_test: tuple[Any, tuple[list[int], np.ndarray, np.ndarray]] | None = None
        self._catch_up()
        self._add_classes(classes)

    def _add_classes(self, classes: Sequence[str]) -> None:
        names = [checked_name(name) for name in classes]
        new = [name for name in dict.fromkeys(names) if self.record.number(name) is None]
        if new:
            self.journal.append([Draft("class", "", label=name) for name in new])
            self._catch_up()

    @property
    def learner(self) -> ActiveLearner:
        """The current model."""
        return self._model.learner

    @contextmanager
    def reading(self) -> Iterator[Overview]:
        """Views of the session at one moment."""
        with self._lock:
            self._catch_up()
            yield self._overview

    # -- following the journal ------------------------------------------------------------

    def _catch_up(self, prepared: ActiveLearner | None = None) -> None:
        """Apply the entries of the journal that are not in the record yet, and learn them."""
        for entry in self.journal.since(self.record.seq):
            self._apply(entry)
        self._learn(prepared)

    def _apply(self, entry: Entry) -> None:
        action: Action | None = None
        if entry.kind == "undo":
            action = self.record.can_undo(entry.annotator)
        elif entry.kind == "redo":
            action = self.record.can_redo(entry.annotator)
        self.record.apply(entry)
        for item in [entry.item] if entry.item else action.items if action else []:
            self.pool.refresh(self.record, item)

    def _learn(self, prepared: ActiveLearner | None) -> None:
        record = self.record
        if record.rebuilt != self._rebuilt:
            lessons = self.pool.lessons(record, record.labels.items())
            self._model.become(lessons)
        elif len(record.labels) > self._learned:
            latest = islice(reversed(record.labels.items()), len(record.labels) - self._learned)
            lessons = self.pool.lessons(record, reversed(list(latest)))
            self._model.add(lessons, prepared)
        self._learned, self._rebuilt = len(record.labels), record.rebuilt

    def _is_random(self, number: int) -> bool:
        return self.source.ids[number] in self.record.randoms

    # -- asking ---------------------------------------------------------------------------

    def question(self, who: Who, mode: str = "label", label: str | None = None) -> dict[str, Any]:
        """What a page shows next; the same until something changes."""
        with self._lock:
            self._catch_up()
            page = self._pages.of(who)
            page.mode = self._checked_mode(mode, label)
            claim = self._claim(who, page)
            if claim is None:
                return {"done": True, "seq": self.record.seq}
            copies = len(self.pool.members(claim.number)) - 1
            return {
                "done": False,
                "seq": self.record.seq,
                "item": self._overview.item(claim.number),
                "why": claim.why,
                "belief": claim.belief,
                "because": self._overview.because(claim.number, claim.belief),
                "copies": copies,
            }

    def panel(self, who: Who) -> dict[str, Any]:
        """Counts, unbiased accuracy and the last answers."""
        with self._lock:
            return self._overview.panel(who.annotator, self._pages.of(who).mode.label)

    def leave(self, who: Who) -> None:
        """A page was closed: its item is free for others."""
        with self._lock:
            self._pages.leave(who)

    def _checked_mode(self, mode: str, label: str | None) -> Mode:
        if mode == "label":
            return Mode()
        if mode != "find":
            raise RefusedError(f"There is no mode {mode!r}.")
        number = self.record.number(label or "")
        if number is None:
            raise RefusedError(f"There is no class {label!r}.")
        return Mode("find", number)

    def _claim(self, who: Who, page: Page) -> Claim | None:
        """The item of a page: the one that it shows, as long as nothing has changed for it."""
        state = (page.mode, self.record.steps.get(who.annotator, 0))
        held, ready = page.current, page.ready
        if held is not None and held.state == state and self._still_open(who, held):
            return held
        page.current = page.ready = None
        page.shown.clear()
        taken = self._pages.taken(who)
        if ready is not None and ready.moment[:3] == (self.record.seq - 1, taken, page.mode):
            found = ready.following
        else:
            asking = Asking(who.annotator, page.mode, self.record.asked, taken)
            found = self._queue.choose(asking, self.learner, self._model)
        if found is not None:
            belief = self._overview.belief(self.learner, found[0])
            page.current = Claim(*found, state, belief)
            page.shown[found[0]] = page.current
        return page.current

    def _still_open(self, who: Who, claim: Claim) -> bool:
        if claim.why == "overlap":
            return who.annotator not in self.record.given.get(self.source.ids[claim.number], {})
        return self.pool.is_free(claim.number)

    # -- answering ------------------------------------------------------------------------

    def answer(
        self,
        who: Who,
        number: Any,
        kind: str,
        label: Any,
        key: str,
        note: str = "",
        change: bool = False,
    ) -> None:
        """Store one answer and learn it. ``kind`` is "label", "aside" or "later"."""
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return
            number = self.pool.check(number)
            if kind not in ("label", "aside", "later"):
                raise RefusedError(f"Unknown kind of answer: {kind!r}.")
            if len(note) > MOST_NOTE:
                raise RefusedError(f"A note may have at most {MOST_NOTE} characters.")
            name = self._checked_label(label) if kind == "label" else None
            why, belief = self._why(who, number, change)
            data = self._about(who, why, number, name) if name else None
            item = self.source.ids[number]
            draft = Draft(kind, who.annotator, item, name, why, belief, note or None, data)
            ready = self._foreseen(who, number, name)
            self.journal.append([draft], key)
            self._catch_up(None if ready is None else ready.learner)
            self._pages.of(who).ready = ready

    def _checked_label(self, label: Any) -> str:
        name = checked_name(label)
        number = self.record.number(name)
        return name if number is None else self.record.name(number)

    def _why(self, who: Who, number: int, change: bool) -> tuple[str, Any]:
        """Why an item was asked about, and the model's prediction for it."""
        page = self._pages.of(who)
        claim = page.shown.get(number) or self._claim(who, page)
        if claim is not None and claim.number == number and self._still_open(who, claim):
            return ("label" if claim.why == "front" else claim.why), claim.belief
        given = self.record.given.get(self.source.ids[number], {})
        if not change and not self.pool.is_free(number) and who.annotator not in given:
            raise RefusedError("Another annotator has answered this item; nothing was changed.")
        if not change and number in self._pages.taken(who):
            raise RefusedError("Another page shows this item; nothing was changed.")
        return ("change" if given else "chosen"), self._overview.belief(self.learner, number)

    def _about(self, who: Who, why: str, number: int, name: str) -> dict[str, Any] | None:
        """What an answer says beside its label, for the accuracy and for what was found."""
        if why == "random":
            return self._measured(number, name)
        label = self._pages.of(who).mode.label
        return {"target": self.record.name(label)} if why == "find" and label is not None else None

    def _measured(self, number: int, name: str) -> dict[str, Any]:
        """Accuracy on random items of a model that has learned none of them."""
        items, found, now = self._test(number)
        labels = [self.record.label_of(self.source.ids[i]) for i in items]
        label = self.record.number(name)
        right = int((found == np.array([*labels, -2 if label is None else label])).sum())
        agreed = cohen_kappa(list(zip(self._probed, now))) if len(self._probed) else None
        self._probed = now
        curve = {"labels": len(self.record.labels), "right": right, "n": len(items) + 1}
        return {"curve": curve | {"agreed": agreed}}

    def _test(self, number: int) -> tuple[list[int], np.ndarray, np.ndarray]:
        """Random items so far, their predictions and that of this one, and those of the probe.

        They do not depend on the answer, so they are computed before it is given.
        """
        state = self.record.seq, number
        if self._last_test is None or self._last_test[0] != state:
            self._tester.become([one for one in self._model.taught if not self._is_random(one[0])])
            items = [self.pool.number[i] for i in self.record.randoms if i in self.pool.number]
            found = predicted(self._tester.learner, [*items, number])
            self._last_test = state, (items, found, predicted(self.learner, self._probe))
        return self._last_test[1]

    def undo(self, who: Who, key: str) -> int:
        """Undo the annotator's last action; returns its number of answers."""
        return self._step(who, key, "undo")

    def redo(self, who: Who, key: str) -> int:
        """Redo the last undone action; returns its number of answers."""
        return self._step(who, key, "redo")

    def _step(self, who: Who, key: str, kind: str) -> int:
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return 0
            look = self.record.can_undo if kind == "undo" else self.record.can_redo
            action = look(who.annotator)
            if action is None:
                raise RefusedError(f"There is nothing to {kind}.")
            self.journal.append([Draft(kind, who.annotator)], key)
            self._catch_up()
            return len(action.items)

    # -- many at once ---------------------------------------------------------------------

    def grid(self, who: Who, label: str) -> list[dict[str, Any]]:
        """Items for which the model predicts this label."""
        with self._lock:
            self._catch_up()
            wanted, page = self._checked_mode("find", label).label, self._pages.of(who)
            page.current = None
            page.shown.clear()
            rng = self._queue.rng(self.record.answered, who.annotator)
            candidates = drawn(
                self.pool.free(self.record, self._pages.taken(who)), GRID_SAMPLE, rng
            )
            chosen = candidates[predicted(self.learner, candidates) == wanted][:GRID].tolist()
            page.shown = {i: Claim(i, "grid", (), None) for i in chosen}
            return [self._overview.brief(i) for i in chosen]

    def answer_grid(self, who: Who, label: Any, right: Any, wrong: Any, key: str) -> dict[str, int]:
        """Label the correct items; the others get the only other class, or are asked about next."""
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return {"saved": 0, "next": 0}
            name = self._checked_label(label)
            good, bad = self._open_items(who, right), self._open_items(who, wrong)
            if not good and not bad:
                raise RefusedError("There is nothing to answer.")
            if set(good) & set(bad):
                raise RefusedError("An item cannot be both right and wrong.")
            drafts = self._grid_drafts(who, name, good, bad)
            self.journal.append(drafts, key)
            self._pages.of(who).shown.clear()
            self._catch_up()
            saved = sum(draft.kind == "label" for draft in drafts)
            return {"saved": saved, "next": len(good) + len(bad) - saved}

    def _grid_drafts(self, who: Who, name: str, good: list[int], bad: list[int]) -> list[Draft]:
        names = [self.record.name(c) for c in self.record.classes()]
        others = [other for other in names if other != name]
        answers = [(i, name) for i in good]
        if len(others) == 1:
            answers += [(i, others[0]) for i in bad]
        drafts = [
            Draft("label", who.annotator, self.source.ids[i], label, "grid", {"label": name})
            for i, label in answers
        ]
        if bad and len(others) != 1:
            ids = [self.source.ids[i] for i in bad]
            drafts.append(Draft("front", who.annotator, data={"items": ids}))
        return drafts

    def _items(self, numbers: Any) -> list[int]:
        if not isinstance(numbers, list):
            raise RefusedError("Items must be given as a list of numbers.")
        if len(numbers) > MOST_ITEMS:
            raise RefusedError(f"At most {MOST_ITEMS:,} items in one request.")
        found = [self.pool.check(number) for number in numbers]
        if len(set(found)) < len(found):
            raise RefusedError("An item is in the list twice.")
        return found

    def _open_items(self, who: Who, numbers: Any) -> list[int]:
        found, taken = self._items(numbers), self._pages.taken(who)
        if any(not self.pool.is_free(number) or number in taken for number in found):
            raise RefusedError("Another annotator has some of these items; nothing was changed.")
        return found

    def relabel(self, who: Who, numbers: Any, label: Any, key: str) -> int:
        """Give several items a new label at once."""
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return 0
            name = self._checked_label(label)
            items = [self.source.ids[i] for i in self._items(numbers)]
            if not items:
                raise RefusedError("No items are selected.")
            drafts = [Draft("label", who.annotator, item, name, "review") for item in items]
            self.journal.append(drafts, key)
            self._catch_up()
            return len(items)

    def feed(self, who: Who, numbers: Any, key: str) -> int:
        """Ask about these items first."""
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return 0
            found = [i for i in self._items(numbers) if self.pool.is_free(i)]
            if not found:
                raise RefusedError("All of these items are answered.")
            ids = [self.source.ids[i] for i in found]
            self.journal.append([Draft("front", who.annotator, data={"items": ids})], key)
            self._catch_up()
            return len(found)

    def change_classes(self, who: Who, kind: str, name: Any, to: Any, key: str) -> None:
        """Add, rename or merge classes."""
        with self._lock:
            self._catch_up()
            if self.journal.has(key):
                return
            if kind == "add":
                new = checked_name(name)
                if self.record.number(new) is not None:
                    raise RefusedError(f"There is a class {new!r} already.")
                draft = Draft("class", who.annotator, label=new)
            else:
                draft = self._class_draft(who, kind, checked_name(name), checked_name(to))
            self.journal.append([draft], key)
            self._catch_up()

    def _class_draft(self, who: Who, kind: str, old: str, new: str) -> Draft:
        if kind not in ("rename", "merge"):
            raise RefusedError(f"Unknown change of classes: {kind!r}.")
        first, second = self.record.number(old), self.record.number(new)
        if first is None:
            raise RefusedError(f"There is no class {old!r}.")
        if first == second:
            raise RefusedError("These classes are already merged.")
        if kind == "rename" and second is not None:
            raise RefusedError(f"There is a class {new!r} already; merge them instead.")
        if kind == "merge" and second is None:
            raise RefusedError(f"There is no class {new!r} to merge into.")
        return Draft(kind, who.annotator, data={"from": old, "to": new})

    # -- looking ahead --------------------------------------------------------------------

    def look_ahead(self, who: Who, most: int = MOST_AHEAD) -> list[int]:
        """Learn the most likely answers, each in a copy; returns the items that would come next.

        What is known from an earlier call is not computed again. It ends when an answer comes, which
        does not wait for it.
        """
        with self._lock:
            claim = self._pages.of(who).current
            if claim is not None and claim.why == "random":
                self._test(claim.number)
        for label in self._likely_answers(who)[:most]:
            if not self._look_at(who, label):
                return []
        with self._lock:
            found = [ahead.following for ahead in self._pages.of(who).ahead.values()]
            return sorted({following[0] for following in found if following is not None})

    def _likely_answers(self, who: Who) -> list[int]:
        """Classes, the most likely ones first."""
        with self._lock:
            current = self._pages.of(who).current
            if current is None:
                return []
            shares = current.belief["shares"] if current.belief else {}
            labels = self.record.classes()
            return sorted(labels, key=lambda c: -shares.get(self.record.name(c), 0.0))

    def _look_at(self, who: Who, label: int) -> bool:
        """Learn one possible answer in a copy, without the lock; False if the page has moved on."""
        with self._lock:
            page, moment = self._pages.of(who), self._moment(who)
            if moment is None:
                return False
            known = page.ahead.get(label)
            if known is not None and known.moment == moment:
                return True
            lesson = moment.number, label
            asked, without = self.record.asked + 1, moment.taken | {moment.number}
            asking = Asking(who.annotator, moment.mode, asked, without, lesson)
            choice, learner = self._queue.choice(asking, self._model), deepcopy(self.learner)
        learner.teach(*lesson)
        following = choice(learner)
        with self._lock:
            if self._moment(who) != moment:
                return False
            page.ahead[label] = Ahead(moment, learner, following)
            return True

    def _moment(self, who: Who) -> Moment | None:
        """The state that the next question of a page depends on; None if it cannot be foreseen."""
        page = self._pages.of(who)
        claim = page.current
        if claim is None or not self._still_open(who, claim):
            return None
        if not self._queue.is_foreseeable(page.mode, self._model):
            return None
        return Moment(self.record.seq, self._pages.taken(who), page.mode, claim.number)

    def _foreseen(self, who: Who, number: int, name: str | None) -> Ahead | None:
        """What was computed for this answer before it was given."""
        page = self._pages.of(who)
        label = None if name is None else self.record.number(name)
        found = page.ahead.get(label) if label is not None else None
        page.ahead = {}
        if found is None or (found.moment.number, found.moment.seq) != (number, self.record.seq):
            return None
        return found
