"""
================
The tree on Dask
================

``TreeLASVMClassifier`` learns data that lie in partitions, on one machine or on many. Each partition is
learned where it lies, and only its support vectors travel: they merge in pairs, up to the root. Then the
root looks back: each partition sends the rows that the model of the root gets wrong, or nearly wrong, and the
root admits them. When no such row is left, the model is the exact SVM of all the data.

On the left, the rows that each task of the tree handed on. On the right, how far the decision values are
from those of the exact SVM after each look back. The example runs on threads of this process;
with a ``distributed.Client``, the same code runs on a cluster.
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
except ImportError:
    raise SystemExit("This example needs Dask: pip install 'dask[array]' distributed") from None

from onlinesvm.dask import TreeLASVMClassifier

X, y = make_moons(16000, noise=0.25, random_state=0)
X_test, y_test = make_moons(5000, noise=0.25, random_state=1)
settings = {"C": 1.0, "gamma": 2.0}
rows, labels = da.from_array(X, chunks=(2000, 2)), da.from_array(y, chunks=2000)
exact = LASVMClassifier(**settings, epochs="converge").fit(X, y)
reference = exact.decision_function(X_test)

# %%
# Look back until nothing changes
# -------------------------------
trees, distance = {}, []
with dask.config.set(scheduler="threads", num_workers=2):
    for passes in (0, 1, None):
        trees[passes] = TreeLASVMClassifier(**settings, passes=passes).fit(rows, labels)
for passes, tree in trees.items():
    local = tree.to_local()
    difference = np.abs(local.decision_function(X_test) - reference)
    distance.append(np.median(difference))
    print(
        f"{tree.n_passes_} looks back: {tree.n_support_.sum()} support vectors, test error "
        f"{1 - local.score(X_test, y_test):.4f}, median difference {distance[-1]:.1e}"
    )
print(f"exact SVM: {exact.n_support_.sum()} support vectors, error {1 - exact.score(X_test, y_test):.4f}")
assert trees[None].converged_
assert distance[-1] < 0.01
