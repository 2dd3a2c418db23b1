"""The ball of StreamSVM grows when an example lies outside it."""

import matplotlib.pyplot as plt
import numpy as np
from drawing import BLUE, bare

rng = np.random.default_rng(2)
points = rng.normal(size=(60, 2)) * [1.0, 0.7]

centre, radius = points[0], 0.0
figure, panels = plt.subplots(
    1, 3, figsize=(9, 2.8), layout="constrained", subplot_kw={"aspect": 1}
)
for k, point in enumerate(points):
    distance = np.linalg.norm(point - centre)
    if distance > radius:  # the new ball just holds the old one and the point
        step = (1 - radius / distance) / 2
        centre, radius = centre + step * (point - centre), radius + (distance - radius) / 2
    if k + 1 in (4, 15, 60):
        axes = panels[(4, 15, 60).index(k + 1)]
        axes.scatter(*points[: k + 1].T, s=14, color=BLUE, linewidths=0)
        axes.add_patch(plt.Circle(centre, radius, fill=False, linewidth=1.4))
        axes.plot(*centre, "k+")
        axes.set(xlim=(-4, 4), ylim=(-2.8, 2.8))
        bare(axes, f"{k + 1} examples, radius {radius:.2f}")
