"""What surrounds compilation: a line for those who wait, and where compiled code may be kept."""

import gc
import logging
import os
from types import SimpleNamespace

import pytest
from processes import run

from onlinesvm.core.runtime.compiling import announcing, private
from onlinesvm.core.runtime.compiling.announcing import (
    IN_MEMORY,
    MESSAGE,
    Announcer,
    CollectorPause,
)
from onlinesvm.core.runtime.compiling.caching import Folders, LoopCache
from onlinesvm.core.runtime.compiling.private import is_private

unix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="permission bits")

WHERE = """
from onlinesvm.core.kernel.tiles import dense as tiles
print(tiles.squared_norms.stats.cache_path)
"""


def compilation(module="onlinesvm.core.kernel.tiles.dense", folder="a folder"):
    function, stats = SimpleNamespace(__module__=module), SimpleNamespace(cache_path=folder)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function, stats=stats)})


@pytest.fixture(autouse=True)
def level():
    """As at the start of a process: commands set the level, for the rest of it."""
    before = announcing.logger.level
    announcing.logger.setLevel(logging.NOTSET)
    yield
    announcing.logger.setLevel(before)


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(announcing.time, "perf_counter", lambda: now.seconds)
    return now


@pytest.fixture
def terminal(monkeypatch):
    lines = []
    screen = SimpleNamespace(isatty=lambda: True, write=lines.append, flush=lambda: None)
    monkeypatch.setattr(announcing, "sys", SimpleNamespace(stderr=screen))
    monkeypatch.setattr(announcing.logger, "propagate", False)  # pytest's own handler
    monkeypatch.setattr(announcing.logger, "hasHandlers", lambda: False)
    return lines


def compile_for(clock, seconds, announcer, *outermost):
    """A compilation with another in it, after ``seconds``."""
    outer, inside = compilation(*outermost), compilation("numba.np.arrayobj")
    announcer.on_start(outer)
    clock.seconds += seconds
    announcer.on_start(inside)
    announcer.on_end(inside)
    announcer.on_end(outer)


def test_one_line_on_a_terminal(clock, terminal):
    announcer = Announcer()
    for _ in range(5):
        compile_for(clock, 0.7, announcer)
    assert "".join(terminal) == MESSAGE + "\n"


def test_no_line_for_less_than_a_second_or_for_other_packages(clock, terminal):
    announcer = Announcer()
    compile_for(clock, 0.9, announcer)
    clock.seconds += 60
    compile_for(clock, 5.0, announcer, "somebody.else")
    assert terminal == []


def test_a_log_record_where_logging_takes_it(clock, caplog):
    with caplog.at_level(logging.INFO, "onlinesvm"):
        compile_for(clock, 2.0, Announcer())
    assert [(r.name, r.levelname, r.message) for r in caplog.records] == [
        ("onlinesvm", "INFO", MESSAGE)
    ]


def test_a_warning_where_the_result_cannot_be_kept(clock, caplog):
    """Also where there is no terminal: whoever runs a container should know."""
    announcer = Announcer()
    for _ in range(3):
        compile_for(clock, 2.0, announcer, "onlinesvm.core.kernel.tiles.dense", None)
    assert [(r.levelname, r.message) for r in caplog.records] == [("WARNING", IN_MEMORY)]


@pytest.mark.parametrize("way", ["level", "disable"])
def test_the_log_level_silences_it(way, clock, terminal, monkeypatch):
    if way == "level":
        monkeypatch.setattr(announcing.logger, "level", logging.WARNING)
    else:
        monkeypatch.setattr(logging.root.manager, "disable", logging.INFO)
    announcing.logger.manager._clear_cache()
    compile_for(clock, 2.0, Announcer())
    announcing.logger.manager._clear_cache()
    assert terminal == []


def test_nothing_is_written_where_there_is_no_terminal(tmp_path):
    code = "import logging; from onlinesvm.core.runtime.compiling.announcing import announce; announce('x')"
    assert run(code + "\nimport sys; sys.stderr = None; announce('x')") == []


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_collection_within_a_compilation(enabled):
    """And afterwards as before; loops of others are none of our business."""
    outer, inside, foreign = (compilation(), *map(compilation, ["numba.np.arrayobj", "others"]))
    pause, seen = CollectorPause(), []
    (gc.enable if enabled else gc.disable)()
    try:
        for turn, about in (("on_start", foreign), ("on_end", foreign), ("on_start", outer),
                            ("on_start", inside), ("on_end", inside), ("on_end", outer)):  # fmt: skip
            getattr(pause, turn)(about)
            seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [enabled, enabled, False, False, False, enabled]


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_collection_while_a_loop_is_looked_for(enabled):
    """Numba imports its library before the first one; and afterwards as before."""
    cache, seen = LoopCache(compilation, Folders((), None)), []
    target = SimpleNamespace(refresh=lambda: seen.append(gc.isenabled()), codegen=Codegen)
    (gc.enable if enabled else gc.disable)()
    try:
        assert cache.load_overload((), target) is None
        seen.append(gc.isenabled())
    finally:
        gc.enable()
    assert seen == [False, enabled]


class Codegen:
    """What Numba's cache asks of a processor."""

    def magic_tuple(self):
        return ()


# -- where compiled code is kept ---------------------------------------------------------------


@unix
@pytest.mark.parametrize(
    ("above", "folder", "private"),
    [
        (0o700, 0o700, True),
        (0o755, 0o755, True),
        (0o1777, 0o700, True),
        (0o755, 0o777, False),
        (0o755, 0o1777, False),
        (0o777, 0o755, False),
    ],
)
def test_folders_that_others_can_write(tmp_path, above, folder, private):
    path = tmp_path / "above" / "cache"
    path.mkdir(parents=True)
    path.chmod(folder)
    path.parent.chmod(above)
    is_private.cache_clear()
    assert is_private(str(path)) is private


@unix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs the superuser")
@pytest.mark.parametrize(("owner", "private"), [(None, False), (4321, True), (4322, False)])
def test_a_folder_of_another_user(tmp_path, owner, private):
    """Trusted where that user owns the source files, which are run anyway."""
    os.chown(tmp_path, 4321, 4321)
    tmp_path.chmod(0o755)
    is_private.cache_clear()
    assert is_private(str(tmp_path), owner) is private


@unix
def test_a_group_is_trusted_only_where_it_is_that_of_the_user_alone(tmp_path, monkeypatch):
    tmp_path.chmod(0o770)
    for trusted in (True, False):
        monkeypatch.setattr(private, "_is_own_group", lambda number, answer=trusted: answer)
        is_private.cache_clear()
        assert is_private(str(tmp_path)) is trusted


@unix
@pytest.mark.parametrize("mode", [0o700, 0o777])
def test_loops_are_not_kept_where_others_can_write(tmp_path, mode):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(mode)
    (line,) = run(WHERE, NUMBA_CACHE_DIR=str(cache))
    assert line.startswith(str(cache)) is (mode == 0o700)
    assert line == "None" or mode == 0o700
