"""The comparison: ``python -m benchmarks.run [--quick] [--only NAME]``.

Runs each job of the chosen suites in processes of its own, one after another, writes what was
measured to ``benchmarks/results/NAME.json``, and makes tables (Markdown) and plots from that.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmarks.clock import warn_of_load
from benchmarks.compare import readme, report
from benchmarks.compare.peers import PEERS
from benchmarks.compare.suites import SUITES, Job, Suite
from benchmarks.quick import results

ROOT = Path(__file__).resolve().parent.parent
OVERHEAD = 600.0
"""Seconds that reading, warming up and predicting may take on top of the fits."""


def ask_worker(spec: dict[str, Any]) -> dict[str, Any]:
    """One measurement in a new process; what went wrong is in its ``status``."""
    spec = spec | {"started": time.monotonic()}
    limit = spec["limit"] * max(spec.get("repeats", 1), 1) + OVERHEAD
    command = [sys.executable, "-m", "benchmarks.compare.worker", json.dumps(spec)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return {"status": "timeout", "reason": f"stopped after {limit:g} s in all"}
    if done.returncode == -signal.SIGALRM:
        return {"status": "timeout", "reason": f"a fit was stopped after {spec['limit']:g} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        said = done.stderr.strip().splitlines()[-1:] or ["nothing said"]
        return {"status": "failed", "reason": f"exit {done.returncode}: {said[0]}"}
    return json.loads(lines[-1])


def run_form(job: Job, form: str) -> dict[str, Any]:
    """A job with one form of input, new processes included."""
    spec = asdict(job) | {"format": form}
    found = ask_worker(spec)
    if found["status"] == "ok" and job.fresh:
        tries = [ask_worker(spec | {"measure": "fresh"}) for _ in range(job.fresh)]
        found["fresh_s"] = [t["fresh_s"] for t in tries if t["status"] == "ok"]
    return {"format": form, **found}


def run_job(job: Job) -> dict[str, Any]:
    """A job with every form of input its peer takes; the fastest counts."""
    peer = PEERS[job.peer]
    if peer.version() is None:
        missing = {"status": "not installed", "reason": f"pip install {peer.distribution}"}
        return {"job": asdict(job), "result": missing, "others": []}
    tried = [run_form(job, form) for form in peer.forms_for(job.dataset)]
    done = [t for t in tried if t["status"] == "ok"] or tried
    best = min(done, key=lambda t: min(t.get("fit_s") or [0.0]))
    return {"job": asdict(job), "result": best, "others": [t for t in tried if t is not best]}


def machine() -> dict[str, Any]:
    """Where and with what it was measured."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            model = next((s.split(":")[1].strip() for s in f if s.startswith("model name")), model)
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = {p.distribution: p.version() or "not installed" for p in PEERS.values()}
    return {
        "cpu": model,
        "cores": cores,
        "python": platform.python_version(),
        "versions": versions,
        "load_at_start": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def describe(entry: dict[str, Any]) -> str:
    """One line on a finished job, for whoever watches."""
    found = entry["result"]
    if found["status"] != "ok":
        return f"{found['status']}: {found['reason']}"
    error = 100 * sum(found["errors"]) / len(found["errors"])
    said = f"error {error:.2f} %"
    if entry["job"].get("measure") in ("regression", "novelty"):
        said = f"error {error / 100:.4f}"
    took = (
        f"{min(found['fit_s']):.3g} s ({min(found['cpu_s']):.3g} s CPU)" if "fit_s" in found else ""
    )
    each = f"{found['us_per_example']:.3g} µs an example" if "us_per_example" in found else ""
    return f"{took}{each}, {said}"


def chosen(suite: Suite, peers: Iterable[str] | None, sets: Iterable[str] | None) -> list[Job]:
    """The jobs of a suite for the peers and sets asked for; all of them by default."""
    jobs = (j for j in suite.jobs if peers is None or j.peer in peers)
    return [j for j in jobs if sets is None or j.dataset in sets]


def measure(
    name: str, suite: Suite, jobs: list[Job], done: dict[Job, dict[str, Any]]
) -> dict[str, Any]:
    """All jobs, one after another; jobs measured in this run are not run again."""
    entries = []
    for job in jobs:
        print(f"  {job.dataset:16} {job.peer:26} ", end="", flush=True)
        if job not in done:
            done[job] = run_job(job)
        entries.append(done[job])
        print(describe(done[job]), flush=True)
    about = {"suite": name, "title": suite.title, "shape": suite.shape}
    return about | {"machine": machine(), "entries": entries}


def run_suite(name: str, suite: Suite, jobs: list[Job], done: dict[Job, dict[str, Any]]) -> None:
    """Measure, then write JSON, table and plots."""
    print(f"\n# {name}: {suite.title}", flush=True)
    measured = measure(name, suite, jobs, done)
    folder = results()
    (folder / f"{name}.json").write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print("\n" + report.write(measured, folder), flush=True)


def _names(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",")] if text else None


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--quick", is_flag=True, help="Little data, one repetition, minutes.")
@click.option("--only", metavar="NAMES", help=f"Of {', '.join(SUITES)}.")
@click.option("--peers", metavar="NAMES", help=f"Of {', '.join(PEERS)}.")
@click.option("--sets", metavar="NAMES", help="Data sets of the suite.")
@click.option("--readme", "into_readme", is_flag=True, help="Speed table and plot into README.md.")
def main(
    quick: bool, only: str | None, peers: str | None, sets: str | None, into_readme: bool
) -> None:
    """Run the suites asked for: with --quick alone the quick one, else all of them."""
    everything = ["quick"] if quick else [name for name in SUITES if name != "quick"]
    done: dict[Job, dict[str, Any]] = {}
    warn_of_load()
    for name in _names(only) or everything:
        if name not in SUITES:
            raise click.BadParameter(f"no suite {name!r}; there are {', '.join(SUITES)}")
        suite = SUITES[name].quick() if quick and name != "quick" else SUITES[name]
        jobs = chosen(suite, _names(peers), _names(sets))
        if not jobs:
            raise click.BadParameter(f"{name}: no job of these peers and sets")
        run_suite(name, suite, jobs, done)
        if into_readme and name == "speed":
            readme.update(results())


if __name__ == "__main__":
    main()
