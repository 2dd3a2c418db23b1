"""The models that are compared are of the same examples, and so the same."""

import numpy as np
import pytest

from benchmarks.datasets import Dataset, load
from benchmarks.forgetting import compare, single_rows


@pytest.mark.parametrize("kind", ["random", "strongest"])
def test_both_models_are_the_same(kind):
    found = compare(load("waveform:600"), kind, 5, 1)
    assert found["forgotten"] == 5
    assert found["support_vectors"] >= 1
    assert found["difference"] < 0.01


def test_copies_are_not_chosen():
    X, y = np.array([[0.0], [1.0], [1.0], [1.0], [2.0]]), np.array([0, 1, 1, 0, 1])
    data = Dataset("copies", X, y, X, y, 1.0, 1.0, "")
    np.testing.assert_array_equal(single_rows(data), [0, 3, 4])
