"""Tables with columns of every kind that PyArrow knows, next to pandas, ``get_dummies`` and ``SVC``.

A table is drawn, written as CSV, JSON lines or Parquet, and read by ``open_reader``. The features
must be those that pandas makes of the same file, and a model that is trained to the end must have
the decision values of ``SVC``. Kinds are named after what is written, options say what is done with
them. A seeded generator draws; it goes on after a failure and shows the seed:

    python tests/helpers/awkward_tables.py --draws 2000 --seed 0
"""

from __future__ import annotations

import argparse
import decimal
import json
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier, open_reader

FORMATS = ("csv", "tsv", "jsonl", "parquet", "parquet folder")

TOLERANCE = 1e-3
"""Largest difference of decision values, which are of the order of 1."""


@dataclass
class Column:
    """A drawn column: what is written, and the features that are expected, by their names."""

    name: str
    kind: str
    values: list[Any]  # Python values or an Arrow array; None is a gap
    features: dict[str, np.ndarray]
    categorical: bool = False
    numeric: bool = False
    type: Any = None  # of Parquet


@dataclass
class Table:
    """What is drawn."""

    format: str
    columns: list[Column]
    y: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{c.kind}{'*' if c.categorical else ''}" for c in self.columns)
        return f"{self.format}: {kinds}; {self.options}"


# -- columns --------------------------------------------------------------------------------------


def dummies(name: str, texts: list[str]) -> dict[str, np.ndarray]:
    """One column per category, as ``get_dummies`` has them."""
    found = pd.get_dummies(pd.Series(texts), prefix=name, prefix_sep="=", dtype=float)
    return {label: found[label].to_numpy() for label in found}


def filled(
    name: str, values: Any, options: dict[str, Any], parts: tuple[str, ...] = ("",)
) -> dict[str, np.ndarray]:
    """Numbers (a frame with one column per part) whose gaps are filled as pandas would."""
    frame = pd.DataFrame(np.asarray(values, float).reshape(len(values), -1))
    gap, rule = frame.isna().any(axis=1), options.get("missing")
    if gap.any():
        by = {
            "mean": frame.mean,
            "median": frame.median,
            "most_frequent": lambda: frame.mode().iloc[0],
        }
        frame = frame.fillna(by[rule]() if isinstance(rule, str) else rule)
    found = {
        f"{name}.{part}" if part else name: frame[k].to_numpy() for k, part in enumerate(parts)
    }
    if options.get("missing_indicator") and gap.any():
        found[f"{name}=missing"] = gap.to_numpy(float)
    return found


def moment_features(name: str, moments: Any, options: dict[str, Any], clock: bool) -> Any:
    """Parts of dates or moments by pandas; in UTC."""
    at = pd.to_datetime(pd.Series(moments), utc=True, format="ISO8601")
    parts = {
        "year": at.dt.year,
        "month": at.dt.month,
        "day": at.dt.day,
        "weekday": at.dt.day_of_week,
    }
    if clock:
        parts["hour"] = (at - at.dt.normalize()) / pd.Timedelta(hours=1)
    return filled(name, np.column_stack(list(parts.values())), options, tuple(parts))


def number_texts(values: list[Any]) -> list[str]:
    """Numbers as categories: whole ones without a point."""
    return [
        "" if v is None else str(int(v)) if float(v).is_integer() else repr(float(v))
        for v in values
    ]


class Draw:
    """One column of each kind; ``with_gaps`` puts gaps into it, if the table may have them."""

    def __init__(self, rng: np.random.Generator, n: int, format: str, options: dict[str, Any]):
        self.rng, self.n, self.format, self.options = rng, n, format, options
        self.parquet = format.startswith("parquet")

    def pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def with_gaps(self, values: list[Any]) -> list[Any]:
        if "missing" not in self.options or self.rng.random() < 0.5:
            return values
        gap = self.rng.random(self.n) < 0.2
        gap[:2] = False, True  # some value, and a gap
        return [None if g else v for g, v in zip(gap, values)]

    def of(self, options: Any) -> list[Any]:
        """One of the options for each row."""
        return [options[k] for k in self.rng.integers(len(options), size=self.n)]

    def number(self, name: str) -> Column:
        kind = self.pick(("int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64",
                          "decimal128", "decimal256", "float far"))  # fmt: skip
        if "int" in kind:
            raw: list[Any] = self.rng.integers(0, 100, self.n).tolist()
        elif "far" in kind:
            raw = (1.7e9 + self.rng.normal(size=self.n).round(4)).tolist()
        else:
            raw = (self.rng.integers(-400, 400, self.n) / 64).tolist()
        values = self.with_gaps(raw)
        types = {"decimal128": pa.decimal128(12, 6), "decimal256": pa.decimal256(40, 6),
                 "float16": pa.float16(), "float far": pa.float64()}  # fmt: skip
        written = values
        if "decimal" in kind:
            written = [
                None if v is None else decimal.Decimal(v).quantize(decimal.Decimal("1e-6"))
                for v in values
            ]
        nothing = [np.nan if v is None else v for v in values]
        type = types.get(kind) or pa.type_for_alias(kind)
        return Column(name, kind, written, filled(name, nothing, self.options), type=type)

    def large(self, name: str) -> Column:
        """Identifiers beyond 2^53 as categories: not one digit is lost."""
        values = self.with_gaps(self.of([2**53 + k for k in range(1, 6)]))
        texts = ["" if v is None else str(v) for v in values]
        return Column(name, "large", values, dummies(name, texts), True, type=pa.int64())

    def coded(self, name: str) -> Column:
        """Numbers as categories, in several spellings."""
        values = self.with_gaps(self.of([1.5, 2.75, 1.0, 3.0, -2.0]))
        features = dummies(name, number_texts(values))
        written: list[Any] = values
        if self.format in ("csv", "tsv"):
            form = self.pick(("{}", "{:.2f}", "{:.3f}", "{:.2e}"))
            written = [None if v is None else form.format(v) for v in values]
        type = self.pick((pa.float64(), pa.float32(), pa.float16()))
        return Column(name, "coded", written, features, True, type=type)

    def truth(self, name: str) -> Column:
        values = self.with_gaps(self.of([True, False]))
        if self.rng.random() < 0.4:
            texts = ["" if v is None else str(v).lower() for v in values]
            return Column(name, "truth", values, dummies(name, texts), True, type=pa.bool_())
        nothing = [np.nan if v is None else float(v) for v in values]
        return Column(name, "truth", values, filled(name, nothing, self.options), type=pa.bool_())

    def zeros(self, name: str) -> Column:
        """Digits with leading zeros, as text."""
        values = self.of(["02139", "03301", "10001", "00501"])
        numeric = bool(self.rng.random() < 0.3)
        features = (
            filled(name, [float(v) for v in values], self.options)
            if numeric
            else dummies(name, values)
        )
        categorical = not numeric and bool(self.rng.random() < 0.5)
        return Column(name, "zeros", values, features, categorical, numeric, pa.string())

    def words(self, name: str) -> Column:
        values = self.of(
            ["Ulm", "Bonn", "São Paulo", 'a "b"', "x,y", "line\nbreak", "", "NA", "1.10x", "-"]
        )
        kinds = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(),
                 pa.dictionary(pa.int8(), pa.string()))  # fmt: skip
        written: list[Any] = values
        if self.parquet and self.rng.random() < 0.3:
            written = [None if v == "" else v for v in values]
        type = self.pick(kinds[:2] if self.format == "parquet folder" else kinds)
        return Column(name, f"words {type}", written, dummies(name, values), type=type)

    def spread(self, name: str) -> Column:
        """So many words that rows are sparse."""
        values = [f"w{k}" for k in self.rng.integers(0, 600, self.n)]
        return Column(name, "spread", values, dummies(name, values), type=pa.string())

    def date(self, name: str) -> Column:
        days = self.rng.integers(-9000, 25_000, self.n).astype("datetime64[D]")
        texts = self.with_gaps([str(day) for day in days])
        categorical = bool(self.rng.random() < 0.2)
        features = moment_features(name, texts, self.options, clock=False)
        if categorical:
            features = dummies(name, ["" if v is None else v for v in texts])
        type = self.pick((pa.date32(), pa.date64(), pa.string()))
        return Column(name, f"date {type}", texts, features, categorical, type=type)

    def moment(self, name: str) -> Column:
        unit = self.pick(("s", "ms", "us", "ns"))
        zone = self.pick((None, "UTC", "Europe/Berlin"))
        ticks = self.rng.integers(0, 1_900_000_000, self.n) * 10**3 + self.rng.integers(
            0, 1000, self.n
        )
        moments = pd.Series(ticks.astype("datetime64[ms]")).dt.floor("s" if unit == "s" else "ms")
        texts = self.with_gaps([self._written(at, zone) for at in moments])
        features = moment_features(name, texts, self.options, clock=True)
        type = self.pick((pa.timestamp(unit, zone), pa.string()))
        return Column(name, f"moment {type}", texts, features, type=type)

    def _written(self, at: pd.Timestamp, zone: str | None) -> str:
        text = at.isoformat(sep=self.pick("T ") if self.format in ("csv", "tsv") else "T")
        return text if zone is None else text + self.pick(("Z", "+02:00", "-0330"))

    def time(self, name: str) -> Column:
        type = self.pick(
            (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.string())
        )
        seconds = self.with_gaps(self.rng.integers(0, 86_400, self.n).tolist())
        short = bool(self.rng.random() < 0.4)
        seconds = [None if s is None else s - s % 60 if short else s for s in seconds]
        texts = [None if s is None else f"{s // 3600:02d}:{s // 60 % 60:02d}" + ("" if short else f":{s % 60:02d}")
                 for s in seconds]  # fmt: skip
        hours = [np.nan if s is None else s / 3600 for s in seconds]
        return Column(
            name, f"time {type}", texts, filled(name, hours, self.options, ("hour",)), type=type
        )

    def duration(self, name: str) -> Column:
        unit = self.pick(("s", "ms", "us", "ns"))
        seconds = self.with_gaps(self.rng.integers(-5000, 5000, self.n).tolist())
        nothing = [np.nan if s is None else s for s in seconds]
        features = filled(name, nothing, self.options, ("seconds",))
        per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        values = [None if s is None else s * per for s in seconds]
        return Column(name, "duration", values, features, type=pa.duration(unit))

    def nested(self, name: str) -> Column:
        """A number two levels down."""
        found = self.number(f"{name}.in.side")
        found.kind = f"nested {found.kind}"
        return found

    def any(self, name: str) -> Column:
        kinds = [
            "number",
            "number",
            "coded",
            "large",
            "truth",
            "zeros",
            "words",
            "date",
            "moment",
            "time",
        ]
        kinds += ["spread"] if self.rng.random() < 0.3 else []
        kinds += ["duration"] if self.parquet else []
        kinds += ["nested"] if self.format not in ("csv", "tsv") else []
        return getattr(self, self.pick(kinds))(name)


def draw(seed: int) -> Table:
    """Table number ``seed``."""
    rng = np.random.default_rng(seed)
    n, format = int(rng.integers(30, 90)), FORMATS[int(rng.integers(len(FORMATS)))]
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        rules = (0.0, -1.5, "mean", "median", "most_frequent")
        options["missing"] = rules[int(rng.integers(len(rules)))]
        options["missing_indicator"] = bool(rng.random() < 0.5)
    column = Draw(rng, n, format, options)
    columns = [column.any(f"c{k}") for k in range(int(rng.integers(1, 6)))]
    columns.append(column.number("d"))  # at least one
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return Table(format, columns, y, options)


# -- files ----------------------------------------------------------------------------------------


def write(table: Table, folder: Path, rng: np.random.Generator) -> Path:
    """The table as a file."""
    if table.format.startswith("parquet"):
        return _write_parquet(table, folder)
    if table.format == "jsonl":
        return _write_lines(table, folder, rng)
    path = folder / f"t.{table.format}"
    mark = "\t" if table.format == "tsv" else ","
    rows = pd.DataFrame({c.name: _words(c.values) for c in table.columns} | {"y": table.y})
    rows.to_csv(path, sep=mark, index=False, lineterminator=["\n", "\r\n"][int(rng.integers(2))])
    return path


def _words(values: list[Any]) -> list[str]:
    return ["" if v is None else repr(v) if isinstance(v, float) else str(v) for v in values]


def _write_lines(table: Table, folder: Path, rng: np.random.Generator) -> Path:
    lines = []
    for k in range(len(table.y)):
        row: dict[str, Any] = {"y": int(table.y[k])}
        for number in rng.permutation(len(table.columns)):
            column = table.columns[number]
            value = column.values[k]
            if value is None and rng.random() < 0.5:
                continue  # a missing key is a gap
            place, *below = column.name.split(".")
            inner = float(value) if isinstance(value, decimal.Decimal) else value
            for name in reversed(below):
                inner = {name: inner}
            row[place] = inner
        lines.append(json.dumps(row, ensure_ascii=bool(rng.random() < 0.5)))
    path = folder / "t.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _array(column: Column) -> Any:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        at = pd.to_datetime(pd.Series(column.values), utc=True, format="ISO8601")
        ticks = [None if pd.isna(v) else int(v.value) for v in at]
        return pa.array(ticks, pa.timestamp("ns", "UTC")).cast(pa.timestamp("ns")).cast(kind) \
            if kind.id != pa.timestamp("ns").id else _stamped(ticks, kind)  # fmt: skip
    if pa.types.is_time(kind):
        seconds = [None if v is None else sum(int(p) * f for p, f in zip(v.split(":"), (3600, 60, 1)))
                   for v in column.values]  # fmt: skip
        return pa.array(seconds, pa.int32()).cast(pa.time32("s")).cast(kind)
    if pa.types.is_floating(kind):
        values = [np.nan if v is None else float(v) for v in column.values]
        return pa.array(np.array(values), from_pandas=True).cast(kind)
    if pa.types.is_string_view(kind) or pa.types.is_binary(kind):
        return pa.array(column.values, pa.string()).cast(kind)
    return pa.array(column.values, kind)


def _stamped(ticks: list[Any], kind: Any) -> Any:
    per = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
    return pa.array([None if t is None else t // per for t in ticks], pa.int64()).cast(kind)


def _write_parquet(table: Table, folder: Path) -> Path:
    arrays: dict[str, Any] = {}
    for column in table.columns:
        place, *below = column.name.split(".")
        inner = _array(column)
        for name in reversed(below):
            inner = pa.StructArray.from_arrays([inner], [name])
        arrays[place] = inner
    found = pa.table(arrays | {"y": pa.array(table.y)})
    if table.format == "parquet":
        path = folder / "t.parquet"
        pyarrow.parquet.write_table(found, path, row_group_size=40)
        return path
    path = folder / "parts"
    path.mkdir()
    half = len(table.y) // 2
    for k, part in enumerate((found.slice(0, half), found.slice(half))):
        pyarrow.parquet.write_table(part, path / f"{k}.parquet")
    return path


# -- comparing ------------------------------------------------------------------------------------


def expected(table: Table) -> pd.DataFrame:
    """The features that pandas makes of the table."""
    return pd.DataFrame(
        {name: v for column in table.columns for name, v in column.features.items()}
    )


def read(table: Table, path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """The features that the reader makes of the file; columns of zeros ("other") are left out."""
    options = dict(table.options)
    options["categorical"] = [c.name for c in table.columns if c.categorical]
    options["numeric"] = [c.name for c in table.columns if c.numeric]
    reader = open_reader(path, label="y", **options)
    block = next(reader.blocks(10_000))
    dense = block.X.toarray() if sparse.issparse(block.X) else block.X
    names = reader.feature_names() or []
    frame = pd.DataFrame(dense, columns=names)
    others = [name for name in names if name.endswith("=other")]
    assert not frame[others].to_numpy().any(), f"rows that are 'other': {others}"
    return frame.drop(columns=others), block.y


def compare(table: Table, path: Path) -> None:
    """Equal columns, and decision values as those of SVC."""
    found, y = read(table, path)
    peer = expected(table)
    assert sorted(found) == sorted(peer), (sorted(found), sorted(peer))
    np.testing.assert_array_equal(y, table.y)
    for name in peer:
        np.testing.assert_allclose(found[name], peer[name], rtol=1e-12, atol=1e-12, err_msg=name)
    # Of one scale, so that no column decides alone and both solvers are well within their precision.
    Z = StandardScaler().fit_transform(peer.to_numpy(float))
    X = StandardScaler().fit_transform(found[list(peer)].to_numpy(float))
    settings = {"C": 2.0, "gamma": 1.0 / Z.shape[1]}
    model = LASVMClassifier(epochs="converge", tol=1e-5, random_state=0, **settings).fit(X, y)
    peer_model = SVC(tol=1e-6, **settings).fit(Z, y)
    apart = np.abs(model.decision_function(X) - peer_model.decision_function(Z)).max()
    assert apart < TOLERANCE, f"decision values differ by {apart:.2g}"


def check(seed: int) -> None:
    """Draw, write, read and compare table number ``seed``."""
    table = draw(seed)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(table, write(table, Path(folder), np.random.default_rng(seed)))


def main() -> None:
    """Many tables by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failures: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.draws):
        try:
            check(seed)
        except Exception as error:
            kind = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            failures[kind[:40]] += 1
            print(f"seed {seed} ({draw(seed)}): {kind}", flush=True)
    print(f"{given.draws} tables, {sum(failures.values())} failures")
    for kind, count in failures.most_common():
        print(f"{count:6d}  {kind}")


if __name__ == "__main__":
    main()
