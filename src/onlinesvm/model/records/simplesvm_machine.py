"""The solution of one of SimpleSVM's problems: coefficients, scores, and the factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.simplesvm.kernel_store import LowRankSource, Source
from ...core.simplesvm.machine import Machine
from ...core.simplesvm.state import MOST, M, Work
from ...core.simplesvm.tasks import Problem
from ...core.simplesvm.working_set import PackedFactor, most_capacity
from ..fields import Fields, narrow
from .common import LARGEST_CACHE, blank

_SLACK = 1e-6
"""Share of its bound by which rounding may carry a coefficient beyond it."""


def machine_fields(machine: Machine, machines: int) -> dict[str, Any]:
    """Everything that the machine needs to go on as if it had never stopped."""
    w = machine.w if machine.primal else machine.packed_factor()
    factor: dict[str, Any] = {"low": machine.low, "border": w.border, "counts": w.counts}
    factor["member"] = narrow(w.member)
    if isinstance(w, PackedFactor):
        factor["capacity"] = min(w.capacity, most_capacity(len(w.member), machines))
        factor |= {"triangle": w.triangle, "V": w.V}
    else:
        factor["R"] = machine.R
    return {
        "tol": float(machine.tol),
        "capacity": int(machine.capacity),
        "tau": float(machine.tau),
        "selection": machine.selection,
        "block_size": int(machine.block_size),
        "rng": machine.rng,
        "n_sweeps": int(machine.n_sweeps),
        "converged": bool(machine.converged),
        "turn": int(machine.turn),
        "first": narrow(machine.first),
        "alpha": machine.alpha,
        "score": machine.score,
        "held": narrow(machine.held),
        "factor": factor,
    }


def machine_of(fields: Fields, problem: Problem, source: Source, machines: int) -> Machine:
    """The machine again."""
    machine = blank(Machine)
    machine.problem, machine.source = problem, source
    n = len(problem)
    machine.tol = fields.number("tol", 0.0)
    machine.capacity = fields.whole("capacity", 2, int(LARGEST_CACHE * 2**10))
    machine.tau = fields.number("tau", 1e-300)
    machine.selection = fields.word("selection", "block", "sweep", "random")
    machine.block_size = fields.whole("block_size", 1)
    machine.rng = fields.take("rng")
    if not isinstance(machine.rng, np.random.Generator):
        raise fields.wrong("rng", "is not a random generator")
    machine.n_sweeps, machine.turn = fields.whole("n_sweeps"), fields.whole("turn")
    machine.converged = fields.flag("converged")
    machine.first = _some(fields, "first", n)
    machine.alpha = fields.array("alpha", np.float64, (n,), low=0.0)
    if (machine.alpha > problem.upper * (1.0 + _SLACK)).any():
        raise fields.wrong("alpha", "has coefficients beyond their bounds")
    machine.score = fields.array("score", np.float64, (len(source),))
    machine.held = _some(fields, "held", n)
    part = fields.record("factor")
    machine.R, machine.low = None, _scratch(part, machine.source)
    if machine.primal:
        machine.w, machine.R = _normal_factor(part, machine)
    else:
        machine.w = _factor(part, machine, machines)
    fields.close()
    return machine


def _some(fields: Fields, name: str, n: int) -> np.ndarray:
    """Numbers of variables, each once."""
    which = fields.array(name, np.int64, (None,), 0, n - 1)
    if len(np.unique(which)) != len(which):
        raise fields.wrong(name, "has a variable twice")
    return which


def _scratch(fields: Fields, source: Source) -> np.ndarray | None:
    """Scratch of kernel values of low rank."""
    if isinstance(source, LowRankSource):
        return fields.array("low", np.float64, (2, source.Z.shape[1] + 1))
    if not fields.absent("low"):
        raise fields.wrong("low", "is not for a kernel matrix of full rank")
    return None


def _common(fields: Fields, machine: Machine) -> tuple[np.ndarray, np.ndarray]:
    """Border and counts."""
    d = len(machine.problem.target)
    border = fields.array("border", np.float64, (d, d + 4))
    counts = fields.array("counts", np.int64, (4,), 0, 2**53)
    if counts[MOST] != machine.most:
        raise fields.wrong("counts", "does not fit the capacity")
    return border, counts


def _factor(fields: Fields, machine: Machine, machines: int) -> Work:
    d, n = len(machine.problem.target), len(machine.problem)
    border, counts = _common(fields, machine)
    member = fields.array("member", np.int64, (None,), 0, n - 1)
    m = len(member)
    if counts[M] != m or m not in (0, len(machine.held)):
        raise fields.wrong("member", "is not the working set")
    packed = PackedFactor(
        fields.whole("capacity", m, most_capacity(m, machines)),
        fields.array("triangle", np.float64, (m * (m + 1) // 2,)),
        fields.array("V", np.float64, (d + 3, m)),
        member,
        border,
        counts,
    )
    fields.close()
    work = packed.unpacked()
    if not (np.diag(work.U)[:m] > 0.0).all():
        raise fields.wrong("triangle", "is no factor")
    return work


def _normal_factor(fields: Fields, machine: Machine) -> tuple[Work, np.ndarray]:
    """That of the normal equations."""
    d, n = len(machine.problem.target), len(machine.problem)
    border, counts = _common(fields, machine)
    assert isinstance(machine.source, LowRankSource)
    side = machine.source.Z.shape[1] + 1
    member = fields.array("member", np.int64, (n,), 0, n - 1)
    R = fields.array("R", np.float64, (side, side))
    fields.close()
    if counts[M] not in (0, len(machine.held)):
        raise fields.wrong("counts", "is not the working set")
    return Work(np.zeros((0, 0)), np.zeros((d + 3, n)), member, border, counts), R
