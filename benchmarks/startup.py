"""Start-up in new processes: imports, and the first fit with and without compiled loops on disk.

``python -m benchmarks.startup [--only NAME] [--functions N]`` prints a table of the first use of each
class (``benchmarks.first_use``), in processor seconds, and the functions that took longest to
compile.

Each figure is the best of several processes; the process itself measures, so that the start of the
interpreter is on no clock. A fit is that of 2,000 waveforms, imports of its own included. Next to
the time on the wall stands that of the processor, which other programs lengthen less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.first_use import USES

ROOT = Path(__file__).resolve().parent.parent

IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"

FIRST_FIT = """\
import time
from benchmarks.datasets import load
from onlinesvm import LASVMClassifier
data = load("waveform:2000")
model = LASVMClassifier(C=data.C, gamma=data.gamma, random_state=0)
start = time.perf_counter(), time.process_time()
model.fit(data.X_train, data.y_train).predict(data.X_test[:100])
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""

WITHOUT_NUMBA = "import sys, onlinesvm; print(int('numba' in sys.modules))"


def ask(code: str, cache: str | None = None) -> list[float]:
    """The numbers that a new process prints."""
    return [float(word) for word in output(["-c", code], cache).split()]


def output(arguments: list[str], cache: str | None = None) -> str:
    """What a new process of Python prints."""
    places = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in places if p)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def import_time(module: str) -> float:
    """Seconds that a new process takes to import a module."""
    return ask(IMPORT.format(module))[0]


def import_times(tries: int) -> tuple[float, float]:
    """Best times of ``import onlinesvm`` and ``import sklearn.svm``, taken in turns."""
    pairs = [(import_time("onlinesvm"), import_time("sklearn.svm")) for _ in range(tries)]
    ours, theirs = zip(*pairs)
    return min(ours), min(theirs)


def first_fits(tries: int) -> tuple[list[float], list[float]]:
    """Best times of a first fit that compiles everything, and of one that finds it compiled."""
    cold, warm = [], []
    for _ in range(tries):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(ask(FIRST_FIT, cache))
            warm += [ask(FIRST_FIT, cache) for _ in range(2)]
    return [min(times) for times in zip(*cold)], [min(times) for times in zip(*warm)]


def read_only_cache() -> bool:
    """Whether a first fit works where no cache folder can be made."""
    with tempfile.NamedTemporaryFile() as file:
        try:
            return bool(ask(FIRST_FIT, f"{file.name}/below-a-file"))
        except subprocess.CalledProcessError:
            return False


def imports_numba() -> bool:
    """Whether ``import onlinesvm`` loads Numba."""
    return bool(ask(WITHOUT_NUMBA)[0])


def first_use(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ``benchmarks.first_use`` measures with an empty cache, and with the filled one."""
    arguments = ["-W", "ignore", "-m", "benchmarks.first_use", name]
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = (json.loads(output(arguments, cache)) for _ in range(2))
    return cold, warm


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--only", choices=list(USES), action="append", help="repeatable")
    parser.add_argument("--functions", type=int, default=5, help="slowest functions per use")
    asked = parser.parse_args()
    print(
        "| first use, processor seconds | imports | empty cache | at most | compiled | warm cache |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    slowest = []
    for name in asked.only or USES:
        cold, warm = first_use(name)
        print(
            f"| {name} | {cold['imports']:.1f} | {cold['use']:.1f} | {USES[name][1]:g} "
            f"| {len(cold['compilations'])} | {warm['use']:.2f} |",
            flush=True,
        )
        found = sorted(cold["compilations"], key=lambda c: -c[1])[: asked.functions]
        slowest += [(name, *compilation) for compilation in found]
    print("\n| first use | function | seconds of its own | with what it calls |")
    print("| --- | --- | ---: | ---: |")
    for name, function, own, whole, _ in slowest:
        print(f"| {name} | {function} | {own:.2f} | {whole:.2f} |")


if __name__ == "__main__":
    main()
