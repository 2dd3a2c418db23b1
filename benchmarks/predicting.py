"""Prediction with the same support vectors: ``predict`` here and in scikit-learn's ``SVC``.

    python -m benchmarks.predicting            5,000 rows of a9a, models of 20,000 rows
    python -m benchmarks.predicting --full     all of a9a.t (16,281 rows), models of all of a9a

``LASVMClassifier`` is fitted to a9a. An ``SVC`` is fitted to a few rows, and then given the support
vectors, coefficients and intercept of our model (in LIBSVM's order), so that both compute the same
sum. Its decision values are compared with ours before anything is timed: labels must be equal. Rows
are CSR and dense; each time is the best of several, taken in turns.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.clock import best_in_turn
from benchmarks.datasets import load


def svc_of(model: Any, X: Any, y: np.ndarray) -> Any:
    """An ``SVC`` with the support vectors, coefficients and intercept of a binary model."""
    from sklearn.svm import SVC

    coef = model.dual_coef_
    coef = np.ravel(coef.toarray() if sparse.issparse(coef) else coef).astype(float)
    vectors = model.support_vectors_
    # LIBSVM has the vectors of the first class first; a positive coefficient is the second class.
    order = np.concatenate([np.flatnonzero(coef < 0), np.flatnonzero(coef > 0)])
    svc = SVC(C=model.C, gamma=float(model.gamma_)).fit(X[:200], y[:200])
    vectors = vectors[order]
    counts = np.array([(coef < 0).sum(), (coef > 0).sum()], np.int32)
    if sparse.issparse(X):
        vectors = sparse.csr_matrix(vectors, dtype=np.float64)
        svc._dual_coef_ = sparse.csr_matrix(-coef[order][None, :])
        svc.dual_coef_ = sparse.csr_matrix(coef[order][None, :])
    else:
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        vectors = np.ascontiguousarray(vectors, np.float64)
        svc._dual_coef_, svc.dual_coef_ = -coef[order][None, :], coef[order][None, :]
    svc.support_vectors_, svc._n_support = vectors, counts
    svc.support_ = np.arange(len(order), dtype=np.int32)
    svc.intercept_ = np.asarray(model.intercept_, float).copy()
    svc._intercept_ = -svc.intercept_
    return svc


def compare(n_train: int | None, n_test: int | None, repeats: int) -> dict[str, Any]:
    """Both on CSR and on dense rows."""
    from onlinesvm import LASVMClassifier

    data = load("a9a")
    X, y = data.X_train[:n_train], data.y_train[:n_train]
    X_test = data.X_test[:n_test]
    result: dict[str, Any] = {"rows": int(X_test.shape[0])}
    forms = {"csr": sparse.csr_matrix, "dense": lambda A: A.toarray() if sparse.issparse(A) else A}
    for form, make in forms.items():
        rows, test = make(X).astype(np.float64), make(X_test).astype(np.float64)
        model = LASVMClassifier(C=10, gamma=0.005, random_state=0).fit(rows, y)
        svc = svc_of(model, rows, y)
        ours, theirs = model.decision_function(test), svc.decision_function(test)
        difference = float(np.abs(ours - theirs).max())
        different = int(np.count_nonzero(model.predict(test) != svc.predict(test)))
        calls = (lambda m=model, t=test: m.predict(t), lambda m=svc, t=test: m.predict(t))
        mine, other = best_in_turn(calls, repeats)
        result[form] = {
            "support_vectors": len(model.support_),
            "largest_difference": difference,
            "different_labels": different,
            "seconds": mine,
            "svc_seconds": other,
            "rows_per_second": result["rows"] / mine,
            "svc_rows_per_second": result["rows"] / other,
            "times": other / mine,
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="all rows")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sizes = (None, None) if arguments.full else (20_000, 5000)
    result = compare(*sizes, arguments.repeats)
    if arguments.json:
        print(json.dumps(result, indent=1))
        return
    for form in ("csr", "dense"):
        r = result[form]
        print(f"{form}: {result['rows']:,} rows, {r['support_vectors']:,} support vectors: "
              f"{r['rows_per_second']:,.0f} rows/s, SVC {r['svc_rows_per_second']:,.0f} rows/s, "
              f"{r['times']:.1f} times; {r['different_labels']} labels differ, decision values by "
              f"at most {r['largest_difference']:.1e}")  # fmt: skip


if __name__ == "__main__":
    main()
