"""The errors of labelling: mistakes that users can correct, and requests that cannot be carried
out.
"""

from __future__ import annotations

from ..exceptions import LabelError as LabelError


class RefusedError(LabelError):
    """A request that does not fit the current state; nothing was changed."""


class UnsavedError(LabelError):
    """An answer that could not be written to the disk; it was not learned either."""
