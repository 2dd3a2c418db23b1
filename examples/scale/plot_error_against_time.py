"""
=======================================
Error against time, and other libraries
=======================================

How low is the error after a second of training? Each curve is one method on growing samples of the
same generated data; the further down and to the left, the better. ``LASVMClassifier`` has nearly
the error of ``SVC``, whose time grows fastest with the number of rows. An approximation of the
kernel (Nystroem) and boosted trees (LightGBM) are the usual ways around that growth.

Other data give other pictures: on tables with steps and columns of many kinds, boosted trees are
hard to beat. Times are processor time of one core of the machine that ran the script, with all
methods warm: imports and the compilation of loops are not counted.
"""

# %%
# The data
# --------
# Two classes of eight clusters each, in eight dimensions; two more features are noise.
import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from onlinesvm import LASVMClassifier

X, y = make_classification(
    6000, n_features=10, n_informative=8, n_redundant=0, n_clusters_per_class=8, flip_y=0.02,
    random_state=0,
)  # fmt: skip
X = StandardScaler().fit_transform(X)
X_test, y_test = X[4000:], y[4000:]
sizes = [500, 1000, 2000, 4000]

# %%
# The methods
# -----------
# C and gamma come from a grid search on the first 1,500 training rows, and are the same for all
# kernel methods. Nystroem has 300 components. LightGBM has its defaults.
search = GridSearchCV(
    LASVMClassifier(n_jobs=1), {"C": [1, 10], "gamma": [0.03, 0.1, 0.3]}, cv=3
).fit(X[:1500], y[:1500])  # fmt: skip
C, gamma = search.best_params_["C"], search.best_params_["gamma"]
print(f"chosen: C={C}, gamma={gamma}")
methods = {
    "LASVMClassifier": lambda: LASVMClassifier(C=C, gamma=gamma, n_jobs=1),
    "SVC": lambda: SVC(C=C, gamma=gamma),
    "Nystroem + LinearSVC": lambda: make_pipeline(
        Nystroem(gamma=gamma, n_components=300, random_state=0), LinearSVC(C=C, dual=False)
    ),
}
try:
    from lightgbm import LGBMClassifier
except ImportError:
    print("LightGBM is not installed and is left out; to add it: pip install lightgbm")
else:
    methods["LightGBM"] = lambda: LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)

# %%
# Measure
# -------
# Short fits are repeated and the best time counts, since other work on the machine can only add
# time.


def measure(make, size):
    """Seconds to train on the first rows, and the test error."""
    seconds = []
    while not seconds or (len(seconds) < 3 and sum(seconds) < 0.5):
        start = time.process_time()
        model = make().fit(X[:size], y[:size])
        seconds.append(time.process_time() - start)
    return min(seconds), 1 - model.score(X_test, y_test)


curves = {}
with threadpool_limits(1):
    for name, make in methods.items():
        make().fit(X[:400], y[:400])  # warm
        curves[name] = [measure(make, size) for size in sizes]
        seconds, error = curves[name][-1]
        print(f"{name:20s} {sizes[-1]:,} rows: {seconds:6.3f} s, test error {error:.3f}")
for name, curve in curves.items():
    more = curve[-1][0] / curve[1][0]
    print(f"{name:20s} {more:5.1f} times as long for {sizes[-1] // sizes[1]} times as many rows")
ours, exact = curves["LASVMClassifier"], curves["SVC"]
assert abs(ours[-1][1] - exact[-1][1]) < 0.015
assert ours[-1][1] < ours[0][1]

# %%
# The picture
# -----------
figure, ax = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
looks = {
    "LASVMClassifier": ("#D55E00", "s", "solid"),
    "SVC": ("#0072B2", "o", "dashed"),
    "Nystroem + LinearSVC": ("#009E73", "^", "dashdot"),
    "LightGBM": ("#777777", "D", "dotted"),
}
for name, curve in curves.items():
    colour, marker, style = looks[name]
    seconds, errors = zip(*curve)
    ax.plot(seconds, errors, color=colour, marker=marker, linestyle=style, label=name)
    for place, below in ((0, 7), (-1, -15)):
        ax.annotate(
            f"{sizes[place]:,}", curve[place], (0, below), textcoords="offset points", ha="center",
            color=colour,
        )  # fmt: skip
ax.set_xscale("log")
ax.set(xlabel="processor seconds to train (logarithmic)", ylabel="test error", ylim=(0, 0.31))
ax.legend(loc="lower left", title="method (numbers: training rows)")
plt.show()
