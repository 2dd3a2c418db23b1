"""Labelling sessions for tests: small sources, and scripts that know the answers."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

for name in ("pyarrow", "PIL", "skimage", "starlette", "uvicorn", "jinja2"):
    pytest.importorskip(name, reason=f"the label extra is not installed ({name})")

from PIL import Image  # noqa: E402

from onlinesvm.label.opening import Settings, open_session  # noqa: E402
from onlinesvm.label.pages import Who  # noqa: E402

DIGITS = load_digits()
ME = Who("ann", "page-1")
YOU = Who("bob", "page-2")

WORDS = {
    "refund": ["money", "back", "refund", "return", "paid", "charged", "twice", "invoice"],
    "delivery": ["parcel", "late", "courier", "address", "lost", "delivery", "tracking", "van"],
    "praise": ["great", "thanks", "lovely", "wonderful", "happy", "friendly", "helpful", "staff"],
}


def digit(number):
    """The label of an item of the digits."""
    return str(DIGITS.target[number])


def open_digits(folder, **settings):
    return open_session(Settings(None, Path(folder) / "labels.db", **settings)).session


def answer(session, truth, n, who=ME, first=0, mode="label", label=None):
    """Answer n questions; the items in the order in which they were asked about."""
    asked = []
    for k in range(first, first + n):
        question = session.question(who, mode, label)
        assert not question["done"]
        number = question["item"]["number"]
        asked.append(number)
        session.answer(who, number, "label", truth(number), f"{who.client}-{k}")
    return asked


def state(session):
    """All that a session is: what it would ask, what it has learned, what it counts."""
    record = session.record
    values = session.learner.decision_values(np.arange(50))
    return {
        "labels": [(item, record.name(c)) for item, c in record.labels.items()],
        "aside": list(record.aside),
        "later": dict(record.later),
        "classes": {record.name(c): record.count(c) for c in record.classes()},
        "asked": record.asked,
        "open": session.pool.n_open,
        "values": values.tolist(),
        "given": {
            item: {who: (g.label, g.mode, g.note) for who, g in given.items()}
            for item, given in record.given.items()
        },
    }


def texts(n, seed=0):
    """Short texts of three topics, with their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(list(WORDS), n, p=[0.2, 0.5, 0.3])
    common = ["the", "order", "was", "my", "shop", "and", "it", "for", "a", "please", "with"]
    out = []
    for label in labels:
        words = [*rng.choice(WORDS[label], 4), *rng.choice(common, 8), str(rng.integers(10_000))]
        out.append(" ".join(rng.permutation(words)))
    return out, labels.tolist()


def write_texts(path, n=400, seed=0):
    """A CSV file of texts; the labels."""
    found, labels = texts(n, seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "body"])
        writer.writerows(enumerate(found))
    return labels


def write_images(folder, n=60):
    """Digits as PNG files; their labels by name."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = {}
    for i in range(n):
        name = f"{i:03d}.png"
        pixels = (DIGITS.images[i] * 15).astype(np.uint8)
        Image.fromarray(pixels).resize((32, 32)).save(folder / name)
        labels[name] = digit(i)
    return labels
