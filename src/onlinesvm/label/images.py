"""Numbers that describe an image: grey values, colours, gradient orientations.

The image is resized to ``SIDE`` by ``SIDE``. Grey values (a quarter of the points) describe shapes
that are always in the same place, such as scanned digits; histograms of gradient orientations
describe outlines that move a little; mean colours of a 4 by 4 grid describe scenes and products of
distinct colours. They do not recognise objects: for photographs, embeddings of a neural network
(``--features``) are far better.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .errors import LabelError
from .sources import digest_of, read_image

SIDE = 32
"""Width and height to which images are resized."""

GREY, COLOUR, GRADIENTS = 16 * 16, 4 * 4 * 2, 288

GROUPS = (
    (slice(0, GREY), 1.0),
    (slice(GREY, GREY + COLOUR), 0.5),
    (slice(GREY + COLOUR, GREY + COLOUR + GRADIENTS), 1.0),
)
"""Columns of each kind of feature, and its share of the variance."""

WIDTH = GREY + COLOUR + GRADIENTS


class Described(NamedTuple):
    """A batch of images: numbers of those that could be read, their digests and rows."""

    read: np.ndarray
    digests: list[str]
    X: np.ndarray
    left_out: list[tuple[str, str]]


def describe_files(folder: str, files: list[tuple[int, str]], only_read: bool) -> Described:
    """Describe image files; runs in a separate process."""
    read, digests, rows, left_out = [], [], [], []
    for number, name in files:
        try:
            data, _ = read_image(Path(folder) / name, Path(folder))
            rows.append(np.zeros(0, np.float32) if only_read else describe(decoded(data)))
        except (LabelError, OSError) as error:
            left_out.append((name, str(error).rstrip(".")))
            continue
        read.append(number)
        digests.append(digest_of(data))
    width = 0 if only_read else WIDTH
    X = np.array(rows, np.float32).reshape(len(rows), width)
    return Described(np.array(read, np.int64), digests, X, left_out)


def decoded(data: bytes) -> Any:
    """The image in RGB, ``SIDE`` by ``SIDE``."""
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data)) as image:
                image.draft("RGB", (4 * SIDE, 4 * SIDE))  # JPEG: decode fewer pixels
                small = ImageOps.exif_transpose(eight_bit(image)).convert("RGBA")
                small = small.resize((SIDE, SIDE), Image.Resampling.BOX, reducing_gap=2.0)
                return on_white(small)
    except Exception as error:
        raise LabelError(f"cannot be decoded ({type(error).__name__}: {error})") from error


def thumbnail(data: bytes, side: int) -> bytes:
    """A JPEG of at most ``side`` by ``side``, as a browser shows the image: upright, on white."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data)) as image:
        image.draft("RGB", (side, side))
        small = ImageOps.exif_transpose(eight_bit(image)).convert("RGBA")
        small.thumbnail((side, side))
        out = io.BytesIO()
        on_white(small).save(out, "JPEG", quality=80)
    return out.getvalue()


def eight_bit(image: Any) -> Any:
    """An image of 16 bits with 8: Pillow would cut everything above 255 off, and show white."""
    from PIL import Image

    if not image.mode.startswith("I"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).clip(0, 255).astype(np.uint8))


def on_white(image: Any) -> Any:
    """An image with transparent parts in RGB, on a white ground."""
    from PIL import Image

    ground = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(ground, image).convert("RGB")


def describe(image: Any) -> np.ndarray:
    """The row of an image that ``decoded`` has made."""
    from skimage.feature import hog

    pixels = np.asarray(image, np.float32) / 255.0
    grey = pixels @ np.array([0.299, 0.587, 0.114], np.float32)
    half = grey.reshape(SIDE // 2, 2, SIDE // 2, 2).mean(axis=(1, 3))
    cells = pixels.reshape(4, SIDE // 4, 4, SIDE // 4, 3).mean(axis=(1, 3))
    opponent = np.stack([cells[..., 0] - cells[..., 1], cells[..., 2] - cells.mean(-1)], -1)
    gradients = hog(
        grey, orientations=8, pixels_per_cell=(8, 8), cells_per_block=(2, 2), feature_vector=True
    )
    return np.concatenate([half.ravel(), opponent.ravel(), gradients]).astype(np.float32)
