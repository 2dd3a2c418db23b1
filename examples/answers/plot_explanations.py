"""
================
Why this answer?
================

``explain`` splits a decision value into one share per feature. The shares are exact Shapley values of
the kernel model, computed in milliseconds and without sampling; together with a base value they add up
to the decision value.

For images of digits the features are pixels, so that an explanation is an image as well. Each row
shows a digit, then the shares of its pixels for the predicted class and for the second most likely
one. Orange pixels speak for the class, purple ones against it. The bars below rank the measurements of
a medical data set by how much they matter on average.
"""

# %%
# Pixels
# ------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from onlinesvm import LASVMClassifier

X, y = load_digits(return_X_y=True)
model = LASVMClassifier(C=10, gamma=0.001).fit(X[:1200], y[:1200])
values = model.decision_function(X[1200:])
ordered = np.sort(values, axis=1)
right = model.predict(X[1200:]) == y[1200:]
close = 1200 + np.flatnonzero(right)[np.argsort((ordered[:, -1] - ordered[:, -2])[right])[:3]]
why = model.explain(X[close])
answer = why.base_values + why.values.sum(axis=1)
difference = np.abs(answer - model.decision_function(X[close])).max()
print(f"shares and base value add up to the decision values, within {difference:.1e}")
assert difference < 1e-3

# %%
# The explanation also names the support vectors that contribute most.
first, second = np.argsort(-answer, axis=1)[:, :2].T
for k, row in enumerate(close):
    like = why.examples.index[k, :3, first[k]]
    print(f"test digit {row} (a {y[row]}) is most like the training digits {y[like].tolist()}")

# %%
# Measurements
# ------------
table, benign = load_breast_cancer(return_X_y=True, as_frame=True)
table = StandardScaler().set_output(transform="pandas").fit_transform(table)
doctor = LASVMClassifier().fit(table, benign)
reasons = doctor.explain(table)
importance = reasons.importance()
order = np.argsort(importance)[-8:]

# %%
# The picture
# -----------
figure = plt.figure(figsize=(8, 9.5), layout="constrained")
upper, lower = figure.subfigures(2, 1, height_ratios=[2.4, 1])
axes = upper.subplots(3, 3)
largest = np.abs(why.values).max()
for k, (row_axes, row) in enumerate(zip(axes, close)):
    row_axes[0].imshow(X[row].reshape(8, 8), cmap="Greys")
    row_axes[0].set_title(f"a {y[row]}")
    for ax, label in zip(row_axes[1:], (first[k], second[k])):
        shares = why.values[k, :, label].reshape(8, 8)
        image = ax.imshow(shares, cmap="PuOr_r", vmin=-largest, vmax=largest)
        ax.set_title(f"is it a {label}? decision value {answer[k, label]:.2f}", fontsize="medium")
    for ax in row_axes:
        ax.set(xticks=[], yticks=[])
upper.colorbar(image, ax=axes, label="share of the pixel", shrink=0.6)
ax = lower.subplots()
ax.barh([reasons.feature_names[j] for j in order], importance[order], color="#0072B2")
ax.set(xlabel=f"mean absolute share over {len(table)} examples", title="breast cancer: what matters")
plt.show()
