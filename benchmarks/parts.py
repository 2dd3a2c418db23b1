"""Named parts of a benchmark, run one after another and kept: what was stopped goes on later.

A part returns its numbers (a :data:`Section`): texts by name, as they stand on a page, and under
``report`` what is printed for whoever watches. Parts have names like ``lasvm.one-pass``: the group,
a dot, the part. The group alone means all of its parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext

import click

from benchmarks.clock import warn_of_load
from benchmarks.datasets import DataFolderError
from benchmarks.papers.page import Section
from benchmarks.quick import quick_form
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


def command(group: str, about: str | None, parts: Parts, runs: Runs) -> click.Command:
    """The command of a benchmark whose parts are all of one group."""
    names = ", ".join(part.partition(".")[2] for part in parts)

    @click.command(help=(about or "").split("\n\n", maxsplit=1)[0])
    @click.option("--only", metavar="NAMES", help=f"Of {names}; separated by commas.")
    @click.option("--quick", is_flag=True, help="Little generated data: shows that it runs.")
    @click.option("--again", is_flag=True, help="Forget what was measured before.")
    def main(only: str | None, quick: bool, again: bool) -> None:
        asked = [f"{group}.{name.strip()}" for name in only.split(",")] if only else list(parts)
        wanted = chosen(parts, ",".join(asked))
        with quick_form() if quick else nullcontext():
            if again or quick:
                runs.forget(wanted)
            missing = run(parts, wanted, runs)
        sys.exit(2 if missing else 0)

    return main


def _numbers(section: Section) -> str:
    """The numbers of a part that has no report."""
    lines = []
    for name, value in section.items():
        rows = [" | ".join(row) for row in value] if isinstance(value, list) else [str(value)]
        lines += [f"{name}: {row}" for row in rows]
    return "\n".join(lines)
