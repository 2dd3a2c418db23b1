"""Compiled loops on disk: read where they lie, never stale, and a line where they cannot be kept."""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from processes import PACKAGE
from sklearn.metrics.pairwise import rbf_kernel

from onlinesvm.core.runtime.compiling import caching
from onlinesvm.core.runtime.compiling.announcing import IN_MEMORY
from onlinesvm.core.runtime.compiling.caching import Folders, LoopFile

unix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="permission bits")

# Permissions do not hold for the superuser. Another user may read everything here, because the
# interpreter may lie in a folder of the superuser's, and may write nothing.
AS_ANOTHER_USER = (
    "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search",
    "--ambient-caps=+dac_read_search",
) if hasattr(os, "getuid") and os.getuid() == 0 else ()  # fmt: skip
can_leave = not AS_ANOTHER_USER or (
    shutil.which("setpriv")
    and not subprocess.run([*AS_ANOTHER_USER, "true"], capture_output=True, check=False).returncode
)
read_only = pytest.mark.skipif(
    not can_leave, reason="the superuser cannot become another user here (setpriv)"
)

ONE_ROW = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from onlinesvm.core.runtime.compiling import announcing
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
announcing.PATIENCE = 0.01
rows = Rows.of(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
one = Rows.of(np.zeros((1, 3), np.float32))
Rows.packed(np.eye(3, dtype=np.float32))
values = Kernel("rbf", gamma=0.5).product(one, rows, np.eye(4))
loops = [v for m in list(sys.modules.values()) if m.__name__.startswith("onlinesvm.core")
         for v in vars(m).values() if isinstance(v, Dispatcher) and v.signatures]
misses = sum(sum(loop.stats.cache_misses.values()) for loop in loops)
print(len(loops), misses, *values.ravel().tolist())
"""

VALUES = rbf_kernel(np.zeros((1, 3)), np.arange(12).reshape(4, 3) / 10, gamma=0.5).ravel()


@pytest.fixture
def place():
    """A folder that another user can reach: those of pytest are for one user alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)


def copied(place):
    """A copy of the package, without anything compiled."""
    shutil.copytree(PACKAGE, place / "onlinesvm", ignore=shutil.ignore_patterns("__pycache__"))
    return place / "onlinesvm"


def compute(place, other_user=False, **environment):
    """Loops that were used, how many of them compiled, kernel values; and what was said."""
    command = [*(AS_ANOTHER_USER if other_user else ()), sys.executable, "-B", "-c", ONE_ROW]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    done = subprocess.run(
        command, cwd=place,
        env={**kept, "PYTHONPATH": str(place), "HOME": str(place / "no-home"), **environment},
        capture_output=True, text=True, check=False, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    used, misses, *values = done.stdout.split()
    return int(used), int(misses), np.array(values, float), done.stderr


def make_read_only(folder):
    """As layers of a container image are: nobody can write, and times are those of the copy."""
    for path in sorted(folder.rglob("*"), reverse=True):
        os.utime(path, (1e9, 1e9))
    (folder / "no-home").mkdir()
    subprocess.run(["chmod", "-R", "a-w,a+rX", folder], check=True)


@unix
@read_only
@pytest.mark.parametrize("where", ["in the package", "NUMBA_CACHE_DIR"])
def test_a_warm_cache_is_read_where_it_cannot_be_written(place, where):
    """Compiled by the one who builds an image, used by another user from a read-only folder."""
    copied(place)
    cache = place / "cache"
    cache.mkdir(mode=0o755)
    environment = {} if where == "in the package" else {"NUMBA_CACHE_DIR": str(cache)}
    used, misses, first, said = compute(place, **environment)
    assert misses == used > 2
    make_read_only(place)
    again, misses, second, said = compute(place, other_user=True, **environment)
    assert (misses, said) == (0, "")
    assert again > 1
    np.testing.assert_array_equal(second, first)


@unix
@read_only
def test_compiling_in_memory_alone_is_said_in_a_line(place):
    copied(place)
    make_read_only(place)
    used, misses, values, said = compute(place, other_user=True)
    assert misses == used
    assert said == IN_MEMORY + "\n"
    np.testing.assert_allclose(values, VALUES, atol=1e-6)
    assert not list(place.rglob("*.nbc"))


def test_an_edit_in_one_file_compiles_its_callers_in_others(place):
    """Constants of one file, which another one puts into the code of the loop of a third."""
    package = copied(place)
    used, _, values, _ = compute(place)
    edited = package / "core" / "kernel" / "tiles" / "rbf.py"
    text, times = edited.read_text(encoding="utf-8"), edited.stat().st_mtime_ns
    terms = "EXP2_TERMS = _P5, _P4, _P3, _P2, _P1, _ONE\n"
    assert text.count(terms) == 1
    twice = terms + "EXP2_TERMS = tuple(np.float32(2) * term for term in EXP2_TERMS)\n"
    edited.write_text(text.replace(terms, twice), encoding="utf-8")
    os.utime(edited, ns=(times, times))
    again, misses, doubled, _ = compute(place)
    np.testing.assert_array_equal(doubled, 2 * values)
    assert misses == again == used  # every loop was compiled again
    files = {path.relative_to(place) for path in place.rglob("*.nbc")}
    edited.write_text(text, encoding="utf-8")
    np.testing.assert_array_equal(compute(place)[2], values)
    assert {path.relative_to(place) for path in place.rglob("*.nbc")} == files  # none piled up


# -- files --------------------------------------------------------------------------------


def test_a_file_of_other_sources_or_damaged_is_not_read(tmp_path, monkeypatch):
    file = LoopFile(str(tmp_path), "loop.nbc")
    assert file.read() == {}
    file.add("key", b"code")
    assert file.read() == {"key": b"code"}
    whole = (tmp_path / "loop.nbc").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "loop.nbc").write_bytes(whole[:length])
        assert file.read() == {}
    (tmp_path / "loop.nbc").write_bytes(whole)
    monkeypatch.setattr(caching, "stamp", lambda: "of other sources")
    assert LoopFile(str(tmp_path), "loop.nbc").read() == {}


def add(folder, first):
    file = LoopFile(folder, "loop.nbc")
    for key in range(first, first + 20):
        file.add(key, pickle.dumps(key))


@unix
def test_two_processes_that_add_to_one_file(tmp_path):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        list(pool.map(add, [str(tmp_path)] * 2, [0, 20]))
    found = LoopFile(str(tmp_path), "loop.nbc").read()
    assert {key: pickle.loads(code) for key, code in found.items()} == {k: k for k in range(40)}
    assert [path.name for path in tmp_path.iterdir()] == ["loop.nbc"]


def test_a_disk_that_is_full_is_no_error(tmp_path, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    def loop():
        return 1

    cache = caching.LoopCache(loop, Folders((str(tmp_path),), str(tmp_path)))
    code = SimpleNamespace(
        lifted=(), library=SimpleNamespace(has_dynamic_globals=False), _reduce=lambda: 1,
        codegen=SimpleNamespace(magic_tuple=lambda: ()),
    )  # fmt: skip
    monkeypatch.setattr(caching, "_told", set())
    monkeypatch.setattr(caching.os, "replace", full)
    for _ in range(2):
        cache.save_overload((), code)
    assert [record.message for record in caplog.records] == [
        f"Compiled loops could not be stored in {tmp_path} (No space left on device): later processes "
        "will compile them again."
    ]
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    cache.save_overload((), code)
    assert len(list(tmp_path.iterdir())) == 1
