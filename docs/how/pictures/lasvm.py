"""The boundary of LASVM after 15, 60 and 400 examples."""

import matplotlib.pyplot as plt
from drawing import bare, boundary, examples, rings
from sklearn.datasets import make_moons

from onlinesvm import LASVMClassifier

X, y = make_moons(400, noise=0.2, random_state=3)
model = LASVMClassifier(C=10, gamma=1, block_size=1)
figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
learned = 0
for axes, count in zip(panels, (15, 60, 400)):
    for x, label in zip(X[learned:count], y[learned:count].tolist()):
        model.learn_one(x, label)
    learned = count
    examples(axes, X[:count], y[:count], alpha=0.8)
    boundary(axes, model, X)
    rings(axes, model.support_vectors_)
    bare(axes, f"{count} examples, {len(model.support_vectors_)} support vectors")
