"""Keys of examples: what the rows of a learner are known by.

    0, 1, 2, ...     examples of a data set, by their number
    -2, -3, -4, ...  examples of a stream, in the order of their arrival
    -1               examples that have no number
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

Number = TypeVar("Number", int, np.ndarray)


def arrival_keys(number: Number) -> Number:
    """Keys of examples of a stream, from their numbers in the order of arrival."""
    return -2 - number
