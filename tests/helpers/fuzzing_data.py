"""Mutated data files: each must give rows or one clear sentence.

    python tests/helpers/fuzzing_data.py --files 20000 --seed 0

File number i is made from seed + i alone, so a range can be stopped and gone on with, and one
file can be looked at by itself (``--files 1 --seed i``). A process of its own with a memory limit
reads them; it is watched, for it may end or hang.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from onlinesvm.stream.errors import StreamError
from onlinesvm.stream.readers import open_reader

MEMORY = 3 * 2**30
"""Bytes of address space that reading may take; most of it is reserved and never touched."""

HANG = 20
"""Seconds after which a file counts as one that never ends."""


# -- files ----------------------------------------------------------------------------------


def samples():
    """Small files of every format: name, bytes."""
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(3)
    y = rng.integers(2, size=60)
    svm = "".join(
        f"{2 * b - 1} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(a) if v > 0) + "\n"
        for a, b in zip(X, y)
    ).encode()
    rows = [f"{a[0]},{a[1]},{'xy'[b]}{k % 3},{bool(b)},{b}\n" for k, (a, b) in enumerate(zip(X, y))]
    csv = ("a,b,town,paid,target\n" + "".join(rows)).encode()
    table = pa.table({"a": X[:, 0], "town": [f"t{k % 4}" for k in range(60)], "target": y})
    parquet, plain, npz, packed, npy = (io.BytesIO() for _ in range(5))
    pyarrow.parquet.write_table(table, parquet, row_group_size=25)
    pyarrow.parquet.write_table(table, plain, compression="none", use_dictionary=False)
    np.savez(npz, X=X, y=y)
    np.savez_compressed(packed, X=X, y=y)
    np.save(npy, np.c_[X, y])
    return [
        ("a.svm", svm), ("b.svm.gz", gzip.compress(svm)), ("c.svm.xz", lzma.compress(svm)),
        ("d.svm.bz2", bz2.compress(svm)), ("e.svm.zst", pa.Codec("zstd").compress(svm).to_pybytes()),
        ("f.csv", csv), ("g.tsv", csv.replace(b",", b"\t")), ("h.csv.gz", gzip.compress(csv)),
        ("i.parquet", parquet.getvalue()), ("j.parquet", plain.getvalue()),
        ("k.npz", npz.getvalue()), ("l.npz", packed.getvalue()), ("m.npy", npy.getvalue()),
        ("unnamed", svm), ("nameless", csv),
    ]  # fmt: skip


WORDS = (
    b"", b"nan", b"inf", b"-inf", b"1e999", b"-", b"+", b"0", b"-1", b"1:", b":1", b"0:1", b"1:1:1",
    b"4294967297:1", b"99999999999999999999:1", b"16777216:1", b"qid:1", b"#", b'"', b'""', b"'",
    b",", b",,,,,,,,", b"\t", b"\r", b"\n", b"\n\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"NA",
    b"true", b"1_000", b"0x10", b"\xc3\xa9", b"9" * 400, b"1:" + b"9" * 400,
)  # fmt: skip


def mutate(data, choose):
    """Cut, insert, remove, repeat, overwrite; words that mean something in text."""
    data = bytearray(data)
    for _ in range(choose.choice([1, 1, 1, 2, 5])):
        place = choose.randrange(len(data) + 1) if data else 0
        size = choose.choice([1, 1, 4, 30, 500])
        what = choose.randrange(8)
        if what == 0:
            del data[place:]
        elif what == 1:
            data[place:place] = choose.randbytes(size)
        elif what == 2:
            del data[place : place + size]
        elif what == 3:
            data[place:place] = data[place : place + size] * choose.choice([1, 2, 20])
        elif what == 4 and data:
            for _ in range(choose.choice([1, 2, 8, 64])):
                data[choose.randrange(len(data))] = choose.randrange(256)
        elif what == 5:
            other = choose.randrange(len(data) + 1)
            data[place : place + size] = data[other : other + size]
        else:
            data[place : place + choose.choice([0, 0, 1, 5])] = choose.choice(WORDS)
    return bytes(data)


def make(number, files):
    """File ``number``: its name and its bytes."""
    choose = random.Random(number)
    name, data = choose.choice(files)
    if name.endswith(("gz", "xz", "bz2", "zst")) and choose.random() < 0.5:
        module = {"gz": gzip, "xz": lzma, "bz2": bz2}.get(name.rsplit(".", 1)[1])
        if module is not None:  # the text inside, compressed again
            return name, module.compress(mutate(module.decompress(data), choose))
    return name, mutate(data, choose)


# -- reading ----------------------------------------------------------------------------------


def outcome(folder, number, files):
    """What becomes of a file: ``rows`` or ``refused``; anything else is a fault."""
    name, data = make(number, files)
    path = folder / name
    path.write_bytes(data)
    label = {"m.npy": "-1", "k.npz": None, "l.npz": None}.get(name, "target")
    try:
        reader = open_reader(path, label=label)
        for block in reader.blocks(16):
            values = getattr(block.X, "data", block.X)
            values = np.asarray(block.X if isinstance(values, memoryview) else values)
            if not np.isfinite(values).all() or block.n != len(block.y):
                return f"fault: rows that are none ({name})"
    except StreamError as error:
        text = str(error)
        if "\n" in text or not 15 < len(text) < 700:
            return f"fault: no sentence ({name}): {text!r}"
        return "refused"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"fault: {type(error).__name__} {error} at {place.name}, {place.lineno} ({name})"
    return "rows"


def read_range(first, count):
    """In a process with little memory: one line per file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files = samples()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + count):
            print(json.dumps([number, outcome(Path(folder), number, files)]), flush=True)


def watched(first, count):
    """Run ``read_range`` in another process, and anew behind a file that ended or hung it."""
    last = first + count
    while first < last:
        command = [sys.executable, __file__, "--child", str(first), str(last - first)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
        before = first
        timer = None
        hung = []

        def kill(process=process, hung=hung):
            hung.append(True)
            process.send_signal(signal.SIGKILL)

        timer = threading.Timer(HANG + 60, kill)
        timer.start()
        for line in process.stdout:
            timer.cancel()
            number, found = json.loads(line)
            yield number, found
            first = number + 1
            timer = threading.Timer(HANG, kill)
            timer.start()
        timer.cancel()
        process.wait()
        if first < last:
            if first == before and process.returncode == 1:
                raise RuntimeError("The reading process does not start.")
            yield first, "fault: hangs" if hung else f"fault: ends with {process.returncode}"
            first += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        read_range(*arguments.child)
        return
    counts = Counter()
    for number, found in watched(arguments.seed, arguments.files):
        counts[found.split(":")[0]] += 1
        if found.startswith("fault"):
            print(f"file {number}: {found}", flush=True)
        if sum(counts.values()) % 2000 == 0:
            print(f"{sum(counts.values())} files: {dict(counts)}", flush=True)
    print(f"{sum(counts.values())} files: {dict(counts)}")
    sys.exit(counts["fault"] > 0)


if __name__ == "__main__":
    main()
