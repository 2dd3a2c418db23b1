"""The labelling page at size, in a real Chromium: how long to be ready, and how long from key to item.

    python -m benchmarks.label_page images [--rows 60000]     MNIST as PNG files (ONLINESVM_DATA)
    python -m benchmarks.label_page texts [--rows 1000000]    generated texts in a CSV file

A script that knows the labels gives 500 answers (``--given``) over HTTP, then 300 by the keyboard of
the browser. The time of an answer goes from the key press to the frame in which the next item is
shown, its image decoded. At the end texts are exported, with the peak memory of each export.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import warn_of_load

HELPERS = Path(__file__).resolve().parent.parent / "tests" / "helpers"
KEYS = "1234567890"

WATCH = """
window.took = [];
let begin = null, before = null;
const item = document.querySelector("#item");
const content = () => item.innerHTML;
addEventListener("keydown", () => { begin = performance.now(); before = content(); }, true);
new MutationObserver(async () => {
  if (begin === null || content() === before) return;
  const pressed = begin;
  begin = null;
  const image = item.querySelector("img");
  if (image) await image.decode();
  requestAnimationFrame(() => window.took.push(performance.now() - pressed));
}).observe(item, { childList: true, subtree: true, characterData: true });
"""
"""In the page: milliseconds from each key press to the frame that shows another item."""


# -- sources ------------------------------------------------------------------------------------


def images(folder: Path, rows: int) -> tuple[list[Any], Callable[[dict[str, Any]], str], list[str]]:
    """A folder of PNG files; words of the command line, the label of an item, and all labels."""
    from PIL import Image

    from benchmarks.datasets import arrays

    z = arrays("mnist")
    source = folder / "images"
    source.mkdir()
    for k in range(rows):
        Image.fromarray(z["X_train"][k].reshape(28, 28)).save(source / f"{k:05d}.png")
    return [source], lambda item: str(z["y_train"][int(item["name"][:5])]), list("0123456789")


def texts(folder: Path, rows: int) -> tuple[list[Any], Callable[[dict[str, Any]], str], list[str]]:
    """Ten to forty words each, from 20,000 with the frequencies of a language; a tenth are refunds."""
    rng, source = np.random.default_rng(0), folder / "texts.csv"
    words = np.array([f"w{k}" for k in range(20_000)] + ["refund", "money", "back", "paid"])
    share = 1.0 / np.arange(1, 20_001)
    drawn = rng.choice(20_000, size=25 * rows, p=share / share.sum())
    ends = np.minimum(np.cumsum(rng.integers(10, 41, rows)), len(drawn))
    with open(source, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        for k, own in enumerate(np.split(drawn, ends[:-1])):
            told = [20_000 + (k // 10) % 4, 20_000 + (k // 40) % 4] if k % 10 == 0 else []
            writer.writerow([" ".join(words[[*own[:40], *told]])])
    marked = set(words[20_000:].tolist())

    def label(item: dict[str, Any]) -> str:
        return "refund" if marked & set(item["text"].split()) else "other"

    return [source, "--text", "body"], label, ["refund", "other"]


# -- measuring ----------------------------------------------------------------------------------


def over_http(server: Any, label: Callable[[dict[str, Any]], str], n: int) -> list[float]:
    """n answers without a browser; milliseconds that the server took for each."""
    from label_server import Client

    client, spent = Client(server), []
    reply = client.call("question")
    for _ in range(n):
        item = reply["question"]["item"]
        reply = client.change("answer", item=item["number"], kind="label", label=label(item))
        spent.append(float(client.spent.partition("dur=")[2]))
    return spent


def by_keyboard(
    server: Any, label: Callable[[dict[str, Any]], str], labels: list[str], n: int
) -> list[float]:
    """n answers by the keys of the page; milliseconds from each key to the next item."""
    from browsing import browser

    with browser() as page:
        page.goto(server.address)
        page.wait_for_selector("#who[open], body[data-ready=yes]")
        if page.locator("#who[open]").count():
            page.fill("#who-name", "ann")
            page.keyboard.press("Enter")
        page.wait_for_selector("#item > *")
        page.evaluate(WATCH)
        for k in range(n):
            item = {
                "name": page.inner_text("#item-name"),
                "text": page.inner_text("#item") if page.locator("#item p").count() else "",
            }
            page.keyboard.press(KEYS[labels.index(label(item))])
            while page.evaluate("window.took.length") <= k:
                page.wait_for_timeout(20)
            page.wait_for_timeout(300)  # a person looks at the item
        took: list[float] = page.evaluate("window.took")
    return took


def export(database: Path, folder: Path) -> dict[str, Any]:
    """Labels, then predictions of all items, into files: seconds and peak memory of each."""
    found: dict[str, Any] = {}
    for what in ("labels", "predictions"):
        line = [sys.executable, "-m", "onlinesvm", "label", "export", str(database)]
        line += ["-o", str(folder / f"{what}.csv"), "--what", what]
        begin = time.monotonic()
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"the export of {what} failed")
        found[what] = {"seconds": time.monotonic() - begin, "peak_mb": used.ru_maxrss / 1024}
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Median, 99 % and largest."""
    return {
        "median": float(np.median(values)),
        "99 %": float(np.quantile(values, 0.99)),
        "largest": max(values),
    }


def ready(folder: Path, words: list[Any]) -> tuple[Any, float]:
    """The server, and the seconds until it has printed its address."""
    from label_server import Server

    begin = time.monotonic()
    server = Server(folder, *words)
    return server, time.monotonic() - begin


def measure(kind: str, rows: int, given: int, answers: int) -> dict[str, Any]:
    """All figures of one kind of source."""
    sys.path.insert(0, str(HELPERS))
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        words, label, labels = (images if kind == "images" else texts)(folder, rows)
        found: dict[str, Any] = {"rows": rows}
        server, found["seconds to be ready"] = ready(
            folder, [*words, "--classes", ",".join(labels)]
        )
        try:
            over_http(server, label, given)
            found["ms from key to item"] = spread(by_keyboard(server, label, labels, answers))
            found["ms of the server"] = spread(over_http(server, label, 100))
        finally:
            server.stop()
        server, found["seconds the second time"] = ready(folder, words)
        server.stop()
        if kind == "texts":
            found["export"] = export(folder / "labels.db", folder)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_page", description=__doc__)
    parser.add_argument("kind", choices=("images", "texts"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--given", type=int, default=500, help="answers before the browser opens")
    parser.add_argument("--answers", type=int, default=300, help="answers in the browser")
    chosen = parser.parse_args()
    warn_of_load()
    rows = chosen.rows or (60_000 if chosen.kind == "images" else 1_000_000)
    print(json.dumps(measure(chosen.kind, rows, chosen.given, chosen.answers), indent=1))


if __name__ == "__main__":
    main()
