"""One method on one table, in a process of its own: prints what was measured as JSON."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

from benchmarks.memory import peak_memory
from benchmarks.tables.methods import METHODS, error_of
from benchmarks.tables.sets import SETS


def measured(task: dict[str, Any]) -> dict[str, Any]:
    """Error, seconds and memory of a task: set, method, rows, limit, threads, seed."""
    table = SETS[task["set"]]()
    A, a, B, b = table.split(task["rows"], task["seed"])
    found: dict[str, Any] = {"rows": len(a), "columns": int(A.shape[1]), "of": len(table.y)}
    with warnings.catch_warnings(), peak_memory(found):
        warnings.simplefilter("ignore")
        begin, used = time.perf_counter(), time.process_time()
        method = METHODS[task["method"]]
        predicted = method(A, a, B, table.is_regression, task["limit"], task["threads"])
        found["seconds"] = time.perf_counter() - begin
        found["cpu_seconds"] = time.process_time() - used
    found["error"] = error_of(predicted, b, table.is_regression)
    return found


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
