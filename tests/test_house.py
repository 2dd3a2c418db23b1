"""The house keeps its promises: public list, import direction, documentation, file sizes."""

import ast
import doctest
import importlib
import inspect
import pickle
import pkgutil
import re
from pathlib import Path

import pytest
from processes import run

import onlinesvm

PUBLIC = [
    "ActiveLearner",
    "AutoSVMClassifier",
    "AutoSVMRegressor",
    "AveragedPerceptronClassifier",
    "BudgetPerceptronClassifier",
    "HullerClassifier",
    "KernelPerceptronClassifier",
    "LASVMClassifier",
    "LASVMOneClass",
    "LASVMRegressor",
    "NORMAClassifier",
    "OLSVMClassifier",
    "PegazClassifier",
    "SimpleSVMClassifier",
    "SimpleSVMOneClass",
    "SimpleSVMRegressor",
    "StreamSVMClassifier",
    "fit_stream",
    "labelling_curve",
    "load_model",
    "open_reader",
    "register_onnx",
    "save_model",
]

# Public modules one level down, and the names that each of them offers.
PUBLIC_MODULES = {
    "dask": ["CellLASVMClassifier", "TreeLASVMClassifier"],
    "exceptions": [
        "CacheSizeError",
        "LabelError",
        "MissingDependencyError",
        "ModelFileError",
        "OnlineSVMError",
        "StreamError",
    ],
    "export": ["export_libsvm", "export_onnx", "export_python", "register_onnx"],
    "persistence": [
        "LoadedModel",
        "load_model",
        "read_header",
        "read_model",
        "save_model",
        "write_model",
    ],
    "river": [
        "BudgetPerceptronClassifier",
        "LASVMClassifier",
        "LASVMOneClass",
        "LASVMRegressor",
    ],
    "streams": [
        "Block",
        "MemoryReader",
        "Progress",
        "Reader",
        "StreamSettings",
        "Training",
        "fit_stream",
        "open_reader",
    ],
    "tables": ["TableEncoder"],
}

# For each room of the package, the rooms that it may import from; None is the package itself.
ALLOWED = {
    "core": {"core"},
    "estimators": {"core", "estimators"},
    "active": {"core", "estimators", "active"},
    "auto": {"core", "estimators", "auto"},
    "model": {None, "core", "estimators", "model"},
    "stream": {"core", "estimators", "model", "stream"},
    "label": {"core", "estimators", "active", "stream", "model", "label"},
    "cli": {None, "core", "estimators", "active", "auto", "stream", "model", "label", "cli"},
    "integrations": {"core", "estimators", "stream", "integrations"},
}

# Modules beside the rooms, by which users import what a room holds, and the rooms they import from.
DOORS = {
    "river": {"integrations"},
    "dask": {"integrations"},
    "export": {"model"},
    "persistence": {"model"},
    "streams": {"stream"},
    "tables": {"auto"},
}

# Below all rooms: imported by any of them, and importing nothing of the package.
FOUNDATION = {"exceptions": set()}

# The same within the integrations: those of one library do not know of another.
ALLOWED_IN_INTEGRATIONS = {
    "river": {"core", "estimators"},
    "dask": {"core", "estimators", "stream"},
}

# Imports that lead upwards, made when a method is called: each module with what it may import.
LATE = {
    "onlinesvm.estimators.base": {
        f"onlinesvm.model.files.{name}" for name in ("write_model", "data_of", "estimator_from")
    }
}

# The same within the core: algorithms do not know of each other.
BELOW = {"runtime", "kernel"}
ALLOWED_IN_CORE = {
    "runtime": {"runtime"},
    "kernel": BELOW,
    "keys": set(),
    "examples": BELOW,
    "model": {*BELOW, "examples"},
    "prequential": {"runtime", "keys", "prequential"},
    "explain": {*BELOW, "explain"},
    **{
        algorithm: {*BELOW, "examples", "model", algorithm}
        for algorithm in ("huller", "streamsvm", "sgd", "simplesvm")
    },
    "lasvm": {*BELOW, "keys", "examples", "model", "prequential", "lasvm"},
}

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = Path(onlinesvm.__file__).resolve().parent
GENERATED = re.compile(
    r"^(\..*|__pycache__|.*\.egg-info|build|dist|gallery|results|onlinesvm-demo|venv)$"
)

public_names = pytest.mark.parametrize("name", PUBLIC)


def modules():
    """Names of all modules of the package."""
    found = pkgutil.walk_packages(onlinesvm.__path__, "onlinesvm.")
    return ["onlinesvm", *(m.name for m in found if not m.name.endswith("__main__"))]


def imports(source, package):
    """Full names of all modules that `source`, a module of `package`, imports anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*parents, node.module] if node.module else parents)
            # "from onlinesvm import cli" names a room by what it takes, not by where from.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def room(module):
    """The room of a module of the package; None for the package itself and its public names."""
    parts = module.split(".")
    inside = parts[0] == "onlinesvm" and len(parts) > 1 and parts[1] not in onlinesvm.__all__
    return parts[1] if inside else None


def documented_parameters(doc):
    """Names and written defaults of the Parameters section of a numpydoc docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", doc, re.M | re.S)
    text = re.sub(r"(,|\\)\n +", r"\1 ", section[1]) if section else ""
    entries = re.findall(r"^(\w+) ?:(.*)$", text, re.M)
    default = re.compile(r"default\s*=\s*(.+?)\s*$")
    return {name: (m[1] if (m := default.search(kind)) else None) for name, kind in entries}


def signature_parameters(obj):
    """Names and defaults of the signature, the default written as in numpydoc."""
    parameters = inspect.signature(obj).parameters.values()
    return {
        p.name: None if p.default is p.empty else written_default(p.default)
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def written_default(default):
    """A default as numpydoc has it: a class by its name."""
    named = inspect.isclass(default)
    return f"{default.__module__}.{default.__name__}" if named else repr(default)


def same_default(written, actual):
    """Whether a documented default means the default of the signature."""
    if written is None or actual is None:
        return written is actual
    try:
        return ast.literal_eval(written) == ast.literal_eval(actual)
    except (ValueError, SyntaxError):
        return written == actual


def test_public_list_is_pinned():
    assert sorted(n for n in onlinesvm.__all__ if not n.startswith("__")) == sorted(PUBLIC)


def test_public_modules_are_pinned():
    there = {p.stem for p in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert there == set(PUBLIC_MODULES)
    for name, listed in PUBLIC_MODULES.items():
        assert importlib.import_module(f"onlinesvm.{name}").__all__ == listed


@pytest.mark.parametrize("name", sorted(set(PUBLIC_MODULES) - {"dask", "river"}))
def test_public_modules_are_found_without_a_second_import(name):
    """``import onlinesvm; onlinesvm.export.export_onnx``; River and Dask may not be installed."""
    first = PUBLIC_MODULES[name][0]
    code = f"import onlinesvm; print('{name}' in dir(onlinesvm), onlinesvm.{name}.{first}.__name__)"
    assert run(code) == [f"True {first}"]


def test_every_public_name_exists_and_is_listed_by_dir():
    for name in onlinesvm.__all__:
        assert getattr(onlinesvm, name) is not None
        assert name in dir(onlinesvm)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="NoSuchClassifier"):
        onlinesvm.NoSuchClassifier


def test_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert onlinesvm.__version__ == version("onlinesvm")


def wrong_imports(path):
    """Imports of a file of the package that lead upwards or sideways."""
    parts = ("onlinesvm", *path.relative_to(PACKAGE).with_suffix("").parts)
    names = list(imports(path.read_text(encoding="utf-8"), ".".join(parts[:-1])))
    own = [name for name in names if name.split(".")[0] == "onlinesvm"]
    late = LATE.get(".".join(parts), set())
    allowed = (ALLOWED | DOORS | FOUNDATION)[parts[1]] | set(FOUNDATION)
    wrong = [name for name in own if room(name) not in allowed and name not in late]
    if parts[1] == "core" and len(parts) > 2:
        within = [name for name in own if name.startswith("onlinesvm.core.")]
        wrong += [n for n in within if n.split(".")[2] not in ALLOWED_IN_CORE[parts[2]]]
    if parts[1] == "integrations" and len(parts) > 3:
        own = [name for name in own if not name.startswith(".".join(parts[:3]))]
        allowed = ALLOWED_IN_INTEGRATIONS[parts[2]] | set(FOUNDATION)
        wrong += [name for name in own if room(name) not in allowed]
    return [f"{'.'.join(parts)} imports {name}" for name in wrong]


def test_imports_go_downwards():
    files = [
        p for p in PACKAGE.rglob("*.py") if p.parent != PACKAGE or p.stem in DOORS | FOUNDATION
    ]
    wrong = [line for path in files for line in wrong_imports(path)]
    assert not wrong, "\n".join(wrong)


def rooms_in(folder):
    """Names of the packages in a folder. A folder that has been emptied may keep compiled files."""
    return {p.parent.name for p in folder.glob("*/__init__.py")}


def test_every_room_is_there():
    """The list above names no room that does not exist, and the core has few files of its own."""
    assert rooms_in(PACKAGE) == set(ALLOWED)
    core = {p.stem for p in (PACKAGE / "core").iterdir() if p.stem != "__pycache__"}
    assert core - {"__init__"} == set(ALLOWED_IN_CORE)
    files = {p for p in (PACKAGE / "core").glob("*.py") if p.stem != "__init__"}
    assert len(files) <= 6
    assert rooms_in(PACKAGE / "integrations") == set(ALLOWED_IN_INTEGRATIONS)


@pytest.mark.parametrize("name", DOORS)
def test_a_door_holds_names_and_nothing_else(name):
    """Users import ``onlinesvm.dask``; what it offers is defined in the integrations."""
    door = importlib.import_module(f"onlinesvm.{name}")
    source = ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))
    assert {type(node) for node in source.body} == {ast.Expr, ast.ImportFrom, ast.Assign}
    for public in door.__all__:
        home = getattr(door, public).__module__
        assert any(home.startswith(f"onlinesvm.{inside}.") for inside in DOORS[name])


def test_integrations_are_offered_whole():
    for name in ("river", "dask"):
        inside = importlib.import_module(f"onlinesvm.integrations.{name}")
        assert inside.__all__ == PUBLIC_MODULES[name]


# Exceptions that never leave the package: raised and caught inside, or by the command line.
INTERNAL = {
    "InvalidState", "Unsupported", "StopReading", "Mistake", "TooLong", "TimeUp", "Stopped",
    "NoSolutionError",
}  # fmt: skip


def test_errors_are_one_tree():
    """Whatever the package defines as an exception has the one base class, or stays inside."""
    from onlinesvm.exceptions import OnlineSVMError

    outside = set()
    for name in modules():
        for each in vars(importlib.import_module(name)).values():
            own = inspect.isclass(each) and each.__module__.startswith("onlinesvm.")
            if own and issubclass(each, BaseException) and not issubclass(each, OnlineSVMError):
                outside.add(each.__name__)
    assert outside == INTERNAL


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("ModelFileError", (ValueError,)),
        ("StreamError", (ValueError,)),
        ("LabelError", (ValueError,)),
        ("MissingDependencyError", (ImportError, ValueError)),
        ("CacheSizeError", (MemoryError,)),
    ],
)
def test_errors_are_also_what_python_calls_them(name, kinds):
    from onlinesvm import exceptions

    error = getattr(exceptions, name)
    assert error.__module__ == "onlinesvm.exceptions"
    assert issubclass(error, (exceptions.OnlineSVMError, *kinds))
    assert all(issubclass(error, kind) for kind in kinds)
    again = pickle.loads(pickle.dumps(error("a sentence")))
    assert (type(again), str(again)) == (error, "a sentence")


_DEEP = re.compile(rf"\bonlinesvm\.(?!_)({'|'.join(ALLOWED)})\b(?!`* extra)")


def told_to_users():
    """Pages, and docstrings and messages of the package: texts, with where they are."""
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    for page in pages:
        if page.name != "architecture.md":
            yield page.name, page.read_text(encoding="utf-8")
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield f"{path.name}: {node.name}", ast.get_docstring(node) or ""
            elif isinstance(node, ast.Raise):
                words = [c.value for c in ast.walk(node) if isinstance(c, ast.Constant)]
                yield f"{path.name}:{node.lineno}", " ".join(w for w in words if isinstance(w, str))


def test_users_are_told_of_public_modules_only():
    """Nobody is told to import from a module that may change in any release."""
    wrong = [f"{where}: {m[0]}" for where, text in told_to_users() for m in _DEEP.finditer(text)]
    assert not wrong, "\n".join(wrong)


def test_the_check_of_what_users_are_told_sees_deep_modules():
    assert _DEEP.search("from onlinesvm.model.files import read_model")
    assert not _DEEP.search("from onlinesvm.streams import open_reader")


def test_tests_mirror_the_package_and_helpers_lie_in_one_folder():
    tests = REPOSITORY / "tests"
    folders = {p.parent.name for p in tests.glob("*/*.py")}
    assert folders - {"benchmarks", "helpers", "naive"} <= rooms_in(PACKAGE)
    loose = [p.name for p in tests.rglob("*.py") if not p.name.startswith("test_")]
    inside = [p.name for f in ("helpers", "naive") for p in (tests / f).glob("*.py")]
    assert sorted(loose) == sorted([*inside, "conftest.py", "write.py"])


def test_scripts_named_in_the_documentation_are_there():
    pages = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
    named = [
        n for p in pages for n in re.findall(r"tests/[a-z_/]+\.py", p.read_text(encoding="utf-8"))
    ]
    assert "tests/helpers/awkward.py" in named
    assert not [name for name in named if not (REPOSITORY / name).is_file()]


def test_import_direction_check_sees_every_form_of_import():
    source = (
        "import onlinesvm.cli\ndef f():\n    from ..estimators import x\n    from .. import active"
    )
    found = {room(name) for name in imports(source, "onlinesvm.core")}
    assert found == {"cli", "estimators", "active"}


def test_import_is_light():
    """Of the package, of the modules that check input, and the making of an estimator."""
    heavy = {"numba", "llvmlite", "matplotlib", "click", "safetensors", "onnx", "river", "dask"}
    steps = (
        "import onlinesvm",
        "import onlinesvm.exceptions",
        "import onlinesvm.core.kernel.csr, onlinesvm.core.runtime.published, "
        "onlinesvm.core.runtime.interrupts, onlinesvm.core.runtime.compact",
        "repr(onlinesvm.LASVMClassifier(C=2))",
    )
    show = f"\nprint(sorted({heavy} & set(sys.modules)))\n"
    assert run("import sys\n" + show.join(steps) + show) == ["[]"] * len(steps)


# Private by name, and offered to others: by named tuples, and by scikit-learn to its estimators.
OFFERED = {
    "_replace", "_fields", "_asdict", "_parameter_constraints", "_validate_params",
    "_get_param_names", "_init_callback_context", "_skl_callbacks", "_parent_callback_ctx",
    "_getframe",
}  # fmt: skip

# Modules that ask others for private names: how often, and why.
FOREIGN = {
    "estimators/pool_access.py": (8, "a pool learns as partial_fit does, without a second check"),
    "model/records/lasvm.py": (6, "the learner's state, written and read"),
    "core/runtime/compiling/caching.py": (1, "Numba takes another cache in no other way"),
    "active/curve.py": (1, "support vectors of the model, whatever stands in front of it"),
}

_PRIVATE = re.compile(r"_(?!_)\w")
_BY_NAME = ("getattr", "hasattr", "setattr", "delattr")


def defined_names(node):
    """Names that a class or a module defines: functions, attributes, what it sets on itself."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            found.add(part.name)
        elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            found.add(part.target.id)
        elif isinstance(part, ast.Assign):
            found |= {target.id for target in part.targets if isinstance(target, ast.Name)}
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            found |= {part.attr} if is_itself(part.value) else set()
    return found


def is_itself(node):
    """Whether an expression is the object, its class, or what it inherits."""
    node = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def asked_names(node):
    """The private names that a statement or expression asks another object or module for."""
    owner = None
    if isinstance(node, ast.Attribute):
        owner, names = node.value, [node.attr]
    elif isinstance(node, ast.Call) and getattr(node.func, "id", None) in _BY_NAME:
        owner, names = node.args[0], [getattr(node.args[1], "value", None)]
    elif isinstance(node, ast.Subscript):  # of what an object gives away as a dictionary
        owner, names = node.value, [getattr(node.slice, "value", None)]
    elif isinstance(node, ast.ImportFrom) and is_of_the_package(node):
        names = [alias.name for alias in node.names]
    else:
        return []
    private = [n for n in names if isinstance(n, str) and _PRIVATE.match(n) and n not in OFFERED]
    return [] if owner is not None and is_itself(owner) else private


def is_of_the_package(node):
    """Whether an import names what a module of the package defines."""
    return bool(node.module) and (node.level > 0 or node.module.split(".")[0] == "onlinesvm")


def foreign_names(source):
    """Private names that each class of a module, or its functions, ask others for.

    A class may ask for names that it defines itself: those of another one of its kind. Functions
    may ask for names that the classes beside them define.
    """
    body = ast.parse(source).body
    beside = set().union(*(defined_names(n) for n in body if isinstance(n, ast.ClassDef)))
    found = []
    for part in body:
        own = defined_names(part) if isinstance(part, ast.ClassDef) else beside
        names = (name for node in ast.walk(part) for name in asked_names(node))
        found += [name for name in names if name not in own]
    return found


def test_nobody_asks_for_the_private_names_of_another():
    found = {
        str(path.relative_to(PACKAGE)): foreign_names(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    counts = {name: len(names) for name, names in found.items() if names}
    assert counts == {name: count for name, (count, _) in FOREIGN.items()}, found
    assert sum(counts.values()) <= 20


def test_the_check_of_private_names_sees_reading_writing_importing_and_asking_by_name():
    source = (
        "from .plots import INK, _figure\n"
        "from numpy import _x\n"
        "class A:\n"
        "    def f(self, model):\n"
        "        self._own = model._kernel\n"
        "        model._x = getattr(model, '_y', None)\n"
        "        return model._own, super()._z, self._w, model._replace()\n"
        "def g(a):\n"
        "    return a._own, a._other, a.in_use()['_low']\n"
    )
    assert foreign_names(source) == ["_figure", "_kernel", "_x", "_y", "_other", "_low"]


def test_private_modules_are_imported_in_their_own_room_only():
    def names_of(path):
        parts = ("onlinesvm", *path.relative_to(PACKAGE).with_suffix("").parts)
        for name in imports(path.read_text(encoding="utf-8"), ".".join(parts[:-1])):
            steps = name.split(".")
            private = [i for i, step in enumerate(steps[:-1]) if _PRIVATE.match(step)]
            if (
                steps[0] == "onlinesvm"
                and private
                and parts[: private[0]] != tuple(steps[: private[0]])
            ):
                yield f"{'.'.join(parts)} imports {name}"

    assert not [line for path in PACKAGE.rglob("*.py") for line in names_of(path)]


def test_no_estimator_is_made_past_its_constructor():
    files = [*(PACKAGE / "estimators").glob("*.py"), *(PACKAGE / "integrations").rglob("*.py")]
    assert not [p.name for p in files if "object.__new__" in p.read_text(encoding="utf-8")]


# scikit-learn's own classes that count among the bases of an estimator.
SKLEARN_BASES = {
    "BaseEstimator", "ClassifierMixin", "RegressorMixin", "OutlierMixin", "CallbackSupportMixin",
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in PUBLIC if n != "ActiveLearner" and n[0].isupper()])
def test_an_estimator_has_few_base_classes(name):
    """scikit-learn's SVC has five. The bases of BaseEstimator are not counted."""
    classes = getattr(onlinesvm, name).__mro__
    own = [
        c for c in classes if c.__module__.startswith("onlinesvm") or c.__name__ in SKLEARN_BASES
    ]
    assert len(own) <= 7, own


# Files of more than 500 lines, looked at twice: what makes each of them one concept.
LONG = {
    "active/learner.py": "one class: questions to a pool, and their answers",
    "auto/estimators.py": "two classes and what they share, mostly their documentation",
    "auto/race.py": "one race: its rounds, weights of features, who goes on, what the work allows",
    "core/lasvm/block/working_set.py": "one optimisation by working sets, of one machine or many",
    "core/lasvm/tasks.py": "four tasks with the same verbs: bounds, units and tolerances of each",
    "estimators/labels.py": "what y means: labels, values or nothing",
    "core/lasvm/online/process.py": "one road of single examples: its loop, and the call from Python",
    "core/lasvm/learner.py": "one learner: streams of single examples, blocks, limits, a data set",
    "estimators/base.py": "one flow of learning for all estimators, and their fitted attributes",
    "estimators/_lasvm.py": "what LASVM's classes share: the learner, a fit, forgetting, feature weights",
    "estimators/lasvm.py": "one class, mostly its documentation",
    "core/simplesvm/working_set.py": "one solution, and the factor of its working set",
    "estimators/trained.py": "a trained model, and the same at one moment",
    "estimators/lasvm_values.py": "two classes, mostly their documentation",
    "model/files.py": "one kind of file: written and read, whole or its header; half of it documentation",
    "label/sources.py": "what can be labelled: images, texts, rows and digits, all with the same verbs",
}


def test_long_files_were_looked_at_twice():
    """One concept a file. No file is cut for its length alone, and none grows without notice."""
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name for name, n in lengths.items() if n > 500} <= set(LONG), "look twice, then say why"


_NAMED = re.compile(r"``([a-z_][\w./]*)``")


def named_modules(doc, package):
    """Modules of the package that a docstring names, in its own room or by their path."""
    for name in _NAMED.findall(doc or ""):
        rooms = "core|estimators|model|stream|active|auto|label|cli|integrations"
        if re.fullmatch(rf"({rooms})[./][\w./]+", name):
            yield name.removesuffix(".py").replace("/", ".")
        elif name.endswith(".py"):
            yield f"{package}.{name.removesuffix('.py').replace('/', '.')}"


def exists(name):
    """Whether a dotted name is a module of the package, or something in one."""
    path = PACKAGE.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    if not path.parent.with_suffix(".py").is_file():
        return False
    return hasattr(importlib.import_module("onlinesvm." + name.rpartition(".")[0]), path.name)


def test_modules_named_in_docstrings_exist():
    missing = []
    for path in PACKAGE.rglob("*.py"):
        package = ".".join(path.relative_to(PACKAGE).parts[:-1])
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        for node in (n for n in ast.walk(tree) if isinstance(n, kinds)):
            names = set(named_modules(ast.get_docstring(node), package))
            missing += [f"{path.name}: {name}" for name in names if not exists(name)]
    assert not missing, "\n".join(sorted(missing))


def test_every_package_is_on_the_architecture_page():
    page = (REPOSITORY / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    rooms = page[page.index("## Rooms") : page.index("## Words")].split("```")[1]
    packages = [p.parent.name for p in PACKAGE.rglob("__init__.py") if p.parent != PACKAGE]
    assert not [name for name in packages if f"{name}/" not in rooms]
    doors = [p.name for p in PACKAGE.glob("*.py") if p.stem not in ("__init__", "__main__")]
    assert not [name for name in doors if name not in rooms]
    named = re.findall(r"\b(\w+\.py)\b", rooms)
    there = {p.name for p in PACKAGE.rglob("*.py")}
    assert not [name for name in named if name not in there], "the page names what is not there"


def test_no_large_files():
    def walk(folder):
        for path in folder.iterdir():
            if path.is_symlink() or GENERATED.match(path.name):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path

    large = [str(p.relative_to(REPOSITORY)) for p in walk(REPOSITORY) if p.stat().st_size > 2**20]
    assert not large


@public_names
def test_documented_parameters_equal_the_signature(name):
    check_documentation(getattr(onlinesvm, name))


@pytest.mark.parametrize("name", DOORS)
def test_documented_parameters_of_doors_equal_the_signature(name):
    door = importlib.import_module(f"onlinesvm.{name}")
    for public in door.__all__:
        check_documentation(getattr(door, public))


# Records that a function returns: what they hold is in their docstring, which needs no example.
RECORDS = {"LoadedModel", "Progress", "StreamSettings"}


@pytest.mark.parametrize("name", DOORS)
def test_every_name_of_a_door_has_an_example(name):
    door = importlib.import_module(f"onlinesvm.{name}")
    docs = {n: inspect.getdoc(getattr(door, n)) for n in door.__all__ if n not in RECORDS}
    assert not [n for n, doc in docs.items() if not re.search(r"^Examples\n-+\n", doc, re.M)]


def check_documentation(public):
    documented = documented_parameters(inspect.getdoc(public))
    signature = signature_parameters(public)
    assert list(documented) == list(signature)
    wrong = [
        f"{key}: documented {documented[key]}, is {signature[key]}"
        for key in signature
        if not same_default(documented[key], signature[key])
    ]
    assert not wrong, "\n".join(wrong)


@public_names
def test_shared_entries_are_filled_in(name):
    """In classes and in their methods: none is left as the line that stands for it."""
    public = getattr(onlinesvm, name)
    methods = (
        [inspect.getattr_static(public, n) for n in dir(public)] if inspect.isclass(public) else []
    )
    assert not [m for m in (public, *methods) if " : shared" in (inspect.getdoc(m) or "")]


def test_documentation_check_sees_a_wrong_default():
    head = "One.\n\nParameters\n----------\n"
    doc = head + "a : int, default=2\n    Text.\nb : str\n    Text.\n\nNotes\n-----\nx : y"
    documented = documented_parameters(doc)
    assert documented == {"a": "2", "b": None}
    signature = signature_parameters(lambda a=3, b=None: None)
    assert not same_default(documented["a"], signature["a"])
    assert not same_default(documented["b"], signature["b"])
    assert same_default("'rbf'", '"rbf"')
    assert same_default("1e-3", "0.001")


@public_names
def test_every_public_class_has_an_example(name):
    doc = inspect.getdoc(getattr(onlinesvm, name))
    assert re.search(r"^Examples\n-+\n(.*\n)*>>> ", doc, re.M)


@pytest.mark.parametrize("name", modules())
def test_docstring_examples_run(name):
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples failed"


@pytest.mark.parametrize("name", [n for n in PUBLIC if n != "ActiveLearner" and n[0].isupper()])
def test_settings_are_named_as_in_svc_and_use_all_cores(name):
    parameters = inspect.signature(getattr(onlinesvm, name)).parameters.values()
    assert {p.kind for p in parameters} == {inspect.Parameter.KEYWORD_ONLY}
    assert {p.name: p.default for p in parameters}["n_jobs"] == -1


# Private names of scikit-learn that the package uses, each with the reason.
PRIVATE = {
    "sklearn.base._fit_context": "checks the parameters in fit, as scikit-learn's own classes do",
    "sklearn.utils._param_validation.Interval": "declares the range of a parameter",
    "sklearn.utils._param_validation.StrOptions": "declares the words a parameter may be",
    "sklearn.utils.validation._check_sample_weight": "the same errors for weights as SVC's",
    "sklearn.utils.validation._num_samples": "counts the examples of any array-like",
}


def private_names(source):
    """Names that `source` imports from scikit-learn and that scikit-learn calls private."""
    names = (n for n in imports(source, "onlinesvm") if n.split(".")[0] == "sklearn")
    return {n for n in names if any(part.startswith("_") for part in n.split("."))}


def test_private_names_of_scikit_learn_are_listed_and_exist():
    files = PACKAGE.rglob("*.py")
    used = set().union(*(private_names(path.read_text(encoding="utf-8")) for path in files))
    assert used == set(PRIVATE)
    for name in used:
        module, attribute = name.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), attribute), name


def test_the_check_of_private_names_sees_them():
    source = "import sklearn._x\nfrom sklearn.base import BaseEstimator, _y\nfrom numpy import _z"
    assert private_names(source) == {"sklearn._x", "sklearn.base._y"}


def test_types_are_offered_to_type_checkers():
    assert (PACKAGE / "py.typed").is_file()
