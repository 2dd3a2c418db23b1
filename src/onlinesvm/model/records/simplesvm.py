"""SimpleSVM's learning state: all examples, and the solution of every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ...core.kernel.exact import ExactRows, as_array
from ...core.kernel.kernel import Kernel
from ...core.simplesvm.kernel_store import KernelStore, LowRankSource
from ...core.simplesvm.learner import Features, Options, SimpleSVM
from ...core.simplesvm.start import STARTS
from ...core.simplesvm.tasks import Classification, OneClass, Regression, Task
from ...estimators.checks import Features as InputFeatures
from ...estimators.exact import ExactTrained
from ...estimators.labels import LabelBook, NoTargets, Targets
from ...estimators.rows import FirstRows
from ...estimators.trained import Trained
from ..errors import InvalidState, ModelFileError
from ..fields import Fields, narrow
from .common import (
    LARGEST_CACHE,
    blank,
    book_fields,
    book_of,
    centre_of,
    class_table_fields,
    class_table_of,
    first_rows_fields,
    first_rows_of,
    kernel_fields,
    kernel_of,
)
from .simplesvm_machine import machine_fields, machine_of

SELECTIONS = ("block", "sweep", "random")

_SQUARES = 1e-6
"""Squared norms may differ from those of the rows by this share."""


def simplesvm_fields(trained: Trained) -> dict[str, Any]:
    """Everything that SimpleSVM needs to go on as if it had never stopped."""
    learner, book, table = trained.learner, trained.encoder, trained.class_weights
    o, source = learner.options, learner.source
    stored = not isinstance(source, LowRankSource)
    return {
        "kernel": kernel_fields(learner.rows.kernel),
        "rows": _rows_fields(learner.rows),
        "target": learner.target,
        "weight": learner.weight,
        "number": narrow(learner.number),
        "seen": int(learner.seen),
        "task": _task_fields(learner.task),
        "options": {
            "tol": float(o.tol), "cache_size": float(o.cache_size), "selection": o.selection,
            "block_size": int(o.block_size), "init": o.init, "seed": int(o.seed),
        },
        "features": _features_fields(learner.features),
        "Z": None if stored else source.Z,
        "owners": narrow(source.owners()) if stored else None,
        "hand": int(source.hand) if stored else 0,
        "centre": trained.centre,
        "first_rows": first_rows_fields(_numbered(trained.first_rows, book)),
        "labels": book_fields(book) if isinstance(book, LabelBook) else None,
        "machines": [machine_fields(m, len(learner.machines)) for m in learner.machines],
        # Absent in files of models without: earlier versions can read these.
        **({"class_table": class_table_fields(table)} if table else {}),
    }  # fmt: skip


def _numbered(rows: FirstRows | None, encoder: Any) -> FirstRows | None:
    """First rows with labels as the learner has them."""
    if rows is None or not isinstance(encoder, LabelBook):
        return rows
    return rows._replace(y=encoder.encode(rows.y))


def _rows_fields(rows: ExactRows) -> dict[str, Any]:
    key = None if rows.key is None else narrow(rows.key)
    return {"values": rows.values, "squares": rows.squares, "key": key}


def _task_fields(task: Task) -> dict[str, Any]:
    if isinstance(task, Classification):
        nu = None if task.nu is None else float(task.nu)
        return {"margin": task.margin, "C": float(task.C), "nu": nu}
    if isinstance(task, Regression):
        return {"C": float(task.C), "epsilon": float(task.epsilon)}
    return {"nu": float(task.nu)}


def _features_fields(features: Features | None) -> Any:
    if features is None:
        return None
    if features.given is as_array:
        return "linear"
    if features.given is not None:
        raise ModelFileError(
            "low_rank is a Python function, and model files contain no code: use a number of "
            "columns instead, or pickle the estimator."
        )
    return {"pivots": _rows_fields(features.pivots), "T": features.T}


# -- reading ------------------------------------------------------------------------------


def simplesvm_of(fields: Fields, algorithm: str, features: InputFeatures) -> Trained:
    """The model again."""
    assert features.n_features is not None
    n_features, learner = features.n_features, blank(SimpleSVM)
    kernel = kernel_of(fields.record("kernel"))
    rows = learner.rows = _rows_of(fields.record("rows"), kernel, n_features)
    n = len(rows)
    encoder = _encoder_of(fields, algorithm)
    learner.weight = fields.array("weight", np.float64, (n,), low=0.0)
    learner.target = _target(fields, n, encoder)
    learner.seen = fields.whole("seen", n)
    learner.number = fields.array("number", np.int64, (n,), 0, learner.seen - 1)
    if (np.diff(learner.number) <= 0).any():
        raise fields.wrong("number", "does not rise")
    learner.task = _task_of(fields.record("task"), algorithm, learner, encoder)
    learner.options = _options_of(fields.record("options"))
    learner.features = _features_of(fields, kernel, n_features)
    learner.source = _source_of(fields, learner)
    centre, first_rows = centre_of(fields, kernel, n_features), None
    if not fields.absent("first_rows"):
        first_rows = _first_rows(fields.record("first_rows"), n_features, learner, encoder)
    problems = learner.task.problems(learner.target, learner.weight)
    parts = fields.records("machines", len(problems))
    learner.machines = [
        machine_of(part, problem, learner.source, len(problems))
        for part, problem in zip(parts, problems)
    ]
    table: dict[Any, float] | None = {} if isinstance(encoder, LabelBook) else None
    if table is not None and fields.has("class_table"):
        table = class_table_of(fields)
    fields.close()
    kept_sparse = sparse.issparse(rows.values)
    return ExactTrained(
        kernel, encoder, features, centre, False, kept_sparse, class_weights=table,
        first_rows=first_rows, learner=learner,
    )  # fmt: skip


def _encoder_of(fields: Fields, algorithm: str) -> LabelBook | Targets:
    absent = fields.absent("labels")
    if absent == (algorithm == "SimpleSVMClassifier"):
        raise fields.wrong("labels", f"is not what {algorithm} has")
    if not absent:
        return book_of(fields.record("labels"))
    return NoTargets() if algorithm == "SimpleSVMOneClass" else Targets(1, False)


def _rows_of(fields: Fields, kernel: Kernel, n_features: int) -> ExactRows:
    values = fields.matrix("values", n_features)
    n = values.shape[0]
    if n < 1 or values.dtype != np.float64:
        raise fields.wrong("values", "is not a matrix of float64 with at least one row")
    rows = blank(ExactRows)
    rows.kernel, rows.values, rows.key = kernel, values, None
    rows.squares = fields.array("squares", np.float64, (n,), low=0.0)
    if not fields.absent("key"):
        rows.key = fields.array("key", np.int64, (n,), 0, n_features - 1)
    if (rows.key is not None) != (kernel.name == "precomputed"):
        raise fields.wrong("key", "is for the precomputed kernel alone")
    if rows.key is not None and sparse.issparse(values):
        raise fields.wrong("values", "of a precomputed kernel are not sparse")
    fields.close()
    with np.errstate(over="ignore"):
        true = ExactRows(values, kernel).squares
    if not np.allclose(rows.squares, true, rtol=_SQUARES, atol=1e-300):
        raise fields.wrong("squares", "are not those of the rows")
    return rows


def _target(fields: Fields, n: int, encoder: Any) -> np.ndarray:
    if not isinstance(encoder, LabelBook):
        return fields.array("target", np.float64, (n,))
    return fields.array("target", np.int64, (n,), 0, len(encoder) - 1)


def _task_of(fields: Fields, algorithm: str, learner: SimpleSVM, encoder: Any) -> Task:
    task: Task
    if algorithm == "SimpleSVMRegressor":
        task = Regression(_cost(fields), fields.number("epsilon", 0.0))
    elif algorithm == "SimpleSVMOneClass":
        task = OneClass(fields.number("nu", 1e-300, 1.0))
    else:
        margin = fields.word("margin", "linear", "quadratic", "hard")
        nu = None if fields.absent("nu") else fields.number("nu", 1e-300, 1.0)
        task = Classification(margin, _cost(fields), nu, len(encoder))
        if not task.possible(learner.target, learner.weight):
            raise fields.wrong("nu", "is too large for these examples")
    fields.close()
    if not learner.weight.any():
        raise InvalidState("all its examples have weight zero")
    return task


def _cost(fields: Fields) -> float:
    return fields.number("C", 1e-300, infinite=True)


def _options_of(fields: Fields) -> Options:
    options = Options(
        tol=fields.number("tol", 0.0),
        cache_size=fields.number("cache_size", 0.0, LARGEST_CACHE),
        selection=fields.word("selection", *SELECTIONS),
        block_size=fields.whole("block_size", 1),
        init=fields.word("init", *STARTS),
        seed=fields.whole("seed", 0, 2**32),
    )
    fields.close()
    return options


def _features_of(fields: Fields, kernel: Kernel, n_features: int) -> Features | None:
    if fields.absent("features"):
        return None
    value = fields.take("features")
    features = blank(Features)
    if value == "linear":
        features.given = as_array
        return features
    part = Fields(value, f"{fields.where}.features")
    features.given = None
    features.pivots = _rows_of(part.record("pivots"), kernel, n_features)
    rank = len(features.pivots)
    features.T = part.array("T", np.float64, (rank, rank))
    part.close()
    return features


def _source_of(fields: Fields, learner: SimpleSVM) -> KernelStore | LowRankSource:
    n, features = len(learner.rows), learner.features
    hand = fields.whole("hand", 0, n)
    if fields.absent("Z"):
        if features is not None:
            raise fields.wrong("Z", "is missing where the kernel matrix has low rank")
        store = KernelStore(learner.rows, learner.options.cache_size / 2)
        owners = fields.array("owners", np.int64, (None,), -1, n - 1)
        used = owners[owners >= 0]
        if len(owners) > store.capacity or len(np.unique(used)) != len(used):
            raise fields.wrong("owners", "has too many examples, or one twice")
        store.left_out, store.hand = owners, hand
        return store
    if not fields.absent("owners") or features is None:
        raise fields.wrong("owners", "is not for a kernel matrix of low rank")
    rank = None if features.given is not None else len(features.pivots)
    if features.given is not None:
        rank = learner.rows.values.shape[1]
    return LowRankSource(fields.array("Z", np.float64, (n, rank)))


def _first_rows(fields: Fields, n_features: int, learner: SimpleSVM, encoder: Any) -> FirstRows:
    """First rows with labels as users have them; values may be of any type of numbers."""
    rows = first_rows_of(fields, n_features)
    has_labels = isinstance(encoder, LabelBook)
    fits = rows.y.dtype == learner.target.dtype if has_labels else rows.y.dtype.kind in "biuf"
    if not fits or not np.isfinite(rows.y).all():
        raise fields.wrong("y", "is not of the kind of the targets")
    if not has_labels:
        return rows
    if not (rows.y.min() >= 0 and rows.y.max() < len(encoder)):
        raise fields.wrong("y", "has labels that are not known")
    return rows._replace(y=encoder.classes[np.argsort(encoder.order())][rows.y])
