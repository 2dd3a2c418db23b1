"""Optional packages: without one, a sentence with the command that installs it, and no traceback."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from processes import PACKAGE

from onlinesvm.core.runtime import dependencies
from onlinesvm.exceptions import MissingDependencyError

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

METADATA = [
    "numpy>=1.26",
    "click>=8.1; extra == 'cli'",
    "rich>=13.7; extra == 'cli'",
    "onlinesvm[cli,files]; extra == 'label'",
    "starlette>=0.40; extra == 'label'",
    "pyarrow>=17; extra == 'files'",
    "dask[array,dataframe]>=2024.12; extra == 'dask'",
    "scikit-learn-intelex>=2025.0; (platform_machine == 'x86_64') and extra == 'bench'",
]


@pytest.fixture
def declared(monkeypatch):
    """The metadata above, as if nothing of it were installed."""
    monkeypatch.setattr(dependencies, "declared", lambda: METADATA)
    monkeypatch.setattr(dependencies, "is_installed", lambda requirement: False)


@pytest.mark.parametrize(
    ("extra", "wanted"),
    [
        ("files", ["pyarrow>=17"]),
        ("dask", ["dask[array,dataframe]>=2024.12"]),
        ("label", ["click>=8.1", "rich>=13.7", "pyarrow>=17", "starlette>=0.40"]),
        ("bench", ["scikit-learn-intelex>=2025.0"]),
        ("nothing", []),
    ],
)
def test_requirements_of_an_extra(declared, extra, wanted):
    assert dependencies.requirements(extra) == wanted


def test_the_sentence_names_all_that_is_missing(declared):
    assert str(dependencies.missing("Labelling", "label", "starlette")) == (
        "Labelling needs click, rich, pyarrow and starlette, which are not installed: "
        'pip install "click>=8.1" "rich>=13.7" "pyarrow>=17" "starlette>=0.40"'
    )


def test_what_is_installed_is_not_asked_for(declared, monkeypatch):
    monkeypatch.setattr(dependencies, "is_installed", lambda each: not each.startswith("rich"))
    said = str(dependencies.missing("The command line", "cli", "rich"))
    assert said.endswith('needs rich, which is not installed: pip install "rich>=13.7"')


def test_without_metadata_the_module_is_named(monkeypatch):
    """A checkout on the path that was never installed."""
    monkeypatch.setattr(dependencies, "DISTRIBUTION", "no-such-distribution")
    said = str(dependencies.missing("to_shap", "files", "pyarrow"))
    assert said == 'to_shap needs pyarrow, which is not installed: pip install "pyarrow"'


def test_a_module_that_is_there_is_returned():
    assert dependencies.require("json.decoder", "A test") is sys.modules["json.decoder"]


def test_a_package_that_fails_to_import_says_so_itself(tmp_path, monkeypatch):
    """It is installed: to install it again would not help."""
    (tmp_path / "broken_package.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_thing") as caught:
        dependencies.require("broken_package", "A test", "files")
    assert not isinstance(caught.value, MissingDependencyError)


def test_the_installed_distribution_has_the_extras_of_the_project():
    """The sentences come from the metadata of what is installed: install again after a change."""
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    for extra in ("files", "plots"):
        assert dependencies.requirements(extra) == project["optional-dependencies"][extra]


# -- every place that needs an optional package ---------------------------------------------------

PLACES = {
    "open_reader": ("onlinesvm.open_reader('t.csv', label='y')", "Reading 't.csv'", "pyarrow"),
    "export_onnx": (
        "onlinesvm.export.export_onnx(model, 'm.onnx')", "Exporting to ONNX", "onnx"
    ),
    "register_onnx": ("onlinesvm.register_onnx()", "Converting pipelines", "skl2onnx"),
    "river": ("import onlinesvm.river", "onlinesvm.river", "river"),
    "dask": ("import onlinesvm.dask", "onlinesvm.dask", "dask"),
    "to_shap": ("model.explain(X[:2]).to_shap()", "to_shap", "shap"),
    "plot": ("model.explain(X[:2]).plot()", "A plot", "matplotlib"),
    "verbose": (
        "onlinesvm.AutoSVMClassifier(time_limit=5, verbose=True).fit(X, y)", "verbose=True", "rich"
    ),
}  # fmt: skip
"""Code that needs an optional package, how its sentence begins, and the package."""

HIDE = """
import sys
hidden = ["click", "rich", "matplotlib", "matplotlib.pyplot", "onnx", "skl2onnx", "river", "dask",
          "distributed", "starlette", "uvicorn", "jinja2", "PIL", "skimage", "shap"]
sys.modules.update(dict.fromkeys(hidden))
import numpy as np, onlinesvm
from onlinesvm.exceptions import MissingDependencyError
X = np.random.default_rng(0).normal(size=(60, 3)); y = (X[:, 0] > 0).astype(int)
model = onlinesvm.LASVMClassifier().fit(X, y)
model.save("model.safetensors")
print((onlinesvm.load_model("model.safetensors").predict(X) == model.predict(X)).all())
sys.modules["pyarrow"] = None
for code in sys.argv[1:]:
    try:
        exec(code)
        print("nothing was said")
    except MissingDependencyError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a process without any optional package prints: first that it learns, saves and loads."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "t.csv").write_text("a,y\n1,0\n2,1\n")
    done = subprocess.run(
        [sys.executable, "-c", HIDE, *(code for code, _, _ in PLACES.values())],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}, cwd=folder,
        capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_estimators_need_no_optional_package(told):
    assert told[0] == "True"
    assert len(told) == 1 + len(PLACES)


@pytest.mark.parametrize("place", PLACES)
def test_a_missing_package_is_one_sentence_with_the_line_to_type(place, told):
    _, begin, package = PLACES[place]
    said = told[1 + list(PLACES).index(place)]
    assert said.startswith(begin)
    assert f'pip install "{package}' in said or f'" "{package}' in said
    assert "onlinesvm[" not in said  # there is no such name on an index yet


@pytest.mark.parametrize("hidden", ["click", "rich"])
def test_the_command_without_its_packages_is_one_sentence(hidden):
    code = (
        f"import sys; sys.modules[{hidden!r}] = None; from onlinesvm.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(PACKAGE.parent), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: The command line needs ")
    assert f'"{hidden}' in done.stderr
    assert len(done.stderr.splitlines()) == 1
