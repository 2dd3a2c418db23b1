"""The front page: its code runs, its links lead somewhere, its commands are there."""

import re
import tomllib
from pathlib import Path

import pytest

import onlinesvm

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_python_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    accuracy = float(capsys.readouterr().out.split()[0])
    assert accuracy > 0.95
    assert names["exact"].score(names["X"][1500:], names["y"][1500:]) > 0.95


def test_links_lead_to_files():
    if not (ROOT / "docs" / "conf.py").exists():
        pytest.skip("the pages of the site are not there")
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert len(links) > 10
    assert not [to for to in links if not (ROOT / to).exists()]


def test_extras_that_commands_name_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = set(re.findall(r'pip install "\.\[(\w+)\]"', TEXT))
    assert {"cli", "test"} <= named <= set(project["optional-dependencies"])


def test_every_public_class_is_named():
    classes = [name for name in onlinesvm.__all__ if name[0].isupper()]
    assert not [name for name in classes if f"`{name}`" not in TEXT]


def test_the_first_screen_has_the_two_commands_and_a_picture():
    first = "\n".join(TEXT.splitlines()[:25])
    assert 'pip install ".[cli]" && onlinesvm demo' in first
    assert 'pip install ".[test]" && pytest' in first
    assert "![" in first
