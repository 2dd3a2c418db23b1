"""
==============================
Many classes on shared kernels
==============================

With more than two classes, ``LASVMClassifier`` learns one machine per class against all others. The
machines share their support set and their kernel values: the kernel of two examples is computed once
and serves every machine.

On the left, sixteen classes in two dimensions, learned by one model. On the right, the number of kernel
values that it computes when the same examples are split into 2 to 32 classes, next to one separate
machine per class (scikit-learn's ``OneVsRestClassifier``). Separate machines need more with every class;
with shared values the number grows far more slowly.
"""

# %%
# Sixteen classes
# ---------------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from onlinesvm import LASVMClassifier


def ring(n_classes, n=2000, seed=0):
    """Examples in a ring, cut into spirals of one class each."""
    rng = np.random.default_rng(seed)
    radius, angle = np.sqrt(rng.uniform(0.1, 1, n)), rng.uniform(0, 2 * np.pi, n)
    turned = angle + 2 * radius + rng.normal(0, 0.06, n)
    label = np.floor(turned / (2 * np.pi) * n_classes).astype(int) % n_classes
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


X, y = ring(16)
X_test, y_test = ring(16, n=4000, seed=1)
model = LASVMClassifier(C=10, gamma=10.0).fit(X, y)
accuracy = model.score(X_test, y_test)
print(
    f"16 classes: test accuracy {accuracy:.3f} with {len(model.support_vectors_)} support vectors"
)

# %%
# Count kernel values
# -------------------
counts = [2, 4, 8, 16, 32]
shared, separate = [], []
for count in counts:
    rows, labels = ring(count)
    one = LASVMClassifier(C=10, gamma=10.0).fit(rows, labels)
    shared.append(one.n_kernel_evaluations_)
    many = OneVsRestClassifier(LASVMClassifier(C=10, gamma=10.0)).fit(rows, labels)
    separate.append(sum(machine.n_kernel_evaluations_ for machine in many.estimators_))
    print(f"{count:2d} classes: {shared[-1]:,} kernel values shared, {separate[-1]:,} separate")
print(f"from 4 to 32 classes: {shared[-1] / shared[1]:.1f} times as many shared, ", end="")
print(f"{separate[-1] / separate[1]:.1f} times as many separate")
assert shared[-1] / shared[1] < separate[-1] / separate[1] / 2

# %%
# The picture
# -----------
# Neighbouring classes differ in brightness, so that the borders can be seen without colours.
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
horizontal, vertical = np.meshgrid(np.linspace(-1.1, 1.1, 300), np.linspace(-1.1, 1.1, 300))
predicted = model.predict(np.column_stack([horizontal.ravel(), vertical.ravel()]))
palette = plt.get_cmap("tab20").colors[:16]
left.imshow(
    np.array(palette)[predicted].reshape(300, 300, 3), extent=(-1.1, 1.1, -1.1, 1.1), origin="lower",
    alpha=0.6,
)  # fmt: skip
left.scatter(*X[::2].T, s=6, c=np.array(palette)[y[::2]], edgecolors="black", linewidths=0.2)
left.set(
    xlabel="first feature", ylabel="second feature",
    title=f"16 classes, test accuracy {accuracy:.3f}",
)  # fmt: skip
right.plot(counts, separate, color="#777777", marker="o", label="separate machines")
right.plot(counts, shared, color="#D55E00", marker="s", label="shared kernel values")
right.set_xscale("log", base=2)
right.set_yscale("log")
right.set_xticks(counts, [str(count) for count in counts])
right.set(xlabel="classes", ylabel="kernel values computed")
right.legend()
plt.show()
