"""Documentation that several classes share stands in one place, and shows in each of them."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from processes import run

import onlinesvm
from onlinesvm.estimators.params import ENTRIES, shared_docs

PACKAGE = Path(onlinesvm.__file__).resolve().parent
ENTRY = re.compile(r"^(\w+) : (.*?)(?:, default=.*)?\n((?:    .*\n?)+)", re.M)


def class_docs():
    """Name and docstring, as written, of every public class of the estimators, River and Dask."""
    for path, node in classes():
        if ast.get_docstring(node):
            yield f"{path.name}: {node.name}", ast.get_docstring(node)


def classes():
    """Every class of the estimators, River and Dask, as written, with its file."""
    rooms = (PACKAGE / name for name in ("estimators", "integrations"))
    for path in [path for room in rooms for path in sorted(room.rglob("*.py"))]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                yield path, node


def all_docs():
    """Docstrings, as written, of the same classes and of their methods."""
    for _, node in classes():
        parts = [node, *(part for part in node.body if isinstance(part, ast.FunctionDef))]
        yield from (doc for part in parts if (doc := ast.get_docstring(part)))


def test_no_entry_stands_in_two_classes():
    """An entry that two classes have word for word belongs in ``ENTRIES``."""
    found = {}
    for name, doc in class_docs():
        for entry in ENTRY.findall(doc):
            found.setdefault(entry, []).append(name)
    assert not {entry[0]: names for entry, names in found.items() if len(names) > 1}


def test_every_shared_entry_is_used():
    lines = [line for doc in all_docs() for line in re.findall(r"^(.*) : shared$", doc, re.M)]
    used = {name.strip() for line in lines for name in line.split(",")}
    assert used == {line.partition(" : ")[0] for line in re.findall(r"^\S.*$", ENTRIES, re.M)}


def test_entries_take_the_place_of_their_names_with_the_default_of_the_signature():
    @shared_docs
    class Example:
        """One.

        Parameters
        ----------
        tol, degree, coef0 : shared
        own : int, default=3
            Text.

        Attributes
        ----------
        gamma_, n_iter_ : shared
        """

        def __init__(self, *, tol=1e-5, degree=4, coef0=0.5, own=3):
            pass

    doc = inspect.getdoc(Example)
    assert "tol : float, default=1e-5\n    Learning stops" in doc
    assert "degree : int, default=4\n    Degree of ``poly``.\ncoef0 : float, default=0.5\n" in doc
    assert "own : int, default=3\n    Text.\n\nAttributes\n" in doc
    assert "gamma_ : float\n    Value of gamma in use" in doc
    assert ": shared" not in doc


def test_a_name_that_has_no_entry_is_an_error():
    with pytest.raises(KeyError, match="nowhere"):

        @shared_docs
        class Example:
            """nowhere : shared"""


@pytest.mark.parametrize("name", [n for n in onlinesvm.__all__ if n[0].isupper()])
def test_no_placeholder_is_left(name):
    assert ": shared" not in inspect.getdoc(getattr(onlinesvm, name))


def test_classes_are_made_without_docstrings_as_well():
    code = "import onlinesvm; print(onlinesvm.LASVMClassifier().get_params()['kernel'])"
    assert run(code, PYTHONOPTIMIZE="2") == ["rbf"]
