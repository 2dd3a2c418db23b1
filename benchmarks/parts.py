"""Named parts of a benchmark, run one after another and kept: what was stopped goes on later.

A part returns its numbers (a :data:`Section`): texts by name, as they stand on a page, and under
``report`` what is printed for whoever watches. Parts have names like ``lasvm.one-pass``: the group,
a dot, the part. The group alone means all of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import click

from benchmarks.clock import warn_of_load
from benchmarks.datasets import DataFolderError
from benchmarks.papers.page import Section
from benchmarks.runs import Runs

Parts = Mapping[str, Callable[[], Section]]


def chosen(parts: Iterable[str], only: str | None) -> list[str]:
    """The parts that ``--only`` names, separated by commas; all of them by default."""
    parts = list(parts)
    wanted = []
    for name in only.split(",") if only else []:
        found = [part for part in parts if name.strip() in (part, part.partition(".")[0])]
        if not found:
            groups = sorted({part.partition(".")[0] for part in parts})
            raise click.BadParameter(f"no {name!r}; there are {', '.join(groups + parts)}")
        wanted += found
    return wanted or parts


def run(parts: Parts, wanted: Iterable[str], runs: Runs) -> int:
    """Run the parts that are not known yet and print them; the number of those without data."""
    warn_of_load()
    missing = 0
    for name in wanted:
        print(f"\n## {name}: {(parts[name].__doc__ or '').splitlines()[0]}\n", flush=True)
        try:
            section = runs.kept(name, parts[name])
        except DataFolderError as error:
            print(f"{name}: {error}", flush=True)
            missing += 1
            continue
        print(section.get("report", _numbers(section)), flush=True)
    return missing


def _numbers(section: Section) -> str:
    """The numbers of a part that has no report."""
    lines = []
    for name, value in section.items():
        rows = [" | ".join(row) for row in value] if isinstance(value, list) else [str(value)]
        lines += [f"{name}: {row}" for row in rows]
    return "\n".join(lines)
