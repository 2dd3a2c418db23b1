"""All that a model can be asked after each step of an awkward history.

Optimality is checked in double precision: bounds, and the largest violation of the conditions, of
every machine after every fit that says it is solved, and after rows were forgotten with the data set
at hand. The duality gap then needs no peer; duals are compared with those of SVC, SVR and OneClassSVM
as well.
"""

from __future__ import annotations

import copy
import math
import pickle
import re
import tempfile
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from awkward_checks import SINGLE, History
from awkward_values import as_dense, expect, kernel_values
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC, SVR, OneClassSVM

import onlinesvm

CANNOT_FORGET = re.compile(
    r"cannot be forgotten|would leave|needs? at least|no example|has to be greater than one|"
    r"would be forgotten|leave X out|are not known|every example|were all forgotten|never (seen|learned)"
)
"""What a model may refuse to forget, in words; nothing may have changed then."""

EXPLAINED = ("rbf", "laplacian", "linear")

BRUTE = 6
"""Number of features up to which explanations are compared with sums over all subsets."""


class AnswersHistory(History):
    """One model on its way, and its answers."""

    def __init__(self, case: Any):
        self.kind = case.notes["task"]
        super().__init__(case)
        self.n_known = 0  # examples that have a number
        self.gone: set[int] = set()
        self.streamed = False  # examples were learned since the last fit
        self.C = case.settings.get("C", 1.0)

    def _targets(self) -> np.ndarray:
        return self.case.y

    def is_one_class(self) -> bool:
        return "novelty" in self.kind

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
        self.n_known, self.gone, self.streamed = len(case.y), set(), False
        self.C = self.model.get_params().get("C", 1.0)
        if self.is_at_optimum():
            self.check_optimum()

    def do_stream(self, cuts: list[int]) -> None:
        self.streamed = True
        X = self.rows(slice(None))
        for first, last in zip(cuts[:-1], cuts[1:]):
            part, weight = slice(first, last), self.weights(slice(first, last))
            if weight is not None and not weight.any():
                weight = None
            self.note_bounds(weight)
            self.teach("partial_fit", X[part], self.targets[part], weight)
            self.n_known += last - first

    def do_one(self, i: int) -> None:
        self.streamed = True
        self.note_bounds(None)
        for k in range(i, min(i + 3, len(self.case.y))):
            if hasattr(self.model, "learn_one"):
                target = () if self.is_one_class() else (self.targets[k],)
                if self.targets.ndim == 1 and target:
                    target = (self.targets[k].item(),)
                self.model.learn_one(self.case.dense[k], *target)
            else:
                self.teach("partial_fit", self.rows(slice(k, k + 1)), self.targets[k : k + 1], None)
            self.n_known += 1

    def do_new_label(self, i: int) -> None:
        if self.kind not in ("ovr", "ovo", "exact classes"):
            self.do_one(i)
            return
        self.streamed = True
        super().do_new_label(i)
        self.n_known += 1

    def do_file(self, i: int) -> None:
        def through_file(model: Any) -> Any:
            if not model.__sklearn_is_fitted__():
                return model
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.safetensors"
                model.save(path)
                return onlinesvm.load_model(path)

        self.copied(through_file, i)

    def do_pickle(self, i: int) -> None:
        self.copied(lambda model: pickle.loads(pickle.dumps(model)), i)

    def do_deepcopy(self, i: int) -> None:
        self.copied(copy.deepcopy, i)

    def copied(self, duplicate: Any, i: int) -> None:
        """A copy answers alike; the base class sees to it that it learns alike."""
        if not self.is_fitted():
            return
        before, first, known = self.answers(), self.model, self.n_known
        self.model = duplicate(first)
        self.same_answers(before, "a copy answers differently")
        self.model = first
        super().copied(duplicate, i)
        self.n_known = known if self.precomputed else known + (self.n_known - known) // 2

    def do_forget(self, asked: tuple[str, bool]) -> None:
        how, again = asked
        if not self.is_fitted() or not hasattr(self.model, "forget"):
            return
        indices = self.to_forget(how)
        options: dict[str, Any] = {}
        again = again and not self.kind.startswith("exact") and self.n_known >= len(self.case.y)
        if again:
            options["X"] = self.kernel_matrix() if self.precomputed else self.case.X
            if not self.is_one_class():
                options["y"] = self.targets
            if self.case.weight is not None:
                options["sample_weight"] = self.case.weight
        before, values, at_optimum = self.answers(), self.values(), self.is_at_optimum()
        held = set(self.model.support_[self.model.support_ >= 0].tolist())
        try:
            self.model.forget(indices, **options)
        except ValueError as error:
            if not CANNOT_FORGET.search(str(error)):
                raise
            self.same(values, "a refusal to forget changed the model")
            self.same_answers(before, "a refusal to forget changed the answers")
            return
        self.gone |= set(indices.tolist())
        left = set(self.model.support_[self.model.support_ >= 0].tolist())
        expect(not left & self.gone, "forgotten examples are support vectors:", left & self.gone)
        expect(np.isfinite(self.values()).all(), "forgetting made values that are not finite")
        if not held & self.gone and not again and at_optimum and self.is_kept():
            self.same(values, "forgetting others than support vectors changed the model", 1e-3)
        if again and self.is_at_optimum(forgot=True):
            self.check_optimum()

    def is_kept(self) -> bool:
        """Whether a solution does not depend on examples that are no support vectors.

        The sum of the coefficients of one class does, and so do offsets of calibrated quantiles.
        """
        return not self.is_one_class() and not getattr(self.model, "calibrated", False)

    def to_forget(self, how: str) -> np.ndarray:
        """Numbers of examples that are known."""
        open_ones = np.setdiff1d(np.arange(self.n_known), list(self.gone))
        if not len(open_ones):
            return open_ones
        shuffled = self.rng.permutation(open_ones)
        if how == "of one label" and self.targets.ndim == 1:
            same = [i for i in open_ones if i < len(self.targets)]
            if same:
                value = self.targets[self.rng.choice(same)]
                return np.array([i for i in same if self.targets[i] == value])
        count = {"one": 1, "few": 3, "half": len(shuffled) // 2, "all but one": len(shuffled) - 1}
        return shuffled[: max(1, count.get(how, 3))]

    # -- what is known --------------------------------------------------------------------

    def factors(self) -> np.ndarray:
        """What features are multiplied by."""
        if "feature_weights" not in self.case.settings:
            return np.ones(self.case.dense.shape[1])
        return np.asarray(self.model.feature_weights_)

    def k(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values in double precision, and the size of what is summed up in them."""
        model, w = self.model, self.factors()
        degree, coef0 = getattr(model, "degree", 3), getattr(model, "coef0", 0.0)
        return kernel_values(model.kernel, A * w, B * w, self.gamma(), degree, coef0)

    def machines(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (machines, n_SV) and biases from public attributes, pairs as ``SVC`` has them."""
        model = self.model
        coef = np.atleast_2d(as_dense(model.dual_coef_))
        bias = np.ravel(model.intercept_)
        if self.kind != "ovo" or len(model.classes_) < 3:
            return coef, bias
        place = np.repeat(np.arange(len(model.classes_)), model.n_support_)
        made = []
        for i, j in combinations(range(len(model.classes_)), 2):
            row = np.zeros(coef.shape[1])
            row[place == i], row[place == j] = coef[j - 1, place == i], coef[i, place == j]
            made.append(row)
        return np.array(made), bias

    def coefficients(self) -> np.ndarray:
        return self.machines()[0]

    def values(self) -> np.ndarray:
        """Values of the machines for the probe, in the order of the attributes."""
        X = self.kernel_matrix(self.probe) if self.precomputed else self.probe
        if self.kind == "ovo" and len(self.model.classes_) > 2:
            shape = self.model.decision_function_shape
            values = self.model.set_params(decision_function_shape="ovo").decision_function(X)
            self.model.set_params(decision_function_shape=shape)
            return values
        decide = getattr(self.model, "decision_function", self.model.predict)
        values = np.asarray(decide(X))
        return values[:, None] if values.ndim == 1 else values

    # -- checks ---------------------------------------------------------------------------

    def check(self) -> None:
        before = self.values()
        super().check()
        self.answers(checked=True)
        self.same(before, "questions changed the model")

    def expansion(self) -> None:
        """The decision function is that of the public attributes, in float64."""
        found = self.values()
        coef, bias = self.machines()
        for values in (found, coef, bias):
            expect(np.isfinite(values).all(), "values or coefficients are not finite")
        if self.precomputed:
            K = self.kernel_matrix(self.probe)[:, self.model.support_]
            size = abs(K)
        else:
            Z = as_dense(self.model.support_vectors_)
            K, size = self.k(self.probe, Z)
            if self.model.kernel in ("rbf", "laplacian", "matern12"):
                size = size + self.rounding_of_rows() / SINGLE
        expect(K.shape[1] == coef.shape[1], "support vectors and coefficients differ in number")
        expected, limit = K @ coef.T + bias, SINGLE * size @ abs(coef).T + 1e-12 * (1 + abs(bias))
        if self.kind == "quantiles":
            rank = expected.argsort(axis=1)
            expected = np.take_along_axis(expected, rank, axis=1)
            limit = np.broadcast_to(limit.max(axis=1, keepdims=True), limit.shape)
        expect(found.shape == expected.shape, "shape", found.shape, expected.shape)
        off = abs(found - expected)
        expect((off <= limit).all(), "decision function is not the expansion: off by", off.max(),
               "where", limit.min(), "is allowed")  # fmt: skip
        self.rounding = limit

    def rounding_of_rows(self) -> float:
        """Of kernel values, because rows far out are rounded in double precision too."""
        shift = np.finfo(np.float64).eps * (abs(self.case.dense) * self.factors()).max()
        d, gamma = self.case.dense.shape[1], self.gamma()
        steep = {"rbf": np.sqrt(gamma * d), "laplacian": gamma * d, "matern12": gamma * np.sqrt(d)}
        return float(steep[self.model.kernel] * shift)

    def sums_and_bounds(self) -> None:
        merged, self.merged = self.merged, True  # classes have weights
        super().sums_and_bounds()
        self.merged = merged

    # -- answers --------------------------------------------------------------------------

    def answers(self, checked: bool = False) -> dict[str, np.ndarray]:
        """What the model answers about the probe; ``checked``: with all checks."""
        X = self.kernel_matrix(self.probe) if self.precomputed else self.probe
        found = {"predict": np.asarray(self.model.predict(X))}
        if self.kind in ("ovr", "ovo"):
            found |= self.probabilities(X, found["predict"], checked)
        elif self.kind in ("values", "quantile", "quantiles"):
            found |= self.intervals(X, found["predict"], checked)
        elif self.kind == "novelty":
            found["p"] = self.model.p_values(X)
            if checked:
                self.check_p_values(found["p"], self.values()[:, 0])
        if checked and not self.precomputed:
            self.check_single_rows(found)
            self.check_explanations(found["predict"])
        if checked and self.kind in ("ovr", "ovo", "exact classes"):
            self.check_suspects()
        if checked and self.kind == "labels":
            expect(np.isin(found["predict"], (0, 1)).all(), "labels are not 0 or 1")
            expect((found["predict"] == (self.values() > 0)).all(), "labels are not the signs")
        return found

    def same_answers(self, before: dict[str, np.ndarray], words: str) -> None:
        now = self.answers()
        expect(now.keys() == before.keys(), words, "in kind", list(now), list(before))
        for name, value in before.items():
            expect(np.array_equal(now[name], value, equal_nan=value.dtype.kind == "f"), words, name)

    def probabilities(self, X: Any, predicted: np.ndarray, checked: bool) -> dict[str, np.ndarray]:
        model = self.model
        try:
            chance, sets = model.predict_proba(X), model.predict_set(X, 0.1)
        except NotFittedError as error:
            expect("learn again with probability=True" in str(error), "an error:", error)
            return {}
        if checked:
            expect(chance.shape == (len(self.probe), len(model.classes_)), "shape of chances")
            expect(np.isfinite(chance).all() and (chance >= 0).all(), "chances are not finite")
            expect(abs(chance.sum(axis=1) - 1).max() < 1e-9, "chances do not sum to 1")
            own = chance[np.arange(len(chance)), np.searchsorted(model.classes_, predicted)]
            expect((own >= chance.max(axis=1) - 1e-12).all(), "another class is more probable")
            expect(sets.dtype == bool and sets.shape == chance.shape, "shape of sets")
            if not self.streamed and not self.is_limited():  # else thresholds follow one by one
                smaller = model.predict_set(X, 0.4)
                expect((sets | ~smaller).all(), "a set of fewer errors is smaller")
        return {"chances": chance, "sets": sets}

    def intervals(self, X: Any, predicted: np.ndarray, checked: bool) -> dict[str, np.ndarray]:
        if checked and self.kind == "quantiles":
            expect((np.diff(predicted, axis=1) >= 0).all(), "quantiles are not in order")
        try:
            wide = self.model.predict_interval(X)
        except ValueError as error:
            expect("at least 20 examples" in str(error), "an error:", error)
            return {}
        if checked:
            narrow = self.model.predict_interval(X, 0.5)
            expect(np.isfinite(wide).all(), "intervals are not finite")
            expect((wide[:, 0] <= wide[:, 1]).all(), "intervals end before they begin")
            room = 1e-9 * abs(wide).max()
            inside = (wide[:, 0] <= narrow[:, 0] + room) & (wide[:, 1] >= narrow[:, 1] - room)
            expect(inside.all(), "an interval of greater coverage is narrower")
            if self.kind != "quantiles":
                middle = wide.mean(axis=1)
                size = abs(wide).max(axis=1)
                expect((abs(middle - predicted) <= 1e-9 * size).all(), "not around predictions")
        return {"intervals": wide}

    def check_p_values(self, p: np.ndarray, values: np.ndarray) -> None:
        expect(np.isfinite(p).all() and (p >= 0).all() and (p <= 1).all(), "p-values", p)
        expect((np.diff(p[np.argsort(values)]) >= 0).all(), "p falls where the value rises")

    def check_single_rows(self, found: dict[str, np.ndarray]) -> None:
        """One row is answered as many are."""
        model, rows = self.model, self.probe[:3]
        limit = np.atleast_2d(self.rounding)[:3].max(axis=1) + 1e-9 * abs(self.values()[:3]).max()
        pairs = (
            ("predict_one", "predict"), ("predict_proba_one", "chances"),
            ("predict_interval_one", "intervals"), ("p_value_one", "p"),
        )  # fmt: skip
        near = self.apart()[:3] <= 4 * limit
        for name, many in pairs:
            if not hasattr(model, name) or many not in found:
                continue
            for i, x in enumerate(rows):
                one, expected = getattr(model, name)(x), found[many][i]
                if many in ("chances", "p") or np.asarray(one).dtype.kind != "f":
                    same = many == "p" or near[i] or np.all(one == expected)
                    same = same if many != "chances" else True
                    if many == "chances":
                        expect(abs(np.sum(one) - 1) < 1e-9, "one row: chances do not sum to 1")
                else:
                    same = np.all(abs(one - expected) <= 2 * limit[i])
                expect(same, "one row is answered differently by", name, one, expected)
        if hasattr(model, "learn_one"):
            decide = getattr(model, "decision_one", None)
            for i, x in enumerate(rows if decide is not None else ()):
                one = np.ravel(decide(x))
                many = np.ravel(
                    np.atleast_1d(np.asarray(model.decision_function(rows[i : i + 1]))[0])
                )
                votes = self.kind == "ovo" and len(one) > 2
                if not (votes and near[i]):
                    expect((abs(one - many) <= 2 * limit[i]).all(), "decision_one", one, many)

    def apart(self) -> np.ndarray:
        """How far the decision about each of the probe is from another one."""
        values = self.values()
        machines = self.kind == "ovo" or values.shape[1] == 1
        if machines or self.kind == "labels":
            return abs(values).min(axis=1)
        two = np.sort(values, axis=1)[:, -2:]
        return two[:, 1] - two[:, 0]

    def check_suspects(self) -> None:
        if self.precomputed:
            return
        model = self.model
        found = model.suspects(5)
        expect(np.isfinite(found.score).all(), "scores of suspects are not finite")
        expect((np.diff(found.score) >= 0).all(), "suspects are not in order")
        wrong = found.score < 0
        expect(
            (found.suggestion[wrong] != found.label[wrong]).all(), "their own label is suggested"
        )
        contradicted = model.suspects()
        expect((contradicted.score < 0).all(), "a label is suspected without a reason")
        for i, label in zip(found.index, found.label):
            if 0 <= i < len(self.targets) and not self.streamed:
                expect(self.targets[i] == label, "the label of a suspect is another")

    def check_explanations(self, predicted: np.ndarray) -> None:
        """Shares add up, and are those of a sum over all subsets of features."""
        model = self.model
        few = self.probe[:4]
        if model.kernel not in EXPLAINED:
            try:
                model.explain(few)
            except ValueError as error:
                expect("no exact result" in str(error), "an error:", error)
                return
            expect(False, "explained without an exact result")
        why = model.explain(few, n_examples=2)
        coef, bias = self.shares()
        several = len(coef) > 1
        values = why.values if several else why.values[:, :, None]
        base = why.base_values if several else why.base_values[:, None]
        Z = as_dense(model.support_vectors_)
        K, size = self.k(few, Z)
        if model.kernel != "linear":
            size = size + self.rounding_of_rows() / SINGLE
        limit = SINGLE * (size @ abs(coef).T) + 1e-9 * (abs(coef).sum() + abs(bias).max())
        total = values.sum(axis=1) + base
        expect((abs(total - K @ coef.T - bias) <= limit).all(), "shares do not add up: off by",
               abs(total - K @ coef.T - bias).max())  # fmt: skip
        named = why.examples.share.sum(axis=1) + why.examples.rest
        named = named if several else named[:, None]
        expect((abs(named + bias - total) <= limit).all(), "shares of examples do not add up")
        if few.shape[1] <= BRUTE and Z.shape[0]:
            for x, found in zip(few[:2], values[:2]):
                expected = self.brute(x, Z, coef)
                expect((abs(found - expected) <= limit.max()).all(), "another share over subsets:",
                       found.ravel(), expected.ravel())  # fmt: skip

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and biases of what is explained: of pairs, the means of each class."""
        coef, bias = self.machines()
        if self.kind != "ovo" or len(self.model.classes_) < 3:
            return coef, bias
        k = len(self.model.classes_)
        mean = np.zeros((k, len(bias)))
        for m, (i, j) in enumerate(combinations(range(k), 2)):
            mean[i, m], mean[j, m] = 1 / (k - 1), -1 / (k - 1)
        return mean @ coef, mean @ bias

    def brute(self, x: np.ndarray, Z: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Shapley values (features, machines) as the sum over all subsets."""
        w, gamma, name, d = self.factors(), self.gamma(), self.model.kernel, len(x)
        if name == "linear":
            return (x * w)[:, None] * ((coef @ Z) * w).T
        apart = abs(x * w - Z * w)
        z = np.exp(-gamma * (apart if name == "laplacian" else apart**2))  # (n_SV, d)
        values = {
            s: coef @ z[:, list(s)].prod(axis=1)
            for size in range(d + 1)
            for s in combinations(range(d), size)
        }
        shares = np.zeros((d, len(coef)))
        for s, value in values.items():
            for j in set(range(d)) - set(s):
                more = values[tuple(sorted((*s, j)))]
                weight = math.factorial(len(s)) * math.factorial(d - len(s) - 1) / math.factorial(d)
                shares[j] += weight * (more - value)
        return shares

    # -- optimality -----------------------------------------------------------------------

    def is_limited(self) -> bool:
        return any(self.case.settings.get(name) for name in ("budget", "window", "half_life"))

    def is_at_optimum(self, forgot: bool = False) -> bool:
        """Whether the model is to be the solution for all examples that are left, and says it is."""
        model = self.model
        if self.is_limited() or self.streamed:
            return False
        if self.kind.startswith("exact"):
            return model.kernel in ("rbf", "laplacian", "matern12", "precomputed")
        if forgot:
            return bool(model.forget_report_["reached_tol"])
        return model.epochs == "converge" and model.fit_status_ == 0

    def check_optimum(self) -> None:
        """Bounds, violations and duals over groups of equal examples, in double precision."""
        case, model = self.case, self.model
        left = np.setdiff1d(np.arange(len(case.y)), self.gone_groups())
        if not len(left):
            return
        weight = np.ones(len(case.y)) if case.weight is None else case.weight
        bound = self.C * weight * self.class_weights()
        coef, bias = self.machines()
        alpha = np.zeros((len(coef), len(case.y)))
        alpha[:, model.support_] = coef
        K, size = (
            (self.kernel_matrix(),) * 2 if self.precomputed else self.k(case.dense, case.dense)
        )
        labels = self.linear(len(coef))
        group = self.groups()
        heads, where = np.unique(group[left], return_inverse=True)
        for m in range(len(coef)):
            p = labels[m]
            a = np.bincount(where, alpha[m, left])
            c = np.bincount(where, bound[left])
            expect(
                abs(a.sum() - alpha[m].sum()) <= 1e-9 * (1 + abs(a).sum()), "forgotten rows count"
            )
            self.check_machine(m, K[np.ix_(heads, heads)], size[np.ix_(heads, heads)], p[heads], a, c,
                               bias[m])  # fmt: skip

    def check_machine(
        self, m: int, K: np.ndarray, size: np.ndarray, p: np.ndarray, a: np.ndarray, c: np.ndarray,
        bias: float,
    ) -> None:  # fmt: skip
        model, kind = self.model, self.kind
        epsilon = model.epsilon if kind.endswith("values") else 0.0
        if self.is_one_class():
            low, high, total = np.zeros(len(c)), c, model.nu * c.sum()
            high = np.maximum(high, 0.0)
        elif kind in ("values", "exact values"):
            low, high, total = -c, c, 0.0
        elif kind in ("quantile", "quantiles"):
            tau = np.ravel(model.quantile)[m if kind == "quantiles" else 0]
            low, high, total = -c * (1 - tau), c * tau, 0.0
        else:
            low, high, total = np.minimum(p * c, 0), np.maximum(p * c, 0), 0.0
        room = 1e-9 * (1 + abs(a).sum())
        expect(((a >= low - room) & (a <= high + room)).all(), "a coefficient is out of its bounds")
        expect(abs(a.sum() - total) <= 10 * room, "sum of alpha", a.sum(), "instead of", total)
        if kind.startswith("exact") and getattr(model, "margin", "linear") != "linear":
            return
        g = p - K @ a
        near = 1e-9 * (high - low)
        right = g - np.where(a >= -near, epsilon, -epsilon)
        left = g - np.where(a > near, epsilon, -epsilon)
        up, down = (a < high - near) & (high > low), (a > low + near) & (high > low)
        if not up.any() or not down.any():
            return
        violation = right[up].max() - left[down].min()
        learner = model._trained.learner
        unit = getattr(learner, "unit", None)
        unit = 1.0 if unit is None else float(np.ravel(unit)[self.machine(m)])
        rounding = 2 * SINGLE * (size @ abs(a)).max() + 1e-12 * abs(p).max()
        tol = model.get_params().get("tol", 1e-3)
        allowed = max(tol, 1e-3) * unit * 1.01 + rounding
        expect(violation <= allowed, "machine", m, "is not at its optimum: violation", violation,
               "where", allowed, "is allowed")  # fmt: skip
        if not self.model.get_params().get("calibrated"):
            inside = right[up].max() - allowed <= bias <= left[down].min() + allowed
            expect(inside, "the bias", bias, "is not between", right[up].max(), left[down].min())
        self.compare_duals(K, p, a, low, high, epsilon)

    def compare_duals(
        self, K: np.ndarray, p: np.ndarray, a: np.ndarray, low: np.ndarray, high: np.ndarray,
        epsilon: float,
    ) -> None:  # fmt: skip
        """The dual objective is that of the peer, on the same kernel values."""
        counts = np.flatnonzero(high > low)
        K, p, low, high = K[np.ix_(counts, counts)], p[counts], low[counts], high[counts]
        a = a[counts]
        share = np.maximum(high, -low)
        if self.is_one_class():
            peer: Any = OneClassSVM(kernel="precomputed", nu=self.model.nu, tol=1e-5)
            target = None
        elif self.kind.endswith("values"):
            peer = SVR(kernel="precomputed", C=1.0, epsilon=epsilon, tol=1e-5)
            target = p
        elif self.kind.startswith("quantile"):
            return
        else:
            peer, target = SVC(kernel="precomputed", C=1.0, tol=1e-5), np.sign(p)
        try:
            peer.set_params(max_iter=200_000).fit(K, target, sample_weight=share)
        except ValueError:
            return
        b = np.zeros(len(p))
        b[peer.support_] = np.ravel(as_dense(peer.dual_coef_))
        ours, theirs = (x @ p - x @ K @ x / 2 - epsilon * abs(x).sum() for x in (a, b))
        if self.is_one_class():
            ours, theirs = -a @ K @ a / 2, -b @ K @ b / 2
        if abs(p).max() < 1e5:
            limit = 0.01 * (abs(theirs) + 1e-3 * min(1.0, share.max()))
            expect(ours >= theirs - limit, "dual:", ours, "instead of", theirs)

    def machine(self, m: int) -> int:
        """The number of the machine that users see as m."""
        encoder = self.model._trained.encoder
        total = len(np.ravel(self.model.intercept_))
        shown = encoder.shown(np.arange(1.0, total + 1.0))
        return int(abs(round(shown[m]))) - 1

    def linear(self, machines: int) -> np.ndarray:
        """The linear term of all examples, (machines, n)."""
        y, kind = self.targets, self.kind
        if self.is_one_class():
            return np.zeros((1, len(y)))
        if kind == "labels":
            return 2.0 * y.T - 1.0
        if self.targets.dtype.kind == "f" and kind not in ("ovr", "ovo", "exact classes"):
            return np.tile(y, (machines, 1))
        classes = self.model.classes_
        if len(classes) <= 2:
            return np.where(y == classes[-1], 1.0, -1.0)[None]
        if kind == "ovo":
            return np.array([(y == a) * 1.0 - (y == b) for a, b in combinations(classes, 2)])
        return np.array([np.where(y == each, 1.0, -1.0) for each in classes])

    def class_weights(self) -> np.ndarray:
        table = self.model.get_params().get("class_weight") or {}
        if not table:
            return np.ones(len(self.targets))
        return np.array([table.get(label, 1.0) for label in self.targets.tolist()])

    def groups(self) -> np.ndarray:
        """The first of the examples that each one is equal to."""
        y = self.targets if self.targets.ndim == 2 else self.targets[:, None]
        if self.is_one_class():
            y = np.zeros((len(y), 1))
        y = np.stack([np.unique(c, return_inverse=True)[1] for c in y.T], axis=1)
        rows = np.arange(len(y))[:, None] if self.precomputed else self.case.dense * self.factors()
        if not self.precomputed and not self.kind.startswith("exact"):
            centre = self.model._trained.centre
            rows = (rows if centre is None else rows - centre).astype(np.float32)
        together = np.concatenate([rows, y], axis=1)
        _, first, number = np.unique(together, axis=0, return_index=True, return_inverse=True)
        return first[np.ravel(number)]

    def gone_groups(self) -> np.ndarray:
        """Examples that were forgotten, with their duplicates where these are one example."""
        gone = np.array(sorted(i for i in self.gone if i < len(self.case.y)), np.int64)
        settings = self.model.get_params()
        listed = self.kind in ("ovr", "ovo", "labels") and settings.get("block_size") == 1
        counted = listed or settings.get("probability") or self.kind.startswith("exact")
        if counted or self.precomputed:
            return gone
        group = self.groups()
        return np.flatnonzero(np.isin(group, group[gone]))
