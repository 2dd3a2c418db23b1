"""Keys of examples: what the rows of a learner are known by.

Examples of a data set have their numbers 0, 1, 2, ... as keys; examples of a stream -2, -3, -4, ... in
the order of their arrival. The key of an example that has no number is -1.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Number = TypeVar("Number", int, np.ndarray)


def arrival_keys(number: Number) -> Number:
    """Keys of examples of a stream, from their numbers in the order of arrival."""
    return -2 - number
