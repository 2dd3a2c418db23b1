"""Devices, FIFOs, sockets, links: what is no regular file is written to or refused, never replaced."""

import os
import socket
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm import LASVMClassifier, load_model
from onlinesvm.cli import main
from onlinesvm.model.errors import ModelFileError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2)).round(3)
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def folder(tmp_path):
    rows = [f"{a},{b},{t},{'xyz'[k % 3]}" for k, ((a, b), t) in enumerate(zip(X, Y, strict=True))]
    (tmp_path / "d.csv").write_text("a,b,target,three\n" + "\n".join(rows) + "\n")
    ask("train", tmp_path / "d.csv", "--label", "target", "--ignore", "three", "-o", tmp_path / "m")
    return tmp_path


def ask(*arguments, code=0):
    found = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="onlinesvm")
    assert found.exit_code == code, (found.output, found.exception)
    return found


class Reading:
    """Somebody who reads a FIFO to its end, in a thread."""

    def __init__(self, path):
        self.path, self.data = path, b""
        os.mkfifo(path)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        self.data = self.path.read_bytes()

    def result(self):
        """What came; the FIFO is still one, and has no company of ours."""
        self.thread.join(20)
        assert not self.thread.is_alive()
        assert stat.S_ISFIFO(os.stat(self.path).st_mode)
        assert not list(self.path.parent.glob(f".{self.path.name}*"))
        return self.data


def commands(folder):
    """Every writer of the command line, as the arguments before the path."""
    train = ("train", folder / "d.csv", "--label", "target", "--ignore", "three")
    evaluate = ("evaluate", folder / "m", folder / "d.csv", "--label", "target")
    return {
        "train": (*train, "-o"),
        "train --log": (*train, "-o", folder / "other", "--log"),
        "train --plot": (*train, "-o", folder / "other", "--plot"),
        "predict": ("predict", folder / "m", folder / "d.csv", "-o"),
        "evaluate --plot": (*evaluate, "--plot"),
        "export python": ("export", folder / "m", "--to", "python", "-o"),
        "export libsvm": ("export", folder / "m", "--to", "libsvm", "-o"),
    }


WRITERS = pytest.mark.parametrize("name", commands(Path()))


@WRITERS
def test_a_fifo_gets_what_a_file_would(folder, name):
    line = commands(folder)[name]
    ask(*line, folder / "file")
    reading = Reading(folder / "fifo")
    ask(*line, folder / "fifo")
    found = reading.result()
    if name == "train --log":  # seconds and memory differ
        assert found.count(b"\n") == (folder / "file").read_bytes().count(b"\n")
    else:
        assert found == (folder / "file").read_bytes()


@WRITERS
def test_a_link_keeps_pointing(folder, name):
    line = commands(folder)[name]
    (folder / "deep").mkdir()
    (folder / "deep" / "target").write_bytes(b"old")
    (folder / "link").symlink_to(folder / "deep" / "target")
    (folder / "new").symlink_to(folder / "deep" / "made")
    for link, target in (("link", "target"), ("new", "made")):
        ask(*line, folder / link)
        assert (folder / link).is_symlink()
        assert len((folder / "deep" / target).read_bytes()) > 50
    assert sorted(os.listdir(folder / "deep")) == ["made", "target"]


@WRITERS
def test_a_device_stays_a_device(folder, name):
    """A node of the same numbers as /dev/null, in a folder of its own."""
    null = folder / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        null.write_bytes(b"x")
    except OSError:
        pytest.skip("device nodes cannot be made or used here")
    before = sorted(os.listdir(folder))
    ask(*commands(folder)[name], null)
    assert stat.S_ISCHR(os.stat(null).st_mode)
    assert set(os.listdir(folder)) - set(before) <= {"other"}


@WRITERS
def test_a_socket_is_refused(folder, name, monkeypatch):
    monkeypatch.chdir(folder)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        found = ask(*commands(folder)[name], folder / "socket", code=2)
        assert "it is a socket" in found.stderr
        assert stat.S_ISSOCK(os.stat("socket").st_mode)


def test_from_python(tmp_path, monkeypatch):
    model = LASVMClassifier(gamma=1.0).fit(X, Y)
    reading = Reading(tmp_path / "fifo")
    model.save(tmp_path / "fifo")
    (tmp_path / "copy").write_bytes(reading.result())
    assert (load_model(tmp_path / "copy").predict(X) == model.predict(X)).all()
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(tmp_path)
        server.bind("socket")
        with pytest.raises(ModelFileError, match="it is a socket"):
            model.save("socket")


def test_a_model_that_is_written_once_has_no_checkpoints(folder):
    os.mkfifo(folder / "fifo")
    base = ("train", folder / "d.csv", "--label", "target", "-o", folder / "fifo")
    for more in (("--resume",), ("--checkpoint", "10")):
        found = ask(*base, *more, code=2)
        assert "not a regular file" in found.stderr


def test_several_machines_need_several_files(folder):
    ask("train", folder / "d.csv", "--label", "three", "-o", folder / "three")
    os.mkfifo(folder / "fifo")
    found = ask("export", folder / "three", "--to", "libsvm", "-o", folder / "fifo", code=2)
    assert "3 machines need one file each" in found.stderr
    assert not list(folder.glob("fifo.*"))
