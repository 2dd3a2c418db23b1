"""The race: candidates learn growing samples, are scored on rows they have not learned, and drop out.

    rows     1,000  24 candidates; then the best ones with learned weights and with numbers as ranks;
                    then neighbours of the best, until none is better. The best seven continue
             3,000  these, and neighbours of the best. The best four continue
             9,000  ... and so on
    at last  the winner learns all rows

All candidates of a round learn the same rows and are scored on the same held-out rows, so that two
of them are compared row by row: the difference has a standard error, and of two that differ by
less, the simpler one wins. Tables of up to about 20,000 rows are scored in several folds;
candidates that are clearly worse than the best after two of them skip the other folds.

A race is allowed the work of a few fits of all rows (``ALLOWED``), and small tables a little more
(``SMALLEST``). Work is counted in rows, not in seconds, so that two races with one seed are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..core.runtime.interrupts import clock
from ..estimators.metric import Sample, TooLong, loss, next_weights, spread_of
from ..estimators.side_by_side import side_by_side
from .candidates import Metric, Setting, Units, first_settings

FIRST, GROWTH = 1000, 3
"""Number of rows of the first round, and the factor from each round to the next."""

SCORED, FOLDS = 4000, 5
"""Number of held-out rows, if the table has so many, and maximum number of folds."""

SURVIVORS, FINALISTS = 7, 4
"""Number of candidates that continue after the first round, and after later ones."""

CLIMBS = 3
"""How often neighbours of the best are added in one round."""

BEHIND = 2.0
"""A candidate leaves the round if it is this number of standard errors behind the best."""

ALLOWED, SMALLEST = 4.0, (160, 1500)
"""Work of a race, in fits of all rows; and the minimum, as a number of fits of so many rows."""

WORTH_CLIMBING = (0, 50, 300)
"""Numbers of rows from which neighbours are added never, once and ``CLIMBS`` times: scores of few rows
are noisy."""

METRIC_ROWS = 2500
"""Number of rows from which feature weights are learned."""

WARMING = 100
"""Rows of a fit before the race."""

TIED = 1.0
"""Number of standard errors by which a less simple candidate must be better."""

POWER = 1.8
"""A fit of twice as many rows takes 2 to the power of this as long, about."""

WORK = 1.5
"""The power of the rows that counts as the work of a fit: small fits cost more than ``POWER`` says."""

RACING = 0.6
"""Share of the time limit that the race may take; the rest is for the winner."""


class Fold(NamedTuple):
    """Rows to learn, of which a round takes the first ones, and held-out rows."""

    learn: np.ndarray
    score: np.ndarray


@dataclass
class Candidate:
    """A setting and its results in the rounds that it took part in."""

    number: int
    setting: Setting
    rounds: list[Round] = field(default_factory=list)

    @property
    def last(self) -> Round:
        """The last round."""
        return self.rounds[-1]

    @property
    def loss(self) -> float:
        """Mean loss in the last round."""
        return float(self.last.losses.mean())

    def score(self, rows: int, results: list[tuple[np.ndarray, float]]) -> None:
        """Record losses and seconds of the folds of a round; called again for more folds."""
        losses = np.concatenate([losses for losses, _ in results])
        noted = Round(rows, losses, min(seconds for _, seconds in results))
        if self.rounds and self.last.rows == rows:
            self.rounds.pop()
        self.rounds.append(noted)


class Round(NamedTuple):
    """One candidate in one round."""

    rows: int
    losses: np.ndarray
    seconds: float  # of one fit

    @property
    def noise(self) -> float:
        """Standard error of the mean loss."""
        return float(self.losses.std() / np.sqrt(len(self.losses)))


class Race:
    """One race. ``make(**parameters)`` returns an unfitted estimator."""

    def __init__(
        self, make: Callable[..., Any], X: dict[str, np.ndarray], y: np.ndarray, has_classes: bool, *,
        ends: float, threads: int, seed: int, tell: Callable[[str], None],
    ):  # fmt: skip
        self.make, self.X, self.y, self.has_classes = make, X, y, has_classes
        self.ends, self.stops, self.threads, self.tell = ends, ends, threads, tell
        self.rng = np.random.RandomState(seed)
        spread = 1.0 if has_classes else float(np.std(y)) or 1.0
        self.units = Units(X, spread, self.rng)
        self.order = _spread_out(y, has_classes, self.rng)
        self.folds = _folds(self.order)
        self.candidates: list[Candidate] = []
        self._weights: dict[tuple[Setting, int], list[np.ndarray]] = {}
        self.out_of_time = False
        fits, rows = SMALLEST
        self.reserved = 0.0  # of the work that is left, for the last round
        self.work_left = max(ALLOWED * work_of(len(y)), fits * work_of(rows))

    # -- the rounds -----------------------------------------------------------------------

    def run(self) -> Candidate:
        """Run the race and return the winner."""
        sizes = _sizes(min(len(fold.learn) for fold in self.folds))
        alive = [self._join(setting) for setting in first_settings(not self.has_classes)]
        self._warm_up(alive)
        self.stops = clock() + RACING * max(0.0, self.ends - clock())
        winner = self._raced(alive, sizes)
        self.stops = self.ends  # what is left is for the winner
        return winner

    def _raced(self, alive: list[Candidate], sizes: list[int]) -> Candidate:
        """The rounds; the winner."""
        for number, rows in enumerate(sizes):
            final = number == len(sizes) - 1
            self.reserved = 0.0 if final else 2 * work_of(sizes[-1])
            folds = len(self.folds) if final else min(len(self.folds), 2 + number)
            if number:
                alive, folds = self._affordable(alive, rows, folds)
                if len(alive) < 2:  # nothing to compare
                    break
            alive = self._round(alive, rows, folds)
            if not alive:
                break
            if number == 0:
                alive += self._round(self._variants(alive), rows, folds)
            alive = self._climb(alive, rows, folds)
            if self.out_of_time or final:
                break
            alive = self._survivors(alive, FINALISTS if number else SURVIVORS)
        return self._winner([c for c in alive or self.candidates if c.rounds])

    def _warm_up(self, among: list[Candidate]) -> None:
        """A few rows with each kernel: in a new process, loops are compiled or loaded first."""
        rows = self.order[:WARMING]
        for kernel in {c.setting.kernel: c for c in among}.values():
            if not self._is_one_label(rows) and clock() < self.ends:
                self._fit(kernel.setting, rows, None, must=True)

    def _join(self, setting: Setting) -> Candidate:
        made = Candidate(len(self.candidates), setting)
        self.candidates.append(made)
        return made

    def _round(
        self, among: list[Candidate], rows: int, folds: int, leader: Candidate | None = None
    ) -> list[Candidate]:
        """Fit candidates on this number of rows of some folds; returns those scored on all folds.

        Candidates that are clearly worse than the leader or the best of them after two folds stop.
        """
        self._tell(among, rows)
        self._learn_weights(among, folds)
        found: dict[int, list[tuple[np.ndarray, float]]] = {c.number: [] for c in among}
        going = list(among)
        for part in [range(min(folds, 2)), range(2, folds)][: 1 + (folds > 2)]:
            tasks = [(c, k) for c in going for k in part]
            self.work_left -= len(tasks) * work_of(rows)
            for (candidate, _), result in zip(tasks, self._run_tasks(tasks, rows), strict=True):
                if result is not None:
                    found[candidate.number].append(result)
            going = [c for c in going if len(found[c.number]) >= part.stop]
            for candidate in going:
                candidate.score(rows, found[candidate.number])
            if part.stop < folds and going:
                best = leader or min(going, key=lambda c: c.loss)
                going = [c for c in going if behind(c.last, best.last) <= BEHIND]
        return going

    def _run_tasks(self, tasks: list[Any], rows: int) -> Iterable[Any]:
        """Losses and seconds of each task; None for those that had no time left."""

        def run(task: Any) -> Any:
            candidate, k = task
            try:
                return self._score(candidate, k, rows)
            except TooLong:
                self.out_of_time = True
                return None

        return side_by_side(run, tasks, self.threads)

    def _score(self, candidate: Candidate, k: int, rows: int) -> tuple[np.ndarray, float]:
        fold = self.folds[k]
        begin, learn, truth = clock(), fold.learn[:rows], self.y[fold.score]
        if self._is_one_label(learn):
            return np.asarray(truth != self.y[learn[0]], np.float64), clock() - begin
        must = candidate.number == 0 and not candidate.rounds  # there is always a winner
        model = self._fit(candidate.setting, learn, self._metric(candidate, k), must)
        seconds = clock() - begin
        rows_scored = self.X[candidate.setting.numbers][fold.score]
        score = Sample(rows_scored, truth, np.ones(len(truth)), self.has_classes)
        return loss(model, score), seconds

    def _is_one_label(self, rows: np.ndarray) -> bool:
        return self.has_classes and bool((self.y[rows] == self.y[rows[0]]).all())

    def _fit(
        self, setting: Setting, rows: np.ndarray, weights: np.ndarray | None, must: bool = False
    ) -> Any:
        left = self.stops - clock()
        if left <= 0 and not must:
            raise TooLong
        parameters = self.units.parameters(setting)
        model = self.make(
            **parameters, feature_weights=weights, n_jobs=1, random_state=0,
            time_limit=max(left, 0.05) if np.isfinite(left) else None,
        )  # fmt: skip
        model.fit(self.X[setting.numbers][rows], self.y[rows])
        if clock() > self.stops and not must:
            raise TooLong  # a fit that was cut short says nothing about its settings
        return model

    # -- weights of features --------------------------------------------------------------

    def _metric(self, candidate: Candidate, k: int) -> np.ndarray | None:
        """Feature weights of a candidate, learned from the training rows of this fold."""
        metric = candidate.setting.metric
        return None if metric is None else self._weights[metric.by, k][metric.rounds - 1]

    def _learn_weights(self, among: list[Candidate], folds: int) -> None:
        wanted: dict[tuple[Setting, int], int] = {}
        for candidate in among:
            metric = candidate.setting.metric
            for k in range(folds if metric is not None else 0):
                assert metric is not None
                known = len(self._weights.get((metric.by, k), []))
                if known < metric.rounds:
                    wanted[metric.by, k] = max(metric.rounds, wanted.get((metric.by, k), 0))

        def learn(item: tuple[tuple[Setting, int], int]) -> list[np.ndarray]:
            (by, k), rounds = item
            return self.weights(Metric(by, rounds), self.folds[k].learn)

        items = list(wanted.items())
        self.work_left -= sum(rounds for _, rounds in items) * work_of(
            min(METRIC_ROWS, len(self.folds[0].learn))
        )
        found = side_by_side(learn, items, self.threads)
        self._weights |= {key: weights for (key, _), weights in zip(items, found, strict=True)}

    def weights(self, metric: Metric, rows: np.ndarray) -> list[np.ndarray]:
        """Weights after each round, learned from the first of these rows."""
        rows = rows[:METRIC_ROWS]
        X, found = self.X[metric.by.numbers][rows], []
        weights, spread = None, spread_of(X)
        if self._is_one_label(rows):
            return [np.ones(X.shape[1])] * metric.rounds
        for _ in range(metric.rounds):
            try:
                model = self._fit(metric.by, rows, weights)
            except TooLong:
                self.out_of_time = True
                weights = np.ones(X.shape[1]) if weights is None else weights
            else:
                weights = next_weights(model, X, weights, spread, np.random.RandomState(0))
            found.append(weights)
        return found

    def _variants(self, alive: list[Candidate]) -> list[Candidate]:
        """Candidates with learned weights or another scale: of the best of the two best kernels."""
        best: dict[str, Candidate] = {}
        for candidate in sorted(alive, key=lambda c: c.loss):
            best.setdefault(candidate.setting.kernel, candidate)
        leaders = list(best.values())[:2]
        return [self._join(setting) for c in leaders for setting in self._possible(c)]

    def _possible(self, candidate: Candidate) -> list[Setting]:
        """Variants for which there are rows."""
        return [setting for setting in candidate.setting.variants() if setting.numbers in self.X]

    # -- who goes on ----------------------------------------------------------------------

    def _climb(self, alive: list[Candidate], rows: int, folds: int) -> list[Candidate]:
        """Add neighbours of the best until none of them is better."""
        tried = {c.setting for c in self.candidates if c.rounds and c.last.rows == rows}
        for _ in range(int(np.interp(rows, WORTH_CLIMBING, (0, 1, CLIMBS)))):
            best = min(alive, key=lambda c: c.loss)
            near = best.setting.neighbours() + self._possible(best)
            fresh = [setting for setting in near if setting not in tried]
            if not fresh or self.out_of_time or not self._affords([best] * len(fresh), rows, folds):
                return alive
            tried |= set(fresh)
            alive = alive + self._round([self._join(s) for s in fresh], rows, folds, best)
            if min(alive, key=lambda c: c.loss) is best:
                return alive
        return alive

    def _survivors(self, among: list[Candidate], count: int) -> list[Candidate]:
        """The winner so far, the best of other kernels, scales and weights, then the best of the rest."""
        ranked = sorted(among, key=lambda c: c.loss)
        kept = [self._winner(ranked)]
        structures = {kept[0].setting.structure}
        for candidate in ranked:
            if len(kept) < count and candidate.setting.structure not in structures:
                kept.append(candidate)
                structures.add(candidate.setting.structure)
        return kept + [c for c in ranked if c not in kept][: max(0, count - len(kept))]

    def _winner(self, among: list[Candidate]) -> Candidate:
        """The candidate with the least loss, or a simpler one that is within the noise of it."""
        rows = max(c.last.rows for c in among)
        among = [c for c in among if c.last.rows == rows]
        best = min(among, key=lambda c: c.loss)
        same = [c for c in among if len(c.last.losses) == len(best.last.losses)]
        for candidate in sorted(same, key=lambda c: (c.setting.structure, c.loss)):
            if candidate.setting.structure >= best.setting.structure:
                break
            if behind(candidate.last, best.last) <= TIED:
                return candidate
        return best

    # -- time -----------------------------------------------------------------------------

    def _affordable(
        self, among: list[Candidate], rows: int, folds: int
    ) -> tuple[list[Candidate], int]:
        """Candidates and folds that the time allows: fewer folds, then fewer candidates."""
        ranked = sorted(among, key=lambda c: c.loss if c.rounds else -1.0)  # new ones first
        for count in range(len(ranked), 0, -1):
            for least in range(folds, 0, -1):
                if self._affords(ranked[:count], rows, least):
                    return ranked[:count], least
        return [], 0

    def _affords(self, among: list[Candidate], rows: int, folds: int) -> bool:
        """Whether work and time are left for a round of so many rows and for the winner."""
        known = [c.last for c in self.candidates if c.rounds]
        if len(among) * folds * work_of(rows) > self.work_left - self.reserved:
            return False
        if not np.isfinite(self.ends):
            return True
        typical = float(np.median([seconds_for(each, rows) for each in known]))
        own = [seconds_for(c.last, rows) if c.rounds else typical for c in among]
        work = max(sum(own) * folds / self.threads, max(own))
        return clock() + work < self.stops

    def _tell(self, among: list[Candidate], rows: int) -> None:
        there = [c for c in self.candidates if c.rounds]
        best = min(there, key=lambda c: (-c.last.rows, c.loss)) if there else None
        lead = "" if best is None else f", best {self.error(best):.4g} ({best.setting.kernel})"
        self.tell(f"{rows:,} rows, {len(among)} candidates{lead}")

    def error(self, candidate: Candidate) -> float:
        """The error of the last round: share of wrong labels, or root of the mean squared error."""
        return candidate.loss if self.has_classes else float(np.sqrt(candidate.loss))


def behind(one: Round, other: Round) -> float:
    """Difference of two losses in standard errors, on rows scored for both."""
    count = min(len(one.losses), len(other.losses))
    difference = one.losses[:count] - other.losses[:count]
    noise = float(difference.std() / np.sqrt(count))
    return float(difference.mean()) / noise if noise > 0 else 0.0


def work_of(rows: int) -> float:
    """The work of a fit: one for a single row."""
    return float(rows) ** WORK


def seconds_for(known: Round, rows: int) -> float:
    """Estimated seconds for a fit of so many rows."""
    return known.seconds * max(1.0, rows / known.rows) ** POWER


def _sizes(most: int) -> list[int]:
    """Rows of each round; the last one is all there are."""
    sizes = [most]
    while sizes[0] > 1.5 * FIRST:
        sizes.insert(0, int(np.ceil(sizes[0] / GROWTH)))
    return sizes


def _folds(order: np.ndarray) -> list[Fold]:
    """Folds of rows, ordered so that every prefix has all labels in proportion."""
    n = len(order)
    size = min(max(1, n // FOLDS), SCORED)
    count = max(1, min(FOLDS, int(np.ceil(SCORED / size))))
    parts = min(n, max(FOLDS, n // size))
    fold = np.arange(n) % parts
    return [Fold(order[fold != k], order[fold == k]) for k in range(min(count, parts))]


def _spread_out(y: np.ndarray, has_classes: bool, rng: np.random.RandomState) -> np.ndarray:
    """A random order in which the rows of each label are spread out evenly."""
    order = rng.permutation(len(y))
    if not has_classes:
        return order
    _, label, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    place = np.empty(len(y))
    for k, count in enumerate(counts):
        place[label == k] = (np.arange(count) + rng.rand()) / count
    return order[np.argsort(place, kind="stable")]
