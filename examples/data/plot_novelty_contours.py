"""
================
Novelty contours
================

``LASVMOneClass`` learns what is normal from examples without labels and draws a border around it;
what lies outside is new. The parameter ``nu`` says how large a share of the training examples may
lie outside (left): it is the one number you choose, and it keeps its meaning on any data.

The same model follows a stream. On the right, the normal region moves, and a model with
``window=300`` uses only the last 300 examples: its border moves along, and the old normal
examples have become novel.
"""

# %%
# Three values of nu
# ------------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from onlinesvm import LASVMOneClass

X = make_moons(1500, noise=0.12, random_state=0)[0]
models = {nu: LASVMOneClass(nu=nu, gamma=4.0, epochs="converge").fit(X) for nu in (0.01, 0.1, 0.5)}
for nu, model in models.items():
    outside = (model.decision_function(X) < 0).mean()
    print(
        f"nu={nu}: {outside:.1%} of the training examples lie outside, {len(model.support_)} support vectors"
    )
    assert abs(outside - nu) < 0.02

# %%
# A normal region that moves
# --------------------------
rng = np.random.default_rng(0)
time = np.linspace(0, 1, 3000)
path = np.column_stack([-2 + 4 * time, np.sin(np.pi * time)])
stream = path + rng.normal(0, 0.25, path.shape)
follower = LASVMOneClass(nu=0.05, gamma=2.0, window=300)
borders = {}
horizontal, vertical = np.meshgrid(np.linspace(-3.2, 3.2, 160), np.linspace(-1.2, 2.2, 120))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
accepted = []
for seen, row in enumerate(stream, start=1):
    if seen > 300:
        accepted.append(follower.predict_one(row) == 1)
    follower.learn_one(row)
    if seen in (400, 1700, 3000):
        borders[seen] = follower.decision_function(grid).reshape(horizontal.shape)
old = (follower.predict(stream[:300]) == -1).mean()
print(f"accepted on arrival: {np.mean(accepted):.1%}")
print(f"of the first 300 examples, {old:.1%} are novel to the final model")
assert np.mean(accepted) > 0.85
assert old > 0.95

# %%
# The picture
# -----------
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
across, up = np.meshgrid(np.linspace(-1.7, 2.7, 160), np.linspace(-1.2, 1.7, 120))
rows = np.column_stack([across.ravel(), up.ravel()])
left.scatter(*X.T, s=6, c="#999999", linewidths=0)
styles = {0.01: ("#0072B2", "dotted"), 0.1: ("#D55E00", "solid"), 0.5: ("#009E73", "dashed")}
for nu, (colour, style) in styles.items():
    values = models[nu].decision_function(rows).reshape(across.shape)
    left.contour(across, up, values, levels=[0], colors=colour, linestyles=style, linewidths=2)
    left.plot([], [], color=colour, linestyle=style, linewidth=2, label=f"nu={nu}")
left.set(xlabel="first feature", ylabel="second feature", title="what is normal, for three nu")
left.legend(loc="lower left")
right.scatter(*stream.T, s=5, c=time, cmap="cividis", linewidths=0)
for seen, values in borders.items():
    right.contour(horizontal, vertical, values, levels=[0], colors="black", linewidths=1.5)
    right.annotate(
        f"after {seen:,}", path[seen - 150] + [0, 0.9], ha="center", va="center",
    )  # fmt: skip
right.set(xlabel="first feature", ylabel="second feature", title="a stream that moves, window=300")
plt.show()
