"""Is drift noticed, how soon, and how often without cause? ``python -m benchmarks.drift_detection``.

Five kinds of change, each learned without forgetting and with it, ten generated streams of each, and
as many streams that do not change. Each example is predicted, then learned; ``detect_drift`` of the
model stands beside River's ADWIN with its defaults on the same errors. ADWIN also reports errors that
become fewer, as they do while a model learns: these reports are not counted, neither as found nor as
false. A change is found by an alarm before the next change and within 1,500 examples; an alarm
that finds none is false.

``--streams N`` of each kind (10), ``--rows N`` of each stream (4,000), ``--seed N`` (0). ``--alarms N``: instead,
false alarms of both detectors among N independent errors at each of eight rates.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.markdown import markdown

SOON, FIRST = 1500, 30
"""Examples within which a change must be found; examples of the first call."""

RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)

FORGETTING: tuple[dict[str, Any], ...] = (
    {"budget": 1000, "policy": "oldest", "half_life": 1000},
    {"window": 1000},
    {"window": 500},
    {"budget": 300, "policy": "oldest", "half_life": 300},
)

Concept = Callable[[np.ndarray], np.ndarray]


def concept(rng: np.random.Generator, features: int, classes: int, noise: float) -> Concept:
    """Classes as the largest of several quadratic functions, some labels at random."""
    linear, product = rng.standard_normal((classes, features)), rng.standard_normal(classes)

    def labels(X: np.ndarray) -> np.ndarray:
        best = (X @ linear.T + 0.7 * product * X[:, :1] * X[:, 1:2]).argmax(axis=1)
        return np.where(rng.random(len(X)) < noise, rng.integers(0, classes, len(X)), best)

    return labels


@dataclass
class Stream:
    """Examples, and the numbers of those from which on things are different."""

    X: np.ndarray
    y: np.ndarray
    changes: list[int]


def stream(kind: str, rng: np.random.Generator, rows: int) -> Stream:
    """One stream of a kind; features, classes and noise are drawn."""
    features, classes = int(rng.integers(2, 7)), int(rng.choice([2, 2, 3, 5]))
    noise = float(rng.choice([0.0, 0.05, 0.1, 0.2, 0.3]))
    labels = concept(rng, features, classes, noise)
    X, number = rng.standard_normal((rows, features)), np.arange(rows)
    y, half = labels(X), rows // 2
    new, later, changes = y, number >= half, [half]
    if kind == "label swap":
        new = (y + 1) % classes
    elif kind == "rotation":
        angle = rng.uniform(0.25, 0.5) * np.pi
        turn = np.eye(features)
        turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        new = labels(X @ turn)
    elif kind == "shift of inputs":  # labels move with them
        move = rng.standard_normal(features)
        X = X + later[:, None] * rng.uniform(0.7, 2.0) * move / np.linalg.norm(move)
    elif kind == "gradual":
        new = concept(rng, features, classes, noise)(X)
        later = rng.random(rows) < (number - half) / (rows // 4)
    elif kind == "recurring":
        new, changes = concept(rng, features, classes, noise)(X), [rows // 3, 2 * rows // 3]
        later = (number >= changes[0]) & (number < changes[1])
    return Stream(X, np.where(later, new, y), changes if kind != "none" else [])


KINDS = ("label swap", "rotation", "shift of inputs", "gradual", "recurring", "none")


def learned(given: Stream, settings: dict[str, Any]) -> tuple[np.ndarray, list[int]]:
    """Errors of the predictions, and after how many examples the model raised an alarm."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=4, gamma=0.2, n_jobs=None, detect_drift=True, **settings)
    model.partial_fit(given.X[:FIRST], given.y[:FIRST])
    wrong, alarms = np.zeros(len(given.y), bool), []
    for k, (x, label) in enumerate(zip(given.X[FIRST:], given.y[FIRST:].tolist()), start=FIRST):
        wrong[k] = model.predict_one(x) != label
        model.learn_one(x, label)
        if model.drift_detected_:
            alarms.append(k + 1)
    return wrong, alarms


def adwin(wrong: Iterable[bool], begin: int = 0) -> list[int]:
    """After how many examples River's ADWIN reports more errors."""
    from river.drift import ADWIN

    detector, alarms = ADWIN(), []
    for k, error in enumerate(wrong, start=begin + 1):
        before = detector.estimation
        detector.update(float(error))
        if detector.drift_detected and detector.estimation > before:
            alarms.append(k)
    return alarms


def ours(wrong: np.ndarray) -> list[int]:
    """After how many examples the detector of ``detect_drift`` reports a drift."""
    from onlinesvm.core.prequential.drift import BLOCK, DriftDetector

    detector, alarms = DriftDetector(), []
    for begin in range(0, len(wrong), BLOCK):
        before = detector.n_drifts
        detector.update(wrong[begin : begin + BLOCK])
        if detector.n_drifts > before:
            alarms.append(detector.seen)
    return alarms


@dataclass
class Account:
    """What one detector made of some streams."""

    delays: list[float] = field(default_factory=list)  # of each change; infinite: not found
    false: int = 0

    def add(self, alarms: list[int], changes: list[int], rows: int) -> None:
        ends = [min(end, change + SOON) for change, end in zip(changes, [*changes[1:], rows])]
        for change, end in zip(changes, ends):
            found = [alarm for alarm in alarms if change < alarm <= end]
            self.delays.append(found[0] - change if found else np.inf)
        inside = [any(c < a <= e for c, e in zip(changes, ends)) for a in alarms]
        self.false += len(alarms) - sum(inside)

    @property
    def found(self) -> int:
        return int(np.isfinite(self.delays).sum())

    @property
    def delay(self) -> float:
        """Mean delay of all changes; one that was not found counts as 1,500."""
        return float(np.minimum(self.delays, SOON).mean()) if self.delays else np.nan

    def cells(self) -> list[str]:
        if not self.delays:
            return ["–", "–", str(self.false)]
        return [f"{self.found} of {len(self.delays)}", f"{self.delay:.0f}", str(self.false)]


def compare(kind: str, forgets: bool, streams: int, rows: int, seed: int) -> list[Account]:
    """Accounts of ours and of ADWIN over streams of one kind."""
    accounts = [Account(), Account()]
    for k in range(streams):
        rng = np.random.default_rng([seed, KINDS.index(kind), int(forgets), k])
        given = stream(kind, rng, rows)
        wrong, alarms = learned(given, FORGETTING[k % len(FORGETTING)] if forgets else {})
        for account, each in zip(accounts, (alarms, adwin(wrong[FIRST:], FIRST))):
            account.add(each, given.changes, rows)
    return accounts


def together(accounts: list[Account]) -> Account:
    delays = [delay for account in accounts for delay in account.delays]
    return Account(delays, sum(account.false for account in accounts))


def report(streams: int, rows: int, seed: int) -> tuple[Account, Account]:
    """Print the table, and return both accounts of all streams."""
    print(
        markdown(
            ["change", "memory", "found", "delay", "false", "ADWIN found", "delay", "false"], []
        )
    )
    every: list[list[Account]] = []
    for kind in KINDS:
        for forgets in (False, True):
            count = streams if kind != "none" else 5 * streams
            every.append(compare(kind, forgets, count, rows, seed))
            cells = [kind, "forgets" if forgets else "keeps all"]
            cells += [cell for account in every[-1] for cell in account.cells()]
            print("| " + " | ".join(cells) + " |", flush=True)
    mine, theirs = (together(list(accounts)) for accounts in zip(*every))
    print("| all |  | " + " | ".join(mine.cells() + theirs.cells()) + " |")
    return mine, theirs


def report_alarms(examples: int, seed: int) -> None:
    """False alarms among independent errors, as one long stream and as streams of 4,000."""
    print(
        markdown(["rate", "errors", "ours", "ADWIN", "ours, 4,000 each", "ADWIN, 4,000 each"], [])
    )
    rng = np.random.default_rng(seed)
    for rate in RATES:
        wrong = rng.random(examples) < rate
        parts = [wrong[k : k + 4000] for k in range(0, examples, 4000)]
        counts = [len(ours(wrong)), len(adwin(wrong))]
        counts += [sum(len(find(part)) for part in parts) for find in (ours, adwin)]
        print("| " + " | ".join([str(rate), f"{examples:,}", *map(str, counts)]) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift_detection")
    parser.add_argument("--streams", type=int, default=10)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alarms", type=int)
    asked = parser.parse_args()
    if asked.alarms:
        report_alarms(asked.alarms, asked.seed)
    else:
        report(asked.streams, asked.rows, asked.seed)


if __name__ == "__main__":
    main()
