"""``python -m benchmarks.tables``: AutoSVM next to boosted trees, each in a process of its own.

Runs are kept: a comparison that was stopped goes on where it was (``--again`` measures anew the sets and
methods given). Small tables are split several times, and the mean is shown. ``--docs`` puts the table and the picture into ``docs/evidence/tables.md``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.quick import results
from benchmarks.runs import Runs
from benchmarks.tables.methods import METHODS
from benchmarks.tables.report import PICTURE, draw, page, publish
from benchmarks.tables.sets import SETS

LONGEST = 10
"""A process is stopped after this number of limits."""

SMALL, SPLITS = 1000, 5
"""Tables of fewer rows than this are split so many times: one test part of 50 rows is a coin toss."""


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas between")
    parser.add_argument("--methods", default=",".join(METHODS), help="names with commas between")
    parser.add_argument("--rows", type=int, default=100_000, help="training rows at most")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each method")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="measure once more")
    parser.add_argument("--docs", action="store_true", help="table and picture into the docs")
    chosen = parser.parse_args(given)
    chosen.sets, chosen.methods = chosen.sets.split(","), chosen.methods.split(",")
    for names, known in ((chosen.sets, SETS), (chosen.methods, METHODS)):
        wrong = [name for name in names if name not in known]
        if wrong:
            parser.error(f"{wrong[0]!r} is none of {', '.join(known)}")
    return chosen


def one(task: dict[str, Any]) -> dict[str, Any]:
    """What the process of a task has measured; the end of its error where it failed."""
    command = [sys.executable, "-m", "benchmarks.tables.worker", json.dumps(task)]
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LONGEST * task["limit"] + 60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {LONGEST} limits"}
    if ran.returncode:
        return {"failed": ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "failed"}
    found: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return found


def averaged(
    task: dict[str, Any], run: Callable[[dict[str, Any]], dict[str, Any]] = one
) -> dict[str, Any]:
    """The mean of the splits of a table, which are the same for all methods; each in a process of its own."""
    runs = [run(task)]
    splits = SPLITS if runs[0].get("of", SMALL) < SMALL else 1
    while "failed" not in runs[-1] and len(runs) < splits:
        runs.append(run({**task, "seed": task["seed"] + len(runs)}))
    if "failed" in runs[-1] or splits == 1:
        return runs[-1]
    means = {
        name: statistics.fmean(r[name] for r in runs)
        for name in ("error", "seconds", "cpu_seconds")
    }
    return {**runs[0], **means, "errors": [r["error"] for r in runs]}


def main(given: list[str] | None = None) -> None:
    """Measure what was asked for, then write the table and the picture."""
    chosen = arguments(given)
    name = f"tables-{chosen.rows}-{chosen.limit:g}s"
    kept = Runs(f"{name}.json")
    methods = [m for m in chosen.methods if _is_there(m)]
    if chosen.again:
        again = {f"{each} {method}" for each in chosen.sets for method in methods}
        kept.write({key: run for key, run in kept.known().items() if key not in again})
    for each in chosen.sets:
        for method in methods:
            task = {
                "set": each, "method": method, "rows": chosen.rows, "limit": chosen.limit,
                "threads": chosen.threads, "seed": chosen.seed,
            }  # fmt: skip
            kept.kept(f"{each} {method}", lambda task=task: averaged(task))
    runs = kept.known()
    text = page(runs, chosen.sets, methods)
    (results() / f"{name}.md").write_text(text, encoding="utf-8")
    draw(runs, chosen.sets, methods, results() / f"{name}.png")
    print(text)
    if chosen.docs:
        publish(text)
        draw(runs, chosen.sets, methods, PICTURE)


def _is_there(method: str) -> bool:
    if method.startswith("LightGBM") and importlib.util.find_spec("lightgbm") is None:
        print("LightGBM is not installed: pip install lightgbm", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main()
