"""
==================
The Huller's hulls
==================

The hard-margin SVM separates two classes halfway between the closest points of their convex hulls. The
Huller (Bordes and Bottou, 2005) keeps one point in each hull, a weighted average of the support
vectors of its class, and moves these two points towards each other, example by example. The decision
boundary is always the line halfway between them.

The first three pictures show the hulls of the examples seen so far, and the two points. The last one
shows the distance between the points: each new example can enlarge a hull, so that the points can come
closer. At the end it is the width of the margin that ``SVC`` finds.
"""

# %%
# Two classes that can be separated
# ---------------------------------
import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial import ConvexHull
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from onlinesvm import HullerClassifier

X, y = make_blobs(120, centers=[(-2.2, -0.6), (2.0, 0.8)], cluster_std=0.95, random_state=0)


def closest_points(model):
    """The points of the two hulls: averages of the support vectors, weighted by coefficients."""
    coefficients, rows = model.dual_coef_[0], model.support_vectors_
    return [
        rows[side].T @ coefficients[side] / coefficients[side].sum()
        for side in (coefficients < 0, coefficients > 0)
    ]


# %%
# One example at a time
# ---------------------
model = HullerClassifier(kernel="linear", random_state=0)
shown, distances = {}, {}
for seen, (row, label) in enumerate(zip(X, y), start=1):
    model.learn_one(row, label)
    if seen >= 10:  # the first five examples of each class are averaged
        points = closest_points(model)
        distances[seen] = np.linalg.norm(points[0] - points[1])
        if seen in (12, 40, len(X)):
            shown[seen] = points

# %%
# ``finish`` updates all support vectors a few more times. The distance of the points is then the width
# of the margin, :math:`2 / |w|`, of the exact hard-margin SVM.
model.finish()
points = shown[len(X)] = closest_points(model)
width = np.linalg.norm(points[0] - points[1])
exact = 2 / np.linalg.norm(SVC(kernel="linear", C=1e6).fit(X, y).coef_)
print(f"distance of the points {width:.4f}, margin of the exact SVM {exact:.4f}")
print(f"support vectors: {model.n_support_.sum()} of {len(X)} examples")
assert abs(width - exact) < 0.02 * exact

# %%
# The picture
# -----------
figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for ax, (seen, (negative, positive)) in zip(axes.flat, shown.items()):
    for label, colour, marker in [(0, "#0072B2", "o"), (1, "#D55E00", "s")]:
        rows = X[:seen][y[:seen] == label]
        hull = rows[ConvexHull(rows).vertices]
        ax.fill(*hull.T, color=colour, alpha=0.15, linewidth=0)
        ax.scatter(*rows.T, s=16, c=colour, marker=marker, linewidths=0)
    ax.plot(*np.transpose([negative, positive]), color="black", marker="D", markersize=5)
    middle, direction = (negative + positive) / 2, positive - negative
    ax.axline(middle, middle + [-direction[1], direction[0]], color="black", linestyle="dashed")
    distance = np.linalg.norm(direction)
    ax.set(
        aspect="equal", xlim=(-5.5, 5.5), ylim=(-4, 4), xlabel="first feature",
        ylabel="second feature", title=f"{seen} examples: distance {distance:.2f}",
    )  # fmt: skip
last = axes.flat[-1]
last.plot(list(distances), list(distances.values()), color="black", label="while learning")
last.plot(len(X), width, marker="D", color="black", linestyle="none", label="after finish()")
last.axhline(exact, color="#009E73", linestyle="dashed", label="margin of the exact SVM")
last.set(xlabel="examples seen", ylabel="distance of the two points", ylim=(0, None))
last.legend()
plt.show()
