"""
====
Text
====

Texts become long, sparse rows: one column per word. ``LASVMClassifier`` keeps them sparse, and
learns them one batch at a time. Here the texts are sentences from scikit-learn's own
documentation, which is installed with it, and the question is which part of the library a
sentence comes from.

On the left, the error on the next batch, before it is learned: a few hundred sentences are enough
to do far better than always naming the most frequent part. On the right, the words with the
largest weights for each part; with the linear kernel the weights of all words are in ``coef_``.
"""

# %%
# Sentences, and where they come from
# -----------------------------------
# Sentences that occur in several parts are left out.
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn import cluster, ensemble, linear_model, neighbors, preprocessing, tree
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import train_test_split

from onlinesvm import LASVMClassifier

parts = [cluster, ensemble, linear_model, neighbors, preprocessing, tree]
found = {}
for part in parts:
    for _, member in inspect.getmembers(part, inspect.isclass):
        for sentence in re.split(r"\.\s|\n\n", inspect.getdoc(member) or ""):
            text = " ".join(sentence.split())
            if len(text) > 60 and ">>>" not in text:
                found.setdefault(text, set()).add(part.__name__.removeprefix("sklearn."))
of_one_part = {text: places.pop() for text, places in found.items() if len(places) == 1}
texts, labels = np.array(list(of_one_part)), np.array(list(of_one_part.values()))
names = sorted(set(labels))
print(f"{len(texts)} sentences from {len(names)} parts")

# %%
# Learn batch by batch
# --------------------
# Words that have not been seen before must not change the columns of a stream. A hash of each
# word gives its column, so that no vocabulary has to be known in advance.
order = np.random.default_rng(0).permutation(len(texts))
hashed = HashingVectorizer(n_features=2**18, stop_words="english").transform(texts)
stream = LASVMClassifier(C=1, kernel="linear")
batch, errors = 100, []
for start in range(0, len(texts) - batch, batch):
    rows = order[start : start + batch]
    if start:
        errors.append(1 - stream.score(hashed[rows], labels[rows]))
    stream.partial_fit(hashed[rows], labels[rows])
chance = 1 - max(np.mean(labels == name) for name in names)
print(f"error on the last five batches {np.mean(errors[-5:]):.2f}, most frequent part {chance:.2f}")
assert np.mean(errors[2:5]) < 0.7 * chance

# %%
# Look at the words
# -----------------
# With all texts in memory, ``TfidfVectorizer`` keeps the words, so that weights have names.
train, test = train_test_split(np.arange(len(texts)), random_state=0)
vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True, token_pattern=r"[a-z]{3,}")
model = LASVMClassifier(C=1, kernel="linear").fit(
    vectorizer.fit_transform(texts[train]), labels[train]
)
accuracy = model.score(vectorizer.transform(texts[test]), labels[test])
print(f"test accuracy {accuracy:.3f}")
weights = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
words = vectorizer.get_feature_names_out()

# %%
# The picture
# -----------
figure = plt.figure(figsize=(11, 5.4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[2, 3])
ax = left.subplots()
ax.axhline(chance, color="#777777", linestyle="dashed", label="most frequent part")
seen = batch * np.arange(1, len(errors) + 1)
ax.plot(seen, errors, color="#0072B2", marker="o", label="LASVMClassifier")
ax.set(xlabel="sentences learned before", ylabel="error on the next batch", ylim=(0, 1))
ax.legend(loc="lower left")
for ax, name, row in zip(right.subplots(2, 3).flat, model.classes_, weights):
    top = np.argsort(row)[-7:]
    ax.barh(words[top], row[top], color="#0072B2")
    ax.set_title(name, fontsize="medium")
    ax.tick_params(labelsize="small")
    ax.set_xlabel("weight", fontsize="small")
plt.show()
