"""The file of runs that ``benchmarks.active`` keeps, so that each is made once."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
FILE = RESULTS / "active.json"


def write(known: dict[str, Any]) -> None:
    """All runs to the file; one that is interrupted leaves the file as it was."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    beside = FILE.with_suffix(".part")
    beside.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
    beside.replace(FILE)


def _known() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def kept(key: str, run: Callable[[], Any]) -> Any:
    """What ``run`` returns, from the file if it was made before."""
    known = _known()
    if key not in known:
        print(f"  {key}", file=sys.stderr, flush=True)
        found = run()
        known = _known() | {key: found}  # another part may have run meanwhile
        write(known)
    return known[key]


def forget(parts: list[str]) -> None:
    """Drop the runs of these parts of the benchmark."""
    write({key: value for key, value in _known().items() if key.split()[0] not in parts})


def bar(words: str, met: bool) -> str:
    """A claim with its verdict, as a list item."""
    return f"- {words}: **{'met' if met else 'missed'}**"
