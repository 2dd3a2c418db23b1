"""Optional packages: imported when they are used; the error says how to install a missing one.

``pyproject.toml`` lists them as extras. The message names the packages themselves, from the
metadata of the installed distribution, so that it works wherever this library was installed from.
"""

from __future__ import annotations

import importlib
import re
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from ...exceptions import MissingDependencyError

DISTRIBUTION = "onlinesvm"

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^\]]*)\])?\s*(?P<bounds>[^;]*?)\s*"
    r"(?:;.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"].*)?"
)


def require(module: str, purpose: str, extra: str | None = None) -> Any:
    """Import a module of an optional package.

    ``purpose`` is what needs it, the subject of the message if it is missing. ``extra`` is the
    extra of ``pyproject.toml`` that contains it; None: there is none, and the package has the name
    of the module. An installed package that fails to import raises its own error.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or module).partition(".")[0] != module.partition(".")[0]:
            raise
        raise missing(purpose, extra, module) from None


def check_installed(modules: tuple[str, ...], purpose: str, extra: str) -> None:
    """Raise an error if any of these modules is missing, without importing them."""
    for module in modules:
        if find_spec(module) is None:
            raise missing(purpose, extra, module)


def missing(purpose: str, extra: str | None, module: str) -> MissingDependencyError:
    """The error, with the command that installs all that is missing of the extra."""
    wanted = [] if extra is None else requirements(extra)
    wanted = [each for each in wanted if not is_installed(each)] or wanted or [module]
    names = [_REQUIREMENT.fullmatch(each)["name"] for each in wanted]  # type: ignore[index]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    verb = "is" if len(names) == 1 else "are"
    command = " ".join(["pip install", *(f'"{each}"' for each in wanted)])
    return MissingDependencyError(
        f"{purpose} needs {listed}, which {verb} not installed: {command}"
    )


def requirements(extra: str) -> list[str]:
    """Requirements of an extra of this library, including those of other extras that it names."""
    found: dict[str, None] = {}
    for line in declared():
        part = _REQUIREMENT.fullmatch(line)
        if part is None or part["extra"] != extra:
            continue
        if part["name"] != DISTRIBUTION:
            inside = f"[{part['extras']}]" if part["extras"] else ""
            found[part["name"] + inside + part["bounds"]] = None
            continue
        for other in part["extras"].split(","):
            found.update(dict.fromkeys(requirements(other.strip())))
    return list(found)


def declared() -> list[str]:
    """All requirements of the installed distribution; none if it runs without being installed."""
    try:
        return metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []


def is_installed(requirement: str) -> bool:
    """Whether a distribution of that name is there, in whatever version."""
    part = _REQUIREMENT.fullmatch(requirement)
    try:
        return part is not None and bool(metadata.version(part["name"]))
    except metadata.PackageNotFoundError:
        return False
