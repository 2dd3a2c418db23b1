"""Starting up: a compile cache that is used, and one that cannot be written."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from compile_once import made_once
from processes import PACKAGE, run
from sklearn.metrics.pairwise import rbf_kernel

import onlinesvm
from onlinesvm.cli import main

LEARN = """
import numpy as np
from onlinesvm import LASVMClassifier

def learn(rows, block, epochs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = LASVMClassifier(C=10, gamma=0.5, random_state=0, block_size=block, epochs=epochs)
    return model.fit(X, y).decision_function(X[:20])

def show(values):
    print(" ".join(f"{value:.6f}" for value in values))
"""

SOME = LEARN + "show(learn(400, 100, 1))\n"

MISSES = """
import sys
from numba.core.dispatcher import Dispatcher
found = {id(v): v for m in list(sys.modules.values()) if m.__name__.startswith("onlinesvm.core")
         for v in vars(m).values() if isinstance(v, Dispatcher)}
used = [d for d in found.values() if d.signatures]
print(len(used), sum(sum(d.stats.cache_misses.values()) for d in used))
"""


def values(line):
    return [float(value) for value in line.split()]


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache folder that one process has filled, for all workers, and what that process found."""
    return made_once(
        tmp_path_factory, "warm", lambda folder: run(SOME, NUMBA_CACHE_DIR=str(folder))[0]
    )


def test_import_and_help_bring_no_numbers():
    """Public names are imported when they are asked for."""
    code = (
        "import sys, onlinesvm; from onlinesvm.cli import main; "
        "main(['--help'], standalone_mode=False); "
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    )
    found = run(code)
    assert found[0].startswith("Usage:")
    assert found[-1] == "[]"


def test_every_public_name_is_found():
    assert [name for name in onlinesvm.__all__ if not hasattr(onlinesvm, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        onlinesvm.Nothing


def test_a_new_process_compiles_nothing_again(warm):
    folder, found = warm
    first, second = run(SOME + MISSES, NUMBA_CACHE_DIR=str(folder))
    used, missed = map(int, second.split())
    assert first == found
    assert used > 3
    assert missed == 0


KERNEL_BLOCK = """
import numpy as np
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
rows = Rows.of(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
print(" ".join(f"{value:.6f}" for value in Kernel("rbf", gamma=0.5).block(rows, rows).ravel()))
"""


def test_cache_folders_that_cannot_be_written(tmp_path):
    """Compiled in memory. Not by permissions, which do not hold for the superuser."""
    shutil.copytree(PACKAGE, tmp_path / "onlinesvm", ignore=shutil.ignore_patterns("__pycache__"))
    package = tmp_path / "onlinesvm"
    for folder in (package, *(p for p in package.rglob("*") if p.is_dir())):
        (folder / "__pycache__").write_text("a file, not a folder")
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    found = run(
        KERNEL_BLOCK,
        PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(nowhere / "cache"), HOME=str(nowhere),
        XDG_CACHE_HOME=str(nowhere / "cache"), LOCALAPPDATA=str(nowhere / "cache"),
    )  # fmt: skip
    X = np.arange(12).reshape(4, 3) / 10
    wanted = rbf_kernel(X, X, gamma=0.5).ravel()
    np.testing.assert_allclose(values(found[0]), wanted, atol=1e-5)
    assert not list(tmp_path.rglob("*.nb[ci]"))


def test_plain_python_gives_the_same():
    """NUMBA_DISABLE_JIT=1, for the debugger and for coverage.

    Compared at convergence: without fused multiplication kernel values differ in the last bit,
    and a single pass may then take another way.
    """
    code = LEARN + "for block in (1, 20):\n    show(learn(40, block, 'converge'))\n"
    plain = run(code, NUMBA_DISABLE_JIT="1")
    compiled = {}
    exec(LEARN, compiled)
    for block, line in zip((1, 20), plain, strict=True):
        assert values(line) == pytest.approx(compiled["learn"](40, block, "converge"), abs=5e-3)


ONE_ROW_STREAM = """
import gc
from numba.core import event
found, collecting = [], []
class Listener(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("onlinesvm."):
            found.append(function.__name__)
    def on_end(self, event):
        collecting.append(gc.isenabled())
event.register("numba:compile", Listener())
import numpy as np
from onlinesvm import LASVMClassifier
X = np.random.default_rng(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)
model = LASVMClassifier(gamma=0.5)
for i in range(20):
    model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    model.predict(X[i : i + 1])
for i in range(20, 40):
    model.learn_one(X[i], y[i])
print(*sorted(found))
print(any(collecting), gc.isenabled())
"""


def test_what_a_stream_of_single_rows_compiles(tmp_path):
    """Each function once: a second one of a name is a second type of its arguments.

    No tiles: one row is compared with others in functions of its own, which compile sooner.
    """
    line, collected = run(ONE_ROW_STREAM, NUMBA_CACHE_DIR=str(tmp_path))
    assert collected == "False True"  # no garbage within a compilation, as before afterwards
    compiled = line.split()
    assert len(compiled) == len(set(compiled)), compiled
    assert "online" in compiled
    assert not [name for name in compiled if "tile" in name]
    limits = {"forget", "choose", "hand_over", "balance"}  # of no use where memory is not bounded
    assert not limits & set(compiled)
    assert "measure" not in compiled  # as listed, an eviction measures


KERNEL_VALUES = """
import time
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
rng = np.random.default_rng(0)
X, Z = (rng.normal(size=(n, 100)).astype(np.float32) / 10 for n in (300, 400))
kernel, rows, others = Kernel("rbf", gamma=0.4), Rows.of(X), Rows.of(Z)
values = kernel.block(rows, others)
seconds = []
for _ in range(30):
    start = time.process_time()
    kernel.block(rows, others)
    seconds.append(time.process_time() - start)
print(abs(values - rbf_kernel(X.astype(float), Z.astype(float), gamma=0.4)).max(), min(seconds))
"""


def test_processors_without_fused_multiplication():
    """Multiplied and added there; a library call for each product is 40 times slower."""
    usual, old = (
        values(run(KERNEL_VALUES, **environment)[0])
        for environment in ({}, {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""})
    )
    assert usual[0] < 1e-6
    assert old[0] < 1e-6
    assert old[1] < 6 * usual[1]


def test_after_a_warmup_another_process_compiles_nothing(warm):
    """With two of the quick classes, in two processes: all of them take a minute."""
    cache = str(warm[0])
    command = [sys.executable, "-B", "-m", "onlinesvm", "warmup", "--jobs", "2",
               "NORMAClassifier", "PegazClassifier"]  # fmt: skip
    environment = {
        **os.environ, "PYTHONPATH": str(PACKAGE.parent), "NUMBA_CACHE_DIR": cache
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.match(r"Compiling for 2 of \d+ classes, 2 at a time.\n", done.stdout)
    for name in ("NORMAClassifier", "PegazClassifier", "all"):
        assert re.search(rf"^{name} +[0-9.]+ s$", done.stdout, re.M)
    (line,) = run(
        "import numpy as np\nfrom scipy import sparse\nfrom onlinesvm import NORMAClassifier\n"
        "X = np.random.default_rng(0).normal(size=(300, 7))\ny = X[:, 0] > 0\n"
        "for rows in (X, sparse.csr_matrix(X), 1e4 * X):\n"
        "    model = NORMAClassifier().fit(rows, y)\n    model.predict(rows[:1])\n"
        "    model.partial_fit(rows[:1], y[:1])\n"
        "    model.learn_one(X[0], y[0])\n    model.predict_one(X[0])\n" + MISSES,
        NUMBA_CACHE_DIR=cache,
    )
    used, missed = map(int, line.split())
    assert used > 3
    assert missed == 0


def test_warmup_knows_every_class():
    from onlinesvm.cli.warmup import USES

    assert set(USES) == {name for name in onlinesvm.__all__ if name[0].isupper()}


def test_warmup_says_which_classes_it_knows():
    done = CliRunner().invoke(main, ["warmup", "NoSuchClassifier"], prog_name="onlinesvm")
    assert done.exit_code == 2
    assert "'NoSuchClassifier' is not one of LASVMClassifier" in done.output


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "onlinesvm", "warmup", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: onlinesvm warmup")
    assert "RUN onlinesvm warmup LASVMClassifier" in done.stdout
