"""Mutated model files: each must give a clear error or a model that works.

    python tests/helpers/fuzzing_models.py --files 20000 --seed 0

File number i is made from seed + i alone, so a range can be stopped and gone on with, and one
file can be looked at by itself (``--files 1 --seed i``). Half of the files have their checksum put
right after the mutation, so that the checks behind it are reached. A process of its own with a
memory limit reads them; it is watched, for it may end or hang.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

MEMORY = 3 * 2**30
"""Bytes of address space that reading, predicting and learning a few rows may take; most of it is
reserved by compiled code and by kernel caches, and never touched."""

COMPILING = 900.0
"""Seconds for a file where loops are compiled."""


# -- mutations ----------------------------------------------------------------------------


def samples():
    """Small models of every class, as files."""
    from model_cases import CASES, learn, make

    from onlinesvm.model.files import model_bytes

    warnings.simplefilter("ignore")
    found = []
    for number, name in enumerate(CASES):
        model = learn(make(name), name, 0, 20 if number % 3 else 110, 55)
        found.append(model_bytes(model, summary={"n": 20}, preprocessing={"mean": np.zeros(6)}))
    return found


def split(data):
    """Header and arrays of a file."""
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])


def joined(header, arrays):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(arrays)


ODD = (
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**62, -(2**63), 10**30, 0.5, -1.5, 1e300, 1e-300,
    "", "rbf", "linear", "__import__('os').system('true')", [], {}, [[]], {"$float": "nan"},
    {"$float": "inf"}, {"$array": "state.centre"}, {"$numpy": ["float64", 3.0]}, {"$tuple": [1]},
)  # fmt: skip


def places(tree, path=()):
    """Every place of a JSON tree."""
    yield path
    parts = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for key, part in parts:
        yield from places(part, (*path, key))


def parent(tree, path):
    for key in path[:-1]:
        tree = tree[key]
    return tree


def mutate_tree(tree, choose):
    """Change, remove, add or move one value."""
    path = choose.choice([p for p in places(tree) if p])
    inside = parent(tree, path)
    what = choose.random()
    if what < 0.6:
        old = inside[path[-1]]
        numbers = isinstance(old, int | float) and not isinstance(old, bool)
        near = [old + 1, old - 1, -old, old * 2] if numbers else []
        inside[path[-1]] = choose.choice([*near, *near, *ODD])
    elif what < 0.75:
        del inside[path[-1]]
    elif what < 0.9:
        other = choose.choice([p for p in places(tree) if p])
        inside[path[-1]] = json.loads(json.dumps(parent(tree, other)[other[-1]]))
    elif isinstance(inside, list):
        inside.append(choose.choice(ODD))
    else:
        inside[choose.choice(["x", "$array", "$dict", "$objects", "$csr", "kernel"])] = (
            choose.choice(ODD)
        )


def mutate_numbers(header, arrays, choose):
    """Change values of one array, as numbers of its type."""
    name = choose.choice([n for n in header if n != "__metadata__"])
    entry = header[name]
    begin, end = entry["data_offsets"]
    if begin == end:
        return
    from onlinesvm.model.container import DTYPES

    values = np.frombuffer(bytes(arrays[begin:end]), DTYPES[entry["dtype"]]).copy()
    for _ in range(choose.choice([1, 1, 3, len(values)])):
        place = choose.randrange(len(values))
        kind = values.dtype.kind
        if kind == "f":
            new = choose.choice(
                [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30, 1e300, -1.0, 1e-320]
            )
        elif kind == "b":
            new = not values[place]
        else:
            info = np.iinfo(values.dtype)
            new = choose.choice(
                [info.min, info.max, 0, 1, int(values[place]) // 2, choose.randrange(100)]
            )
            new = max(info.min, min(info.max, new))
        with np.errstate(all="ignore"):
            values[place] = new
    arrays[begin:end] = values.tobytes()


def mutate_shape(header, arrays, choose):
    """Change type, shape or place of an array, sometimes so that its length still fits."""
    name = choose.choice([n for n in header if n != "__metadata__"])
    entry = header[name]
    what = choose.randrange(5)
    if what == 0:
        entry["dtype"] = choose.choice(
            ["F64", "F32", "I64", "I32", "U8", "BOOL", "F8_E4M3", "X", 3]
        )
    elif what == 1 and entry["shape"]:
        entry["shape"] = choose.choice(
            [
                entry["shape"][::-1],
                [*entry["shape"], 1],
                [int(np.prod(entry["shape"]))],
                [2**40, 2**40],
                [-1],
            ]
        )
    elif what == 2:
        entry["data_offsets"] = choose.choice(
            [[0, 8], [0, 2**60], entry["data_offsets"][::-1], [5], None]
        )
    elif what == 3:
        header[name + "x"] = header.pop(name)
    else:
        size = {"F64": 8, "F32": 4, "I64": 8, "I32": 4, "I16": 2}.get(entry["dtype"], 1)
        if entry["shape"] and entry["shape"][0] > 1:  # one row less, cut out of the data
            row = size * int(np.prod(entry["shape"][1:]))
            begin, end = entry["data_offsets"]
            del arrays[end - row : end]
            entry["shape"][0] -= 1
            for other in header:
                if other != "__metadata__" and header[other]["data_offsets"][0] >= end:
                    header[other]["data_offsets"] = [v - row for v in header[other]["data_offsets"]]
            entry["data_offsets"] = [begin, end - row]


def mutate_bytes(data, choose):
    """Changes that know nothing of the format."""
    data = bytearray(data)
    what = choose.randrange(5)
    if what == 0:
        return bytes(data[: choose.randrange(len(data))])
    if what == 1:
        place = choose.randrange(len(data))
        return bytes(data[:place] + choose.randbytes(choose.randrange(1, 50)) + data[place:])
    if what == 2:
        data[:8] = struct.pack("<Q", choose.choice([0, 1, 2**63, 2**40, len(data), len(data) - 8]))
        return bytes(data)
    for _ in range(choose.choice([1, 2, 8, 64])):
        data[choose.randrange(len(data))] = choose.randrange(256)
    return bytes(data)


def with_checksum(header, arrays):
    """The file with a checksum that fits, where that can be computed at all."""
    from onlinesvm.model.container import DTYPES, KEY, checksum
    from onlinesvm.model.files import _canonical

    with contextlib.suppress(Exception):
        said = json.loads(header["__metadata__"][KEY])
        said.pop("checksum", None)
        tensors = {}
        for name, entry in header.items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                raw = np.frombuffer(bytes(arrays[begin:end]), DTYPES[entry["dtype"]])
                tensors[name] = raw.reshape(entry["shape"])
        said["checksum"] = checksum(_canonical(said), tensors)
        header["__metadata__"][KEY] = json.dumps(said)
    return joined(header, arrays)


def mutate(header, arrays, choose):
    """One change that knows the format."""
    what = choose.random()
    if what < 0.4:
        mutate_numbers(header, arrays, choose)
    elif what < 0.55:
        mutate_shape(header, arrays, choose)
    else:
        text = json.loads(header["__metadata__"]["onlinesvm"])
        mutate_tree(text, choose)
        header["__metadata__"]["onlinesvm"] = json.dumps(text)


def mutated(seed, files):
    """The file of one seed."""
    choose = random.Random(seed)
    data = choose.choice(files)
    if choose.random() < 0.2:
        return mutate_bytes(data, choose)
    header, arrays = split(data)
    for _ in range(choose.choice([1, 1, 1, 2, 4])):
        # A mutation may find no place for itself in what an earlier one has left.
        with contextlib.suppress(Exception):
            mutate(header, arrays, choose)
    return with_checksum(header, arrays) if choose.random() < 0.9 else joined(header, arrays)


# -- what is asked of each file -----------------------------------------------------------


def attempt(data, path):
    """What became of a file: an error or a model; anything else is raised."""
    from model_cases import CSR, VALUES, X, Y

    from onlinesvm.model.errors import ModelFileError
    from onlinesvm.model.files import read_header, read_model

    path.write_bytes(data)
    try:
        read_header(path)
        model = read_model(path).estimator
    except ModelFileError as error:
        message = str(error)
        good = str(path) in message and "\n" not in message and len(message) < 1000
        return "error" if good else f"FAILED: the error is {message[:100]!r}"
    n, size = model.n_features_in_, getattr(model._trained.learner, "cache_size", 1.0)
    try:
        values = model.predict(X[:10, :n])
        assert len(values) == 10
        if size <= 1000:  # a larger cache is what the file asks for, and not ours to reserve
            targets = {"SimpleSVMRegressor": VALUES, "SimpleSVMOneClass": None}.get(
                type(model).__name__, Y
            )
            labels = getattr(model, "classes_", None)
            if labels is not None and len(labels):
                targets = labels[Y % len(labels)]
            model.n_jobs = 1
            for part in (slice(200, 203), slice(203, 230)):
                model.partial_fit(X[part, :n], *(() if targets is None else (targets[part],)))
            model.finish().predict(CSR[:5, :n])
    except ValueError:  # a clear error of the estimator, such as for numbers too large
        return "model, and an error when used"
    except MemoryError as error:
        if type(error).__name__ == "CacheSizeError":  # SimpleSVM's own, of a cache too small
            return "model, and an error when used"
        raise
    return "model"


def outcome(seed, files, path):
    try:
        return attempt(mutated(seed, files), path)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        line = (str(error).splitlines() or [""])[0][:120]
        return f"FAILED {type(error).__name__}: {line} ({Path(at.filename).name}:{at.lineno})"


# -- by hand ------------------------------------------------------------------------------


def work(first, last, folder):
    """Seeds one after the other; a line before each and after each."""
    import resource

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    files = [path.read_bytes() for path in sorted(Path(folder).glob("*.sample"))]
    path = Path(folder) / f"mutated-{first}"
    for data in files:  # compiled before memory is limited
        attempt(data, path)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in range(first, last):
        print(seed, flush=True)
        print(json.dumps(outcome(seed, files, path)), flush=True)


def watch(first, last, folder, slow):
    """Outcomes of seeds from a process that may end or hang; another one goes on.

    A file may be the first to need some loop, which is then compiled: one that takes long is given a
    second chance with much more time.
    """
    tried = -1
    while first < last:
        command = [sys.executable, __file__, "--work", str(first), str(last), folder]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            patience = COMPILING
            while first < last:
                timer = threading.Timer(patience, worker.kill)
                timer.start()
                lines = worker.stdout.readline(), worker.stdout.readline()
                timer.cancel()
                patience = COMPILING if first == tried else slow
                if lines[1]:
                    yield first, json.loads(lines[1])
                    first += 1
                    continue
                hangs = worker.wait() == -signal.SIGKILL
                if hangs and tried != first:
                    tried = first
                    break
                yield first, "FAILED: hangs" if hangs else f"FAILED: ends ({worker.returncode})"
                first += 1
                break


def main():
    """Read many mutated files and count what became of them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first file")
    parser.add_argument(
        "--slow",
        type=float,
        default=60.0,
        help="seconds after which one hangs (loops may be compiled)",
    )
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(int(options.work[0]), int(options.work[1]), options.work[2])
        return
    counts, examples = Counter(), {}
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(samples()):
            (Path(folder) / f"{number:02}.sample").write_bytes(data)
        last = options.seed + options.files
        try:
            for seed, result in watch(options.seed, last, folder, options.slow):
                counts[result] += 1
                examples.setdefault(result, seed)
                if result.startswith("FAILED"):
                    print(f"seed {seed}: {result}", flush=True)
                if (seed + 1) % 500 == 0:
                    print(f"up to seed {seed}: {dict(counts)}", flush=True)
        finally:
            for result, count in counts.most_common():
                print(f"{count:6} x {result} (first: seed {examples[result]})", flush=True)
    sys.exit(any(result.startswith("FAILED") for result in counts))


if __name__ == "__main__":
    main()
