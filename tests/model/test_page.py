"""The snippets of docs/models.md run, one after the other."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "models.md"


def test_the_snippets_of_the_page_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(snippets) >= 7
    names = {}
    for code in snippets:
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "damaged.safetensors is not a valid model file: its arrays need" in said
