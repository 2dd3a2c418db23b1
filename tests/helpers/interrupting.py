"""Ctrl-C at random moments: ``python tests/helpers/interrupting.py 2000`` counts what it leaves behind.

Each trial learns until one Ctrl-C, or two in close succession, has been raised; then the model must
be consistent, and learning must go on. ``tests/core/test_interrupts.py`` makes a few dozen of them.
"""

import argparse
import collections
import os
import signal
import threading
import time
import warnings

import numpy as np
from held import held
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import onlinesvm

GAMMA = 0.1
KINDS = {
    "LASVM": (onlinesvm.LASVMClassifier, {}),
    "LASVM, one by one": (onlinesvm.LASVMClassifier, {"block_size": 1}),
    "LASVM, budget": (onlinesvm.LASVMClassifier, {"budget": 40}),
    "LASVM, window": (onlinesvm.LASVMClassifier, {"window": 60, "half_life": 50.0}),
    "Huller": (onlinesvm.HullerClassifier, {"C": 10.0}),
    "StreamSVM": (onlinesvm.StreamSVMClassifier, {"kernel": "rbf"}),
    "NORMA": (onlinesvm.NORMAClassifier, {}),
    "Pegaz": (onlinesvm.PegazClassifier, {}),
    "OLSVM": (onlinesvm.OLSVMClassifier, {}),
    "perceptron": (onlinesvm.KernelPerceptronClassifier, {}),
    "averaged": (onlinesvm.AveragedPerceptronClassifier, {}),
    "budget": (onlinesvm.BudgetPerceptronClassifier, {"budget": 40}),
}
VERBS = ("fit", "partial_fit", "learn_one")


def make_stream(n=4000):
    """Two noisy classes, so that everything stays busy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, ((X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(n) < 0.1)).astype(int)


def check(model, X):
    """The decision function is the expansion; LASVM's state is that of the paper's equations."""
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
    expected = np.tile(model.intercept_, (len(X), 1))
    if len(vectors):
        expected += rbf_kernel(X, vectors, gamma=GAMMA) @ model.dual_coef_.T
    np.testing.assert_allclose(
        model.decision_function(X).reshape(len(X), -1), expected, rtol=1e-3, atol=1e-3
    )
    assert len(vectors) == len(model.support_) == model.dual_coef_.shape[1]
    if isinstance(model, onlinesvm.LASVMClassifier):
        check_held(model._trained.learner)


def check_held(learner):
    """Rows and coefficients belong together: sum 0, within bounds, gradients as computed anew."""
    own = held(learner)
    assert own.stored == own.n
    alpha = own.alpha
    scale = max(1.0, np.abs(alpha).sum())
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-6 * scale)
    assert (alpha >= own.low).all()
    assert (alpha <= own.high).all()
    rows = own.rows.to_array()
    rows = rows.toarray() if sparse.issparse(rows) else rows
    if not own.n:
        return
    anew = own.linear - alpha @ rbf_kernel(rows, gamma=GAMMA)
    np.testing.assert_allclose(own.grad[own.member], anew[own.member], atol=1e-4 * scale)


class Striker:
    """Raises Ctrl-C from another thread: ``strikes`` times, the first after ``delay`` seconds."""

    def __init__(self, delay, strikes, rng):
        gaps = [delay, *rng.uniform(0.0, 2e-3, strikes - 1)]
        self.go = threading.Event()
        self.thread = threading.Thread(target=self._strike, args=(gaps,))
        self.thread.start()

    def _strike(self, gaps):
        self.go.wait()
        for gap in gaps:
            time.sleep(gap)
            os.kill(os.getpid(), signal.SIGINT)

    def join(self):
        """Wait; a Ctrl-C that comes too late to meet any learning is dropped."""
        while self.thread.is_alive():
            try:
                self.thread.join()
                time.sleep(1e-4)
            except KeyboardInterrupt:
                pass


def learn_until_interrupted(model, verb, X, y, first, striker):
    """Returns how far it came."""
    k = first
    try:
        striker.go.set()
        while True:
            if k + 300 > len(X):
                k = first
            if verb == "fit":
                model.fit(X[:700], y[:700])
            elif verb == "partial_fit":
                size = (1, 5, 40, 300)[k % 4]
                model.partial_fit(X[k : k + size], y[k : k + size])
                k += size
            else:
                model.learn_one(X[k], int(y[k]))
                k += 1
    except KeyboardInterrupt:
        return k


def trial(name, verb, strikes, rng, X, y):
    """One model, interrupted once; raises where it is not consistent afterwards."""
    kind, settings = KINDS[name]
    model = kind(gamma=GAMMA, random_state=0, **settings).partial_fit(X[:150], y[:150])
    striker = Striker(rng.uniform(0.0, 0.02), strikes, rng)
    k = learn_until_interrupted(model, verb, X, y, 150, striker)
    striker.join()
    check(model, X[:20])
    model.partial_fit(X[k : k + 7], y[k : k + 7])
    model.partial_fit(X[:40], y[:40])
    if hasattr(model, "learn_one"):
        model.learn_one(X[k], int(y[k]))
    model.finish()
    check(model, X[:20])


def trials():
    """Names, verbs and strikes that go together."""
    return [
        (name, verb, strikes)
        for name, (kind, _) in KINDS.items()
        for verb in VERBS
        for strikes in (1, 2)
        if verb != "learn_one" or hasattr(kind, "learn_one")
    ]


def warm_up(X, y):
    """Compile what trials need, once."""
    for kind, settings in KINDS.values():
        model = kind(gamma=GAMMA, random_state=0, **settings).fit(X[:300], y[:300])
        for k in (0, 300, 307, 308, 309):
            model.partial_fit(X[k : k + 40], y[k : k + 40])
            if hasattr(model, "learn_one"):
                model.learn_one(X[k], int(y[k]))
        model.finish()
        check(model, X[:20])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names that contain this")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = make_stream()
    warm_up(X, y)
    rng, found = np.random.default_rng(arguments.seed), collections.Counter()
    every = [each for each in trials() if arguments.only in each[0]]
    # As many of LASVM as of all others: it has learn_one, and the most state.
    weight = np.array([3.0 if each[0].startswith("LASVM") else 1.0 for each in every])
    for which in rng.choice(len(every), arguments.count, p=weight / weight.sum()):
        name, verb, strikes = every[which]
        try:
            trial(name, verb, strikes, rng, X, y)
        except Exception as error:
            found[verb, strikes, "inconsistent"] += 1
            print(f"{name}, {verb}, {strikes}: {type(error).__name__} {str(error).strip()[:90]!r}")
        else:
            found[verb, strikes, "consistent"] += 1
    for (verb, strikes, result), count in sorted(found.items()):
        print(f"{verb:12s} {strikes} Ctrl-C  {result:12s} {count}")


if __name__ == "__main__":
    main()
