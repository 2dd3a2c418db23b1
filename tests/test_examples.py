"""Every script of examples/ runs by itself, draws what it says, and is a notebook, too."""

import ast
import json
import os
import runpy
import subprocess
import sys
from copy import deepcopy
from types import SimpleNamespace

import gallery
import pytest
from gallery import EXAMPLES, SCRIPTS
from processes import PACKAGE

import onlinesvm

SECONDS = 240
"""Far above the 20 s of an example, for machines that also compile and run other tests."""


def environment(**more):
    """Neither data of the papers nor a display."""
    kept = {name: value for name, value in os.environ.items() if name != "ONLINESVM_DATA"}
    return {**kept, "PYTHONPATH": str(PACKAGE.parent), "MPLBACKEND": "Agg", **more}


def run(script, folder, *missing):
    """What a script prints, and for each axes: figure, whether anything is drawn, x and y explained."""
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error::FutureWarning", gallery.__file__, str(script), *missing],
        env=environment(), cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *printed, shown = done.stdout.strip().splitlines()
    return printed, json.loads(shown), done.stderr


def test_there_are_sixteen_in_sections_that_have_a_header():
    assert len(SCRIPTS) == 16
    for folder in {EXAMPLES, *(script.parent for script in SCRIPTS)}:
        title, line, *_ = (folder / "README.rst").read_text(encoding="utf-8").splitlines()
        assert len(title) == len(line)


def test_the_gallery_has_an_order_from_the_first_boundary_to_dask():
    file = EXAMPLES.parent / "docs" / "_ext" / "gallery_order.py"
    order = SimpleNamespace(**runpy.run_path(str(file)))
    listed = [(folder, name) for folder, names in order.ORDER.items() for name in names]
    assert sorted(listed) == sorted((script.parent.name, script.stem) for script in SCRIPTS)
    found = sorted(
        SCRIPTS, key=lambda s: (order.by_section(f"../examples/{s.parent.name}"), order.by_example(s.name))
    )  # fmt: skip
    assert [(script.parent.name, script.stem) for script in found] == listed
    assert listed[0] == ("online", "plot_growing_boundary")
    assert listed[-1] == ("scale", "plot_tree_on_dask")
    assert order.by_example("plot_a_new_one.py") > order.by_example(f"{listed[-1][1]}.py")
    assert order.by_section("../examples/a_new_one") > order.by_section("../examples/scale")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_begins_with_a_title_and_imports_public_names(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    above, title, below, empty, *_ = ast.get_docstring(tree).splitlines()
    assert above == below == "=" * len(title)
    assert empty == ""
    names = [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("onlinesvm")
        for alias in node.names
    ]
    assert names
    for module, name in names:
        assert module == "onlinesvm.dask" or (module == "onlinesvm" and name in onlinesvm.__all__)
    assert any(code for _, code in gallery.blocks(script))


@pytest.mark.timeout(SECONDS + 30)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_runs_and_draws(script, tmp_path):
    if script.stem == "plot_tree_on_dask":
        pytest.importorskip("dask.array", reason="the tree needs Dask")
        pytest.importorskip("distributed", reason="the tree needs Dask")
    printed, shown, errors = run(script, tmp_path)
    assert printed  # the claims of its text, computed
    if script.stem == "plot_error_against_time":
        assert any("LightGBM" in line for line in printed)  # its curve, or that it is missing
    assert "Warning" not in errors
    assert shown
    for figure, drawn, x, y in shown:
        assert drawn, f"figure {figure} has empty axes"
        assert x, f"figure {figure}: an x axis has neither a label nor words"
        assert y, f"figure {figure}: a y axis has neither a label nor words"
    pictures = {f"figure-{figure}.png" for figure, *_ in shown}
    assert {path.name for path in tmp_path.iterdir()} == pictures


def test_without_dask_the_tree_says_so(tmp_path):
    printed, shown, _ = run(EXAMPLES / "scale" / "plot_tree_on_dask.py", tmp_path, "dask")
    assert any("pip install" in line and "dask" in line for line in printed)
    assert not shown


BARS = [
    """\
from sklearn.callback import ProgressBar

watched = LASVMClassifier(C=10, gamma=2.0, epochs=3).set_callbacks(ProgressBar())
watched.fit(X, y).score(X_test, y_test)
""",
    """\
from onlinesvm import AutoSVMClassifier

AutoSVMClassifier(time_limit=5, verbose=True).fit(X, y).score(X_test, y_test)
""",
]
"""scikit-learn's progress bar, and the bar of ``verbose=True``."""


def displayed(runner, cell):
    """What the widgets of a cell show in the end, as text."""
    kind = "application/vnd.jupyter.widget-view+json"
    views = [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]
    states = [runner.widget_state[view["model_id"]] for view in views]
    shown = [output["data"]["text/plain"] for state in states for output in state["outputs"]]
    return "\n".join(shown)


@pytest.fixture
def notebook_runner(tmp_path, monkeypatch):
    """Executes a notebook in a kernel that imports the package under test."""
    nbclient = pytest.importorskip("nbclient", reason="notebooks run under nbclient")
    for name in ("nbformat", "ipykernel", "ipywidgets", "sklearn.callback"):
        pytest.importorskip(name, reason=f"a notebook with a progress bar needs {name}")
    for name in ("ONLINESVM_DATA", "MPLBACKEND"):  # a kernel draws into its notebook
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE.parent))

    def execute(book):
        place = {"metadata": {"path": str(tmp_path)}}
        try:
            found = deepcopy(book)
            runner = nbclient.NotebookClient(found, timeout=80, resources=place)
            runner.execute()
        except nbclient.exceptions.CellTimeoutError:
            # Seen once in a dozen runs, at a load of ten: the kernel had done its work and was idle,
            # and its reply had not arrived. A cell that hangs by itself hangs again.
            found = deepcopy(book)
            runner = nbclient.NotebookClient(found, timeout=80, resources=place)
            runner.execute()
        return runner, found

    return execute


@pytest.mark.timeout(SECONDS + 30)
def test_runs_as_a_notebook_with_a_progress_bar(notebook_runner):
    from nbformat.v4 import new_code_cell

    book = gallery.notebook(EXAMPLES / "online" / "plot_growing_boundary.py")
    book.cells += [new_code_cell(bar) for bar in BARS]
    runner, book = notebook_runner(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    callback, verbose = code[-2:]
    for cell, last in ((callback, "100%"), (verbose, "━")):
        (accuracy,) = [o for o in cell.outputs if o.output_type == "execute_result"]
        assert float(accuracy.data["text/plain"]) > 0.9
        assert last in displayed(runner, cell)
