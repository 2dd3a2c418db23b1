"""Generated rows in a folder of Parquet, learned in a process whose memory is limited.

The rows: 20 normal clusters in 30 columns, single precision, every other one of the second class,
with centres so far from each other that few rows lie on the wrong side: support vectors are few, as
they must be for a kernel SVM of so many rows. The process tree is ended when it holds more than the
limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.markdown import markdown, number, percent
from benchmarks.papers.page import Section
from benchmarks.quick import generated_rows

ROWS, COLUMNS, PER_FILE, LIMIT = 10_000_000, 30, 250_000, 3 * 2**30
CLUSTERS, DISTANCE = 20, 1.3


def rows_of(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """So many rows, and their labels."""
    centres = DISTANCE * np.random.default_rng(12345).standard_normal((CLUSTERS, COLUMNS))
    rng = np.random.default_rng(seed)
    cluster = rng.integers(CLUSTERS, size=n)
    X = centres[cluster] + rng.standard_normal((n, COLUMNS))
    return X.astype(np.float32), (cluster % 2).astype(np.int8)


def write(folder: Path, rows: int, per_file: int = PER_FILE, first_seed: int = 0) -> int:
    """Files of ``per_file`` rows; their size in bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for i in range(-(-rows // per_file)):
        X, y = rows_of(min(per_file, rows - i * per_file), first_seed + i)
        table = pa.table({**{f"c{k}": X[:, k] for k in range(COLUMNS)}, "target": y})
        parquet.write_table(table, folder / f"part-{i:04}.parquet", row_group_size=50_000)
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


FIT = """
import json, sys, time
from onlinesvm.dask import TreeLASVMClassifier
from benchmarks.memory import resident_mb
train, test, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
model = TreeLASVMClassifier(C=1, gamma=0.01, partition_size=size, random_state=0)
begin = time.perf_counter()
model.fit(train, "target")
seconds = time.perf_counter() - begin
error = 1 - model.score(test, "target").compute()
print(json.dumps({
    "seconds": seconds, "error": 100 * error, "support": int(model.n_support_.sum()),
    "looks": model.n_passes_, "violators": model.n_violators_, "partitions": model.n_partitions_,
    "partition_mb": model.partition_bytes_ / 2**20, "peak_mb": resident_mb("VmHWM"),
    "bytes_to_root": model.bytes_to_root_, "content": model.root_content_bytes_,
    "phases": {k: sum(e.seconds for e in v) for k, v in model.costs_.items()},
}))
"""


def limited(command: list[str], limit: int) -> tuple[str, float]:
    """Output of a process, and the peak of its whole tree in bytes; ended above the limit."""
    import psutil

    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watched, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        try:
            tree = [watched, *watched.children(recursive=True)]
            peak = max(peak, sum(one.memory_info().rss for one in tree))
        except psutil.NoSuchProcess:
            break
        if peak > limit:
            process.kill()
            raise SystemExit(f"More than {limit / 2**30:.1f} GB after a peak of {peak:,} bytes.")
        time.sleep(0.05)
    assert process.stdout is not None
    said = process.stdout.read()
    if process.wait():
        raise SystemExit(f"The fit ended with status {process.returncode}.")
    return said, peak


def part(rows: int = ROWS) -> Section:
    """10 million rows in 40 files, two threads, at most 3 GB for the whole process tree."""
    if generated_rows() is not None:
        rows = 20_000
    per_file = min(PER_FILE, rows // 4)
    with tempfile.TemporaryDirectory() as name:
        train, test = Path(name) / "train", Path(name) / "test"
        size = write(train, rows, per_file)
        write(test, min(200_000, rows), per_file, 10_000)
        command = [sys.executable, "-c", FIT, str(train), str(test), str(per_file)]
        said, peak = limited(command, LIMIT)
    found = json.loads(said.splitlines()[-1]) | {"tree_peak_mb": peak / 2**20, "size": size}
    row = [
        f"{rows:,}", f"{size / 2**30:.2f} GB", f"{number(found['seconds'])} s",
        f"{found['tree_peak_mb']:,.0f} MB", percent(found["error"]), f"{found['support']:,}",
    ]  # fmt: skip
    header = ["rows", "Parquet", "time", "peak memory", "error", "support vectors"]
    return {"report": markdown(header, [row]), "numbers": found}
