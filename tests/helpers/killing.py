"""Kill ``train --checkpoint`` at random moments and resume it: the last file is always the same.

    python tests/helpers/killing.py 50

Each trial runs the real command in a process of its own, ends it with SIGKILL after a random time,
resumes it, and so on until it ends by itself; then the model file must equal, byte for byte, that of
a run that nothing has interrupted. After every kill the file is either missing or loads whole.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import onlinesvm

PACKAGE = Path(onlinesvm.__file__).resolve().parent.parent

KINDS = {
    "csv": ["--label", "target", "--C", "5", "--gamma", "0.2"],
    "csv, shuffled, standardised, two passes": [
        "--label", "target", "--shuffle-buffer", "700", "--standardize", "--epochs", "2",
    ],
    "csv, budget": ["--label", "target", "--budget", "60", "--C", "5", "--gamma", "0.2"],
    "libsvm from standard input": ["--budget", "50", "--gamma", "0.2"],
}  # fmt: skip


def write_data(folder, n=6000, seed=0):
    """The same noisy rows as CSV and as LIBSVM text."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)).round(4)
    y = ((X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(n) < 0.1)).astype(int)
    lines = [",".join([*map(str, row), "no" if label else "yes"]) for row, label in zip(X, y)]
    (folder / "train.csv").write_text("a,b,c,d,e,target\n" + "\n".join(lines) + "\n")
    lines = [
        " ".join([str(2 * label - 1), *(f"{k + 1}:{v}" for k, v in enumerate(row) if abs(v) > 0.4)])
        for row, label in zip(X, y)
    ]
    (folder / "train.svm").write_text("\n".join(lines) + "\n")


def command(folder, kind, model, batch=250):
    """The command of a kind, and its standard input."""
    source = "-" if "standard input" in kind else str(folder / "train.csv")
    line = [
        sys.executable, "-m", "onlinesvm", "train", source, "-o", str(model), "--json",
        "--log", str(model.with_suffix(".jsonl")),
        "--batch-rows", str(batch), "--checkpoint", str(2 * batch), "--resume", *KINDS[kind],
    ]  # fmt: skip
    return line, (folder / "train.svm" if source == "-" else os.devnull)


def start(folder, kind, model):
    """The command, running."""
    line, given = command(folder, kind, model)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.Popen(
        line, stdin=open(given, "rb"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=environment,
    )  # fmt: skip


def whole_run(folder, kind, model):
    """A run that nothing interrupts; the seconds that learning took."""
    process = start(folder, kind, model)
    said = process.communicate()[1].decode()
    assert process.returncode == 0, said
    return json.loads(model.with_suffix(".jsonl").read_text().splitlines()[-1])["seconds"]


def wait(process, log, seconds):
    """Until learning has begun (in most cases), and so much longer; whether the process has ended."""
    size = log.stat().st_size if log.exists() else 0
    while seconds > 0 and (not log.exists() or log.stat().st_size == size):
        if process.poll() is not None:
            return True
        time.sleep(0.005)
    try:
        process.wait(abs(seconds))
    except subprocess.TimeoutExpired:
        return False
    return True


def trial(folder, kind, model, rng, seconds, most=3):
    """Kill and resume until the run ends by itself. Returns how often it was killed."""
    kills = 0
    for path in (model, model.with_suffix(".jsonl")):
        path.unlink(missing_ok=True)
    while True:
        process = start(folder, kind, model)
        # After so many kills the run is left to end, so that a trial ends. A negative time counts
        # from the start of the process: it is killed while it starts.
        moment = rng.uniform(0.0, 1.0) * seconds * rng.choice([1, 1, 1, 1, -1])
        if kills < most and not wait(process, model.with_suffix(".jsonl"), moment):
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            if model.exists():
                onlinesvm.load_model(model)  # raises for half a file
            continue
        said = process.communicate()[1].decode()
        assert process.returncode == 0, said
        return kills


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=50, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng, kills, trials = random.Random(arguments.seed), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder)
        wanted, seconds = {}, {}
        for kind in KINDS:
            whole_run(folder, kind, folder / "warm.safetensors")  # compiles
            for path in folder.glob("w*"):
                path.unlink()
            seconds[kind] = whole_run(folder, kind, folder / "whole.safetensors")
            wanted[kind] = (folder / "whole.safetensors").read_bytes()
            for path in folder.glob("whole*"):
                path.unlink()
        while kills < arguments.count:
            kind = rng.choice(list(KINDS))
            model = folder / "model.safetensors"
            kills += trial(folder, kind, model, rng, seconds[kind])
            trials += 1
            assert model.read_bytes() == wanted[kind], f"{kind}: another file than the whole run's"
            print(f"{kills} kills in {trials} runs, all files equal ({kind})", flush=True)


if __name__ == "__main__":
    main()
