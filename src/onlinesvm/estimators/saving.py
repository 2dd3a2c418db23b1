"""``save``, the method of every estimator."""

from __future__ import annotations

import os
from typing import Any


class Saving:
    """An estimator that can be written to a model file."""

    def save(self, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write the model to a file, from which ``onlinesvm.load_model`` makes it again.

        The file holds everything that was learned, also in the middle of a stream: the loaded model
        goes on as this one would. It is in safetensors format, and reading it runs no code. It is
        written whole or not at all; an older file of that name is replaced at the end.

        Parameters
        ----------
        path : str or path-like
            The file, by custom with the ending ``.safetensors``.
        extra : dict or None, default=None
            Facts to keep with the model: numbers, text, lists, dictionaries and arrays. They are
            ``onlinesvm.model.files.read_model(path).summary``.
        """
        from ..model.files import write_model

        write_model(path, self, summary=extra)
