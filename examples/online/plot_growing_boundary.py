"""
========================================
A boundary that grows with every example
========================================

``LASVMClassifier`` learns one example at a time and can predict after each of them. The animation
shows the decision boundary (solid line) and the margins (dashed lines) while 150 examples arrive.
Black circles mark the support vectors. All other examples do not contribute to the model.

The boundary is close to its final shape long before the last example, and the number of support
vectors grows much more slowly than the number of examples.
"""

# %%
# The stream
# ----------
# Two classes in two dimensions, in random order.
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier

X, y = make_moons(150, noise=0.15, random_state=3)
X_test, y_test = make_moons(2000, noise=0.15, random_state=4)

horizontal, vertical = np.meshgrid(np.linspace(-1.6, 2.6, 80), np.linspace(-1.2, 1.7, 60))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])

# %%
# Learn and look
# --------------
# ``learn_one`` takes one row and its label. After every fifth example, once both classes have been
# seen, we keep what the animation draws: the decision values on the grid and the support vectors.
model = LASVMClassifier(C=10, gamma=2.0)
snapshots = []
for seen, (row, label) in enumerate(zip(X, y), start=1):
    model.learn_one(row, label)
    if seen % 5 == 0 and len(model.classes_) == 2:
        values = model.decision_function(grid).reshape(horizontal.shape)
        snapshots.append((seen, values, model.support_vectors_, model.score(X_test, y_test)))

for seen, _, support, accuracy in snapshots[::7]:
    print(f"{seen:3d} examples: {len(support):2d} support vectors, test accuracy {accuracy:.3f}")

# %%
# The animation
# -------------
figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")


def draw(snapshot):
    """Draw the model as it was after some examples."""
    seen, values, support, accuracy = snapshot
    ax.clear()
    ax.contourf(
        horizontal, vertical, values, levels=[-np.inf, 0, np.inf], colors=["#d6e6f2", "#fbe3cf"]
    )
    ax.contour(
        horizontal, vertical, values, levels=[-1, 0, 1], colors="black",
        linewidths=[0.8, 1.6, 0.8], linestyles=["dashed", "solid", "dashed"],
    )  # fmt: skip
    for label, colour, marker in [(0, "#0072B2", "o"), (1, "#D55E00", "s")]:
        rows = X[:seen][y[:seen] == label]
        ax.scatter(*rows.T, s=22, c=colour, marker=marker, linewidths=0, label=f"class {label}")
    ax.scatter(*support.T, s=70, facecolors="none", edgecolors="black", label="support vector")
    ax.set(
        xlim=(-1.6, 2.6), ylim=(-1.2, 1.7), xlabel="first feature", ylabel="second feature",
        title=f"{seen} examples, {len(support)} support vectors, test accuracy {accuracy:.2f}",
    )  # fmt: skip
    ax.legend(loc="lower left", fontsize="small")


draw(snapshots[-1])
animation = FuncAnimation(figure, draw, frames=snapshots, interval=250)

# %%
# As good as the exact SVM
# ------------------------
# ``finish`` optimises what was learned. The accuracy is then that of ``SVC``, which has seen all
# examples at once.
model.finish()
exact = SVC(C=10, gamma=2.0).fit(X, y)
print(f"one pass:  {model.score(X_test, y_test):.3f} with {model.n_support_.sum()} support vectors")
print(f"exact SVM: {exact.score(X_test, y_test):.3f} with {exact.n_support_.sum()} support vectors")
assert abs(model.score(X_test, y_test) - exact.score(X_test, y_test)) < 0.02
assert abs(snapshots[len(snapshots) // 2][3] - snapshots[-1][3]) < 0.02  # half-way
assert 3 * len(snapshots[-1][2]) < len(X)

plt.show()
