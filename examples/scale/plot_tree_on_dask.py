"""
================
The tree on Dask
================

``TreeLASVMClassifier`` learns data in partitions, on one machine or on many. Each partition is
learned on the worker that holds it, and only its support vectors are sent on: they are merged in
pairs, up to the root. Then the root looks back: each partition returns the rows that lie inside the
margin of the root's model, or on the wrong side, and the root learns them. When no such row is
left, the model is the exact SVM of all the data.

On the left, the number of rows that each task of the tree passes on: of the 1,500 rows of a
partition only the support vectors leave it. On the right, how far the decision values are from
those of the exact SVM after each look back. The example runs on threads of this process; with a
``distributed.Client``, the same code runs on a cluster.
"""

# %%
# Eight partitions
# ----------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from onlinesvm import LASVMClassifier

try:
    import dask
    import dask.array as da

    from onlinesvm.dask import TreeLASVMClassifier
except ImportError:
    dask = None
    print(
        "This example needs Dask, and draws nothing without it: pip install 'dask[array]' distributed"
    )

X, y = make_moons(12000, noise=0.25, random_state=0)
X_test, y_test = make_moons(5000, noise=0.25, random_state=1)
settings = {"C": 1.0, "gamma": 2.0}
exact = LASVMClassifier(**settings, epochs="converge").fit(X, y)
reference = exact.decision_function(X_test)

# %%
# Look back until nothing changes
# -------------------------------
# ``passes`` is the number of looks back; ``None`` continues until no partition has a row to send.


def grow(passes):
    """A tree over eight partitions of 1,500 rows, on two threads."""
    rows, labels = da.from_array(X, chunks=(1500, 2)), da.from_array(y, chunks=1500)
    with dask.config.set(scheduler="threads", num_workers=2):
        return TreeLASVMClassifier(**settings, passes=passes).fit(rows, labels)


def difference(tree):
    """Largest difference from the exact SVM's decision values on the test set."""
    return np.abs(tree.to_local().decision_function(X_test) - reference).max()


if dask:
    trees = [grow(passes) for passes in (0, 1, 2, None)]
    distances = [difference(tree) for tree in trees]
    for tree, distance in zip(trees, distances):
        print(
            f"{tree.n_passes_} looks back: {tree.n_support_.sum():,} support vectors, test error "
            f"{1 - tree.to_local().score(X_test, y_test):.4f}, largest difference {distance:.4f}"
        )
    error = 1 - exact.score(X_test, y_test)
    print(f"exact SVM:    {exact.n_support_.sum():,} support vectors, test error {error:.4f}")
    assert trees[-1].converged_
    assert distances[-1] < 0.02 < distances[0]

# %%
# The picture
# -----------
# ``costs_`` has one entry per task. A merge of level 1 joins two leaves, one of level 2 four of
# them, and so on.


def draw_tree(ax, tree):
    """Draw the number of rows that each task passes on."""
    tasks = tree.costs_["leaf"] + tree.costs_["merge"]
    levels = [[task.rows for task in tasks if task.level == level] for level in range(4)]
    assert [len(level) for level in levels] == [8, 4, 2, 1]
    places = np.arange(8.0)
    for height, level in enumerate(levels):
        for place, count in zip(places, level):
            ax.annotate(
                f"{count:,}", (place, height), ha="center", va="center", zorder=3,
                bbox={"boxstyle": "round,pad=0.3", "facecolor": "#d6e6f2", "edgecolor": "#0072B2"},
            )  # fmt: skip
        if height < 3:
            above = places.reshape(-1, 2).mean(axis=1)
            for place, parent in zip(places, np.repeat(above, 2)):
                ax.plot([place, parent], [height, height + 1], color="#777777", linewidth=1)
            places = above
    ax.set(
        xlim=(-0.7, 7.7), ylim=(-0.4, 3.4), xticks=[], yticks=range(4),
        yticklabels=["leaf", "merge", "merge", "root"], title="support vectors that travel",
        xlabel="eight partitions of 1,500 rows",
    )  # fmt: skip


if dask:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    draw_tree(left, trees[0])
    looks = [tree.n_passes_ for tree in trees]
    right.plot(looks, distances, color="#D55E00", marker="o")
    right.set_yscale("log")
    right.set(
        xticks=range(max(looks) + 1), xlabel="looks back",
        ylabel="largest difference from the exact SVM",
    )  # fmt: skip
    plt.show()
