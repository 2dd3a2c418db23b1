"""Forgetting one support vector: the same boundary as if it had never been there."""

import matplotlib.pyplot as plt
import numpy as np
from drawing import bare, boundary, examples, rings

from onlinesvm import SimpleSVMClassifier

rng = np.random.default_rng(4)
X = rng.normal(size=(60, 2)) + np.repeat([[-1.1, -0.6], [1.1, 0.6]], 30, axis=0)
X[0] = [0.9, -0.4]  # one example far inside the other class
y = np.repeat([0, 1], 30)

before = SimpleSVMClassifier(C=5, gamma=0.5).fit(X, y)
after = SimpleSVMClassifier(C=5, gamma=0.5).fit(X, y).forget([0])
never = SimpleSVMClassifier(C=5, gamma=0.5).fit(X[1:], y[1:])

figure, panels = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for axes, model, rows, title in (
    (panels[0], before, X, "all examples"),
    (panels[1], after, X[1:], "one forgotten"),
):
    examples(axes, rows, y[-len(rows) :], alpha=0.8)
    boundary(axes, model, X, margins=False)
    rings(axes, model.support_vectors_)
    bare(axes, title)
rings(panels[0], X[:1], s=160, edgecolors="crimson")
boundary(panels[1], never, X, margins=False, colors="crimson", linestyles="dotted")
difference = np.abs(after.decision_function(X) - never.decision_function(X)).max()
panels[1].set_xlabel(f"black: forgotten; red: never seen; they differ by {difference:.0e}")
