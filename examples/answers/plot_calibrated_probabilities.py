"""
========================
Calibrated probabilities
========================

A probability of 80 % should be right in 80 % of the cases. The reliability diagram compares the two:
the closer a curve is to the diagonal, the better. ``LASVMClassifier.predict_proba`` needs no second
model and no cross-validation by the user. It compares the labels with decision values that came from
models which had not learned the example in question.

A common shortcut is to put the decision values through a logistic function. Its probabilities are
ranked correctly, but they are far from the observed frequencies.
"""

# %%
# Two classes that overlap
# ------------------------
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier

X, y = make_classification(
    12000, n_features=10, n_informative=6, flip_y=0.15, class_sep=0.7, random_state=0
)
X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]
settings = {"C": 1, "gamma": 0.1}

# %%
# Three ways to a probability
# ---------------------------
model = LASVMClassifier(**settings).fit(X_train, y_train)
crossvalidated = CalibratedClassifierCV(SVC(**settings), ensemble=False).fit(X_train, y_train)
probabilities = {
    "logistic function of the decision value": expit(model.decision_function(X_test)),
    "LASVMClassifier.predict_proba": model.predict_proba(X_test)[:, 1],
    "SVC, cross-validated": crossvalidated.predict_proba(X_test)[:, 1],
}
losses = {name: log_loss(y_test, p) for name, p in probabilities.items()}
for name, p in probabilities.items():
    print(f"{name:40s} log loss {losses[name]:.3f}, Brier score {brier_score_loss(y_test, p):.3f}")
shortcut, ours, theirs = losses.values()
assert ours < shortcut
assert ours < theirs + 0.01

# %%
# The label with the higher probability is always the predicted label.
both = model.predict_proba(X_test)
assert (model.classes_[both.argmax(axis=1)] == model.predict(X_test)).all()

# %%
# The picture
# -----------
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 6.4), layout="constrained", sharex=True, height_ratios=[3, 1]
)
top.plot([0, 1], [0, 1], color="#aaaaaa", linewidth=0.8, label="perfectly calibrated")
colours, markers = ["#777777", "#D55E00", "#0072B2"], "^so"
for (name, p), colour, marker in zip(probabilities.items(), colours, markers):
    observed, predicted = calibration_curve(y_test, p, n_bins=10)
    label = f"{name}: log loss {losses[name]:.3f}"
    top.plot(predicted, observed, color=colour, marker=marker, label=label)
    bottom.hist(p, bins=np.linspace(0, 1, 31), histtype="step", color=colour, linewidth=1.4)
top.set(ylabel="share of class 1 in the test set", ylim=(0, 1))
top.legend(loc="upper left", fontsize="small")
bottom.set(xlabel="predicted probability of class 1", ylabel="test examples", xlim=(0, 1))
plt.show()
