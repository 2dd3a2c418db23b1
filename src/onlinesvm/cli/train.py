"""``onlinesvm train``: from a file or a stream to a model file, saved and resumed on the way."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from sklearn.base import is_outlier_detector

from ..core.runtime.interrupts import Deadline, TimeUp
from ..model.atomic import is_special
from ..stream.learning import measure_of
from ..stream.reader import Reader
from ..stream.training import StreamSettings, Training
from . import algorithms
from .curves import Curve
from .mistakes import Mistake, check_writable, remove_remains
from .resuming import given_options, kept_options, resumed_options
from .scoring import score_source
from .showing import Log, Reporter, counted_drifts
from .signals import Interrupts, StopReading
from .sources import NumberRange, reader_of, source_options

EPILOG = """\b
Examples:
  onlinesvm train train.csv --label target -o model.safetensors --C 10 --gamma 0.1
  onlinesvm train train.csv --label target -o model.safetensors --auto --time-limit 60
  zcat stream.svm.gz | onlinesvm train - --format libsvm -o model.safetensors \\
      --budget 500 --checkpoint 100000 --resume

\b
Exit codes: 0 done (or time limit reached), 2 an error that you can correct, 130 stopped by Ctrl-C and saved.
"""


@click.command("train", epilog=EPILOG)
@click.argument("source", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="MODEL", help="Model file."
)
@click.option(
    "--algorithm",
    "algorithm",
    default="lasvm",
    show_default=True,
    metavar="NAME",
    help="lasvm, huller, simplesvm, streamsvm, norma, olsvm, ... or the name of a class.",
)
@click.option(
    "--auto",
    "auto",
    is_flag=True,
    help="Compare kernels, C, gamma and feature weights on the rows in memory, then learn with the best.",
)
@click.option(
    "--epochs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Passes over the source. LASVM looks at the same rows again; with bounded memory, and in other algorithms, a row that is read N times counts N times.",
)
@click.option("--test", metavar="FILE", help="Examples on which the error is measured at the end.")
@click.option(
    "--checkpoint", type=click.IntRange(1), metavar="ROWS", help="Save after every ROWS rows."
)
@click.option("--resume", is_flag=True, help="Continue from MODEL, if it exists.")
@click.option(
    "--new-rows",
    is_flag=True,
    help="With --resume: SOURCE has only rows that come after those learned; none is skipped.",
)
@click.option(
    "--time-limit",
    type=NumberRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop and save after this time.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed for everything that is random.",
)
@click.option(
    "--batch-rows",
    type=click.IntRange(1, 1 << 24),
    default=2048,
    show_default=True,
    metavar="N",
    help="Number of rows that are read, predicted and learned at a time.",
)
@click.option(
    "--shuffle-buffer",
    type=click.IntRange(0, 1 << 30),
    default=0,
    show_default=True,
    metavar="ROWS",
    help="Shuffle rows within a buffer, for sorted files.",
)
@click.option(
    "--standardize", is_flag=True, help="Scale features by their running mean and variance."
)
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Draw the curve.")
@click.option("--log", type=click.Path(path_type=Path), metavar="JSONL", help="Figures as data.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@source_options
def command(source: str | None, output: Path | None, **options: Any) -> None:
    """Learn from SOURCE (a file, a folder of Parquet files, or - for standard input).

    Formats: LIBSVM text, CSV and TSV with a header, JSON lines, Parquet, npy, npz; text may be
    compressed.
    Without SOURCE, scikit-learn's digits are learned. Each block is predicted before it is
    learned, which gives the error so far. Ctrl-C finishes the block and saves; a second one stops
    immediately, and the last checkpoint is kept.
    """
    if source is None and given_options(options):
        name = next(iter(given_options(options))).replace("_", "-")
        raise Mistake(
            f"--{name} says how SOURCE is read, but there is no SOURCE: name a file, or -."
        )
    if source is not None and output is None:
        raise Mistake("The model needs a file: give -o MODEL.")
    if output is None and (options["resume"] or options["checkpoint"]):
        raise Mistake("--checkpoint and --resume need a model file: give -o MODEL.")
    if options["new_rows"] and not options["resume"]:
        raise Mistake("--new-rows says how --resume continues: give both, or leave out --new-rows.")
    inputs = [source, options["test"]]
    for path, name in ((output, "-o"), (options["plot"], "--plot"), (options["log"], "--log")):
        if path is not None:
            check_writable(path, name, inputs)
            inputs.append(str(path))
    if options["test"] is not None and not Path(options["test"]).exists():
        raise Mistake(f"There is no file {options['test']!r} to test on; check --test.")
    if output is not None and is_special(output) and (options["resume"] or options["checkpoint"]):
        raise Mistake(
            f"{str(output)!r} is not a regular file, so that training cannot be resumed; leave "
            "out --checkpoint and --resume, or name a file with -o."
        )
    if output is not None:
        remove_remains(output)
    if options.pop("auto"):
        from .auto import train_by_race

        train_by_race(source, output, options)
        return
    Run(source, output, options).go()


command.params += algorithms.parameter_options()


FEW_ROWS = 20
"""Nothing is said of the labels of so few rows."""


class Run:
    """One run of the command."""

    def __init__(self, source: str | None, output: Path | None, options: dict[str, Any]):
        self.source, self.output, self.options = source, output, options
        self.test: Reader | tuple[Any, Any] | None = None
        self.training = self._resumed() or self._new()
        self.measure = measure_of(self.training.estimator)
        self._check_test()
        # A FIFO or a device takes the model once, at the end.
        self.once = output is not None and is_special(output)
        self.begin = time.monotonic()
        self.saved_at = self.training.rows

    # -- preparing --------------------------------------------------------------------------

    def _settings(self) -> StreamSettings:
        names = ("epochs", "batch_rows", "shuffle_buffer", "standardize", "seed")
        return StreamSettings(**{name: self.options[name] for name in names})

    def _new(self) -> Training:
        given = algorithms.given_parameters(self.options)
        estimator = algorithms.build(self.options["algorithm"], given, self.options["seed"])
        return Training(estimator, self._reader(estimator, None), self._settings())

    def _reader(self, estimator: Any, schema: dict[str, Any] | None) -> Reader:
        if self.source is None:
            return self._digits()
        needs_label = not is_outlier_detector(estimator)
        return reader_of(self.source, self.options, schema=schema, needs_label=needs_label)

    def _digits(self) -> Reader:
        from ..stream.memory import MemoryReader
        from .streams import digits

        click.echo("No SOURCE is given: scikit-learn's digits are learned.", err=True)
        stream = digits(self.options["seed"])
        self.test = (stream.X_test, stream.y_test)
        return MemoryReader(stream.X, stream.y)

    def _resumed(self) -> Training | None:
        """The run that the model file has saved; None without ``--resume`` or such a file."""
        if not self.options["resume"] or self.output is None or not self.output.exists():
            return None
        from ..model.files import read_model

        model = read_model(self.output)
        facts = (model.summary or {}).get("stream")
        if facts is None:
            raise Mistake(
                f"{str(self.output)!r} was not made by train, so it cannot be resumed; name the file of "
                "the run to continue, or leave out --resume to replace this one."
            )
        self._check_same(model.estimator, facts)
        preprocessing = model.preprocessing or {}
        schema = preprocessing.get("schema") or {}
        before = (model.summary or {}).get("source") or {"label": schema.get("label")}
        self.options = resumed_options(self.options, before, self.output)
        reader = self._reader(model.estimator, schema)
        self._check_source(reader, schema)
        training = Training(model.estimator, reader, self._settings())
        training.resume(facts, model.arrays, preprocessing, self.options["new_rows"])
        if training.row and not reader.can_repeat:
            click.echo(
                f"The first {training.row:,} rows of {reader.name} are skipped: the model has "
                "learned them. If these are new rows, add --new-rows.", err=True,
            )  # fmt: skip
        return training

    def _check_source(self, reader: Reader, schema: dict[str, Any]) -> None:
        """Refuse to resume with rows of another format."""
        before = schema.get("kind")
        if before not in (None, reader.kind) and reader.schema.get("columns") is None:
            raise Mistake(
                f"{str(self.output)!r} was started with rows of format {before}, not "
                f"{reader.kind}; name the same source, or leave out --resume to start again."
            )

    def _check_same(self, estimator: Any, facts: dict[str, Any]) -> None:
        """Refuse to resume with settings other than those of the first run."""
        each = algorithms.algorithm(self.options["algorithm"])
        if type(estimator) is not each:
            raise Mistake(
                f"{str(self.output)!r} contains a {type(estimator).__name__}; give --algorithm "
                f"{algorithms.short_name(type(estimator).__name__)}, or leave out --resume."
            )
        now = asdict(self._settings())
        before = dict(facts["settings"])
        for name, text in algorithms.given_parameters(self.options).items():
            now[name] = algorithms.parsed(each, name, text)
            before[name] = estimator.get_params()[name]
        for name, value in now.items():
            if value != before[name]:
                raise Mistake(
                    f"{str(self.output)!r} was started with {name}={before[name]}, not {value}; "
                    "use the same settings, or leave out --resume to start again."
                )

    # -- running ------------------------------------------------------------------------------

    def go(self) -> None:
        """Learn, save, and say how it went."""
        log = Log(self.options["log"], self.options["resume"])
        curve = Curve(self.measure)
        begun = self.training.progress()
        reporter = Reporter(self.options["as_json"], begun.rows, self.measure, begun.n_drifts)
        if self.training.finished:
            click.echo(
                f"{str(self.output)!r} is finished: nothing is left to learn; add --new-rows to learn other rows, "
                "or leave out --resume to start again.", err=True,
            )  # fmt: skip
        rows_before = self.training.rows
        with Interrupts() as interrupts, reporter:
            interrupts.watch(self.training.reader)
            stopped = self._learn(interrupts, reporter, log, curve)
            if not self.once:
                self._save()
            if stopped is None and not self.training.finished:
                stopped = self._finish(interrupts, rows_before)
            if self.once:
                self._save()
        log.close()
        if self.options["plot"] is not None:
            curve.draw(self.options["plot"])
        self._tell(stopped)
        if interrupts.number:
            raise click.exceptions.Exit(128 + interrupts.number)

    def _learn(
        self, interrupts: Interrupts, reporter: Reporter, log: Log, curve: Curve
    ) -> str | None:
        """Block after block; why it stopped before the end, if it did."""
        limit, every = self.options["time_limit"], self.options["checkpoint"]
        try:
            for progress in self.training.steps():
                seconds = time.monotonic() - self.begin
                reporter.show(progress, seconds)
                log.write(progress, seconds)
                curve.add(progress)
                if interrupts.number:
                    return interrupts.reason
                if every and progress.rows // every > self.saved_at // every:
                    self._save()
                if limit is not None and seconds >= limit:
                    return f"The time limit of {limit:g} s was reached"
        except StopReading:
            return interrupts.reason
        return None

    def _finish(self, interrupts: Interrupts, rows_before: int) -> str | None:
        """The finishing step; if it is interrupted, the model as it was before stays saved.

        If only the finishing step is left, it is completed whatever the time limit: otherwise a
        short limit would never let the run end.
        """
        limit = self.options["time_limit"]
        left = None if limit is None else limit - (time.monotonic() - self.begin)
        if self.training.rows == rows_before:
            left = None
        interrupts.at_once()
        try:
            with Deadline(left) as deadline:
                deadline.arm()
                self.training.finish()
        except KeyboardInterrupt:
            return interrupts.reason
        except TimeUp:
            return f"The time limit of {limit:g} s was reached before the finishing step was done"
        if not self.once:
            self._save()
        return None

    def _save(self) -> None:
        if self.output is None or not self.training.rows:
            return
        from ..model.files import write_model

        facts, arrays = self.training.state()
        write_model(
            self.output, self.training.estimator, preprocessing=self.training.preprocessing(),
            summary={"stream": facts, "source": kept_options(self.options)}, arrays=arrays,
        )  # fmt: skip
        self.saved_at = self.training.rows

    # -- telling ------------------------------------------------------------------------------

    def _tell(self, stopped: str | None) -> None:
        result = self._result(stopped)
        if stopped:
            goes_on = "." if self.once else "; --resume continues."
            kept = f"the model of {result['rows']:,} rows is in {self.output}{goes_on}"
            if not self.training.rows or self.output is None:
                kept = "nothing is saved."
            click.echo(f"{stopped}; {kept}", err=True)
        if self.options["as_json"]:
            click.echo(json.dumps(result))
            return
        error = "-" if result["error"] is None else f"{result['error']:.4f}"
        name = self.measure
        if len(result["classes"] or (0, 1)) == 1:
            click.echo(
                f"All rows have the label {result['classes'][0]}, and the model predicts nothing "
                "else; check --label.", err=True,
            )  # fmt: skip
        elif result["rows"] > FEW_ROWS and 2 * len(result["classes"] or ()) > result["rows"]:
            click.echo(
                f"{result['rows']:,} rows have {len(result['classes']):,} different labels; check "
                "--label. Values to predict need --algorithm lasvm-regressor.", err=True,
            )  # fmt: skip
        click.echo(
            f"{result['algorithm']}: {result['rows']:,} rows in {result['seconds']:.1f} s, "
            f"{name} so far {error}, {result['n_support']:,} support vectors"
            + ("" if result["n_drifts"] is None else f", {counted_drifts(result['n_drifts'])}")
        )
        if result["test_error"] is not None:
            click.echo(f"Test {name}: {result['test_error']:.4f}")
        if self.output is not None and self.training.rows:
            click.echo(f"Model: {self.output}")

    def _result(self, stopped: str | None) -> dict[str, Any]:
        progress, estimator = self.training.progress(), self.training.estimator
        measured = score_source(self.training, self._test()) if progress.rows else None
        classes = getattr(estimator, "classes_", None)
        return {
            "algorithm": type(estimator).__name__,
            "model": None if self.output is None else str(self.output),
            "rows": progress.rows,
            "epochs": self.training.epoch,
            "error": progress.error,
            "measure": self.measure,
            "classes": None if classes is None else classes.tolist(),
            "n_support": progress.n_support,
            "n_drifts": progress.n_drifts,
            "test_error": measured,
            "finished": self.training.finished,
            "stopped": stopped,
            "seconds": time.monotonic() - self.begin,
        }

    def _test(self) -> Any:
        if self.options["test"] is None:
            return self.test
        options = dict(self.options, n_features=self.training.estimator.n_features_in_)
        return self._test_reader(options, self.training.reader.schema)

    def _test_reader(self, options: dict[str, Any], schema: dict[str, Any] | None) -> Reader:
        needs_label = not is_outlier_detector(self.training.estimator)
        return reader_of(options["test"], options, schema=schema, needs_label=needs_label)

    def _check_test(self) -> None:
        """Check before training that the test examples can be read."""
        if self.options["test"] is not None:
            next(self._test_reader(self.options, None).blocks(1))
