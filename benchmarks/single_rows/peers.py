"""Streams learned one example at a time, next to River's models: the comparison's suite ``stream``."""

from __future__ import annotations

from benchmarks.compare import report
from benchmarks.compare.suites import SUITES
from benchmarks.papers.page import Section
from benchmarks.quick import few, generated_rows
from benchmarks.run import measure


def part() -> Section:
    """Each example is predicted, then learned; a process for each model."""
    quick = generated_rows() is not None
    suite = SUITES["stream"].quick() if quick else SUITES["stream"]
    jobs = [job for job in suite.jobs if not quick or job.dataset == "sea"]
    return {"report": report.stream(measure("stream", suite, list(few(jobs, 2)), {}))}
