"""Workers of one test run compile each loop once, and share what takes long to make."""

import os
from collections.abc import Callable
from pathlib import Path

from onlinesvm.core.runtime.compiling.sharing import locked


def shared_folder(factory) -> Path:
    """A folder that all workers of a test run have in common."""
    base: Path = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory, name: str, make: Callable[[Path], str]) -> tuple[Path, str]:
    """A folder that ``make`` has filled, once for all workers, and what it returned."""
    shared = shared_folder(factory)
    folder, found = shared / name, shared / f"{name}.txt"
    with locked(shared / f"{name}.lock"):
        if not found.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            found.write_text(make(folder), encoding="utf-8")
    return folder, found.read_text(encoding="utf-8")
