#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2024.10"]
# ///
"""Tasks, each in an environment of its own: ``nox -l`` lists them, ``nox -s tests`` runs one.

``.ci/run`` runs all of them that continuous integration needs, and does without nox.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "uv|virtualenv"

CHECKOUT = Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the tests; arguments after ``--`` go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs)


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run some tests on the lowest versions that ``pyproject.toml`` claims."""
    chosen = "test:pytest,hypothesis,pytest-timeout,pytest-xdist,pandas,onnxruntime"
    text = session.run("python", ".ci/lowest", "cli", "files", "onnx", chosen, silent=True)
    session.install(".", *str(text).split())
    session.run("pytest", "-q", *(session.posargs or ["tests/core/test_contract.py"]))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and spelling."""
    session.install(".[test,dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("codespell")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into ``build/site``; warnings are errors."""
    session.install(".[docs]")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "build/site")


@nox.session
def build(session: nox.Session) -> None:
    """Build the sdist and the wheel into ``dist``."""
    session.install("build")
    session.run("python", "-m", "build")


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """Run what continuous integration runs."""
    session.run(str(CHECKOUT / ".ci" / "run"))


if __name__ == "__main__":
    nox.main()
