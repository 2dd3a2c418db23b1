"""Carries out an awkward history and looks at the model after every step."""

from __future__ import annotations

import copy
import pickle
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from awkward_peers import BesidePeers
from awkward_values import Given, as_dense, expect, kernel_values, odd_targets
from held import held
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import onlinesvm

SINGLE = 1e-5
"""Error of a kernel value in single precision, relative to the size of what is summed up in it."""

DOUBLE = 1e-8
"""The same for SimpleSVM, which computes in double precision."""

ALIKE = 1e-6, 1e-2
"""Copies of a SimpleSVM learn alike within this, with kernel values up to 1 and with larger ones:
its factors are rebuilt, and where it is ill-conditioned its tolerance leaves some room."""

REFUSALS = re.compile(
    r"number of classes has to be greater than one|All sample weights are zero|"
    r"too large for kernel values|has no cost that|hard margin|no length to divide by|is too small for|is too large for margin|"
    r"has this label, so it cannot be learned|needs all examples at once|cannot be separated|has no solution"
)
"""What a model may refuse to learn, in words; nothing may have changed then."""


def run(case: Any) -> None:
    """The whole history, with all checks after every step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "task" in case.notes:
            from awkward_answers_checks import AnswersHistory

            AnswersHistory(case).run()
            return
        History(case).run()


class History(BesidePeers):
    """One model on its way."""

    def __init__(self, case: Any):
        self.case = case
        self.model = getattr(onlinesvm, case.estimator)(**case.settings)
        self.rng = np.random.default_rng(0)
        self.precomputed = case.settings.get("kernel") == "precomputed"
        self.given = Given(case)
        self.targets = self._targets()
        self.probe = self._probe()
        self.largest_bound = self.largest_weight = 0.0
        self.merged = False  # bounds of copies are summed up
        self.warned = False

    def _targets(self) -> np.ndarray:
        """What is learned of each example: its label, or a value for regression."""
        if "Regressor" not in self.case.estimator:
            return self.case.y
        values = np.unique(self.case.y, return_inverse=True)[1].astype(float)
        noise = self.case.estimator == "LASVMRegressor"
        values = values + 0.3 * noise * np.random.default_rng(1).normal(size=len(values))
        return odd_targets(self.case.targets, values)

    def _probe(self) -> np.ndarray:
        """Examples to decide about: some of the data, and some between them."""
        A = self.case.dense
        mixed = (A + A[self.rng.permutation(len(A))]) / 2
        return np.concatenate([A[:8], mixed[:8]])

    def run(self) -> None:
        for what, argument in self.case.steps:
            self.case.notes["failed"] = what
            self.before = self.values() if self.is_fitted() else None
            try:
                getattr(self, "do_" + what.replace(" ", "_"))(argument)
            except ValueError as error:
                if not REFUSALS.search(str(error)):
                    raise
                self.same(self.before, "a refusal changed the model")
            self.given.unchanged()
            if self.is_fitted():
                self.check()

    # -- steps ----------------------------------------------------------------------------

    def do_fit(self, _: Any) -> None:
        case, weight = self.case, self.weights(slice(None))
        X = self.kernel_matrix() if self.precomputed else case.X
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.teach("fit", X, self.targets, weight)
        self.warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        self.note_bounds(weight)
        self.merged = True
        self.compare_with_svc(case.y, weight)
        self.compare_with_exact_task(X, weight)

    def do_stream(self, cuts: list[int]) -> None:
        X = self.rows(slice(None))
        for first, last in zip(cuts[:-1], cuts[1:]):
            part, weight = slice(first, last), self.weights(slice(first, last))
            if weight is not None and not weight.any():
                weight = None
            self.note_bounds(weight)
            self.teach("partial_fit", X[part], self.targets[part], weight)

    def do_one(self, i: int) -> None:
        self.note_bounds(None)
        if not hasattr(self.model, "learn_one"):
            self.teach("partial_fit", self.rows(slice(i, i + 1)), self.targets[i : i + 1], None)
            return
        for k in range(i, min(i + 3, len(self.case.y))):
            target = () if self.is_one_class() else (self.targets[k].item(),)
            self.model.learn_one(self.case.dense[k], *target)

    def do_new_label(self, i: int) -> None:
        new = "z" if self.targets.dtype.kind == "U" else 55
        self.note_bounds(None)
        self.teach("partial_fit", self.rows(slice(i, i + 1)), np.array([new]), None)

    def do_finish(self, _: Any) -> None:
        if self.is_fitted() and hasattr(self.model, "finish"):
            self.model.finish()

    def do_set_params(self, factor: float) -> None:
        if "C" in self.case.settings:
            self.model.set_params(C=self.case.settings["C"] * factor)

    def do_clone(self, _: Any) -> None:
        other = clone(self.model)
        params = other.get_params()
        for name, value in self.model.get_params().items():
            expect(np.array_equal(params[name], value), "clone: another", name)
        expect(not other.__sklearn_is_fitted__(), "clone: it is fitted")

    def do_pickle(self, i: int) -> None:
        self.copied(lambda model: pickle.loads(pickle.dumps(model)), i)

    def do_deepcopy(self, i: int) -> None:
        self.copied(copy.deepcopy, i)

    def copied(self, duplicate: Any, i: int) -> None:
        """A copy decides alike, does not notice what the other learns, and learns alike."""
        if not self.is_fitted():
            duplicate(self.model)
            return
        first, before = self.model, self.values()
        second = self.model = duplicate(first)
        self.same(before, "a copy decides differently")
        if self.precomputed:
            return
        self.model = first
        self.do_one(i)
        after, self.model = self.values(), second
        self.same(before, "a copy noticed what the other learned")
        self.do_one(i)
        bounded = self.model.kernel in ("rbf", "sigmoid")
        self.same(after, "a copy learned differently", self.is_exact() * ALIKE[not bounded])

    def teach(self, verb: str, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        options = {} if weight is None else {"sample_weight": weight}
        self.before = self.values() if self.is_fitted() else None
        if self.is_one_class():
            getattr(self.model, verb)(X, **options)
        else:
            getattr(self.model, verb)(X, y, **options)

    # -- what is given, what is known -----------------------------------------------------

    def is_fitted(self) -> bool:
        return bool(self.model.__sklearn_is_fitted__())

    def is_exact(self) -> bool:
        return self.case.estimator.startswith("SimpleSVM")

    def is_one_class(self) -> bool:
        return self.case.estimator.endswith("OneClass")

    def rows(self, which: slice) -> Any:
        X = self.case.X
        if sparse.issparse(X) and X.format == "coo":
            X = X.tocsr()
        return X[which]

    def weights(self, which: slice) -> np.ndarray | None:
        return None if self.case.weight is None else self.case.weight[which]

    def note_bounds(self, weight: np.ndarray | None) -> None:
        """The largest bound of any example so far; the first rows may be learned again with C."""
        C = self.model.get_params().get("C") or 0.0
        self.largest_weight = max(self.largest_weight, 1.0 if weight is None else weight.max())
        self.largest_bound = max(self.largest_bound, C * self.largest_weight)

    def kernel_matrix(self, A: np.ndarray | None = None) -> np.ndarray:
        gamma = self.model.gamma
        gamma = (
            1.0 / max(self.case.dense.var() * self.case.dense.shape[1], 1e-30)
            if gamma == "scale"
            else gamma
        )
        A = self.case.dense if A is None else A
        return kernel_values("rbf", A, self.case.dense, gamma, 1, 0.0)[0]

    def values(self) -> np.ndarray:
        """Decision values of the probe, (n, machines)."""
        X = self.kernel_matrix(self.probe) if self.precomputed else self.probe
        decide = getattr(self.model, "decision_function", self.model.predict)
        values = np.asarray(decide(X))
        return values[:, None] if values.ndim == 1 else values

    def same(self, before: np.ndarray | None, words: str, tolerance: float = 0.0) -> None:
        if before is None:
            expect(not self.is_fitted(), words)
            return
        now = self.values()
        expect(now.shape == before.shape, words, now.shape, before.shape)
        limit = tolerance * (1.0 + abs(before).max(initial=0.0))
        error = abs(now - before).max(initial=0.0)
        expect(error <= limit, words + ": by", error)

    # -- checks ---------------------------------------------------------------------------

    def check(self) -> None:
        """All that holds of any model at any time."""
        self.expansion()
        if self.case.estimator.startswith("LASVM"):
            self.sums_and_bounds()
            self.gradients()

    def expansion(self) -> None:
        """The decision function is that of the public attributes, in float64."""
        model, found = self.model, self.values()
        expect(np.isfinite(found).all(), "decision values are not finite")
        coef, bias = self.coefficients(), np.ravel(model.intercept_)
        expect(np.isfinite(coef).all() and np.isfinite(bias).all(), "coefficients are not finite")
        K, error = self.against_support()
        expect(K.shape[1] == coef.shape[1], "support vectors and coefficients differ in number")
        expected, limit = K @ coef.T + bias, error @ abs(coef).T + 1e-12 * (1.0 + abs(bias))
        if self.case.estimator == "StreamSVMClassifier" and model.normalize:
            own = self.own_kernel()
            length = np.sqrt(np.where(own > 0, own, 1.0))[:, None]
            expected, limit = expected / length, limit / length
        expect(found.shape == expected.shape, "shape", found.shape, expected.shape)
        wrong = abs(found - expected) - limit
        expect(
            (wrong <= 0).all(),
            "decision function is not the expansion: off by",
            abs(found - expected).max(), "where", limit.min(), "is allowed",
        )  # fmt: skip
        if hasattr(model, "n_support_") and self.case.estimator != "StreamSVMClassifier":
            expect(np.sum(model.n_support_) == coef.shape[1], "n_support_")

    def against_support(self) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values of the probe with the support vectors, and their allowed errors."""
        model, relative = self.model, DOUBLE if self.is_exact() else SINGLE
        if self.precomputed:
            K = self.kernel_matrix(self.probe)[:, model.support_]
            return K, relative * abs(K)
        Z = model.support_vectors_
        Z = Z.toarray() if sparse.issparse(Z) else np.asarray(Z)
        name = "linear" if callable(model.kernel) else model.kernel
        K, size = kernel_values(name, self.probe, Z, self.gamma(), model.degree, model.coef0)
        if name == "rbf":  # the public rows are rounded to float64 where they are, far out or not
            shift = np.finfo(np.float64).eps * abs(self.case.dense).max()
            size = size + np.sqrt(self.gamma() * self.probe.shape[1]) * shift / relative
        return K, relative * size

    def gamma(self) -> float:
        """The gamma in use."""
        model = self.model
        kernel = model._trained.kernel
        return kernel.gamma

    def own_kernel(self) -> np.ndarray:
        """k(x, x) of the probe."""
        model, name = self.model, self.model.kernel
        if self.precomputed:
            return np.ones(len(self.probe))
        name = "linear" if callable(name) else name
        parts = [
            kernel_values(name, x[None], x[None], self.gamma(), model.degree, model.coef0)[0]
            for x in self.probe
        ]
        return np.ravel(parts)

    def coefficients(self) -> np.ndarray:
        """Those of the machines, (machines, n_SV)."""
        return np.atleast_2d(as_dense(self.model.dual_coef_))

    def sums_and_bounds(self) -> None:
        """sum(alpha) = 0, unless there is one class; 0 <= y alpha <= bound."""
        coef = self.coefficients()
        limit = 1e-9 * (1.0 + abs(coef).sum(axis=1))
        if not self.is_one_class():
            expect((abs(coef.sum(axis=1)) <= limit).all(), "sum of alpha: ", coef.sum(axis=1))
        own = held(self.model._trained.learner)
        inside = (own.alpha >= own.low) & (own.alpha <= own.high)
        expect(inside.all(), "alpha is out of its bounds")
        if not self.merged and not self.is_one_class():
            largest = abs(coef).max(initial=0.0)
            expect(largest <= self.largest_bound * (1 + 1e-12), "alpha exceeds C:", largest)

    def gradients(self) -> None:
        """Maintained gradients are y - K alpha, with the kernel values of the machine."""
        learner = self.model._trained.learner
        support = held(learner)
        if not support.n:
            return
        K = replace(learner.kernel).block(support.rows, support.rows).astype(np.float64)
        alpha, member = support.alpha, support.member
        own, length = support.diagonal, np.sqrt(abs(K.diagonal()))
        rounding = abs(K.diagonal() - own)  # k(x, x) is computed in two ways
        expect(
            (rounding <= SINGLE * abs(own) + 1e-37).all(),
            "k(x, x) is not the diagonal: by",
            rounding.max(),
        )
        true = support.linear - alpha @ K
        moved = 4.0 * support.bound  # alpha went up and down on its way
        unit = getattr(learner, "unit", None)
        unit = learner.support.unit if unit is None else unit
        limit = 1e-9 * (unit[:, None] + abs(alpha) @ abs(K)) + moved * rounding
        steps = max(4e-15, 1.1e-16 * support.n)  # each of them may round the last digit
        limit = limit + steps * abs(support.linear)
        if not learner.kernel.is_compiled:  # its last digits depend on the shape of the call
            limit += SINGLE * (abs(alpha) @ np.outer(length, length))
        if hasattr(learner, "support") and self.case.notes["failed"] not in ("fit", "finish"):
            # Single rows are mended now and then alone.
            limit += 1e-15 * (support.bound * length).max() * length
        wrong = member & (abs(support.grad - true) > limit)
        error = abs(support.grad - true)[member].max(initial=0.0)
        expect(not wrong.any(), "maintained gradient is not the true one: off by", error)
