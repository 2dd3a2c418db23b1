"""
==========================
The tube and the quantiles
==========================

``LASVMRegressor`` predicts a value. By default it solves the problem of ``SVR``: errors smaller than
``epsilon`` cost nothing. They form a tube around the prediction, and only examples outside it or on its
edge are support vectors (left).

The tube is as wide everywhere as you make it; it says nothing about the noise. For that, ask for
quantiles: ``quantile=[0.05, 0.5, 0.95]`` learns three curves at once, and the outer two enclose about
90 % of the values, tightly where the noise is low and widely where it is high (right).
``predict_interval`` corrects them, so that the coverage you ask for holds.
"""

# %%
# A curve whose noise grows
# -------------------------
import matplotlib.pyplot as plt
import numpy as np

from onlinesvm import LASVMRegressor

rng = np.random.default_rng(0)


def sample(n):
    """Values around a wave, with noise that grows from left to right."""
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x) + 0.1 * x + rng.normal(0, 0.05 + 0.06 * x)


X, y = sample(800)
X_test, y_test = sample(5000)
grid = np.linspace(0, 10, 300)[:, None]

# %%
# The tube
# --------
tube = LASVMRegressor(C=10, gamma=0.5, epsilon=0.4).fit(X, y)
outside = np.abs(y - tube.predict(X)) > 0.4 * 0.999
support = np.zeros(len(X), bool)
support[tube.support_] = True
print(
    f"{support.sum()} of {len(X)} examples are support vectors; {outside.sum()} lie outside the tube"
)
assert (support >= (np.abs(y - tube.predict(X)) > 0.45)).all()

# %%
# The quantiles
# -------------
band = LASVMRegressor(C=10, gamma=0.5, quantile=[0.05, 0.5, 0.95]).fit(X, y)
below = (y_test[:, None] < band.predict(X_test)).mean(axis=0)
low, high = band.predict_interval(X_test, coverage=0.9).T
inside = ((low <= y_test) & (y_test <= high)).mean()
print(f"share of test values below each quantile: {np.round(below, 3)}")
print(f"share of test values inside the interval: {inside:.3f}")
assert np.abs(below - [0.05, 0.5, 0.95]).max() < 0.06
assert abs(inside - 0.9) < 0.04

# %%
# The picture
# -----------
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.4), layout="constrained", sharex=True, sharey=True
)
middle = tube.predict(grid)
left.fill_between(grid[:, 0], middle - 0.4, middle + 0.4, color="#0072B2", alpha=0.2)
left.plot(grid[:, 0], middle, color="#0072B2")
left.scatter(X[~support], y[~support], s=8, c="#999999", label="not a support vector")
left.scatter(X[support], y[support], s=10, c="#D55E00", marker="s", label="support vector")
left.set(xlabel="x", ylabel="y", title="tube of ±0.4")
left.legend(loc="upper left", fontsize="small")
curves = band.predict(grid)
limits = band.predict_interval(grid, coverage=0.9)
right.scatter(X, y, s=8, c="#999999")
for curve, style, name in zip(curves.T, ["dashed", "solid", "dashed"], ["0.05", "0.5", "0.95"]):
    right.plot(grid[:, 0], curve, color="#D55E00", linestyle=style, label=f"quantile {name}")
right.fill_between(
    grid[:, 0], *limits.T, color="#D55E00", alpha=0.15, label="interval, coverage 0.9"
)
right.set(xlabel="x", title=f"quantiles: {inside:.1%} of the test values in the interval")
right.legend(loc="upper left", fontsize="small")
plt.show()
