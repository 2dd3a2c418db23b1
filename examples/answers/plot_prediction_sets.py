"""
===============
Prediction sets
===============

Instead of one label, ``predict_set`` returns all labels that cannot be ruled out. You choose how
often the true label may be missing: with ``alpha=0.05``, about 95 % of the sets contain it. Clear
examples get one label, ambiguous ones get two or more, so that the size of a set says how sure
the model is.

On the left, the share of sets that contain the true digit follows the requested share. In the
middle, the price: to miss fewer digits, sets must be larger. On the right, digits whose set has
more than one label.

A set may also be empty: if the model is wrong less often than ``alpha``, some labels have to be
left out to miss as many as requested.
"""

# %%
# Digits, with some noise to make them harder
# -------------------------------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from onlinesvm import LASVMClassifier

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(0, 4, X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=800, random_state=0)
model = LASVMClassifier(C=10, gamma=0.001).fit(X_train, y_train)
print(f"test accuracy of single labels: {model.score(X_test, y_test):.3f}")

# %%
# Ask for more or less coverage
# -----------------------------
alphas = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.075])
coverage, size = [], []
for alpha in alphas:
    sets = model.predict_set(X_test, alpha=alpha)
    coverage.append(sets[np.arange(len(y_test)), y_test].mean())
    size.append(sets.sum(axis=1).mean())
    print(
        f"asked for {1 - alpha:.1%}: {coverage[-1]:.1%} contain the true digit, mean size {size[-1]:.2f}"
    )
assert np.abs(np.array(coverage) - (1 - alphas)).max() < 0.03
assert (np.diff(size) <= 0).all()

# %%
# The picture
# -----------
sets = model.predict_set(X_test, alpha=0.02)
doubtful = np.flatnonzero(sets.sum(axis=1) > 1)
print(f"{len(doubtful)} of {len(X_test)} sets have more than one digit (alpha=0.02)")

figure = plt.figure(figsize=(11, 3.9), layout="constrained")
left, middle, right = figure.subfigures(1, 3)
ax = left.subplots()
ax.plot([0.92, 1], [0.92, 1], color="#aaaaaa", linewidth=0.8)
ax.plot(1 - alphas, coverage, color="#D55E00", marker="o")
ax.set(xlabel="coverage asked for, 1 − alpha", ylabel="sets that contain the true digit")
ax = middle.subplots()
ax.plot(1 - alphas, size, color="#0072B2", marker="o")
ax.set(xlabel="coverage asked for, 1 − alpha", ylabel="mean size of a set", ylim=(0, None))
images = right.subplots(3, 3)
for ax, i in zip(images.flat, doubtful[sets[doubtful].sum(axis=1) <= 3]):
    ax.imshow(X_test[i].reshape(8, 8), cmap="Greys")
    names = ", ".join(str(digit) for digit in model.classes_[sets[i]])
    ax.set_title(f"{{{names}}}", fontsize="medium")
    ax.set_xlabel(f"true: {y_test[i]}", fontsize="small", labelpad=2)
    ax.set(xticks=[], yticks=[])
plt.show()
