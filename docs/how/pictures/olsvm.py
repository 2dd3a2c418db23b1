"""Error on examples to come, and size of the model, of the algorithms that follow a gradient."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from onlinesvm import (
    AveragedPerceptronClassifier,
    KernelPerceptronClassifier,
    LASVMClassifier,
    NORMAClassifier,
    OLSVMClassifier,
    PegazClassifier,
)

X, y = make_moons(6000, noise=0.3, random_state=0)
X_test, y_test = X[4000:], y[4000:]
steps = np.unique(np.geomspace(30, 4000, 14).astype(int))
models = {
    "OL SVM": OLSVMClassifier(C=1, gamma=1),
    "NORMA": NORMAClassifier(C=1, gamma=1),
    "Pegaz": PegazClassifier(C=1, gamma=1),
    "perceptron": KernelPerceptronClassifier(gamma=1),
    "averaged perceptron": AveragedPerceptronClassifier(gamma=1),
    "LASVM": LASVMClassifier(C=1, gamma=1),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for name, model in models.items():
    errors, sizes, learned = [], [], 0
    for count in steps:
        model.partial_fit(X[learned:count], y[learned:count])
        learned = count
        errors.append(100 * (1 - model.score(X_test, y_test)))
        sizes.append(len(model.support_vectors_))
    style = {"color": "black", "linewidth": 2} if name == "LASVM" else {}
    left.plot(steps, errors, label=name, **style)
    right.plot(steps, sizes, label=name, **style)
left.set(xscale="log", xlabel="examples", ylabel="test error, %", ylim=(5, 25))
right.set(xscale="log", yscale="log", xlabel="examples", ylabel="support vectors")
right.legend(frameon=False, fontsize=8)
