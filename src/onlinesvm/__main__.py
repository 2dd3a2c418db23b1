"""``onlinesvm`` and ``python -m onlinesvm``: the command line, if its packages are installed."""

from __future__ import annotations

import sys

from .core.runtime.dependencies import check_installed
from .exceptions import MissingDependencyError


def main() -> None:
    """Run the command line; without its packages, one sentence and exit code 1."""
    try:
        check_installed(("click", "rich"), "The command line", "cli")
    except MissingDependencyError as error:
        sys.exit(f"Error: {error}")
    from .cli import main as run

    run(prog_name="onlinesvm")


if __name__ == "__main__":
    main()
