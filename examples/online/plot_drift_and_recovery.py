"""
========================
A drift and the recovery
========================

A stream of examples changes: after 2,500 of them the two classes swap their labels. Each example
is predicted first and learned afterwards. The figure shows the accuracy of the last 200
predictions for four kinds of memory.

A model that keeps everything recovers last, because the old examples contradict the new ones. A
model that always forgets recovers soon, but is less accurate while nothing changes.
``window="auto"`` uses all examples since the last change that it detected: it has a long memory
when that helps, and a short one when it is needed.
"""

# %%
# A stream with one change
# ------------------------
import matplotlib.pyplot as plt
import numpy as np

from onlinesvm import LASVMClassifier

n, change, span = 5000, 2500, 200
rng = np.random.default_rng(0)
X = rng.standard_normal((n, 5))
y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0
y[change:] = ~y[change:]

# %%
# Predict, then learn
# -------------------
memories = {
    "keeps everything": {},
    "window=400": {"window": 400},
    "half_life=300, budget=500": {"half_life": 300, "budget": 500, "policy": "oldest"},
    'window="auto"': {"window": "auto"},
}


def follow(**memory):
    """Whether each prediction was right, and at which examples a change was noticed."""
    model = LASVMClassifier(C=4, gamma=0.2, detect_drift=True, **memory)
    right, noticed = np.zeros(n), []
    for k, (row, label) in enumerate(zip(X, y.tolist())):
        if k:
            right[k] = model.predict_one(row) == label
        model.learn_one(row, label)
        if model.drift_detected_:
            noticed.append(k)
    return right, noticed


results = {name: follow(**memory) for name, memory in memories.items()}


def recent(right):
    """Accuracy of the last ``span`` predictions, at each example."""
    total = np.concatenate([[0.0], np.cumsum(right)])
    return (total[span:] - total[:-span]) / span


# %%
# How long does the recovery take?
# --------------------------------
# We count the examples after the change until the accuracy of the last 200 predictions is within
# three points of the value it had just before the change.
recovery = {}
for name, (right, noticed) in results.items():
    assert min(noticed, default=0) >= change, "noticed too early, or not at all"
    after = recent(right)[change - span :]  # begins with the last moment before the change
    lowest = after.argmin()
    restored = after[lowest:] >= after[0] - 0.03
    assert restored.any(), f"{name} does not recover"
    recovery[name] = int(lowest + restored.argmax())
    print(
        f"{name:26s} accuracy before {right[change - 1000 : change].mean():.3f}, last 1,000 "
        f"{right[-1000:].mean():.3f}; back after {recovery[name]:4d}, noticed after "
        f"{noticed[0] - change} examples"
    )
assert max(recovery, key=recovery.get) == "keeps everything"
steady = {name: right[change - 1000 : change].mean() for name, (right, _) in results.items()}
assert steady["window=400"] < steady["keeps everything"]

# %%
# The picture
# -----------
figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
colours = ["#777777", "#0072B2", "#009E73", "#D55E00"]
styles = ["dotted", "dashed", "dashdot", "solid"]
for (name, (right, _)), colour, style in zip(results.items(), colours, styles):
    label = f"{name}: back after {recovery[name]:,}"
    ax.plot(np.arange(span, n + 1), recent(right), color=colour, linestyle=style, label=label)
ax.axvline(change, color="black", linewidth=0.8)
ax.annotate(
    "the labels swap", (change, 0.55), (-6, 0), textcoords="offset points", ha="right", va="center"
)
ax.set(
    xlim=(0, n), ylim=(0, 1.02), xlabel="examples seen",
    ylabel=f"accuracy of the last {span} predictions",
)  # fmt: skip
ax.legend(
    loc="lower left", fontsize="small", title="memory; examples until the accuracy is back",
    title_fontsize="small",
)  # fmt: skip
plt.show()
