"""
=======================================
Active learning asks about the boundary
=======================================

Unlabelled examples are cheap, labels are expensive. ``ActiveLearner`` asks for the label of the
example that is closest to the decision boundary, learns the answer immediately, and asks the next
question. The upper row compares its first 60 questions with 60 random ones: the active learner
asks about the boundary, the random choice spends most labels on examples far from it. The lower
plot shows what this is worth on handwritten digits: the test error against the number of labels.
"""

# %%
# Sixty questions
# ---------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from onlinesvm import ActiveLearner, LASVMClassifier, labelling_curve

pool, truth = make_moons(2000, noise=0.25, random_state=0)


def ask(selection):
    """The learner after 60 questions, chosen in this way."""
    learner = ActiveLearner(
        LASVMClassifier(C=1, gamma=2.0), pool, selection=selection, random_state=0
    )
    for _ in range(60):
        question = learner.query()
        learner.teach(question, truth[question])
    return learner


learners = {"active": ask("active"), "random": ask("random")}

# %%
# How many questions were about the boundary? We call an example close to it if it lies inside the
# margin of the SVM that knows all labels.
reference = LASVMClassifier(C=1, gamma=2.0).fit(pool, truth)
close = np.abs(reference.decision_function(pool)) < 1
print(f"of the whole pool, {close.mean():.0%} lie inside the margin")
shares = {name: close[learner.taught].mean() for name, learner in learners.items()}
for name, share in shares.items():
    print(f"of the questions chosen by {name!r}, {share:.0%} lie inside the margin")
assert shares["active"] > 0.5 > 2 * shares["random"]

# %%
# The value of labels
# -------------------
# ``labelling_curve`` repeats the experiment with known answers, here on the digits, in three
# orders.
X, y = load_digits(return_X_y=True)
curves = labelling_curve(
    LASVMClassifier(C=10, gamma=0.001), X[:1200], y[:1200], X[1200:], y[1200:],
    n_labels=300, n_points=15, n_runs=3, random_state=0,
)  # fmt: skip
errors = {curve.selection: curve.error.mean(axis=0) for curve in curves}
for name, error in errors.items():
    print(f"{name}: test error {error[-1]:.1%} after {curves[0].labels[-1]} labels")
assert errors["active"][-1] < errors["random"][-1]

# %%
# The picture
# -----------
figure = plt.figure(figsize=(8, 7), layout="constrained")
axes = figure.subplot_mosaic([["active", "random"], ["curve", "curve"]])
horizontal, vertical = np.meshgrid(np.linspace(-1.6, 2.6, 120), np.linspace(-1.2, 1.7, 90))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
for name, learner in learners.items():
    ax = axes[name]
    ax.scatter(*pool.T, s=4, c="#cccccc", linewidths=0)
    values = learner.estimator.decision_function(grid).reshape(horizontal.shape)
    ax.contour(horizontal, vertical, values, levels=[0], colors="black")
    for label, colour, marker in [(0, "#0072B2", "o"), (1, "#D55E00", "s")]:
        rows = pool[learner.taught][truth[learner.taught] == label]
        ax.scatter(*rows.T, s=26, c=colour, marker=marker, edgecolors="white", linewidths=0.5)
    ax.set(
        xlabel="first feature", ylabel="second feature", xlim=(-1.6, 2.6), ylim=(-1.2, 1.7),
        title=f"{name}: {shares[name]:.0%} inside the margin",
    )  # fmt: skip
for (name, error), colour, marker in zip(errors.items(), ["#D55E00", "#777777"], "so"):
    axes["curve"].plot(curves[0].labels, error, color=colour, marker=marker, label=name)
axes["curve"].set(xlabel="labels given", ylabel="test error (digits)", ylim=(0, None))
axes["curve"].legend(title="questions")
plt.show()
