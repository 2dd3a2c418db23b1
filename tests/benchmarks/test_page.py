"""``docs/evidence/papers.md`` is what its template and the published numbers make of it."""

import json

import pytest

from benchmarks.papers import page


def test_the_committed_page_is_generated_from_the_published_numbers(tmp_path):
    page.write({}, tmp_path / "papers.md", tmp_path / "published.json")
    for made, committed in (("papers.md", page.PAGE), ("published.json", page.PUBLISHED)):
        text = (tmp_path / made).read_text(encoding="utf-8")
        assert text == committed.read_text(encoding="utf-8"), f"{committed.name} was edited by hand"


def test_every_place_has_a_number_and_every_number_a_place():
    asked = page.places(page.TEMPLATE.read_text(encoding="utf-8"))
    assert asked == {part: set(section) for part, section in page.published().items()}


def test_a_measured_part_replaces_its_numbers_and_no_others(tmp_path):
    measured = {"huller.mnist": {"exact_error": "9.876", "rows": [["1", "2"]], "report": "long"}}
    page.write(measured, tmp_path / "papers.md", tmp_path / "published.json")
    text = (tmp_path / "papers.md").read_text(encoding="utf-8")
    assert "over the digits is 9.876 %" in text
    assert "| 1 | 2 |\n\n## StreamSVM" in text
    kept = json.loads((tmp_path / "published.json").read_text(encoding="utf-8"))
    old = page.published()
    assert kept.pop("huller.mnist") == {"exact_error": "9.876", "rows": [["1", "2"]]}
    old.pop("huller.mnist")
    assert kept == old


def test_half_a_part_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match=r"huller\.mnist: rows not measured"):
        page.write({"huller.mnist": {"exact_error": "1"}}, tmp_path / "a.md", tmp_path / "b.json")
    assert not list(tmp_path.iterdir())
