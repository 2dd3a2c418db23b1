"""What is said when a model file or an export goes wrong."""

from __future__ import annotations

from typing import Any

from ..exceptions import ModelFileError as ModelFileError


class InvalidState(ValueError):  # noqa: N818
    """A part of a model file breaks a rule. Readers turn it into a ``ModelFileError``."""


def damaged(path: Any, problem: object) -> ModelFileError:
    """The error for a file that is no valid model."""
    return ModelFileError(
        f"{path} is not a valid model file: {problem}. Save the model again, or restore the file "
        "from a backup."
    )


def not_written(path: Any, error: OSError) -> ModelFileError:
    """The error for a file that could not be written."""
    reason = error.strerror or str(error)
    return ModelFileError(
        f"{path} was not written: {reason}. A file that was there before is unchanged; free disk "
        "space, check the permissions of the folder, or choose another path."
    )
