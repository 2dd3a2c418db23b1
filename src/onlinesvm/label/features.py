"""Feature vectors of items, so that a kernel can compare them; stored beside the database.

    text       tf-idf of words and pairs of words, and of character n-grams where texts are short;
               of one to three characters where spaces do not divide it into words (Chinese, Thai);
               sparse, sublinear, rows of length 1; linear kernel
    images     grey values, colours and gradient orientations of the resized image; RBF kernel
    numbers    standardised, categories one-hot, missing values replaced by the mean; RBF kernel
    elsewhere  rows of a .npy file, in the order of the items; RBF kernel

What is made for a source is kept in ``LABELS.db.features.npz`` and used again until the source or this
version of the features changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..model.atomic import atomic_write
from .errors import LabelError
from .images import Described, describe_files
from .near_copies import equal_groups, near_groups, radius_of
from .sources import Digits, ImageFolder, Progress, Rows, Source, Texts

RECIPE = 2
"""Version of the features; stored features of another version are computed again."""

NEAR = 0.999
"""Kernel value from which two items are near copies."""

SHORT = 300
"""Mean number of characters up to which character n-grams are used as well: words are few then."""

MOST_WITH_CHARACTERS = 200_000
"""Number of texts up to which character n-grams are used."""

LONG_WORDS = 12
"""Mean number of characters in a word above which spaces do not divide the texts into words."""

MEGABYTES = 32
"""Memory for kernel values: little, because a copy of the model, with its values, is made for every
possible answer. All pairs of 2,900 labelled items fit."""

BATCH = 500
"""Images described at once."""


@dataclass
class Prepared:
    """Rows of a pool, the kernel that suits them, and groups of near copies."""

    X: Any
    kernel: str
    C: float
    group: np.ndarray

    def estimator(self, **settings: Any) -> Any:
        """The classifier that learns from these rows."""
        from ..estimators.lasvm import LASVMClassifier

        return LASVMClassifier(
            kernel=self.kernel, C=self.C, gamma="scale", cache_size=MEGABYTES, **settings
        )


def cache_path(database: Path) -> Path:
    """Where the rows are kept."""
    return database.with_name(database.name + ".features.npz")


def prepare(
    source: Source, database: Path, embeddings: Path | None, progress: Progress
) -> Prepared:
    """Rows of a source, computed or read from the cache. Items that cannot be read are left out."""
    key = _key(source, embeddings)
    path = cache_path(database)
    known = _read(path, key, source)
    if known is not None:
        return known
    made = _made(source, embeddings, progress)
    try:
        _write(path, key, source, made)
    except OSError as error:
        progress(f"not kept for the next time ({error.strerror})", 1, 1)
    return made


def groups_of(
    source: Source, database: Path, embeddings: Path | None, progress: Progress
) -> np.ndarray:
    """The groups of near copies alone; rows are computed only if nothing is known of them."""
    known = _read(cache_path(database), _key(source, embeddings), source, with_rows=False)
    return (known or prepare(source, database, embeddings, progress)).group


def _key(source: Source, embeddings: Path | None) -> str:
    facts = None
    if embeddings is not None:
        found = embeddings.stat()
        facts = [str(embeddings.resolve()), found.st_size, found.st_mtime_ns]
    text = json.dumps([RECIPE, source.kind, source.mark(), facts])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _made(source: Source, embeddings: Path | None, progress: Progress) -> Prepared:
    kernel, C = "rbf", 10.0
    if isinstance(source, ImageFolder):
        X = _images(source, progress, only_read=embeddings is not None)
    if embeddings is not None:
        X = _elsewhere(source, embeddings)
    elif isinstance(source, Texts):
        _, X = fitted_vectorizer(source, list(_texts(source, progress)))
        kernel = "linear"
    elif isinstance(source, Rows):
        X = _numbers(source)
    elif isinstance(source, Digits):
        X = (source.X / 16.0).astype(np.float32)
    progress("looking for near copies", 0, 1)
    group = near_groups(X, _radius(X, kernel), equal_groups(source.digests), _telling(X, kernel))
    progress("looking for near copies", 1, 1)
    return Prepared(X, kernel, C, group)


def _telling(X: Any, kernel: str) -> np.ndarray:
    """Rows that say something: texts of which no word is known are not copies of one another."""
    if kernel != "linear":
        return np.ones(X.shape[0], bool)
    return np.diff(X.indptr) > 0


def _radius(X: Any, kernel: str) -> float:
    """Distance of near copies; gamma is that of "scale"."""
    if kernel == "linear":
        return radius_of(kernel, 1.0, NEAR)
    some = X[np.random.default_rng(0).integers(0, X.shape[0], min(X.shape[0], 5000))]
    variance = float(np.asarray(some.toarray() if sparse.issparse(some) else some).var())
    if variance == 0.0:
        return 0.0
    return radius_of(kernel, 1.0 / (X.shape[1] * variance), NEAR)


# -- text ------------------------------------------------------------------------------------


def fitted_vectorizer(source: Texts, texts: list[str]) -> tuple[Any, Any]:
    """What turns these texts into rows, and the rows."""
    if has_words(texts):
        usual = text_vectorizer(source)
        try:
            return usual, usual.fit_transform(texts)
        except ValueError:  # no word, or none that is there twice: characters tell more
            pass
    characters = character_vectorizer()
    return characters, characters.fit_transform(texts)


def has_words(texts: list[str]) -> bool:
    """Whether spaces divide these texts into words, which they do not in Chinese or Thai."""
    some = texts[:: max(1, len(texts) // 1000)]
    n_words = sum(len(re.findall(r"\w+", text[:2000])) for text in some)
    n_characters = sum(len(re.findall(r"\w", text[:2000])) for text in some)
    return n_characters <= LONG_WORDS * n_words


def character_vectorizer() -> Any:
    """Rows for texts without words; not fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        analyzer="char",
        ngram_range=(1, 3),
        max_features=200_000,
        sublinear_tf=True,
        dtype=np.float32,
    )


def text_vectorizer(source: Texts) -> Any:
    """An unfitted vectoriser for texts with words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion, Pipeline
    from sklearn.preprocessing import Normalizer

    n = len(source)
    shared = {"sublinear_tf": True, "dtype": np.float32, "min_df": 1 if n < 1000 else 2}
    words = TfidfVectorizer(
        ngram_range=(1, 2), max_features=200_000, token_pattern=r"(?u)\b\w+\b", **shared
    )
    if n > MOST_WITH_CHARACTERS or _mean_length(source) > SHORT:
        return words
    characters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), max_features=100_000, **shared
    )
    both = FeatureUnion([("words", words), ("characters", characters)])
    return Pipeline([("features", both), ("length", Normalizer())])


def _mean_length(source: Texts) -> float:
    import pyarrow.compute as pc

    return float(pc.mean(pc.utf8_length(source.texts)).as_py())


def _texts(source: Texts, progress: Progress) -> Any:
    """The texts one by one, with progress."""
    n, step = len(source), 10_000
    for i, text in enumerate(source.texts.to_pylist()):
        if i % step == 0:
            progress("reading texts", i, n)
        yield text
    progress("reading texts", n, n)


# -- numbers ---------------------------------------------------------------------------------


def _numbers(source: Rows) -> Any:
    from ..stream.readers import open_reader

    reader = open_reader(
        str(source.path),
        source.table_kind,
        needs_label=False,
        missing="mean",
        missing_indicator=True,
    )
    blocks = [block.X for block in reader.blocks()]
    dense = np.vstack([x.toarray() if sparse.issparse(x) else x for x in blocks]).astype(float)
    spread = dense.std(axis=0)
    return ((dense - dense.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)


def _elsewhere(source: Source, path: Path) -> np.ndarray:
    try:
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise LabelError(f"{str(path)!r} is not a .npy file of numbers: {error}.") from error
    n = source.n_listed  # type: ignore[attr-defined]
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or len(rows) != n:
        raise LabelError(
            f"{str(path)!r} has shape {rows.shape} and type {rows.dtype}; the source has {n:,} items, so "
            f"({n}, features) numbers are needed, in the order of the items."
        )
    rows = rows[source.places].astype(np.float32)  # type: ignore[attr-defined]
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise LabelError(f"Row {int(bad[0])} of {str(path)!r} has a number that is not finite.")
    return np.asarray(rows)


# -- images ----------------------------------------------------------------------------------


def _images(source: ImageFolder, progress: Progress, only_read: bool) -> np.ndarray:
    """Rows of all images that can be read; the others leave the source."""
    n = len(source)
    batches = [list(range(first, min(first + BATCH, n))) for first in range(0, n, BATCH)]
    parts: list[Described] = []
    for part in _mapped(source, batches, only_read):
        parts.append(part)
        progress("reading images", sum(map(len, batches[: len(parts)])), n)
    read = np.concatenate([part.read for part in parts]).astype(np.int64)
    left_out = source.left_out + [pair for part in parts for pair in part.left_out]
    source.keep(read, [digest for part in parts for digest in part.digests], left_out)
    return scaled_groups(np.concatenate([part.X for part in parts]))


def _mapped(source: ImageFolder, batches: list[list[int]], only_read: bool) -> Any:
    folder = str(source.folder)
    jobs = [(folder, [(k, source.ids[k]) for k in batch], only_read) for batch in batches]
    if len(jobs) < 4:
        yield from (describe_files(*job) for job in jobs)
        return
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
        waiting = [pool.submit(describe_files, *job) for job in jobs]
        for future in waiting:
            yield future.result()


def scaled_groups(X: np.ndarray) -> np.ndarray:
    """Grey, colour and gradients, each with the same share of the variance (colour a quarter)."""
    from .images import GROUPS

    out = X.astype(np.float32)
    for part, share in GROUPS:
        columns = out[:, part]
        total = columns.var(axis=0).sum() if columns.size else 0.0
        if total > 0:
            out[:, part] = (columns - columns.mean(axis=0)) * np.sqrt(share / total)
    return out


# -- kept ------------------------------------------------------------------------------------


def _write(path: Path, key: str, source: Source, made: Prepared) -> None:
    arrays = {
        "key": np.array(key),
        "facts": np.array(json.dumps([made.kernel, made.C, source.left_out])),
        "group": made.group,
        "places": np.asarray(source.places),  # type: ignore[attr-defined]
        "digests": np.array(source.digests, "S24"),
    }
    if sparse.issparse(made.X):
        X = made.X.tocsr()
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
        arrays["shape"] = np.array(X.shape)
    else:
        arrays["X"] = made.X
    with atomic_write(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _read(path: Path, key: str, source: Source, with_rows: bool = True) -> Prepared | None:
    """The stored features, if the source has not changed; without its rows where they are not used."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != key:
                return None
            kernel, C, left_out = json.loads(str(kept["facts"]))
            X: Any = None
            if with_rows and "X" in kept:
                X = kept["X"]
            elif with_rows:
                parts = (kept["data"], kept["indices"], kept["indptr"])
                X = sparse.csr_matrix(parts, shape=tuple(kept["shape"]))
            group, places = kept["group"], kept["places"]
            digests = [digest.decode() for digest in kept["digests"].tolist()]
    except (OSError, ValueError, KeyError, EOFError, IndexError):
        return None
    except Exception as error:
        if type(error).__name__ not in ("BadZipFile", "error"):
            raise
        return None
    if isinstance(source, ImageFolder):
        source.keep(places, digests, [(name, why) for name, why in left_out])
    return Prepared(X, kernel, C, group)
