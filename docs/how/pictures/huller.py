"""The two points of the Huller, inside the convex hulls of their classes."""

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, ORANGE, bare, boundary, examples
from scipy.spatial import ConvexHull

from onlinesvm import HullerClassifier

rng = np.random.default_rng(1)
X = np.r_[rng.normal([-1.6, 0], 0.8, (60, 2)), rng.normal([1.6, 0.6], 0.8, (60, 2))]
y = np.repeat([0, 1], 60)
keep = (X[:, 0] < -0.25) == (y == 0)  # separable
order = rng.permutation(np.flatnonzero(keep))
X, y = X[order], y[order]

model = HullerClassifier(kernel="linear", max_sweeps=0, random_state=0)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
learned = 0
for axes, count in zip(panels, (12, 40, len(X))):
    model.partial_fit(X[learned:count], y[learned:count])
    learned = count
    examples(axes, X[:count], y[:count], alpha=0.5)
    for label, colour in ((0, BLUE), (1, ORANGE)):
        rows = X[:count][y[:count] == label]
        axes.fill(*rows[ConvexHull(rows).vertices].T, color=colour, alpha=0.12)
    boundary(axes, model, X, margins=False)
    share = model.dual_coef_[0]
    points = [
        share[side] @ model.support_vectors_[side] / share[side].sum()
        for side in (share > 0, share < 0)
    ]
    axes.plot(*np.transpose(points), "ko-", linewidth=1, markersize=5)
    bare(axes, f"{count} examples")
