"""The documentation's site: it builds without a warning, and its tables are true."""

import importlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import onlinesvm

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NEEDED = (
    "sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_design", "sphinx_copybutton",
    "matplotlib", "dask", "river",
)  # fmt: skip


def extension(name):
    """A module of docs/_ext."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(900)
def test_the_site_builds_without_a_warning_and_its_links_are_right(tmp_path):
    """A copy without examples: those of the gallery are run by tests of their own."""
    for name in NEEDED:
        pytest.importorskip(name)
    generated = shutil.ignore_patterns("gallery", "generated", "backreferences", "sg_*")
    shutil.copytree(DOCS, tmp_path / "docs", ignore=generated)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tmp_path)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "site"]
    built = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert built.returncode == 0, built.stderr
    links = extension("links")
    assert not list(links.broken(tmp_path / "site"))
    assert not list(links.fetched(tmp_path / "site"))
    assert (tmp_path / "site" / "searchindex.js").stat().st_size > 100_000


def test_links_that_are_wrong_are_found(tmp_path):
    links = extension("links")
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="c.html">x</a>')
    (tmp_path / "b.html").write_text('<p id="there"></p><script src="https://cdn.example/x.js">')
    assert sorted(links.broken(tmp_path)) == [
        "a.html: b.html#here has no such anchor",
        "a.html: c.html is not there",
    ]
    assert list(links.fetched(tmp_path)) == ["b.html: https://cdn.example/x.js"]


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    listed = {line.strip() for line in page.splitlines() if line.startswith("   ")}
    modules = ("exceptions", "export", "persistence", "streams", "tables")
    names = {name for name in onlinesvm.__all__ if not name.startswith("__")}
    for module in modules:
        names |= set(importlib.import_module(f"onlinesvm.{module}").__all__)
    assert not names - listed
    assert not {name for name in listed - names if not name.startswith((":", "..")) and name} - {
        "TreeLASVMClassifier",
        "CellLASVMClassifier",
    }


# -- the table of capabilities ----------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(60, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)


def target(cls, several=False):
    """Something that the class can learn."""
    if several:
        return np.c_[LABELS, 1 - LABELS]
    return LABELS if "Class" in cls.__name__ and "OneClass" not in cls.__name__ else ROWS[:, 1]


def learned(cls, **settings):
    settings = {"time_limit": 5} | settings if "Auto" in cls.__name__ else settings
    return cls(**settings).fit(ROWS, target(cls))


def one(cls):
    """The arguments of ``learn_one``."""
    return (ROWS[0],) if "OneClass" in cls.__name__ else (ROWS[0], target(cls)[0])


def costly(cls):
    """With a cost of errors, which weights multiply: the Huller has none by default."""
    return cls(C=1.0) if "C" in cls().get_params() else cls()


def works(action):
    try:
        action()
    except (TypeError, ValueError, AttributeError):
        return False
    return True


TRIED = {
    "sparse `X`": lambda c: c().fit(scipy.sparse.csr_matrix(ROWS), target(c)),
    "several labels or targets": lambda c: c().fit(ROWS, target(c, several=True)).predict(ROWS),
    "`sample_weight`": lambda c: costly(c).fit(ROWS, target(c), sample_weight=np.ones(60)),
    "`class_weight`": lambda c: c(class_weight={0: 2.0}),
    "`partial_fit`": lambda c: c().partial_fit(ROWS, target(c)),
    "`learn_one`": lambda c: c().partial_fit(ROWS, target(c)).learn_one(*one(c)),
    "`window` or `budget`": lambda c: works(lambda: c(window=5)) or c(budget=5),
    "`feature_weights`": lambda c: c(feature_weights=np.ones(3)).fit(ROWS, target(c)),
    "`time_limit`": lambda c: c(time_limit=5.0),
    "`predict_proba`": lambda c: learned(c).predict_proba(ROWS),
    "sets or intervals": lambda c: getattr(
        learned(c), "predict_set" if hasattr(c, "predict_set") else "predict_interval"
    )(ROWS),
    "`explain`": lambda c: learned(c).explain(ROWS[:2]),
    "`suspects`": lambda c: learned(c).suspects(2),
    "`forget`": lambda c: learned(c).forget([0]),
    "leave-one-out": lambda c: learned(c).leave_one_out_decision(),
    "drift detection": lambda c: c(detect_drift=True),
    "`save`": lambda c: learned(c).save("model.safetensors"),
}
"""What each column of the tables promises, tried on a few rows."""

EVERYWHERE = {"`time_limit`", "`explain`"}
"""Columns that all classes fill."""


@pytest.fixture(scope="module")
def capabilities():
    pytest.importorskip("sphinx")
    return extension("capabilities")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", ["learning", "answers"])
def test_the_table_of_capabilities_is_true(which, capabilities, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = capabilities.rows(which)
    assert len(rows) >= 16
    wrong = []
    for cls, task, answers in rows:
        quick = "Auto" not in cls.__name__
        for column, promised in answers.items():
            if task == "novelty" and column == "several labels or targets":
                continue  # y is ignored
            if (quick or promised) and works(lambda c=cls, k=column: TRIED[k](c)) != promised:
                wrong.append((cls.__name__, column, promised))
    assert not wrong


def test_both_answers_occur_in_every_column(capabilities):
    for which in ("learning", "answers"):
        columns = [answers for _, _, answers in capabilities.rows(which)]
        for name in columns[0]:
            found = {answers[name] for answers in columns}
            assert found == ({True} if name in EVERYWHERE else {False, True}), name


# -- docstrings ---------------------------------------------------------------------------------

RECORDS = {"LoadedModel", "Progress", "StreamSettings"}
"""What functions return or take; their examples are those of the functions."""


def public():
    modules = ("", ".dask", ".river", ".export", ".persistence", ".streams", ".tables")
    for name in modules:
        if name in (".dask", ".river"):
            pytest.importorskip(name[1:])
        module = importlib.import_module(f"onlinesvm{name}")
        for public_name in module.__all__:
            if not public_name.startswith("__") and public_name not in RECORDS:
                yield f"onlinesvm{name}.{public_name}", getattr(module, public_name)


def test_every_public_name_has_an_example_and_says_what_else_there_is():
    missing = [
        (name, section)
        for name, found in public()
        for section in ("See Also\n", "Examples\n")
        if section not in (found.__doc__ or "")
    ]
    assert not missing
