"""Errors of model files and exports."""

from __future__ import annotations

from typing import Any

from ..exceptions import ModelFileError as ModelFileError


class InvalidState(ValueError):  # noqa: N818
    """A part of a model file breaks a rule. Readers turn it into a ``ModelFileError``."""


def damaged(path: Any, problem: object) -> ModelFileError:
    """The error for a file that is not a valid model."""
    return ModelFileError(
        f"{path} is not a valid model file: {problem}. Save the model again, or restore the file "
        "from a backup."
    )


def not_written(path: Any, error: OSError) -> ModelFileError:
    """The error for a file that could not be written."""
    reason = error.strerror or str(error)
    return ModelFileError(
        f"{path} was not written: {reason}. An existing file is unchanged; free disk space, "
        "check the permissions of the folder, or choose another path."
    )
