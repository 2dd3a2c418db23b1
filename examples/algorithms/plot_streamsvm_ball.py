"""
=====================
The ball of StreamSVM
=====================

StreamSVM (Rai, Daumé III and Venkatasubramanian, 2008) turns a linear SVM without a bias into a
question of geometry. Multiply each example, scaled to length one, by its label: all of them then
lie on the unit circle, and the centre of the smallest ball that encloses them is the weight
vector of the SVM. The algorithm sees each example once. An example inside the ball changes
nothing. For an example outside, the ball grows just enough to touch it and the far side of the
old ball.

On the left, the ball after 2, 10, 50 and all 200 examples; only the ball is kept, never an
example. On the right, the price of a single ball: how good it is depends on the order of the
examples. With more balls (``n_balls``) the classifier is better, and still constant in memory.
"""

# %%
# The update in four lines
# ------------------------
# The slack of the soft margin gives every example its own axis, of length
# :math:`1/\sqrt{C}`. We draw two dimensions and keep the squared length along all other axes in
# ``slack``.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from onlinesvm import StreamSVMClassifier

rng = np.random.default_rng(11)
n, C = 200, 100.0
angle = rng.normal(np.pi / 3, 0.45, n)  # of the examples, once multiplied by their labels
label = rng.choice([-1, 1], n)
X = label[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])

centre, radius, slack = label[0] * X[0], 0.0, 1 / C
balls = []
for seen in range(1, n):
    point = label[seen] * X[seen]
    distance = np.sqrt(((point - centre) ** 2).sum() + slack + 1 / C)
    if distance > radius:
        step = (1 - radius / distance) / 2
        centre = centre + step * (point - centre)
        radius = radius + (distance - radius) / 2
        slack = (1 - step) ** 2 * slack + step**2 / C
    if seen + 1 in (2, 10, 50, n):
        balls.append((seen + 1, centre, radius, slack))

# %%
# ``StreamSVMClassifier`` with one ball makes exactly these updates.
model = StreamSVMClassifier(C=C, n_balls=1)
for row, sign in zip(X, label):
    model.partial_fit(row[None], [sign])
cosine = model.coef_[0] @ centre / np.linalg.norm(model.coef_[0]) / np.linalg.norm(centre)
print(f"radius {model.radius_[0]:.6f} against {radius:.6f}, cosine of the centres {cosine:.6f}")
print(f"{model.n_support_.sum()} of {n} examples made the ball grow")
assert np.isclose(model.radius_[0], radius, rtol=1e-4)
assert cosine > 1 - 1e-6

# %%
# More balls
# ----------
# The digits 8 and 9, in 20 random orders, for 1 to 64 balls.
digits, number = load_digits(return_X_y=True)
chosen = number >= 8
digits, number = digits[chosen], number[chosen]
sizes = [1, 2, 4, 8, 16, 32, 64]
accuracy = np.zeros((20, len(sizes)))
for run in range(20):
    order = np.random.default_rng(run).permutation(len(digits))
    train, test = order[:240], order[240:]
    for k, size in enumerate(sizes):
        stream = StreamSVMClassifier(C=10, n_balls=size, shuffle=False)
        accuracy[run, k] = (
            stream.fit(digits[train], number[train]).score(digits[test], number[test])
        )  # fmt: skip
for size, mean, worst in zip(sizes, accuracy.mean(axis=0), accuracy.min(axis=0)):
    print(f"{size:2d} balls: mean accuracy {mean:.3f}, worst order {worst:.3f}")
assert accuracy[:, -1].mean() > accuracy[:, 0].mean()

# %%
# The picture
# -----------
# An example changes the ball if it lies outside it, taking the axes that are not drawn into
# account. The circles are drawn at the distance at which that begins.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
left.add_patch(plt.Circle((0, 0), 1, fill=False, color="#aaaaaa", linewidth=0.8))
for sign, colour, marker in [(1, "#D55E00", "s"), (-1, "#0072B2", "o")]:
    rows = (label[:, None] * X)[label == sign]
    left.scatter(*rows.T, s=14, c=colour, marker=marker, linewidths=0, label=f"label {sign:+d}")
for (seen, middle, size, beyond), shade, place in zip(balls, ["0.7", "0.5", "0.3", "0"], range(4)):
    drawn = np.sqrt(max(size**2 - beyond - 1 / C, 0))
    left.add_patch(plt.Circle(middle, drawn, fill=False, color=shade, linewidth=1.5))
    left.plot(*middle, marker="x", color=shade)
    edge = middle + drawn * np.array([np.cos(1.9 - 0.35 * place), np.sin(1.9 - 0.35 * place)])
    left.annotate(
        f"{seen}", edge, ha="center", va="center", color=shade,
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
    )  # fmt: skip
left.annotate("", centre, (0, 0), arrowprops={"arrowstyle": "->", "linewidth": 1.5})
left.annotate("weight vector", centre / 2, (6, -10), textcoords="offset points")
left.set(
    aspect="equal", xlim=(-0.75, 1.45), ylim=(-0.45, 1.75),
    xlabel="label × first feature", ylabel="label × second feature",
    title="The ball after 2, 10, 50 and 200 examples",
)  # fmt: skip
left.legend(loc="lower left", fontsize="small")
right.fill_between(
    sizes, accuracy.min(axis=0), accuracy.max(axis=0), color="#0072B2", alpha=0.2,
    label="all 20 orders",
)  # fmt: skip
right.plot(sizes, accuracy.mean(axis=0), color="#0072B2", marker="o", label="mean")
right.set_xscale("log", base=2)
right.set_xticks(sizes, [str(size) for size in sizes])
right.set(xlabel="balls kept", ylabel="test accuracy", title="Digits 8 and 9, one pass")
right.legend(loc="lower right")
plt.show()
