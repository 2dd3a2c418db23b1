"""Random imbalanced sets: one class has 1 to 50 of the examples, whichever label it has.

    python tests/helpers/imbalanced.py --sets 200

fits ``LASVMClassifier`` and ``SVC`` with default settings to each, and compares their balanced
accuracy on the training set and on as many examples more.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier

MARGIN = 0.001
"""Balanced accuracy by which LASVM may be worse: 0.1 points."""


@dataclass
class Comparison:
    """One set: what it is, and the balanced accuracies of LASVM and SVC."""

    set: str
    ours: tuple[float, float]  # training, test
    theirs: tuple[float, float]

    @property
    def is_worse(self) -> bool:
        return any(a < b - MARGIN for a, b in zip(self.ours, self.theirs))

    def __str__(self) -> str:
        return (
            f"{self.set}: LASVM {self.ours[0]:.4f} {self.ours[1]:.4f}, "
            f"SVC {self.theirs[0]:.4f} {self.theirs[1]:.4f}"
        )


def draw(seed: int, n: int, most: int) -> tuple[np.ndarray, np.ndarray, str]:
    """2 n examples, rare ones spread over both halves alike, the first half to learn from."""
    rng = np.random.default_rng(seed)
    rare, d = int(rng.integers(1, most + 1)), int(rng.choice([2, 5, 20]))
    distance = float(rng.choice([2.0, 4.0, 8.0]))
    label = [(0, 1), (1, 0), ("b", "a"), ("a", "b")][int(rng.integers(4))]
    X = rng.standard_normal((2, n, d))
    X[:, :rare, 0] += distance
    y = np.full(n, label[0], dtype=np.asarray(label).dtype)
    y[:rare] = label[1]
    order = rng.choice(["shuffled", "rare first", "rare last"])
    place = np.arange(n) if order == "rare first" else np.arange(n)[::-1]
    place = rng.permutation(n) if order == "shuffled" else place
    about = f"seed {seed}: {rare} of {n} are {label[1]!r}, {d} features, {distance} away, {order}"
    return np.concatenate(X[:, place]), np.tile(y[place], 2), about


def compare(seed: int, n: int = 20_000, most: int = 50) -> Comparison:
    """Both with default settings, but for the seed of the order."""
    X, y, about = draw(seed, n, most)
    parts = slice(n), slice(n, None)
    scores = []
    for model in (LASVMClassifier(random_state=seed), SVC()):
        model.fit(X[:n], y[:n])
        found = [balanced_accuracy_score(y[part], model.predict(X[part])) for part in parts]
        scores.append((found[0], found[1]))
    return Comparison(about, *scores)


def main() -> None:
    """Compare on many sets; print those on which LASVM is worse."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--most", type=int, default=50, help="examples of the rare class")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first set")
    options = parser.parse_args()
    worse, gaps = 0, []
    for seed in range(options.seed, options.seed + options.sets):
        found = compare(seed, options.examples, options.most)
        gaps.append(max(b - a for a, b in zip(found.ours, found.theirs)))
        if found.is_worse:
            worse += 1
            print(found, flush=True)
    print(f"{options.sets} sets: worse on {worse}, largest gap {100 * max(gaps):.3f} points")


if __name__ == "__main__":
    main()
