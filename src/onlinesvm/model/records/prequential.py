"""What LASVM has noted of scores before examples were learned. Absent where it notes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm.tasks import Regression, Task
from ...core.prequential.drift import BLOCK, BLOCKS, DriftDetector
from ...core.prequential.record import RECENT, Prequential
from ...core.prequential.residuals import Residuals
from ...core.prequential.thresholds import LEVELS
from ..fields import Fields, narrow


def watch_fields(watch: Prequential | Residuals | None) -> dict[str, Any]:
    """The record as the field ``watch`` of its learner; no field where there is no record."""
    if watch is None:
        return {}
    if isinstance(watch, Residuals):
        return {"watch": _residuals_fields(watch)}
    n, thresholds = min(watch.n, len(watch.label)), watch.thresholds
    return {
        "watch": {
            "n": watch.n,
            "looked": watch.looked,
            "begun": watch.begun,
            "replaced": watch.replaced,
            "follows": watch.follows,
            "scores": watch.scores[:n],
            "label": narrow(watch.label[:n]),
            "weight": watch.weight[:n],
            "q": None if thresholds is None else thresholds.q,
            "state": None if thresholds is None else thresholds.state,
            "detector": None if watch.detector is None else _detector_fields(watch.detector),
        }
    }


def watch_of(
    fields: Fields, machines: int, n_labels: int, task: Task
) -> Prequential | Residuals | None:
    """The record again, from the fields of its learner; files of earlier versions have none of values."""
    values = isinstance(task, Regression)
    if not fields.has("watch"):
        return Residuals(machines, False) if values else None
    fields = fields.record("watch")
    if values:
        return _residuals_of(fields, machines)
    probability, drift = not fields.absent("q"), not fields.absent("detector")
    follows = fields.flag("follows")
    if follows and not drift:
        raise fields.wrong("follows", "needs a detector")
    watch = Prequential(machines, probability=probability, drift=drift, window=follows)
    watch.n = fields.whole("n")
    watch.looked = fields.whole("looked", watch.n - watch.n % BLOCK, watch.n)
    watch.begun = fields.whole("begun", 0, watch.n)
    watch.replaced = fields.whole("replaced", 0, watch.n) if fields.has("replaced") else 0
    n = min(watch.n, RECENT if probability else BLOCK)
    watch.scores[:n] = fields.array("scores", np.float64, (n, machines))
    watch.label[:n] = fields.array("label", np.int64, (n,), 0, max(n_labels, 1) - 1)
    watch.weight[:n] = fields.array("weight", np.float64, (n,), low=0.0)
    if watch.thresholds is not None:
        watch.thresholds.q = fields.array("q", np.float64, (len(LEVELS),))
        watch.thresholds.state = fields.array("state", np.float64, (2,), low=0.0)
    elif not fields.absent("state"):
        raise fields.wrong("state", "needs thresholds")
    if drift:
        watch.detector = _detector_of(fields.record("detector"), watch.looked)
    fields.close()
    return watch


def _residuals_fields(watch: Residuals) -> dict[str, Any]:
    return {
        "n": watch.n,
        "looked": watch.looked,
        "settled": watch.settled,
        "quantiles": watch.quantiles,
        "excess": watch.excess[: min(watch.n, len(watch.excess))],
        "shares": np.array([tracked.shares for tracked in watch.tracked]),
    }


def _residuals_of(fields: Fields, machines: int) -> Residuals:
    watch = Residuals(machines, fields.flag("quantiles"))
    targets = len(watch.tracked)
    watch.n = fields.whole("n")
    watch.looked = fields.whole("looked", watch.n - watch.n % BLOCK, watch.n)
    watch.settled = fields.whole("settled", 0, watch.n)
    n = min(watch.n, len(watch.excess))
    watch.excess[:n] = fields.array("excess", np.float64, (n, targets))
    shares = fields.array("shares", np.float64, (targets, len(LEVELS)), 0.0, 1.0)
    fields.close()
    watch.restore(shares)
    return watch


def _detector_fields(detector: DriftDetector) -> dict[str, Any]:
    return {
        "threshold": detector.threshold,
        "errors": narrow(detector.errors[: detector.blocks]),
        "current": detector.current,
        "start": detector.start,
        "n_drifts": detector.n_drifts,
        "last": detector.last,
    }


def _detector_of(fields: Fields, seen: int) -> DriftDetector:
    detector = DriftDetector(fields.number("threshold", 0.0))
    errors = fields.array("errors", np.int64, (None,), 0, BLOCK)
    if len(errors) > min(BLOCKS, seen // BLOCK):
        raise fields.wrong("errors", "has more blocks than there were examples")
    detector.blocks = len(errors)
    detector.errors[: len(errors)] = errors
    detector.current = fields.whole("current", 0, seen % BLOCK)
    detector.seen, detector.start = seen, fields.whole("start", 0, seen)
    detector.n_drifts = fields.whole("n_drifts")
    detector.last = fields.whole("last", -1, seen)
    fields.close()
    return detector
