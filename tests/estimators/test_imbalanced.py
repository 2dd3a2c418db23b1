"""Rare classes: never worse than SVC. ``python tests/helpers/imbalanced.py`` does the same at full size."""

import pytest
from imbalanced import compare


@pytest.mark.parametrize("seed", range(18))
def test_a_rare_class_is_learned_as_well_as_by_svc(seed):
    found = compare(seed, 6000, most=5)
    assert not found.is_worse, str(found)


def test_a_rare_example_next_to_the_boundary_is_on_its_side():
    """Its decision value is 4e-5 in the exact SVM: a single pass does not see that."""
    found = compare(63)
    assert not found.is_worse, str(found)
