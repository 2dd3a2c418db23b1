"""
===================
A leave-one-out map
===================

What would the model predict for an example if it had never learned it? ``SimpleSVMClassifier``
answers for every example: ``leave_one_out_decision`` removes each one, restores the exact solution
and evaluates it, without training one model per example.

On the left, each example is coloured by its leave-one-out margin, its label times the decision
value of the model without it. Circles mark those that this model gets wrong. On the right, the
margin of the trained model against the leave-one-out margin. Most examples lie on the diagonal:
they are not support vectors, and removing them changes nothing. The others lie below it: the
trained model looks better on its own support vectors than it is.
"""

# %%
# Train once
# ----------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from onlinesvm import SimpleSVMClassifier

X, y = make_moons(250, noise=0.28, random_state=1)
sign = 2 * y - 1
model = SimpleSVMClassifier(C=5, gamma=2.0).fit(X, y)
margin = sign * model.decision_function(X)
left_out = sign * model.leave_one_out_decision()

X_test, y_test = make_moons(20000, noise=0.28, random_state=2)
print(f"training error      {(margin < 0).mean():.3f}")
print(f"leave-one-out error {(left_out < 0).mean():.3f}")
print(f"test error          {1 - model.score(X_test, y_test):.3f}")
assert np.isclose((left_out < 0).mean(), model.leave_one_out_error())
assert (left_out < 0).mean() >= (margin < 0).mean()

# %%
# Check it the slow way
# ---------------------
# Ten examples, each with a separate model that is trained on the 249 others.
slow = []
for i in range(0, 250, 25):
    others = np.arange(250) != i
    one = SVC(C=5, gamma=2.0, tol=1e-6).fit(X[others], y[others])
    slow.append(sign[i] * one.decision_function(X[i : i + 1])[0])
print(f"largest difference: {np.abs(left_out[::25] - slow).max():.1e}")
assert np.abs(left_out[::25] - slow).max() < 1e-3

# %%
# Only the margins of support vectors can change, and they decrease.
support = np.zeros(250, bool)
support[model.support_] = True
assert np.allclose(margin[~support], left_out[~support], atol=1e-3)
assert (left_out <= margin + 1e-3).all()
assert support.mean() < 0.5

# %%
# The picture
# -----------
figure, (space, plane) = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
horizontal, vertical = np.meshgrid(np.linspace(-1.8, 2.8, 160), np.linspace(-1.4, 1.9, 120))
values = model.decision_function(np.column_stack([horizontal.ravel(), vertical.ravel()]))
space.contour(horizontal, vertical, values.reshape(horizontal.shape), levels=[0], colors="black")
for label, marker in [(0, "o"), (1, "s")]:
    points = space.scatter(
        *X[y == label].T, c=left_out[y == label], marker=marker, cmap="PuOr_r", vmin=-2.5, vmax=2.5,
        s=30, edgecolors="#999999", linewidths=0.4, label=f"class {label}",
    )  # fmt: skip
wrong = left_out < 0
space.scatter(*X[wrong].T, s=90, facecolors="none", edgecolors="black", label="wrong if left out")
space.set(xlabel="first feature", ylabel="second feature")
space.legend(fontsize="small", loc="lower left")
figure.colorbar(points, ax=space, location="bottom", label="leave-one-out margin", shrink=0.7)
plane.axline((0, 0), slope=1, color="#aaaaaa", linewidth=0.8)
plane.axhline(0, color="#aaaaaa", linewidth=0.8)
plane.scatter(margin[~support], left_out[~support], s=16, c="#0072B2", label="not a support vector")
plane.scatter(
    margin[support], left_out[support], s=20, c="#D55E00", marker="s", label="support vector"
)
plane.set(xlabel="margin of the trained model", ylabel="leave-one-out margin", aspect="equal")
plane.legend(fontsize="small", loc="lower right")
plt.show()
