"""
================
Why this answer?
================

``explain`` splits a decision value into one share per feature. The shares are exact Shapley values of
the kernel model, computed in milliseconds and without sampling; together with a base value they add up
to the decision value.

For images of digits the features are pixels, so that an explanation is an image as well. Each row
shows a digit, then the shares of its pixels for the predicted class and for the second most likely
one. Orange pixels speak for the class, purple ones against it. The bars below check explanations where
the truth is known: the target depends on the first five features, and not on the other five.
"""

# %%
# Pixels
# ------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_friedman1

from onlinesvm import LASVMClassifier, LASVMRegressor

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
# The explanation also names the support vectors with the largest share, for or against a class.
first, second = np.argsort(-answer, axis=1)[:, :2].T
for k, row in enumerate(close):
    index, share = why.examples.index[k, :3, first[k]], why.examples.share[k, :3, first[k]]
    named = [f"a {y[i]} ({s:+.2f})" for i, s in zip(index, share)]
    print(f"digit {row} is a {first[k]}: largest shares of {', '.join(named)}")

# %%
# Features that matter, and features that do not
# ----------------------------------------------
# In the data of Friedman (1991) the target is a function of the first five features.
features, target = make_friedman1(1500, random_state=0)
target = (target - target.mean()) / target.std()
regressor = LASVMRegressor(gamma=1.0).fit(features[:1000], target[:1000])
importance = regressor.explain(features[1000:]).importance()
print(f"mean absolute shares: {np.round(importance, 2)}")
assert importance[:5].min() > 2 * importance[5:].max()

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
colours = ["#0072B2"] * 5 + ["#999999"] * 5
ax.bar(np.arange(1, 11), importance, color=colours)
ax.set(
    xticks=np.arange(1, 11), xlabel="feature (grey: the target does not depend on it)",
    ylabel="mean absolute share", title="Friedman's function",
)  # fmt: skip
plt.show()
