"""Where measurements go, and the files of runs that are made once and kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.quick import results


class Runs:
    """A file of named runs. A long benchmark that was stopped goes on where it was."""

    def __init__(self, name: str | Path):
        self.name = name

    @property
    def file(self) -> Path:
        """In the folder of results, or of the quick form's."""
        return results() / self.name

    def known(self) -> dict[str, Any]:
        """All runs made so far."""
        return json.loads(self.file.read_text(encoding="utf-8")) if self.file.is_file() else {}

    def write(self, known: dict[str, Any]) -> None:
        """All runs to the file; a write that is interrupted leaves the file as it was."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        beside = self.file.with_suffix(".part")
        beside.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
        beside.replace(self.file)

    def kept(self, key: str, run: Callable[[], Any]) -> Any:
        """What ``run`` returns, from the file if it was made before."""
        known = self.known()
        if key not in known:
            print(f"  {key}", file=sys.stderr, flush=True)
            found = run()
            known = self.known() | {key: found}  # another part may have run meanwhile
            self.write(known)
        return known[key]

    def forget(self, parts: list[str]) -> None:
        """Drop the runs whose key begins with one of these words."""
        self.write({k: v for k, v in self.known().items() if k.split()[0] not in parts})
