"""Scores that LASVM recorded before examples were learned. Absent if none are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm.state import Support
from ...core.lasvm.tasks import OneClass, Regression
from ...core.prequential.asides import Answer, Asides, Scored
from ...core.prequential.calibration import SLOPES
from ...core.prequential.drift import BLOCK, BLOCKS, DriftDetector
from ...core.prequential.novelties import Novelties
from ...core.prequential.record import RECENT, Prequential
from ...core.prequential.residuals import Residuals
from ...core.prequential.thresholds import LEVELS
from ..fields import Fields, narrow

Watch = Prequential | Residuals | Novelties | None


def watch_fields(watch: Watch) -> dict[str, Any]:
    """The record as the field ``watch`` of its learner; no field where there is no record."""
    if watch is None:
        return {}
    if isinstance(watch, Novelties):
        return {"watch": _novelties_fields(watch)}
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
            "key": narrow(watch.key[:n]),
            "q": None if thresholds is None else thresholds.q,
            "state": None if thresholds is None else thresholds.state,
            "detector": None if watch.detector is None else _detector_fields(watch.detector),
        }
    }


def watch_of(fields: Fields, machines: int, n_labels: int, support: Support) -> Watch:
    """The record again, from the fields of its learner.

    Files of earlier versions have none of values, or of one class.
    """
    values, one_class = isinstance(support.task, Regression), isinstance(support.task, OneClass)
    if not fields.has("watch"):
        if values:
            residuals = Residuals(machines, False)
            residuals.knows = support.n > 0
            return residuals
        return Novelties(support) if one_class else None
    fields = fields.record("watch")
    if one_class:
        return _novelties_of(fields, support)
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
    watch.key[:n] = _keys_of(fields, n)
    if watch.thresholds is not None:
        watch.thresholds.q = fields.array("q", np.float64, (len(LEVELS),))
        watch.thresholds.state = fields.array("state", np.float64, (2,), low=0.0)
    elif not fields.absent("state"):
        raise fields.wrong("state", "needs thresholds")
    if drift:
        watch.detector = _detector_of(fields.record("detector"), watch.looked)
    fields.close()
    return watch


def asides_fields(asides: Asides | None) -> dict[str, Any]:
    """Scores kept in passing as the field ``asides`` of their learner; no field where none are."""
    if asides is None:
        return {}
    n, beyond, answer = min(asides.n, len(asides.label)), asides.beyond, asides.lasting_answer
    noted = Scored(asides.scores[:n], asides.label[:n], asides.weight[:n], asides.key[:n])
    return {
        "asides": {
            "bounds": None,  # earlier versions read it
            "n": asides.n,
            "recent": _scored_fields(noted),
            "beyond": None if beyond is None else _scored_fields(beyond),
            "answer": None if answer is None else answer._asdict(),
        }
    }


def asides_of(fields: Fields, machines: int, n_labels: int) -> Asides | None:
    """The scores again, from the fields of their learner; files of earlier versions have none."""
    if not fields.has("asides"):
        return None
    fields = fields.record("asides")
    asides = Asides(machines)
    fields.take("bounds")
    asides.n = fields.whole("n")
    n = min(asides.n, len(asides.label))
    recent = _scored_of(fields.record("recent"), np.float64, (n, machines), n_labels)
    asides.scores[:n], asides.label[:n], asides.weight[:n], asides.key[:n] = recent
    if not fields.absent("beyond"):
        part = fields.record("beyond")
        asides.beyond = _scored_of(part, np.float32, (None, machines), n_labels)
    if not fields.absent("answer"):
        part = fields.record("answer")
        asides.answer = Answer(
            part.whole("last", 0, asides.n),
            part.array("slopes", np.float64, (SLOPES,), low=0.0),
            part.array("q", np.float64, (len(LEVELS),)),
        )
        part.close()
    fields.close()
    return asides


def _scored_fields(scored: Scored) -> dict[str, Any]:
    return {
        "scores": scored.scores, "label": narrow(scored.label), "weight": scored.weight,
        "key": narrow(scored.key),
    }  # fmt: skip


def _scored_of(fields: Fields, kind: Any, shape: tuple[int | None, int], n_labels: int) -> Scored:
    scores = fields.array("scores", kind, shape)
    label = fields.array("label", np.int64, (len(scores),), 0, max(n_labels, 1) - 1)
    weight = fields.array("weight", np.float64, (len(label),), low=0.0)
    key = _keys_of(fields, len(label))
    fields.close()
    return Scored(scores, label, weight, key)


def _keys_of(fields: Fields, n: int) -> np.ndarray:
    """Keys of n examples; files of earlier versions have none."""
    return fields.array("key", np.int64, (n,)) if fields.has("key") else np.full(n, -1)


def _residuals_fields(watch: Residuals) -> dict[str, Any]:
    return {
        "n": watch.n,
        "looked": watch.looked,
        "settled": watch.n_unordered,
        "quantiles": watch.quantiles,
        "knows": watch.knows,
        "excess": watch.excess[: min(watch.n, len(watch.excess))],
        "key": narrow(watch.key[: min(watch.n, len(watch.key))]),
        "shares": np.array([tracked.shares for tracked in watch.tracked]),
        **({} if watch.levels is None else {"calibration": _calibration_fields(watch)}),
    }


def _calibration_fields(watch: Residuals) -> dict[str, Any]:
    n = min(watch.n, len(watch.weight))
    return {
        "held_out": watch.held_out,
        "levels": watch.levels,
        "shares": watch.shares,
        "offsets": watch.offsets,
        "errors": watch.errors[:n],
        "weight": watch.weight[:n],
    }


def _residuals_of(fields: Fields, machines: int) -> Residuals:
    calibration = fields.record("calibration") if fields.has("calibration") else None
    levels = None
    if calibration is not None:
        levels = calibration.array("levels", np.float64, (machines,), 0.0, 1.0)
    watch = Residuals(machines, fields.flag("quantiles"), levels)
    targets = len(watch.tracked)
    watch.n = fields.whole("n")
    watch.looked = fields.whole("looked", watch.n - watch.n % BLOCK, watch.n)
    watch.n_unordered = fields.whole("settled", 0, watch.n)
    watch.knows = fields.flag("knows") if fields.has("knows") else watch.n > 0
    n = min(watch.n, len(watch.excess))
    watch.excess[:n] = fields.array("excess", np.float64, (n, targets))
    watch.key[:n] = _keys_of(fields, n)
    shares = fields.array("shares", np.float64, (targets, len(LEVELS)), 0.0, 1.0)
    if calibration is not None:
        watch.held_out = calibration.flag("held_out")
        watch.shares = calibration.array("shares", np.float64, (machines,), 0.0, 1.0)
        watch.offsets = calibration.array("offsets", np.float64, (machines,))
        watch.errors[:n] = calibration.array("errors", np.float64, (n, machines))
        watch.weight[:n] = calibration.array("weight", np.float64, (n,), 0.0)
        calibration.close()
    fields.close()
    watch.restore(shares)
    return watch


def _novelties_fields(watch: Novelties) -> dict[str, Any]:
    return {
        "n": watch.n,
        "settled": watch.n_unordered,
        "last": watch.last,
        "values": watch.values[: min(watch.n, len(watch.values))],
        "key": narrow(watch.key[: min(watch.n, len(watch.key))]),
        "waiting": np.array([each[:2] for each in watch.waiting]).reshape(-1, 2),
        "waiting_key": np.array([each[2] for each in watch.waiting], np.int64),
    }


def _novelties_of(fields: Fields, support: Support) -> Novelties:
    watch = Novelties(support)
    watch.n = fields.whole("n")
    watch.n_unordered = fields.whole("settled", 0, watch.n)
    watch.last = fields.array("last", np.float64, (2,))
    n = min(watch.n, len(watch.values))
    watch.values[:n] = fields.array("values", np.float64, (n, 2))
    watch.key[:n] = _keys_of(fields, n)
    pairs = fields.array("waiting", np.float64, (None, 2)).tolist()
    keys = [-1] * len(pairs)  # in files of earlier versions
    if fields.has("waiting_key"):
        keys = fields.array("waiting_key", np.int64, (len(pairs),)).tolist()
    watch.waiting = [(*pair, key) for pair, key in zip(pairs, keys, strict=True)]
    if len(watch.waiting) >= BLOCK:
        raise fields.wrong("waiting", f"has more than {BLOCK - 1} examples")
    fields.close()
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
