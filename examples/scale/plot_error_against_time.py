"""
=======================================
Error against time, next to other tools
=======================================

How low an error does a minute of training buy? Each curve is one method on growing samples of the same
generated data; the further down and to the left, the better. Kernel SVMs have the lower error on this
smooth problem, and ``SVC`` and ``LASVMClassifier`` have nearly the same; the time of ``SVC`` grows
fastest.

Other data give other pictures: on tables with steps and columns of many kinds, boosted trees are hard to
beat. Times are those of the machine that ran the script, with all methods warm: imports, and the
compilation of loops, are not counted.
"""

# %%
# The data
# --------
# Two classes, split by a smooth function of five features; five more features are noise.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier

X, values = make_friedman1(14000, noise=1.0, random_state=0)
y = (values > np.median(values)).astype(int)
X = (X - X.mean(axis=0)) / X.std(axis=0)
X_test, y_test = X[8000:], y[8000:]
sizes = [500, 1000, 2000, 4000, 8000]

# %%
# The methods
# -----------
# C and gamma are the same for all kernel methods; nothing was tuned on the test set.
settings = {"C": 1.0, "gamma": 0.05}
methods = {
    "LASVMClassifier": lambda: LASVMClassifier(**settings),
    "SVC": lambda: SVC(**settings),
    "Nystroem + linear": lambda: make_pipeline(
        Nystroem(gamma=settings["gamma"], n_components=300, random_state=0),
        SGDClassifier(alpha=1e-5, random_state=0),
    ),
}
try:
    from lightgbm import LGBMClassifier

    methods["LightGBM"] = lambda: LGBMClassifier(random_state=0, verbose=-1)
except ImportError:
    print("LightGBM is not installed and is left out: pip install lightgbm")

# %%
# Measure
# -------
# The best of two runs counts, since other work on the machine can only add time.
curves = {}
for name, make in methods.items():
    make().fit(X[:200], y[:200])
    seconds, errors = [], []
    for size in sizes:
        runs = []
        for _ in range(2):
            start = time.perf_counter()
            model = make().fit(X[:size], y[:size])
            runs.append(time.perf_counter() - start)
        seconds.append(min(runs))
        errors.append(1 - model.score(X_test, y_test))
    curves[name] = seconds, errors
    print(f"{name:18s} {size:,} rows: {seconds[-1]:6.3f} s, test error {errors[-1]:.3f}")
assert abs(curves["LASVMClassifier"][1][-1] - curves["SVC"][1][-1]) < 0.01
assert curves["LASVMClassifier"][1][-1] < curves["LASVMClassifier"][1][0]

# %%
# The picture
# -----------
figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
looks = {
    "LASVMClassifier": ("#D55E00", "s", "solid"),
    "SVC": ("#0072B2", "o", "dashed"),
    "Nystroem + linear": ("#009E73", "^", "dashdot"),
    "LightGBM": ("#777777", "D", "dotted"),
}
for name, (seconds, errors) in curves.items():
    colour, marker, style = looks[name]
    ax.plot(seconds, errors, color=colour, marker=marker, linestyle=style, label=name)
    for place, size in ((0, sizes[0]), (-1, sizes[-1])):
        ax.annotate(
            f"{size:,}", (seconds[place], errors[place]), (0, 6), textcoords="offset points",
            ha="center", fontsize="small", color=colour,
        )  # fmt: skip
ax.set_xscale("log")
ax.set(xlabel="seconds to train (logarithmic)", ylabel="test error", ylim=(0, None))
ax.legend(title=f"trained on {sizes[0]:,} to {sizes[-1]:,} rows")
plt.show()
