"""Records that compiled loops take as one address (``core/kernel/emit/records.py``)."""

from typing import NamedTuple

import numpy as np
import pytest

from onlinesvm.core.kernel.emit.records import Flags2, Layout, Numbers, Reals2, Reals3, Values
from onlinesvm.core.runtime.numerics import jit


class Sample(NamedTuple):
    weights: Reals2
    cube: Reals3
    share: float
    active: Flags2
    small: np.float32
    places: Numbers
    values: Values
    is_open: bool
    most: int


LAYOUT = Layout(Sample)
sample_of = LAYOUT.opened


@jit
def read(address, numbers, shapes):
    r = sample_of(address)
    numbers[0], numbers[1], numbers[2] = r.share, r.small, r.most
    numbers[3] = r.is_open
    shapes[0], shapes[1], shapes[2] = r.cube.shape
    return r.weights[1, 2] + r.cube[1, 2, 3] + r.values[-1] + r.places[4]


@jit
def write(address):
    r = sample_of(address)
    for i in range(r.weights.shape[0]):
        for j in range(r.weights.shape[1]):
            if r.active[i, j]:
                r.weights[i, j] = r.share * j - i
    r.places[0] = r.places.shape[0]


def sample():
    rng = np.random.default_rng(0)
    return Sample(
        rng.normal(size=(3, 5)), rng.normal(size=(2, 3, 4)), 0.1, rng.random((3, 5)) > 0.5,
        np.float32(-2.5), np.arange(7), rng.normal(size=6).astype(np.float32), True, -(2**40),
    )  # fmt: skip


def test_compiled_code_reads_every_kind_of_field():
    record = sample()
    table, numbers, shapes = LAYOUT.table(record), np.empty(4), np.empty(3, np.int64)
    found = read(table.address, numbers, shapes)
    assert found == record.weights[1, 2] + record.cube[1, 2, 3] + record.values[-1] + 4
    assert numbers.tolist() == [0.1, -2.5, -(2.0**40), 1.0]
    assert shapes.tolist() == [2, 3, 4]


def test_what_compiled_code_writes_is_in_the_arrays():
    record = sample()
    i, j = np.indices(record.weights.shape)
    expected = np.where(record.active, 0.1 * j - i, record.weights)
    table = LAYOUT.table(record)
    write(table.address)
    np.testing.assert_array_equal(record.weights, expected)
    assert record.places[0] == 7


@pytest.mark.parametrize(
    ("field", "array"),
    [
        ("weights", np.zeros((5, 3)).T),
        ("weights", np.zeros((3, 10))[:, ::2]),
        ("weights", np.zeros((3, 5), np.float32)),
        ("weights", np.zeros(15)),
        ("active", np.zeros((3, 5), np.uint8)),
        ("places", np.zeros(7, np.int32)),
        ("values", np.zeros(6)),
    ],
)
def test_an_array_of_another_kind_is_refused(field, array):
    with pytest.raises(TypeError, match=f"Sample.{field} must be a C-contiguous array"):
        LAYOUT.table(sample()._replace(**{field: array}))


def test_a_field_that_does_not_exist_does_not_compile():
    @jit
    def wrong(address):
        return sample_of(address).weight

    table = LAYOUT.table(sample())
    with pytest.raises(Exception, match="weight"):
        wrong(table.address)
