"""The race: candidates learn growing samples, are scored on rows they have not learned, and drop out.

    rows     1,000  24 candidates; then the best ones with learned weights and with numbers as ranks;
                    then neighbours of the best, until none is better. The best seven continue
             3,000  these, and neighbours of the best. The best three continue
             9,000  ... and so on, to half of the rows. If these were clearly better than fewer, also
                    what still more rows allow: larger C and gamma, weights rescaled once more
    at last  the winner learns all rows

All candidates of a round learn the same rows and are scored on the same held-out rows (``label_losses``), so
that two of them are compared row by row: the difference has a standard error, and of two that differ by
less, the simpler one wins. Candidates that differ in C alone are machines of one fit, which share its
kernel values. One half of the rows is learned and the other half scored, up to 10,000 of them. Tables of
fewer than 8,000 rows are scored in two to five folds; candidates that are clearly worse than the best
after one or two of them skip the others.

A race is allowed the work of a few fits of all rows (``ALLOWED``), and small tables a little more
(``SMALLEST``). Work is counted in rows, not in seconds, so that two races with one seed are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.runtime.interrupts import clock
from ..estimators.costs import Answers, fit_costs, predict_costs
from ..estimators.label_losses import losses_of_labels, margins_of
from ..estimators.metric import TooLong, errors_of, next_weights, spread_of
from ..estimators.side_by_side import side_by_side
from .candidates import DECISIONS, Metric, Setting, Units, first_settings

FIRST, GROWTH = 1000, 3
"""Number of rows of the first round, and the factor from each round to the next."""

LAST, LEAST = 0.5, 2000
"""Share of all rows that the last round learns, so that as many can be scored; but at least so many rows."""

SCORED, MOST_SCORED, FOLDS = 4000, 10_000, 5
"""Number of rows from which one fold is enough, maximum number of rows of a fold, and of folds."""

PER_ROW = 4
"""Number of rows that a round scores for each row that it learns, at most."""

SURVIVORS, FINALISTS = 7, 3
"""Number of candidates that continue after the first round, and after later ones."""

CLIMBS = 3
"""How often neighbours of the best are added in one round."""

BEHIND = 2.0
"""A candidate leaves the round if it is this number of standard errors behind the best ..."""

TOLD = 500
"""... on this number of rows, or on two folds."""

ALLOWED, SMALLEST = 5.0, (100, 1500)
"""Work of a race, in fits of all rows; and the minimum, as a number of fits of so many rows."""

WORTH_CLIMBING = (0, 50, 300)
"""Numbers of rows from which neighbours are added never, once and ``CLIMBS`` times: scores of few rows
are noisy."""

METRIC_ROWS = 2500
"""Number of rows from which feature weights are learned, at least; rounds of more rows go on with theirs."""

EVERYWHERE, NOWHERE_SCORED = -1, -2
"""Rows that weights are learned from: all, those that no fold scores, or (0, 1, ...) those of a fold."""

TOGETHER, EACH = 2000, 0.25
"""Maximum number of rows that candidates which differ in C learn together: of more rows, their support
sets differ too much. And what each after the first adds to the work of the fit."""

FAR, NORMAL = 1000.0, 1.4826
"""Ratio of the standard deviation to the spread of most targets from which the latter is the unit: rare
targets that are a hundred times larger may well be predictable, and count. And standard deviations of
a normal distribution in its median absolute deviation."""

IN_PAIRS = (3, 20)
"""Numbers of labels from which, and up to which, a machine for each pair of them is tried."""

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

    def score(self, rows: int, results: list[Result]) -> None:
        """Record errors and seconds of the folds of a round; called again for more folds."""
        errors = np.concatenate([each.errors for each in results])
        margins = [each.margins for each in results if each.margins is not None]
        fastest = min(results, key=lambda each: each.seconds)
        scores = np.concatenate(margins) if margins else None
        noted = Round(rows, errors, fastest.seconds, fastest.sharers, scores)
        if self.rounds and self.last.rows == rows:
            self.rounds.pop()
        self.rounds.append(noted)


class Result(NamedTuple):
    """One candidate on one fold."""

    errors: np.ndarray
    margins: np.ndarray | None  # of labels
    seconds: float  # its share of the fit
    sharers: int


@dataclass(frozen=True)
class Round:
    """One candidate in one round."""

    rows: int
    errors: np.ndarray  # whether the label of each row is wrong, or its squared error
    seconds: float  # of one fit, or its share of one
    sharers: int = 1  # candidates that were fitted together
    margins: np.ndarray | None = None  # of labels

    @cached_property
    def losses(self) -> np.ndarray:
        """What candidates are compared by."""
        if self.margins is None:
            return self.errors
        return losses_of_labels(self.errors, self.margins)

    def losses_of(self, count: int) -> np.ndarray:
        """Losses as if only the first rows had been scored."""
        if self.margins is None or count == len(self.errors):
            return self.losses[:count]
        return losses_of_labels(self.errors[:count], self.margins[:count])

    @property
    def alone(self) -> float:
        """Estimated seconds of a fit of its own."""
        return self.seconds * self.sharers / fits_of(self.sharers)

    @property
    def noise(self) -> float:
        """Standard error of the mean of the errors."""
        return float(self.errors.std() / np.sqrt(len(self.errors)))


class Race:
    """One race. ``make(**parameters)`` returns an unfitted estimator."""

    def __init__(
        self, make: Callable[..., Any], X: dict[str, np.ndarray], y: np.ndarray, has_classes: bool, *,
        ends: float, threads: int, seed: int, tell: Callable[[str], None],
    ):  # fmt: skip
        self.make, self.X, self.y, self.has_classes = make, X, y, has_classes
        self.ends, self.stops, self.threads, self.tell = ends, ends, threads, tell
        self.rng = np.random.RandomState(seed)
        few, most = IN_PAIRS
        self.tries_pairs = has_classes and few <= len(np.unique(y)) <= most
        spread = 1.0 if has_classes else target_spread(y)
        self.most_loss = np.inf if has_classes or spread >= np.std(y) else (FAR * spread) ** 2
        self.units = Units(X, spread, self.rng)
        self.order = _spread_out(y, has_classes, self.rng)
        self.folds = _folds(self.order)
        self.unscored = _unscored(self.order, self.folds)
        self.candidates: list[Candidate] = []
        self._slices: dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray]] = {}
        self._weights: dict[tuple[Setting, int, int], list[np.ndarray]] = {}
        self._metrics: dict[tuple[str, str], Metric] = {}  # the first of each kernel and scale
        self.out_of_time = False
        fits, rows = SMALLEST
        self.reserved = 0.0  # of the work that is left, for the last round
        self.work_left = max(ALLOWED * work_of(len(y)), fits * work_of(rows))

    # -- the rounds -----------------------------------------------------------------------

    def run(self) -> Candidate:
        """Run the race and return the winner."""
        there = min(len(fold.learn) for fold in self.folds)
        sizes = _sizes(min(there, max(LEAST, int(np.ceil(LAST * len(self.order))))))
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
            self.reserved = 0.0 if final else self._work_at_last(sizes[-1])
            folds = len(self.folds) if final else min(len(self.folds), 2 + number)
            if number:
                alive, folds = self._affordable(alive, rows, folds)
                if len(alive) < 2:  # nothing to compare
                    break
            alive = self._round(alive, rows, folds)
            if not alive:
                break
            if number == 0:
                alive += self._round(self._variants(alive, rows), rows, folds)
            alive = self._climb(alive, rows, folds, final and number > 0)
            if self.out_of_time or final:
                break
            alive = self._survivors(alive, FINALISTS if number else SURVIVORS)
        return self._winner([c for c in alive or self.candidates if c.rounds])

    def _warm_up(self, among: list[Candidate]) -> None:
        """A few rows with each kernel: in a new process, loops are compiled or loaded first."""
        rows = self.order[:WARMING]
        for kernel in {c.setting.kernel: c for c in among}.values():
            if not self._is_one_label(rows) and clock() < self.ends:
                self._fit([kernel.setting], rows, None, must=True)

    def _join(self, setting: Setting) -> Candidate:
        made = Candidate(len(self.candidates), setting)
        self.candidates.append(made)
        return made

    def _round(
        self, among: list[Candidate], rows: int, folds: int, leader: Candidate | None = None
    ) -> list[Candidate]:
        """Fit candidates on this number of rows of some folds; returns those scored on all folds.

        Candidates that are clearly worse than the leader or the best of them skip the other folds.
        """
        self._tell(among, rows)
        self._learn_weights(among, folds)
        found: dict[int, list[Result]] = {c.number: [] for c in among}
        going = list(among)
        for k in range(folds):
            groups = sharing(going, rows)
            self.work_left -= sum(fits_of(len(group)) for group in groups) * work_of(rows)
            for group, results in zip(groups, self._run_groups(groups, k, rows), strict=True):
                for candidate, result in zip(group, results, strict=False):
                    found[candidate.number].append(result)
            going = [c for c in going if len(found[c.number]) == k + 1]
            for candidate in going:
                candidate.score(rows, found[candidate.number])
            if going and k + 1 < folds and (k or len(going[0].last.losses) >= TOLD):
                best = leader or min(going, key=lambda c: c.loss)
                going = [c for c in going if behind(c.last, best.last) <= BEHIND]
        return going

    def _run_groups(
        self, groups: list[list[Candidate]], k: int, rows: int
    ) -> Iterable[list[Result]]:
        """Results of each group on a fold; none of those that had no time left."""

        def run(group: list[Candidate]) -> list[Result]:
            try:
                return self._score(group, k, rows)
            except TooLong:
                self.out_of_time = True
                return []

        return side_by_side(run, groups, self.threads)

    def _score(self, group: list[Candidate], k: int, rows: int) -> list[Result]:
        fold, first, count = self.folds[k], group[0], len(group)
        begin, learn, truth = clock(), fold.learn[:rows], self.y[fold.score[: PER_ROW * rows]]
        if self._is_one_label(learn):
            wrong = np.asarray(truth != self.y[learn[0]], np.float64)
            return [Result(wrong, 1.0 - 2.0 * wrong, (clock() - begin) / count, count)] * count
        must = any(c.number == 0 and not c.rounds for c in group)  # there is always a winner
        learned, scored = self._shared(first.setting.numbers, k, rows)
        settings = [c.setting for c in group]
        model = self._fit(settings, learn, self._metric(first, k), must, learned)
        seconds = (clock() - begin) / count
        return [
            Result(*self._judged(model, answers, truth), seconds, count)
            for answers in predict_costs(model, count, scored)
        ]

    def _judged(
        self, model: Any, answers: Answers, truth: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Errors, and margins of labels; a few huge targets do not decide the race by themselves."""
        errors = np.minimum(errors_of(answers.predicted, truth, self.has_classes), self.most_loss)
        if not self.has_classes:
            return errors, None
        return errors, margins_of(answers.scores, model.classes_, truth)

    def _shared(self, numbers: str, k: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows that all candidates of a round learn and score, copied once."""
        key = numbers, k, rows
        found = self._slices.get(key)
        if found is None:
            kept = {other: pair for other, pair in self._slices.items() if other[1:] == (k, rows)}
            fold, X = self.folds[k], self.X[numbers]
            found = X[fold.learn[:rows]], X[fold.score[: PER_ROW * rows]]
            self._slices = {**kept, key: found}
        return found

    def _is_one_label(self, rows: np.ndarray) -> bool:
        return self.has_classes and bool((self.y[rows] == self.y[rows[0]]).all())

    def _fit(
        self, settings: list[Setting], rows: np.ndarray, weights: np.ndarray | None,
        must: bool = False, X: np.ndarray | None = None,
    ) -> Any:  # fmt: skip
        """Settings that differ in C alone, fitted on these rows. ``X``: their features, if at hand."""
        left = self.stops - clock()
        if left <= 0 and not must:
            raise TooLong
        largest = max(settings, key=lambda setting: setting.C)
        costs = [self.units.parameters(setting)["C"] for setting in settings]
        parameters = self.units.parameters(largest)
        model = self.make(
            **parameters, feature_weights=weights, n_jobs=1, random_state=0,
            time_limit=max(left, 0.05) if np.isfinite(left) else None,
        )  # fmt: skip
        X = self.X[largest.numbers][rows] if X is None else X
        fit_costs(model, costs, X, self.y[rows])
        if clock() > self.stops and not must:
            raise TooLong  # a fit that was cut short says nothing about its settings
        return model

    # -- weights of features --------------------------------------------------------------

    def _metric(self, candidate: Candidate, k: int) -> np.ndarray | None:
        """Feature weights of a candidate, learned from rows that this fold does not score."""
        metric = candidate.setting.metric
        return None if metric is None else self._weights_of(metric, self._source(k))

    def _source(self, k: int) -> int:
        """Rows that weights are learned from for this fold: the same for all folds, if there are enough."""
        return NOWHERE_SCORED if len(self.unscored) >= METRIC_ROWS else k

    def _learn_weights(self, among: list[Candidate], folds: int) -> None:
        """Learn the weights that these candidates need, each once."""
        wanted = self._unknown([c.setting for c in among], folds)
        self.work_left -= self._work_of_weights(wanted)
        side_by_side(lambda item: self._weights_of(*item), list(wanted.values()), self.threads)

    def _unknown(self, settings: list[Setting], folds: int) -> dict[Any, tuple[Metric, int]]:
        """Weights of these settings that are not known; of several rounds those of the last."""
        found: dict[Any, tuple[Metric, int]] = {}
        sources = sorted({self._source(k) for k in range(folds)})
        for metric in [s.metric for s in settings if s.metric is not None]:
            for source in sources:
                key = metric.by, metric.rows, source
                most = len(self._weights.get(key, [])) if key not in found else found[key][0].rounds
                if metric.rounds > most:
                    found[key] = metric, source
        return found

    def _work_of_weights(self, wanted: dict[Any, tuple[Metric, int]]) -> float:
        there = len(self.folds[0].learn)
        return sum(m.rounds * work_of(min(m.rows, there)) for m, _ in wanted.values())

    def final_weights(self, metric: Metric | None) -> np.ndarray | None:
        """The weights with which all rows are learned."""
        return None if metric is None else self._weights_of(metric, self._source(EVERYWHERE))

    def _weights_of(self, metric: Metric, source: int) -> np.ndarray:
        """Weights of a metric, learned unless they are known."""
        key = metric.by, metric.rows, source
        if len(self._weights.get(key, [])) < metric.rounds:
            self._weights[key] = self._rescaled(metric, source)
        return self._weights[key][metric.rounds - 1]

    def _rescaled(self, metric: Metric, source: int) -> list[np.ndarray]:
        """Weights after each round."""
        before = metric.by.metric
        weights = None if before is None else self._weights_of(before, source)
        rows = self._rows_of(source)[: metric.rows]
        X, found = self.X[metric.by.numbers][rows], []
        spread, plain = spread_of(X), np.ones(X.shape[1])
        for _ in range(metric.rounds):
            try:
                if self._is_one_label(rows):
                    weights = plain
                else:
                    model = self._fit([metric.by], rows, weights, X=X)
                    weights = next_weights(model, X, weights, spread, np.random.RandomState(0))
            except TooLong:
                self.out_of_time = True
                weights = plain if weights is None else weights
            found.append(weights)
        return found

    def _rows_of(self, source: int) -> np.ndarray:
        if source == EVERYWHERE:
            return self.order
        return self.unscored if source == NOWHERE_SCORED else self.folds[source].learn

    def _variants(self, alive: list[Candidate], rows: int) -> list[Candidate]:
        """Candidates with learned weights or another scale: of the best of the two best kernels."""
        best: dict[str, Candidate] = {}
        for candidate in sorted(alive, key=lambda c: c.loss):
            best.setdefault(candidate.setting.kernel, candidate)
        leaders = list(best.values())[:2]
        return [self._join(setting) for c in leaders for setting in self._possible(c, rows)]

    def _possible(self, candidate: Candidate, rows: int, again: bool = False) -> list[Setting]:
        """Variants for which there are rows; ``again``: only those with more rounds of weights."""
        made = candidate.setting.variants(max(rows, METRIC_ROWS))
        if again:
            made = [s for s in made if s.metric and s.metric.by == candidate.setting]
        elif self.tries_pairs:
            made.append(candidate.setting.decided_otherwise())
        return [self._with_known(setting) for setting in made if setting.numbers in self.X]

    def _with_known(self, setting: Setting) -> Setting:
        """The setting with weights as they were first learned for its kernel and scale of numbers."""
        metric = setting.metric
        if metric is None or metric.by.metric is not None:
            return setting
        first = self._metrics.setdefault((setting.kernel, setting.numbers), metric)
        return replace(setting, metric=replace(first, rounds=metric.rounds))

    # -- who goes on ----------------------------------------------------------------------

    def _climb(
        self, alive: list[Candidate], rows: int, folds: int, final: bool = False
    ) -> list[Candidate]:
        """Add neighbours of the best until none of them is better; at last, only larger ones."""
        tried = {c.setting for c in self.candidates if c.rounds and c.last.rows == rows}
        for _ in range(int(np.interp(rows, WORTH_CLIMBING, (0, 1, CLIMBS)))):
            best = min(alive, key=lambda c: c.loss)
            near = best.setting.neighbours(up=final) + self._possible(best, rows, again=final)
            fresh = [setting for setting in near if setting not in tried]
            while final and len(fresh) > 1 and not self._affords_new(fresh, best, rows, folds):
                fresh.pop()
            if not fresh or self.out_of_time or not self._affords_new(fresh, best, rows, folds):
                return alive
            if final and not still_learns(best):
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

    def _work_at_last(self, rows: int) -> float:
        """Work that is kept for the last round: that of its finalists and one more, or half of what is left."""
        wanted = (FINALISTS + 1) * len(self.folds) * work_of(rows)
        return min(wanted, self.work_left / 2)

    def _affords_new(self, fresh: list[Setting], best: Candidate, rows: int, folds: int) -> bool:
        """Whether work and time are left for new settings, which take about as long as the best one."""
        more = self._work_of_weights(self._unknown(fresh, folds))
        alike = [Candidate(-1, setting, best.rounds) for setting in fresh]
        return self._affords(alike, rows, folds, more)

    def _affords(self, among: list[Candidate], rows: int, folds: int, more: float = 0.0) -> bool:
        """Whether work and time are left for a round of so many rows, ``more`` work, and the winner."""
        known = [c.last for c in self.candidates if c.rounds]
        groups = sharing(among, rows)
        if sum(fits_of(len(g)) for g in groups) * folds * work_of(rows) + more > (
            self.work_left - self.reserved
        ):
            return False
        if not np.isfinite(self.ends):
            return True
        typical = float(np.median([seconds_for(each, rows) for each in known]))
        own = [
            max(seconds_for(c.last, rows) if c.rounds else typical for c in group)
            * fits_of(len(group))
            for group in groups
        ]
        work = max(sum(own) * folds / self.threads, max(own))
        return clock() + work < self.stops

    def _tell(self, among: list[Candidate], rows: int) -> None:
        there = [c for c in self.candidates if c.rounds]
        best = min(there, key=lambda c: (-c.last.rows, c.loss)) if there else None
        lead = "" if best is None else f", best {self.error(best):.4g} ({best.setting.kernel})"
        self.tell(f"{rows:,} rows, {len(among)} candidates{lead}")

    def error(self, candidate: Candidate) -> float:
        """The error of the last round: share of wrong labels, or root of the mean squared error."""
        mean = float(candidate.last.errors.mean())
        return mean if self.has_classes else float(np.sqrt(mean))


def behind(one: Round, other: Round) -> float:
    """Difference of two losses in standard errors, on rows scored for both."""
    count = min(len(one.losses), len(other.losses))
    difference = one.losses_of(count) - other.losses_of(count)
    noise = float(difference.std() / np.sqrt(count))
    return float(difference.mean()) / noise if noise > 0 else 0.0


def target_spread(y: np.ndarray) -> float:
    """The unit of C and epsilon: the standard deviation of y, or what outliers leave of it.

    A long tail is part of the target, but not a few values that are thousands of times larger than all
    others: in their unit all others would be equal.
    """
    deviation = float(np.std(y))
    most = NORMAL * float(np.median(np.abs(y - np.median(y))))
    return (most if 0.0 < most * FAR < deviation else deviation) or 1.0


def still_learns(candidate: Candidate) -> bool:
    """Whether the last round was clearly better than the one before: more rows allow finer functions."""
    if len(candidate.rounds) < 2:
        return True
    return behind(candidate.rounds[-2], candidate.last) > BEHIND


def sharing(among: list[Candidate], rows: int) -> list[list[Candidate]]:
    """Candidates by the fit of so many rows that they have a part in: those that differ in C alone.

    A fit with a machine for each pair of labels is of one C.
    """
    groups: dict[Any, list[Candidate]] = {}
    for candidate in among:
        setting = candidate.setting
        alone = rows > TOGETHER or setting.decision != DECISIONS[0]
        key = id(candidate) if alone else replace(setting, C=1.0)
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())


def fits_of(sharers: int) -> float:
    """The work of a fit of so many C, in fits of one."""
    return 1.0 + EACH * (sharers - 1)


def work_of(rows: int) -> float:
    """The work of a fit: one for a single row."""
    return float(rows) ** WORK


def seconds_for(known: Round, rows: int) -> float:
    """Estimated seconds for a fit of so many rows, more or fewer."""
    factor = rows / known.rows
    return float(known.alone * factor ** (POWER if factor > 1.0 else WORK))


def _sizes(most: int) -> list[int]:
    """Rows of each round; the last one is all there are."""
    sizes = [most]
    while sizes[0] > 1.5 * FIRST:
        sizes.insert(0, int(np.ceil(sizes[0] / GROWTH)))
    return sizes


def _folds(order: np.ndarray) -> list[Fold]:
    """Folds of rows, ordered so that every prefix has all labels in proportion."""
    n = len(order)
    parts = int(np.ceil(n / (n - LEAST))) if n > LEAST else FOLDS
    parts = min(n, max(2, min(parts, FOLDS), n // MOST_SCORED))
    count = max(1, min(parts, FOLDS, int(np.ceil(SCORED / max(1, n // parts)))))
    fold = np.arange(n) % parts
    return [Fold(order[fold != k], order[fold == k]) for k in range(count)]


def _unscored(order: np.ndarray, folds: list[Fold]) -> np.ndarray:
    """Rows that no fold scores, in the same order."""
    scored = np.zeros(len(order), bool)
    for fold in folds:
        scored[fold.score] = True
    return order[~scored[order]]


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
