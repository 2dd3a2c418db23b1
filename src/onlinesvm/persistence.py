"""Model files: save, load, and look into them without running any code.

``save_model`` and ``load_model`` are what most programs need. ``write_model``, ``read_model`` and
``read_header`` also give access to what a file contains besides the estimator.
"""

from .model.files import (
    LoadedModel,
    load_model,
    read_header,
    read_model,
    save_model,
    write_model,
)

__all__ = [
    "LoadedModel",
    "load_model",
    "read_header",
    "read_model",
    "save_model",
    "write_model",
]
