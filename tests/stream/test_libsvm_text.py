"""The fast parser of LIBSVM text: scikit-learn's result, or none at all."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from onlinesvm.stream.libsvm_text import parse_plain

WORDS = st.sampled_from(
    ["1", "-1", "+1", "0.5", "1:2", "2:-.5", "3:1e-3", "10:+4.25", "7:", ":3", "4:4:4", "x", "#", "qid:1", "2:nan",
     "1.5:2", "-3:1", "+5:1", "1e1:3", "99999999999:1", "\t", "", "12:1E5", "6:.", "8:--1", "9:1e999", "\r"]
)  # fmt: skip
LINES = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=8)


@given(LINES, st.sampled_from(["\n", "\r\n", "\n\n"]), st.booleans())
def test_the_result_of_scikit_learn_or_none(lines, end, closed):
    text = (end.join(lines) + (end if closed else "")).encode()
    found = parse_plain(text)
    if found is None:
        return
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    np.testing.assert_array_equal(found.data, X.data)
    np.testing.assert_array_equal(found.indices, X.indices)
    np.testing.assert_array_equal(found.indptr, X.indptr)
    np.testing.assert_array_equal(found.y, y)


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.dictionaries(st.integers(1, 40), st.floats(-1e3, 1e3))),
        min_size=1,
    )
)
def test_plain_text_is_understood(rows):
    text = "\n".join(
        " ".join([str(y), *(f"{k}:{v!r}" for k, v in sorted(values.items()))]) for y, values in rows
    )
    found = parse_plain(text.encode())
    assert found is not None
    assert found.y.tolist() == [y for y, _ in rows]
    assert found.data.tolist() == [v for _, values in rows for _, v in sorted(values.items())]
    assert found.indices.tolist() == [k for _, values in rows for k in sorted(values)]


@pytest.mark.parametrize(
    "text",
    [b"", b"\n\n", b"1:1\n", b"1 2:1 1:1\n", b"1 1:1 1:1\n", b"1 1:1 2\n", b"1 1:", b"1 1: 2:1\n",
     b"1 1.5:1\n", b"1 +1:1\n", b"1 1:1 # c\n", b"1 qid:1 1:1\n", b"1 1:1:1\n", b"- 1:1\n", b"1 1:1e\n",
     b"1\n2:1\n", b"1 12345678901:1\n"],
)  # fmt: skip
def test_what_is_left_to_the_other_parser(text):
    assert parse_plain(text) is None
