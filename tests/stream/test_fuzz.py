"""A few mutated files in each format; ``tests/helpers/fuzzing_data.py`` has many more."""

import pytest
from fuzzing_data import outcome, samples


@pytest.fixture(scope="module")
def files():
    return samples()


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_rows_or_one_sentence(tmp_path, files, first):
    found = [outcome(tmp_path, number, files) for number in range(first, first + 50)]
    assert not [text for text in found if text not in ("rows", "refused")]
    assert len(set(found)) == 2


def test_files_as_they_are_give_rows(tmp_path, files, monkeypatch):
    monkeypatch.setattr("fuzzing_data.mutate", lambda data, _: data)
    assert {outcome(tmp_path, number, files) for number in range(60)} == {"rows"}


@pytest.mark.parametrize("number", [95, 2927, 8212, 9544])
def test_errors_of_other_libraries(tmp_path, files, number):
    """What NumPy cannot tokenize, names and text that are not UTF-8, odd blanks."""
    assert outcome(tmp_path, number, files) == "refused"
