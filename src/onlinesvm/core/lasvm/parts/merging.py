"""Support sets of parts of the data, merged until they are the SVM of all of it.

Parts P_1, P_2, ... of a data set have coefficients a_1, a_2, ... within the same bounds, each with
sum zero. Side by side they are feasible for the union of the parts, so the union starts from them:

    leaf        one pass over a part; what carries a coefficient is its support set
    gradients   g = p - K a over a union of support sets, by one product
    merge       the union, optimised until delta <= tol; rows at zero leave
    violators   rows of a part that violate the root's model, the worst first
    admit       they join the root's support set, which is optimised again

When no part has a violator, the root is the exact SVM of all parts (``second_look.converge`` is the
same for a data set at hand). Rows are known by their number in the whole data set (``key``), so that
none joins twice. This module does not depend on where parts are stored or computed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ...examples import Examples, merge_duplicates
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows, RowStore
from ...model import owned_rows
from ...runtime.compact import Compact
from ..block import block, working_set
from ..fit import Fit, Plan
from ..learner import LASVM
from ..state import Support
from ..tasks import Classification

DEPTH = 0.1
"""Gap to which leaves and inner merges are optimised: the next merge changes them anyway."""

REPRESENTATIVES = 2048
"""Rows that a support set keeps while it has seen one class only, and has no coefficient."""

CACHE_MB = 200.0
"""Memory for kernel values while a support set is optimised."""

_PART = 8192
"""Rows judged at a time."""


def learner_of(
    support: Support, kernel: Kernel, n_labels: int, done: bool, **settings: Any
) -> tuple[LASVM, np.ndarray]:
    """A learner that has learned this support set, and the keys of its rows, now numbered."""
    learner = LASVM(kernel, support.rows(), n_labels, **settings)
    learner.hold(support)
    learner.converged = done
    n, key = support.n, support.a.key
    original = key[:n].copy()
    key[:n] = np.arange(n)
    return learner, original


class RootModel(NamedTuple):
    """What it takes to judge rows: the model, and who is a member of which machine already."""

    rows: Rows
    alpha: np.ndarray  # (machines, n)
    bias: np.ndarray
    positive: np.ndarray
    threshold: np.ndarray  # slack above which a row violates
    key: np.ndarray  # numbers of the rows that are members of some machine, ascending
    member: np.ndarray  # (machines, keys)


class Violators(Compact):
    """Rows of one part that join the root's support set; pickles hold them in few bytes."""

    def __init__(
        self, few: Examples, joins: np.ndarray, grad: np.ndarray, wrong: int, withheld: int
    ):
        self._store = RowStore(few.rows, max(1, len(few.rows)))
        self._store.append(few.rows)
        self._more = few[1:]
        self.joins = joins  # (machines, n): as members of which machines
        self.grad = grad  # (machines, n)
        self.wrong = wrong  # how many of them the model gets plainly wrong
        self.withheld = withheld  # how many more there were

    @property
    def examples(self) -> Examples:
        """The rows, with labels, bounds and keys."""
        return Examples(self._store.rows(), *self._more)


def leaf(data: Examples, kernel: Kernel, n_labels: int, tol: float, seed: np.ndarray) -> Support:
    """The support set of one pass over a part of the data set."""
    data = merge_duplicates(data) if len(data.rows) else data
    key = data.key
    learner = LASVM(kernel, data.rows, n_labels, tau=max(tol, DEPTH), cache_size=CACHE_MB)
    numbered = data._replace(key=np.arange(len(key)))
    fit = Fit(learner, numbered, np.random.RandomState(seed), Plan())
    for stage in fit.stages() if len(key) else ():
        for _ in stage.steps:
            pass
    support = learner.support
    support.a.key[: support.n] = key[support.a.key[: support.n]]
    return _reduced(support)


def _reduced(support: Support) -> Support:
    """Rows without a coefficient leave; where there is no coefficient yet, some rows stay."""
    used = np.asarray(support.alpha().any(axis=0))
    if not used.any():
        n = support.n
        used = np.zeros(n, bool)
        used[np.linspace(0, n - 1, min(n, REPRESENTATIVES)).astype(np.int64)] = True
    support.keep(used)
    support.buffers.clear()
    return support


def union(parts: list[Support]) -> Support:
    """All rows of the parts, with the coefficients they have there; gradients are to be computed."""
    total = sum(part.n for part in parts)
    merged = Support(parts[0].rows(), parts[0].a.positive.tolist(), capacity=max(1, total))
    for part in parts:
        first, n, a = merged.n, part.n, part.a
        fresh = Examples(part.rows(), a.label[:n], a.bound[:n], a.diagonal[:n], a.key[:n])
        merged.append(fresh, a.grad[:, :n], a.member[:, :n])
        merged.a.alpha[:, first : first + n] = part.alpha()
    return merged


def gradients(
    parts: list[Support], kernel: Kernel, first: int = 0, last: int | None = None
) -> np.ndarray:
    """g of the rows first ... last of the union, (machines, rows), for every machine.

    A part whose rows are members of all machines knows its own share already.
    """
    total = sum(part.n for part in parts)
    last = total if last is None else last
    found, begin = [], 0
    for part in parts:
        inside = slice(max(first - begin, 0), max(min(last - begin, part.n), 0))
        begin += part.n
        if inside.start < inside.stop:
            found.append(_gradients_of(part, inside, parts, kernel))
    return np.concatenate(found, axis=1) if found else np.empty((parts[0].machines, 0))


def _gradients_of(part: Support, inside: slice, parts: list[Support], kernel: Kernel) -> np.ndarray:
    known = bool(part.a.member[:, : part.n].all())
    a, rows = part.a, part.rows().take(inside)
    grad = a.grad[:, inside].copy() if known else a.p[:, inside].copy()
    for other in parts:
        if other is not part or not known:
            grad -= kernel.product(rows, *other.expansion()).T
    return grad


def merge(
    parts: list[Support], kernel: Kernel, tol: float, grad: np.ndarray | None = None
) -> tuple[Support, bool]:
    """The parts as one support set, optimised; and whether it reached ``tol``.

    ``grad`` are the gradients of the union, where they have been computed before.
    """
    merged = union(parts)
    merged.a.grad[:, : merged.n] = gradients(parts, kernel) if grad is None else grad
    _start(merged)
    merged.measure()
    slack = _slack(merged)
    started = merged.started()[:, None]
    merged.a.member[:, : merged.n] |= started & (slack > 0)
    done = working_set.optimise_all(merged, kernel, tol, CACHE_MB)
    merged.measure()
    return _reduced(merged), done


def _slack(support: Support) -> np.ndarray:
    residual = support.a.grad[:, : support.n] - support.a.bias[:, None]
    return support.task.slack(support.linear(), residual)


def _start(support: Support) -> None:
    """Machines that have both signs for the first time take all rows as members.

    The bias of a machine that knows one sign is that sign; it has no members.
    """
    linear, n = support.linear(), support.n
    waiting = ~support.started()
    both = np.asarray((linear > 0).any(axis=1) & (linear < 0).any(axis=1))
    support.a.member[waiting, :n] = both[waiting, None]
    support.a.grad[waiting, :n] = linear[waiting]
    alone = waiting & ~both
    support.a.bias[alone] = linear[alone, 0]


def root_model(support: Support, tau: float) -> RootModel:
    """The model as parts need it, and the slack above which their rows violate.

    A row outside violates by more than tau with the root's rows if slack + delta / 2 > tau, with
    another row outside only if the slack of one of them exceeds tau / 2 (``second_look``).
    """
    n, a = support.n, support.a
    delta = np.where(np.isfinite(a.delta), a.delta, 0.0)
    rows, alpha = support.expansion()
    order = np.argsort(a.key[:n], kind="stable")
    return RootModel(
        owned_rows(rows), alpha.copy(), a.bias.copy(), a.positive.copy(),
        np.minimum(tau - delta / 2, tau / 2), a.key[:n][order], a.member[:, :n][:, order],
    )  # fmt: skip


def violators(root: RootModel, kernel: Kernel, data: Examples, most: int) -> Violators:
    """The rows of a part that violate, at most ``most`` for each machine.

    Where there are more, half of those sent violate most, and the others are spread over the rest:
    the worst alone would be wrong labels, where labels are noisy.
    """
    data, task = merge_duplicates(data), Classification()
    linear = task.linear(data.label, root.positive)
    grad = linear.copy()
    for first in range(0, len(data.rows), _PART):
        part = slice(first, first + _PART)
        grad[:, part] -= kernel.product(data.rows.take(part), root.rows, root.alpha).T
    slack = task.slack(linear, grad - root.bias[:, None])
    slack[_members(root, data.key)] = -np.inf
    joins = np.zeros(slack.shape, bool)
    withheld = 0
    for m, threshold in enumerate(root.threshold):
        found = np.flatnonzero(slack[m] > threshold)
        chosen = found if len(found) <= most else _some(found, slack[m, found], most)
        joins[m, chosen] = True
        withheld += len(found) - len(chosen)
    which = np.flatnonzero(joins.any(axis=0))
    wrong = int((slack[:, which] > task.tolerances.wrong)[joins[:, which]].sum())
    return Violators(data.take(which), joins[:, which], grad[:, which], wrong, withheld)


def _members(root: RootModel, key: np.ndarray) -> np.ndarray:
    """Which of the rows with these keys are members of which machines already."""
    found = np.zeros((len(root.positive), len(key)), bool)
    if len(root.key):
        place = np.minimum(np.searchsorted(root.key, key), len(root.key) - 1)
        known = root.key[place] == key
        found[:, known] = root.member[:, place[known]]
    return found


def _some(found: np.ndarray, slack: np.ndarray, most: int) -> np.ndarray:
    """Half of ``most`` with the largest slack, the others evenly among the rest."""
    order = found[np.argsort(-slack, kind="stable")]
    worst, rest = order[: most // 2], order[most // 2 :]
    spread = np.linspace(0, len(rest) - 1, most - len(worst)).astype(np.int64)
    return np.concatenate([worst, rest[spread]])


def admit(
    support: Support, kernel: Kernel, tol: float, found: list[Violators]
) -> tuple[Support, bool]:
    """A support set with the violators of all parts, optimised; and whether it reached ``tol``.

    The one given stays as it is: where it must be used again, the result is the same.
    """
    support = deepcopy(support)
    order = np.argsort(support.a.key[: support.n], kind="stable")
    known = support.a.key[: support.n][order]
    for few in found:
        key = few.examples.key
        place = np.minimum(np.searchsorted(known, key), len(known) - 1)
        slot = np.where(known[place] == key, order[place], -1)
        block.join(support, few.examples, slot, few.joins, few.grad)
    _start(support)
    done = working_set.optimise_all(support, kernel, tol, CACHE_MB)
    support.measure()
    support.buffers.clear()
    return support, done
