"""Code in a new interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import onlinesvm

PACKAGE = Path(onlinesvm.__file__).resolve().parent


def run(code, **environment):
    """What a new interpreter prints."""
    place = environment.pop("PYTHONPATH", str(PACKAGE.parent))
    result = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env={**os.environ, "PYTHONPATH": place, **environment},
        capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()
