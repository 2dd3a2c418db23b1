"""The command line: what it prints, what it writes, how it fails."""

import json
import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from compile_once import made_once

import onlinesvm
from onlinesvm.cli import main, streams

PROGRAM = [sys.executable, "-c", "from onlinesvm.cli import main; main(prog_name='onlinesvm')"]


def ask(*arguments):
    return CliRunner().invoke(main, arguments, prog_name="onlinesvm")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One run of the demo as a user in a pipe has it: no terminal, no display, no seed given."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "MPLBACKEND")}

    def run(folder):
        done = subprocess.run(
            [*PROGRAM, "demo"],
            cwd=folder,
            env=environment | {"PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        return json.dumps([done.returncode, done.stdout, done.stderr])

    folder, found = made_once(tmp_path_factory, "demo", run)
    returncode, stdout, stderr = json.loads(found)
    done = SimpleNamespace(returncode=returncode, stdout=stdout, stderr=stderr)
    return done, folder / "onlinesvm-demo"


def rows(text):
    """Cells of the table's lines, by data set and model."""
    cells = [
        [c.strip() for c in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line
    ]
    names = [row[0] if i % 2 == 0 else cells[i - 1][0] for i, row in enumerate(cells)]
    return {(name, row[1]): row[2:] for name, row in zip(names, cells)}


# -- demo --------------------------------------------------------------------------------------


def test_demo_ends_well_and_says_where_the_pictures_are(demo):
    done, folder = demo
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(r"Picture: \S*onlinesvm-demo\Stour\.png$", done.stdout, re.M)
    assert [path.name for path in folder.iterdir()] == ["tour.png"]


def test_demo_in_a_pipe_prints_plain_lines(demo):
    done, _ = demo
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    line = r"{}: [\d,]+ rows, [\d,]+/s, error so far \d+\.\d\d %, [\d,]+ support vectors"
    for name in ("digits", "waveform"):
        assert len(re.findall(line.format(name), done.stdout)) == 4
    assert re.search(
        r"[Ll]oops (compiled|read\s+from\s+disk) in \d+\.\d s.*not\s+included\s+in\s+the\s+times\s+below",
        done.stdout,
        re.S,
    )


def test_demo_puts_lasvm_next_to_svc(demo):
    found = rows(demo[0].stdout)
    assert set(found) == {(d, m) for d in ("digits", "waveform") for m in ("LASVM", "SVC")}
    for (_, model), (error, support, evaluations, time, passes) in found.items():
        assert re.fullmatch(r"\d+\.\d\d %", error)
        assert int(support.replace(",", "")) > 100
        assert re.fullmatch(r"\d+\.\d\d s", time)
        assert passes == ("1" if model == "LASVM" else "batch")
        assert bool(re.fullmatch(r"[\d,.]+ M", evaluations)) == (model == "LASVM")


@pytest.mark.parametrize(("name", "points"), [("digits", 1.0), ("waveform", 0.6)])
def test_demo_shows_what_it_claims(demo, name, points):
    """One pass is as good as SVC: within what the small test sets can tell."""
    found = rows(demo[0].stdout)
    ours, theirs = (float(found[name, model][0].split()[0]) for model in ("LASVM", "SVC"))
    assert ours <= theirs + points


def test_demo_stops_at_drift_explanation_interval_and_labels(demo):
    text = " ".join(demo[0].stdout.split())
    assert re.findall(r"^(\d)\. [A-Z]", demo[0].stdout, re.M) == list("12345")
    drift = re.search(r"detected ([\d,]+) rows later.* on: ([\d.]+) %, and ([\d.]+) %", text)
    assert int(drift[1].replace(",", "")) < 500
    assert float(drift[2]) < 0.6 * float(drift[3])
    assert 87 <= float(re.search(r"hold 90 % of the values hold ([\d.]+) %", text)[1]) <= 95
    asked = re.search(r"160 labels.*test error ([\d.]+) %.*, ([\d.]+) % if they were random", text)
    assert float(asked[1]) < float(asked[2])


def test_shares_of_the_explanation_add_up_to_the_score(demo):
    text = " ".join(demo[0].stdout.split())
    found = re.search(r"predicted to be malignant, score (\S+): (.*?)\. These are", text)
    shares = re.findall(r"[+-]\d+\.\d\d", found[2])
    assert len(shares) == 6
    assert sum(map(float, shares)) == pytest.approx(float(found[1]), abs=0.04)


def test_demo_ends_with_three_commands_that_exist(demo):
    after = demo[0].stdout.split("\nNext\n")[1]
    commands = [line.split() for line in after.splitlines() if line.startswith("  onlinesvm")]
    assert len(commands) == 3
    for _, name, *rest in commands:
        options = {word for word in rest if word.startswith("--")}
        done = ask(name, *(["page"] if name == "label" else []), "--help")
        assert done.exit_code == 0
        assert all(option in done.output for option in options)


def test_the_picture_is_a_picture(demo):
    from PIL import Image

    path = demo[1] / "tour.png"
    assert path.stat().st_size < 200_000
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert min(picture.size) > 400
        assert len(picture.convert("RGB").getcolors(2**16)) > 20


def test_no_plots_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "onlinesvm.cli.demo.waveform", lambda seed: streams.waveform(seed, n=1000, n_test=500)
    )
    done = ask("demo", "--no-plots", "--seed", "3")
    assert done.exit_code == 0, done.output
    assert "seed 3" in done.output
    assert "Picture" not in done.output
    assert not list(tmp_path.iterdir())


def test_a_terminal_gets_a_bar_and_no_color_is_obeyed(monkeypatch):
    from rich.console import Console

    from onlinesvm.cli.demo import learn

    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(force_terminal=True, record=True, width=100)
    stream = streams.waveform(0, n=500, n_test=100)
    learner = learn(stream, console)
    assert learner.moments[-1].seen == 500
    assert console.no_color
    assert "500 rows" in console.export_text()


# -- what the demo measures ----------------------------------------------------------------------


def test_error_so_far_is_of_predictions_made_before_learning():
    stream = streams.waveform(1, n=1000, n_test=200)
    learner = streams.Learner(stream)
    moments = list(learner.run())
    assert [m.seen for m in moments] == [250, 500, 750, 1000]
    assert moments[0].error_so_far is None
    model = onlinesvm.LASVMClassifier(C=stream.C, gamma=stream.gamma)
    model.partial_fit(stream.X[:250], stream.y[:250])
    before = np.mean(model.predict(stream.X[250:500]) != stream.y[250:500])
    assert moments[1].error_so_far == pytest.approx(before)
    assert moments[-1].test_error == pytest.approx(
        1 - learner.model.score(stream.X_test, stream.y_test)
    )


def test_a_seed_fixes_the_data():
    for make in (streams.digits, streams.waveform):
        one, same, other = make(4), make(4), make(5)
        np.testing.assert_array_equal(one.X, same.X)
        assert not np.array_equal(one.X, other.X)


def test_checkpoints_are_ends_of_blocks_and_the_last_row():
    found = streams.checkpoints(1201, 75)
    assert max(found) == 1201
    assert all(seen % 75 == 0 for seen in found - {1201})
    ends = {rows.stop for rows in streams.blocks(1201, 75)}
    assert found <= ends


# -- help, version, mistakes ---------------------------------------------------------------------


def test_version():
    done = ask("--version")
    assert (done.exit_code, done.output) == (0, f"onlinesvm {onlinesvm.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["demo", "--help"]])
def test_help_has_an_example(arguments):
    done = ask(*arguments)
    assert done.exit_code == 0
    assert "Usage: onlinesvm" in done.output
    assert "\n    onlinesvm demo --output pictures --seed 1" in done.output


def test_help_names_every_option():
    text = ask("demo", "--help").output
    assert all(option in text for option in ("--output DIR", "--seed N", "--no-plots"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nonsense"], "No such option"),
        (["demo", "--nonsense"], "No such option"),
        (["nonsense"], "No such command"),
        (["demo", "--seed", "minus one"], "not a valid integer"),
        (["demo", "--seed", "-1"], "not in the range"),
    ],
)
def test_wrong_usage(arguments, says):
    done = ask(*arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("below", [[], ["deeper"]])
def test_a_file_in_the_way_of_the_folder(tmp_path, below):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    done = ask("demo", "--output", str(taken.joinpath(*below)))
    assert done.exit_code == 2
    assert re.search(r"^Error: The output folder '.*' cannot be created", done.output)
    assert "--output" in done.output
    assert taken.read_text() == "mine"


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    done = ask("demo", "--output", str(tmp_path))
    assert done.exit_code == 2
    assert "cannot be written (Permission denied)" in done.output


def test_a_disk_that_fills_up(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("onlinesvm.cli.demo.run", full)
    done = ask("demo", "--output", str(tmp_path))
    assert done.exit_code == 2
    assert "No space left on device" in done.output
    assert "Traceback" not in done.output


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_ctrl_c_is_one_sentence(tmp_path):
    command = [*PROGRAM, "demo", "--no-plots"]
    pipe = subprocess.PIPE
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert "demo" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said.strip() == "Stopped by Ctrl-C; unfinished work was not saved."


def test_help_loads_nothing_heavy():
    heavy = ("numba", "matplotlib", "river", "sklearn.svm", "sklearn.datasets")
    code = (
        "import sys; from onlinesvm.cli import main; main(['--help'], standalone_mode=False); "
        f"sys.exit(any(name in sys.modules for name in {heavy!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
