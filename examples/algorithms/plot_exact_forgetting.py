"""
================
Exact forgetting
================

Sometimes examples must be removed: a label was wrong, or a person asks to be forgotten. A
model can be trained again without them, or it can forget them. ``SimpleSVMClassifier`` keeps its
solution optimal while examples are added and removed, so that forgetting gives the same model as
training without them.

The first picture shows a model that has learned eight wrong labels, the second one the same model
after it has forgotten them. The boundary of a model that has never seen them is drawn on top: the
two lines cannot be distinguished. The third picture shows how much forgetting has changed the
decision values: most of it near the wrong labels.
"""

# %%
# Eight wrong labels
# ------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from onlinesvm import LASVMClassifier, SimpleSVMClassifier

X, y = make_moons(300, noise=0.15, random_state=0)
blue = np.flatnonzero(y == 0)
wrong = blue[np.argsort(np.linalg.norm(X[blue] - [-0.5, 0.8], axis=1))[:8]]
y[wrong] = 1
kept = np.setdiff1d(np.arange(len(X)), wrong)

settings = {"C": 10, "gamma": 4.0}
model = SimpleSVMClassifier(**settings).fit(X, y)
horizontal, vertical = np.meshgrid(np.linspace(-1.6, 2.6, 160), np.linspace(-1.2, 1.7, 120))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
before = model.decision_function(grid)
values_before = model.n_kernel_evaluations_

# %%
# Forget them
# -----------
model.forget(wrong)
after = model.decision_function(grid)
forgetting = model.n_kernel_evaluations_ - values_before

never = SimpleSVMClassifier(**settings).fit(X[kept], y[kept])
reference = never.decision_function(grid)
print(f"change made by forgetting: up to {np.abs(after - before).max():.3f}")
print(f"difference from a model that never saw them: {np.abs(after - reference).max():.1e}")
print(f"kernel values: {forgetting:,} to forget, {never.n_kernel_evaluations_:,} to train again")
near = np.linalg.norm(grid - X[wrong].mean(axis=0), axis=1) < 1
change = np.abs(after - before)
print(
    f"mean change: {change[near].mean():.3f} near the wrong labels, {change[~near].mean():.3f} elsewhere"
)
assert np.abs(after - reference).max() < 1e-3
assert change[near].mean() > 3 * change[~near].mean()
assert 10 * forgetting < never.n_kernel_evaluations_

# %%
# ``LASVMClassifier`` stores only its support vectors. If the data are passed once more, its
# ``forget`` gives the SVM of the remaining examples as well.
large = LASVMClassifier(**settings, tol=1e-4, epochs="converge").fit(X, y)
large.forget(wrong, X, y)
difference = np.abs(large.decision_function(grid) - reference).max()
print(f"LASVMClassifier: difference {difference:.1e}")
assert difference < 0.01

# %%
# The picture
# -----------
figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained")
for ax, values, rows, title in [
    (axes[0], before, np.arange(len(X)), "with eight wrong labels"),
    (axes[1], after, kept, "after forgetting them"),
]:
    for label, colour, marker in [(0, "#0072B2", "o"), (1, "#D55E00", "s")]:
        ax.scatter(*X[rows][y[rows] == label].T, s=12, c=colour, marker=marker, linewidths=0)
    ax.contour(
        horizontal, vertical, values.reshape(horizontal.shape), levels=[0], colors="black",
        linewidths=3 if ax is axes[1] else 1.5,
    )  # fmt: skip
    ax.set(xlabel="first feature", ylabel="second feature", title=title)
axes[0].scatter(*X[wrong].T, s=80, facecolors="none", edgecolors="black")
axes[1].contour(
    horizontal, vertical, reference.reshape(horizontal.shape), levels=[0], colors="#F0E442",
    linewidths=1.2, linestyles="dashed",
)  # fmt: skip
axes[1].plot([], [], color="black", linewidth=3, label="has forgotten them")
axes[1].plot([], [], color="#F0E442", linestyle="dashed", label="has never seen them")
axes[1].legend(loc="lower left", fontsize="small", facecolor="#dddddd", framealpha=1)
largest = change.max()
image = axes[2].contourf(
    horizontal, vertical, (after - before).reshape(horizontal.shape), cmap="PuOr_r",
    levels=np.linspace(-largest, largest, 22),
)  # fmt: skip
axes[2].scatter(*X[wrong].T, s=80, facecolors="none", edgecolors="black")
axes[2].set(xlabel="first feature", ylabel="second feature", title="what forgetting has changed")
figure.colorbar(image, ax=axes[2], label="change of the decision value", ticks=[-2, -1, 0, 1, 2])
plt.show()
