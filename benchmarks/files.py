"""A generated CSV file through ``onlinesvm train``: peak memory, and the share of reading.

    python -m benchmarks.files            100,000 rows, budget 200
    python -m benchmarks.files --full     5,000,000 rows, budget 2,000

The file has 54 columns of numbers and a label. ``train`` runs in a process of its own, whose peak
memory is measured; then the file is read once more without learning, which gives the time that
reading and parsing take.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COLUMNS = 54


def write_csv(path: Path, rows: int, seed: int = 0, chunk: int = 50_000) -> None:
    """Two noisy classes that no plane separates."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(seed)
    names = [f"c{k}" for k in range(COLUMNS)]
    options = csv.WriteOptions(include_header=True)
    with path.open("wb") as file:
        for first in range(0, rows, chunk):
            n = min(chunk, rows - first)
            X = rng.standard_normal((n, COLUMNS)).round(4)
            y = (X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(n) < 0.1)
            table = pa.table({**dict(zip(names, X.T)), "target": y.astype(int)})
            csv.write_csv(table, file, options)
            options = csv.WriteOptions(include_header=False)


READ = """
import sys, time
from onlinesvm import open_reader
begin = time.process_time()
n = sum(block.n for block in open_reader(sys.argv[1], label="target").blocks())
print(time.process_time() - begin, n)
"""


def run(command: list[str]) -> tuple[str, float, float, int]:
    """Output, wall and processor seconds, and peak memory in bytes of a process of its own."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}.")
    scale = 1 if sys.platform == "darwin" else 1024
    return said, time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="5,000,000 rows, budget 2,000")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--budget", type=int)
    arguments = parser.parse_args()
    rows = arguments.rows or (5_000_000 if arguments.full else 100_000)
    budget = arguments.budget or (2_000 if arguments.full else 200)
    with tempfile.TemporaryDirectory() as name:
        path, model = Path(name) / "rows.csv", Path(name) / "model.safetensors"
        write_csv(path, rows)
        size = path.stat().st_size
        print(f"{rows:,} rows, {COLUMNS} columns, {size / 1e6:,.0f} MB; budget {budget:,}")
        warm = Path(name) / "warm.csv"
        write_csv(warm, 3000)
        train = [sys.executable, "-m", "onlinesvm", "train", "--label", "target", "--json",
                 "--budget", str(budget), "--gamma", "0.02", "-o", str(model)]  # fmt: skip
        run([*train, str(warm)])  # compiles
        said, wall, processor, peak = run([*train, str(path)])
        result = json.loads(said)
        out, _, _, read_peak = run([sys.executable, "-c", READ, str(path)])
        reading = float(out.split()[0])
    print(f"train: {result['seconds']:,.1f} s, {rows / result['seconds']:,.0f} rows/s, "
          f"error so far {result['error']:.4f}, {result['n_support']:,} support vectors")  # fmt: skip
    print(f"process: {wall:,.1f} s, {processor:,.1f} s of processor time")
    print(f"peak memory: {peak / 1e6:,.0f} MB (reading alone: {read_peak / 1e6:,.0f} MB)")
    print(f"reading and parsing: {reading:,.1f} s, {100 * reading / processor:.1f} % of it; "
          f"{size / 1e6 / reading:,.0f} MB/s")  # fmt: skip


if __name__ == "__main__":
    main()
