"""What the pictures of the pages "How it works" share."""

import numpy as np
from matplotlib.colors import ListedColormap

BLUE, ORANGE = "#2f6fb0", "#e08a1e"
COLOURS = ListedColormap([BLUE, ORANGE])


def examples(axes, X, y, **options):
    """Two classes as points."""
    axes.scatter(*X.T, c=y, cmap=COLOURS, vmin=0, vmax=1, s=16, linewidths=0, **options)


def boundary(axes, model, around, margins=True, **options):
    """Where the decision function is zero, and where it is -1 and 1."""
    low, high = around.min(axis=0) - 0.4, around.max(axis=0) + 0.4
    u, v = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 160))
    values = model.decision_function(np.c_[u.ravel(), v.ravel()]).reshape(u.shape)
    options = {"colors": "black", "linewidths": 1.6} | options
    axes.contour(u, v, values, levels=[0], **options)
    if margins:
        levels = {"levels": [-1, 1], "linestyles": "dashed", "linewidths": 0.8}
        axes.contour(u, v, values, **(options | levels))


def rings(axes, rows, **options):
    """Support vectors, marked."""
    options = {"edgecolors": "black", "linewidths": 0.9, "s": 46} | options
    axes.scatter(*np.asarray(rows).T, facecolors="none", **options)


def bare(axes, title):
    """No ticks; a title."""
    axes.set(xticks=[], yticks=[], title=title)
